"""Files that grow, are replaced, truncated, or not there yet."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from larspark.base.problems import LarsparkError
from larspark.feeds.live import LiveStream


def line(t: int) -> str:
    return f'{{"t": {t}, "atom": "p({t})"}}\n'


class Follower:
    """Follows a file in a thread of its own."""

    def __init__(self, path: Path) -> None:
        self.said: list[str] = []
        self.stream = LiveStream(str(path), say=self.said.append)
        self.found: list[str] = []
        self._thread = threading.Thread(target=self._follow)
        self._thread.start()

    def _follow(self) -> None:
        for batch in self.stream.batches():
            self.found += [str(row.atom) for row in batch.rows()]

    def wait_for(self, what: Callable[[], bool]) -> None:
        for _ in range(1000):
            if what():
                return
            time.sleep(0.02)
        raise AssertionError(f"waited in vain; there were {self.found} and {self.said}")

    def stop(self) -> None:
        self.stream.stop()
        self._thread.join(20)


def test_what_is_added_to_a_file_arrives_when_its_line_is_complete(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(line(1) + line(2)[:9])
    follower = Follower(path)
    follower.wait_for(lambda: follower.found == ["p(1)"])
    with path.open("a") as file:
        file.write(line(2)[9:] + line(3))
    follower.wait_for(lambda: follower.found == ["p(1)", "p(2)", "p(3)"])
    follower.stop()
    assert follower.said == []


def test_a_file_that_is_replaced_is_read_to_its_end_and_then_the_new_one(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(line(1))
    follower = Follower(path)
    follower.wait_for(lambda: follower.found == ["p(1)"])
    with path.open("a") as file:
        path.rename(tmp_path / "events.jsonl.1")
        file.write(line(2))
    path.write_text(line(3) + '{"t": 3, "at')
    follower.wait_for(lambda: follower.found == ["p(1)", "p(2)", "p(3)"])
    follower.stop()
    assert follower.said == [f"{path} was replaced: reading the new file"]
    assert follower.stream.traffic.cut == 1


def test_a_file_that_is_truncated_is_read_anew(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(line(1) + line(2) + line(3))
    follower = Follower(path)
    follower.wait_for(lambda: len(follower.found) == 3)
    with path.open("r+") as file:
        file.truncate(0)
        file.write(line(4))
    follower.wait_for(lambda: follower.found[3:] == ["p(4)"])
    follower.stop()
    assert follower.said == [f"{path} was truncated: reading it from the beginning"]


def test_a_file_that_is_not_there_is_waited_for(tmp_path):
    path = tmp_path / "events.jsonl"
    follower = Follower(path)
    follower.wait_for(lambda: bool(follower.said))
    path.write_text(line(1))
    follower.wait_for(lambda: follower.found == ["p(1)"])
    follower.stop()
    assert follower.said == [f"waiting for {path} to appear"]


def test_only_lines_can_be_followed():
    with pytest.raises(LarsparkError, match="parquet cannot be read line by line"):
        LiveStream("a.parquet", map="t -> p(a)")
