"""Every example gives what it promises.

`expected.jsonl` are the intervals of its answers; `hypotheses.jsonl` are the hypothetical answers
to the question in `question.txt`.
"""

import runpy
from pathlib import Path

import pytest
from typer.testing import CliRunner

from larspark.cli import app

EXAMPLES = Path(__file__).parent.parent / "examples"
ANSWERED = sorted(path.parent for path in EXAMPLES.glob("*/expected.jsonl"))
HYPOTHETICAL = sorted(path.parent for path in EXAMPLES.glob("*/hypotheses.jsonl"))


def output(folder: Path, command: list[str]) -> str:
    words = [*command, "--stream", str(folder / "stream.jsonl")]
    background = folder / "background.lars"
    words += ["--background", str(background)] if background.exists() else []
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("folder", ANSWERED, ids=lambda folder: folder.name)
def test_example(folder: Path) -> None:
    (program,) = folder.glob("program.*")
    found = output(folder, ["run", str(program), "--as", "intervals"])
    assert found == (folder / "expected.jsonl").read_text()


@pytest.mark.parametrize("folder", HYPOTHETICAL, ids=lambda folder: folder.name)
def test_hypothetical_example(folder: Path) -> None:
    question = (folder / "question.txt").read_text().strip()
    found = output(folder, ["hypothesize", str(folder / "program.lars"), question])
    assert found == (folder / "hypotheses.jsonl").read_text()


@pytest.mark.parametrize("name", ["cooling", "caching", "content-retrieval", "numbers"])
def test_made_up_streams_are_what_their_script_makes(name: str) -> None:
    script = runpy.run_path(str(EXAMPLES / "streams.py"))
    assert (EXAMPLES / name / "stream.jsonl").read_text() == script["lines"](name)


def test_every_example_says_what_it_is() -> None:
    for folder in (path.parent for path in EXAMPLES.glob("*/stream.jsonl")):
        assert list(folder.glob("program.*")), folder
        assert (folder / "README.md").read_text().startswith("# "), folder
