"""Every case folder, run through the command line.

A case is a folder `tests/cases/<topic>/<name>/` with a `program.lars` or a `query.txt`, a
`stream.jsonl`, perhaps `background.lars`, `options.json` for the command line, and the
`expected.jsonl` that has to come out.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from larspark.cli import app

CASES = sorted(path.parent for path in (Path(__file__).parent / "cases").rglob("expected.jsonl"))


def arguments(case: Path, options: dict[str, Any]) -> list[str]:
    command = options.pop("command", "run")
    engine = options.pop("engine", None)
    if command == "query":
        words = ["query", (case / "query.txt").read_text(encoding="utf-8").strip()]
    else:
        words = [command, str(case / "program.lars")]
    words += ["--stream", str(case / "stream.jsonl")]
    if (case / "background.lars").exists():
        words += ["--background", str(case / "background.lars")]
    if engine is not None:
        words += ["--engine", engine]
    for name, value in options.items():
        words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return words


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_case(case: Path) -> None:
    options_file = case / "options.json"
    options = json.loads(options_file.read_text()) if options_file.exists() else {}
    result = CliRunner().invoke(app, arguments(case, options))
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == (case / "expected.jsonl").read_text().splitlines()
