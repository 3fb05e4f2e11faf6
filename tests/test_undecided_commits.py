"""Which commit a run goes on from whose output decides in transactions."""

import json
from pathlib import Path

import pytest
from tests.in_process import larspark

from larspark.cli import durable_run
from larspark.cli.durable_run import DurableRun
from larspark.run.commits import Commits


class Decides:
    """A sink that has committed a number."""

    def __init__(self, number: int | None) -> None:
        self._number = number

    def decided(self, say: object) -> int | None:
        return self._number


@pytest.fixture
def commits(tmp_path: Path) -> Commits:
    """The commits 1 and 2 of a run; the first one was made before it had any lines."""
    (tmp_path / "p.lars").write_text("hot(M) :- temp(M).\n")
    (tmp_path / "s.jsonl").write_text(json.dumps({"t": 1, "atom": "temp(m1)"}) + "\n")
    done = larspark(tmp_path, "run", "p.lars", "-s", "s.jsonl", "-o", "out", "--state", "S")
    assert done.returncode == 0, done.stderr
    found = Commits(tmp_path / "S")
    assert [path.name[-7] for path in found._files()] == ["1", "2"]
    return found


@pytest.mark.parametrize(("number", "expected"), [(None, 1), (1, 1), (2, 2)])
def test_the_commit_whose_lines_were_committed_counts(
    commits: Commits, number: int | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable_run, "say", pytest.fail)
    newest = commits.newest()
    assert newest is not None
    run = DurableRun(commits, 1.0, dict(newest.options), None)
    found = run._decided(newest, Decides(number))  # type: ignore[arg-type]
    assert found is not None
    assert found.number == expected
