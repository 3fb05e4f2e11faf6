"""Every case folder, run through the command line.

A case is a folder `tests/cases/<topic>/<name>/` with a `program.lars` or a `query.txt`, a
`stream.jsonl`, perhaps `background.lars`, `options.json` for the command line, and the
`expected.jsonl` that has to come out.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from larspark.base.problems import LarsparkError
from larspark.cli import app
from larspark.run.registry import ENGINES

CASES = sorted(path.parent for path in (Path(__file__).parent / "cases").rglob("expected.jsonl"))

# What an engine may answer instead of running a case: that it cannot, and why.
REFUSES = {"interval": {"L403"}}


def arguments(case: Path, options: dict[str, Any]) -> list[str]:
    command = options.pop("command", "run")
    engine = options.pop("engine", None)
    if command == "query":
        words = ["query", (case / "query.txt").read_text(encoding="utf-8").strip()]
    else:
        words = [command, str(case / "program.lars")]
    if command == "run":
        options = {"as": "points"} | options
    words += ["--stream", str(case / "stream.jsonl")]
    if (case / "background.lars").exists():
        words += ["--background", str(case / "background.lars")]
    if engine is not None:
        words += ["--engine", engine]
    for name, value in options.items():
        words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return words


def options_of(case: Path) -> dict[str, Any]:
    file = case / "options.json"
    return json.loads(file.read_text()) if file.exists() else {}


def runs() -> Iterator[Any]:
    """Every case on every engine; a query has none."""
    for case in CASES:
        name = f"{case.parent.name}/{case.name}"
        if options_of(case).get("command") == "query":
            yield pytest.param(case, None, id=name)
        else:
            yield from (pytest.param(case, e, id=f"{name}-{e}") for e in ("auto", *ENGINES))


@pytest.mark.parametrize(("case", "engine"), list(runs()))
def test_case(case: Path, engine: str | None) -> None:
    options = options_of(case) | ({} if engine is None else {"engine": engine})
    result = CliRunner().invoke(app, arguments(case, options))
    if isinstance(result.exception, LarsparkError) and engine in REFUSES:
        refused = result.exception.problems[0]
        assert refused.code in REFUSES[engine], refused.render()
        pytest.skip(refused.message)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == (case / "expected.jsonl").read_text().splitlines()
