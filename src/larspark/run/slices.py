"""Whole runs in slices of time, which several threads evaluate: kernels release the lock of Python.

Where an answer looks back a bounded number of time points, the answers of a slice follow from its
facts and those of the lookback before it. Each slice has a session, which also reads that lookback
and gives no answers for it. Joined, the answers are those of one session.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, Never

from larspark.analysis.past import TimeCut, time_cut
from larspark.base.batch_cuts import from_on, up_to
from larspark.base.facts import AnyBatch
from larspark.base.problems import LarsparkError
from larspark.run.admission import Admission
from larspark.run.interval.kernels.compile import are_awaited, numba_is_there
from larspark.run.protocol import Answers
from larspark.run.replay import replay
from larspark.run.session import Session

# A slice that is tried has so many times fewer facts.
_SHORT = 4


class SliceSize(NamedTuple):
    """A slice has at least so many facts, and so many for each fact that is read twice.

    Where `most` facts are not enough for a slice, the rest of the run is one.
    """

    facts: int = 200_000
    per_overlap: int = 4
    most: int = 2_000_000
    # The first slice is short, and evaluated alone. If kernels have to be compiled for it, plain
    # Python runs them, which threads do not speed up: the rest of the run is one, too.
    tried: bool = False


def usable_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def slice_cut(session: Session) -> TimeCut:
    """How a run of a session may be cut into slices."""
    if not session.kind.slices:
        return TimeCut(None, (f"the engine `{session.kind.name}` has no slices",))
    if session.settings.hindsight:
        return TimeCut(None, ("with hindsight an answer can depend on the whole future",))
    if session.settings.push:
        return TimeCut(None, ("there is an answer after each fact",))
    return time_cut(session.checked)


def replay_in_slices(
    session: Session,
    batches: Iterable[AnyBatch],
    jobs: int,
    *,
    to: int | None = None,
    seen: Iterable[Callable[[AnyBatch], None]] = (),
    in_tables: bool = False,
    size: SliceSize = SliceSize(tried=True),  # noqa: B008 - a named tuple cannot change
) -> Iterator[Answers]:
    """The answers of `replay`, of slices that `jobs` threads evaluate where that is possible.

    With `in_tables` the threads also make the tables of the answers. In the end the session warns
    of what was met in all slices.
    """
    lookback = slice_cut(session).lookback
    if jobs < 2 or lookback is None:
        hindsight = session.settings.hindsight
        yield from replay(session, batches, to=to, hindsight=hindsight, seen=seen)
        return
    # What a session meets as it begins is met in the overlap, too, and not counted again.
    overlap = max(1, lookback)
    cutter = _Cutter(session, overlap, size, Admission(session.checked, session.settings.start))
    observers = tuple(seen)
    failed: list[LarsparkError] = []
    source = _until_error(batches, observers, failed)
    end: int | None = None
    gave_up = False
    waiting: deque[Future[_Done]] = deque()
    pool = ThreadPoolExecutor(jobs, "larspark-slice")
    try:
        for batch in source:
            cutter.add(batch if to is None else up_to(batch, to))
            end = max((t for t in (end, batch.last_t) if t is not None), default=None)
            if to is not None and end is not None and end > to:
                break
            found = cutter.cut()
            if found is not None and size.tried and found[0].first is None:
                yield found[0].answers(found[1], in_tables).answers
                gave_up = are_awaited() or not numba_is_there()
                if gave_up:
                    break
            elif found is not None:
                waiting.append(pool.submit(found[0].answers, found[1], in_tables))
                while len(waiting) > jobs:
                    yield _result(waiting.popleft(), session)
            elif cutter.fresh >= size.most:
                gave_up = True
                break
        is_cut = cutter.first is not None
        if cutter.first is not None and end is not None and not gave_up:
            last = _last(session, end, to, failed)
            if last >= cutter.first:
                waiting.append(pool.submit(cutter.held_slice().answers, last, in_tables))
        while waiting:
            yield _result(waiting.popleft(), session)
    finally:
        pool.shutdown(cancel_futures=True)
    if is_cut and not gave_up:
        yield from _raised(failed)
        return
    # What could not be cut: the whole run, or what is left of it.
    other, held = cutter.held_slice().begun()
    left = chain(held, source if gave_up else (), _raised(failed))
    yield from replay(other, left, to=to)
    if other is not session:
        session.include_warnings(other)


class _Done(NamedTuple):
    answers: Answers
    session: Session


def _result(future: "Future[_Done]", session: Session) -> Answers:
    answers, other = future.result()
    if other is not session:
        session.include_warnings(other)
    return answers


def _until_error(
    batches: Iterable[AnyBatch],
    observers: Iterable[Callable[[AnyBatch], None]],
    failed: list[LarsparkError],
) -> Iterator[AnyBatch]:
    """The batches, shown to observers; a problem of the stream ends them and is kept."""
    try:
        for batch in batches:
            for observe in observers:
                observe(batch)
            yield batch
    except LarsparkError as error:
        failed.append(error)


def _raised(failed: Iterable[LarsparkError]) -> Iterator[Never]:
    """Raise the problem, if there is one."""
    for error in failed:
        raise error
    yield from ()


def _last(session: Session, end: int, to: int | None, failed: list[LarsparkError]) -> int:
    """The last time point of a run whose stream came to `end`."""
    if failed:
        return end - 1
    if to is not None:
        return to
    return end if session.last_own is None else max(end, session.last_own)


@dataclass(frozen=True, slots=True)
class _Slice:
    """The time points from `first` on; without `first` from the start of the run on.

    The batches begin with the lookback before it, as the timeline does at `start`.
    """

    whole: Session
    start: int | None
    first: int | None
    batches: list[AnyBatch]

    def answers(self, last: int, in_tables: bool) -> _Done:
        """The answers up to a time point, and the session that gave them."""
        session, batches = self.begun()
        for batch in batches:
            session.append(up_to(batch, last))
        answers = session.advance(last)
        if in_tables:
            answers.table()
        return _Done(answers, session)

    def begun(self) -> tuple[Session, list[AnyBatch]]:
        """A session that has come to the first time point, and the batches from there on."""
        whole, first, start = self.whole, self.first, self.start
        if first is None or start is None:
            return whole, self.batches
        settings = whole.settings._replace(start=start)
        session = Session(whole.checked, whole.background, whole.kind.name, settings)
        for batch in self.batches:
            if batch.first_t is not None and batch.first_t < first:
                session.append(up_to(batch, first - 1))
        session.advance(first - 1)
        session.forget_warnings()
        return session, [from_on(batch, first) for batch in self.batches]


@dataclass(slots=True)
class _Cutter:
    """Holds batches back until there are enough facts for a slice."""

    session: Session
    overlap: int
    size: SliceSize
    admission: Admission
    # Of the slice that is coming; None before the first cut.
    first: int | None = None
    held: list[AnyBatch] = field(default_factory=list)
    # How many of the facts that are held the slice before has not read.
    fresh: int = 0

    def add(self, batch: AnyBatch) -> None:
        self.admission.begin((batch.first_t, batch.last_t))
        start = self.admission.start
        if not self.held and start is not None and (batch.last_t or start) < start:
            # Nothing of this is ever read; the session checks it.
            self.session.append(batch)
            return
        self.held.append(batch)
        self.fresh += len(batch)

    def cut(self) -> tuple[_Slice, int] | None:
        """A slice and its end, if what is held is enough for one.

        It ends before the last time point, of which there may be more facts.
        """
        least = self.size.facts
        if self.size.tried and self.first is None:
            least //= _SHORT
        if self.fresh < least or self.held[-1].last_t is None:
            return None
        then, start = self.held[-1].last_t, self.admission.start
        first = start if self.first is None else self.first
        if start is None or first is None or then <= first:
            return None
        overlap = [from_on(batch, max(start, then - self.overlap)) for batch in self.held]
        later = sum(len(from_on(batch, then)) for batch in self.held)
        twice = sum(map(len, overlap)) - later
        if self.fresh - later < max(least, self.size.per_overlap * twice):
            return None
        found = self.held_slice()
        self.first, self.fresh = then, later
        self.held = [batch for batch in overlap if len(batch) or batch is overlap[-1]]
        return found, then - 1

    def held_slice(self) -> _Slice:
        """What is held."""
        start = self.admission.start
        if self.first is not None and start is not None:
            start = max(start, self.first - self.overlap)
        return _Slice(self.session, start, self.first, self.held)
