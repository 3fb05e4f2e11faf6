"""Work that is no longer wanted, or takes too much, is ended; whoever asked for it goes on."""

import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from larspark.studio.feed import OutdatedError
from larspark.studio.guard import Guard, OverMemoryError


def never() -> bool:
    return False


def endless() -> None:
    while True:
        time.sleep(0.001)


def test_what_work_returns_or_raises_comes_back() -> None:
    assert Guard(never, None).run(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        Guard(never, None).run(lambda: 1 // 0)


def test_work_is_ended_by_memory_and_when_it_is_outdated() -> None:
    with pytest.raises(OverMemoryError):
        Guard(never, 1).run(endless)
    asked = iter([False, False])
    with pytest.raises(OutdatedError):
        Guard(lambda: next(asked, True), None).run(endless)


def test_work_that_swallows_its_end_is_ended_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("larspark.studio.guard._AGAIN_SECONDS", 0.1)
    swallowed = []

    # It is ended once for each time that it says it may be.
    ready = threading.Semaphore(0)

    def stubborn() -> None:
        while True:
            try:
                ready.release()
                endless()
            except OutdatedError:
                swallowed.append(1)
                if len(swallowed) == 3:
                    raise

    with pytest.raises(OutdatedError):
        Guard(lambda: ready.acquire(blocking=False), None).run(stubborn)
    assert len(swallowed) == 3


def test_work_that_ends_just_then_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ends the work never reaches the thread that asked for it."""
    monkeypatch.setattr("larspark.studio.guard._LOOK_SECONDS", 0.0)
    before = threading.active_count()
    for turn in range(300):
        with suppress(OverMemoryError):
            assert Guard(never, 1).run(lambda: sum(range(turn * 10))) >= 0  # noqa: B023
    assert threading.active_count() <= before


def test_an_answer_of_work_that_swallows_its_end_is_not_taken() -> None:
    ready = threading.Semaphore(0)

    def stubborn() -> int:
        try:
            ready.release()
            endless()
        except OutdatedError:
            pass
        return 7

    with pytest.raises(OutdatedError):
        Guard(lambda: ready.acquire(blocking=False), None).run(stubborn)


def test_what_is_spared_is_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("larspark.studio.guard._LOOK_SECONDS", 0.01)
    outdated = threading.Event()
    guard = Guard(outdated.is_set, None)
    done = []

    def items() -> Iterator[int]:
        # From now on it may be ended.
        outdated.set()
        time.sleep(0.3)
        done.append("made")
        with guard.spared():
            time.sleep(0.1)
        done.append("still spared")
        yield 1

    def work() -> None:
        for _ in guard.each(items()):
            endless()

    with pytest.raises(OutdatedError):
        guard.run(work)
    assert done == ["made", "still spared"]


def test_work_is_ended_behind_what_is_spared() -> None:
    outdated = threading.Event()
    guard = Guard(outdated.is_set, None)

    def work() -> None:
        with guard.spared():
            outdated.set()
            time.sleep(0.2)
        endless()

    with pytest.raises(OutdatedError):
        guard.run(work)
