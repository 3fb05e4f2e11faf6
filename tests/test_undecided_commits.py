"""Which commit a run goes on from whose output decides in transactions."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.in_process import larspark

from larspark.cli import decided_commit as module
from larspark.cli.decided_commit import decided_commit
from larspark.run.commits import Commits


class Decides:
    """A sink that has committed a number, and holds so many lines, if that is known."""

    def __init__(self, number: int | None, lines: int | None = None) -> None:
        self._number = number
        self._lines = lines
        self.resumed: Any = None

    def decided(self, say: object) -> int | None:
        return self._number

    def published(self, lengths: object, say: object) -> frozenset[int] | None:
        return None if self._lines is None else frozenset(range(1, self._lines + 1))

    def resume(self, lengths: Mapping[str, int], there: frozenset[int]) -> None:
        self.resumed = lengths, there


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
    monkeypatch.setattr(module, "say", pytest.fail)
    newest = commits.newest()
    assert newest is not None
    found = decided_commit(commits, newest, Decides(number))  # type: ignore[arg-type]
    assert found is not None
    assert found.number == expected


@pytest.mark.parametrize(("more", "expected"), [(-1, 1), (0, 2), (3, 2)])
def test_lines_that_are_published_decide_before_numbers(
    commits: Commits, more: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "say", pytest.fail)
    newest = commits.newest()
    assert newest is not None
    lines = newest.lengths["output"] + more
    sink = Decides(3 - expected, lines)
    found = decided_commit(commits, newest, sink)  # type: ignore[arg-type]
    assert found is not None
    assert found.number == expected
    assert sink.resumed == (found.lengths, frozenset(range(1, lines + 1)))


def test_lines_that_the_broker_has_lost_are_told(
    commits: Commits, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(module, "say", said.append)
    newest = commits.newest()
    assert newest is not None
    commits._files()[0].unlink()
    lines = newest.lengths["output"] - 2
    found = decided_commit(commits, newest, Decides(2, lines))  # type: ignore[arg-type]
    assert found == newest
    assert said == ["the broker has lost 2 of the lines before the last commit"]
