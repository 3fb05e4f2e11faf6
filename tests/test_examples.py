"""Every example gives what it promises: its `expected.jsonl` are the intervals of its answers."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from larspark.cli import app

EXAMPLES = sorted(
    path.parent for path in (Path(__file__).parent.parent / "examples").glob("*/expected.jsonl")
)


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_example(folder: Path) -> None:
    words = ["run", str(folder / "program.lars"), "--stream", str(folder / "stream.jsonl")]
    for name in ("background.lars",):
        words += ["--background", str(folder / name)] if (folder / name).exists() else []
    result = CliRunner().invoke(app, [*words, "--as", "intervals"])
    assert result.exit_code == 0, result.output
    assert result.stdout == (folder / "expected.jsonl").read_text()
