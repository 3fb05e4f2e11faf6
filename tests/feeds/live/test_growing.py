"""Files that grow, are replaced, truncated, or not there yet."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from larspark.base.problems import LarsparkError
from larspark.feeds.live import LiveStream, growing
from larspark.feeds.live.inbox import Inbox, Traffic


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
        self._thread.join(300)


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
    assert follower.said == [
        f"{path} was truncated: reading it from the beginning; lines may be lost"
    ]
    assert follower.stream.traffic.gaps == 1


def test_a_file_that_is_rewritten_between_two_looks_is_read_anew(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(line(1) + line(2))
    follower = Follower(path)
    follower.wait_for(lambda: len(follower.found) == 2)
    # The new text is longer, so the size tells nothing.
    path.write_text("".join(map(line, range(3, 30))))
    follower.wait_for(lambda: follower.found[2:] == [f"p({t})" for t in range(3, 30)])
    follower.stop()
    assert follower.said == [
        f"{path} was rewritten: reading it from the beginning; lines may be lost"
    ]


def rotate(path: Path) -> None:
    """Rename as logrotate does: `name.1` becomes `name.2`, and `name` becomes `name.1`."""
    for number in range(9, 0, -1):
        rotated = path.with_name(f"{path.name}.{number}")
        if rotated.exists():
            rotated.rename(path.with_name(f"{path.name}.{number + 1}"))
    path.rename(path.with_name(f"{path.name}.1"))


def test_files_that_were_rotated_twice_between_two_looks_are_all_read(tmp_path, monkeypatch):
    path = tmp_path / "events.jsonl"
    path.write_text(line(1))
    follower = Follower(path)
    follower.wait_for(lambda: follower.found == ["p(1)"])
    monkeypatch.setattr(growing, "_LOOK_SECONDS", 0.5)
    time.sleep(0.2)
    rotate(path)
    path.write_text(line(2))
    rotate(path)
    path.write_text(line(3))
    follower.wait_for(lambda: follower.found == ["p(1)", "p(2)", "p(3)"])
    follower.stop()
    assert follower.stream.traffic.gaps == 0


def test_rotated_files_are_read_before_a_new_one_of_the_name_is_there(tmp_path, monkeypatch):
    path = tmp_path / "events.jsonl"
    path.write_text(line(1))
    follower = Follower(path)
    follower.wait_for(lambda: follower.found == ["p(1)"])
    monkeypatch.setattr(growing, "_LOOK_SECONDS", 0.5)
    time.sleep(0.2)
    rotate(path)
    path.write_text(line(2))
    rotate(path)
    follower.wait_for(lambda: follower.found == ["p(1)", "p(2)"])
    follower.stop()
    assert follower.stream.traffic.gaps == 0


def collected(source: growing.GrowingFile) -> tuple[list[bytes], list[object], list[str]]:
    """The lines of a file up to its end, the position after each block, and what was said."""
    said: list[str] = []
    inbox = Inbox(lambda: 0)
    source.read(inbox, Traffic(said.append))
    inbox.end()
    blocks = [block for _, block in inbox.take(0).blocks]
    lines = [each for block in blocks for each in block.lines if each is not None]
    return lines, [block.after for block in blocks], said


def ending(path: Path, position: object = None) -> growing.GrowingFile:
    source = growing.FilePlace(str(path), path).durable_source(False, "")
    if position is not None:
        source.resume(json.loads(json.dumps(position)))
    return source


def test_reading_goes_on_after_every_position_also_when_the_file_was_rotated(tmp_path, monkeypatch):
    monkeypatch.setattr(growing, "_READ", 7)
    path = tmp_path / "events.jsonl"
    text = "".join(map(line, range(1, 9)))
    path.write_text(text)
    lines, positions, _ = collected(ending(path))
    assert lines == text.encode().splitlines()
    done = 0
    for position in positions:
        found, *_ = collected(ending(path, position))
        assert lines[len(lines) - len(found) :] == found
        assert len(lines) - len(found) > done
        done = len(lines) - len(found)
    assert done == len(lines)
    rotate(path)
    path.write_text(line(9))
    rotate(path)
    path.write_text(line(10))
    found, _, said = collected(ending(path, positions[2]))
    whole = (text + line(9) + line(10)).encode().splitlines()
    assert found == whole[len(whole) - len(found) :]
    assert len(found) > 2
    assert said == [f"{path} was replaced 2 times: reading them all"]
    path.with_name("events.jsonl.2").unlink()
    found, _, said = collected(ending(path, positions[2]))
    assert found == line(10).encode().splitlines()
    assert said == [
        f"{path} is another file than before, and the old one is gone; lines may be lost"
    ]


def test_another_file_with_the_same_number_on_the_disk_is_not_taken_for_the_old_one(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(line(1) + line(2))
    _, [position], _ = collected(ending(path))
    with path.open("r+") as file:
        file.truncate(0)
        file.write(line(7) + line(8) + line(9))
    found, _, said = collected(ending(path, position))
    assert found == (line(7) + line(8) + line(9)).encode().splitlines()
    assert len(said) == 1


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
