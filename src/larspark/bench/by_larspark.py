"""Larspark as a contestant: the interval engine, and `lp.Reasoner`.

The interval engine answers time point by time point, or the whole timeline at once. The
reasoner is used as documented, from facts to changes.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from larspark.api import Answer as Answered
from larspark.api import Reasoner
from larspark.base.atoms import Atom, Signature
from larspark.base.facts import AnyBatch, ColumnBatch, RowBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant
from larspark.bench.workload import (
    Answer,
    Column,
    Ints,
    Rows,
    Run,
    Stopwatch,
    Workload,
    constant_keys,
    of_atoms,
)
from larspark.feeds import parse_ground_atom
from larspark.run.interval.columns_of_codes import decoded
from larspark.run.interval.interval_answers import IntervalAnswers
from larspark.run.protocol import Answers
from larspark.run.session import Session


class TickByTick:
    """One batch and one evaluation for every time point; the changes are read.

    Measured are the time points after the windows have filled, at least half of all.
    """

    name = "interval"
    times = None

    def __init__(self, workload: Workload) -> None:
        self._checked = workload.checked()
        self._batches = workload.facts.by_time_point()
        self._last = workload.facts.last
        warm_up = workload.window + 1 if workload.warm_up is None else workload.warm_up
        self._full = min(warm_up, self._last // 2)

    def answer(self) -> Answer:
        session = Session(self._checked, engine="interval")
        changes = Changes()
        for t, batch in enumerate(self._batches, 1):
            session.append(batch)
            answers = interval_answers(session.advance(t))
            changes.add(answers)
        changes.close(answers)
        return changes.answer()

    def run(self) -> Run:
        session = Session(self._checked, engine="interval")
        found = 0
        watch = Stopwatch()
        for t, batch in enumerate(self._batches[: self._full], 1):
            session.append(_made(batch))
            found += began(interval_answers(session.advance(t)))
        with watch.running():
            for t, batch in enumerate(self._batches[self._full :], self._full + 1):
                session.append(_made(batch))
                found += began(interval_answers(session.advance(t)))
        facts = sum(map(len, self._batches[self._full :]))
        time_points = self._last - self._full
        done = session.engine.stats()
        more = {
            "rows": done["rows"],
            "evaluated": done["fired"],
            "evaluated_without_skipping": done["time_points"] * len(self._checked.rules),
        }
        return Run(watch.seconds, watch.cpu_seconds, facts, time_points, found, done["bytes"], more)


class WholeTimeline:
    """All facts in one batch, one evaluation; the intervals are read as columns."""

    name = "interval, whole timeline"
    times = None

    def __init__(self, workload: Workload) -> None:
        self._checked = workload.checked()
        self._batch = workload.facts.whole()
        self._facts = len(workload.facts)
        self._last = workload.facts.last

    def answer(self) -> Answer:
        session = Session(self._checked, engine="interval")
        session.append(self._batch)
        answers = interval_answers(session.advance(self._last))
        return {
            signature: Rows(rows[:, 0], rows[:, 1], _arguments(rows, answers))
            for signature, rows in answers.rows().items()
        }

    def run(self) -> Run:
        watch = Stopwatch()
        with watch.running():
            session = Session(self._checked, engine="interval")
            session.append(_made(self._batch))
            rows = interval_answers(session.advance(self._last)).rows()
        found = sum(map(len, rows.values()))
        size = session.engine.stats()["bytes"]
        return Run(watch.seconds, watch.cpu_seconds, self._facts, self._last, found, size)


def _made(batch: AnyBatch) -> AnyBatch:
    """A new batch from the same tables or rows: creating it is part of the measured work."""
    if isinstance(batch, RowBatch):
        return RowBatch(list(batch.rows()), batch.last_t)
    return ColumnBatch(list(batch.segments()), batch.last_t)


class Changes:
    """Reconstructs intervals from the starts and ends of each time point."""

    def __init__(self) -> None:
        self._begins: dict[Signature, list[Rows]] = {}
        self._ends: dict[Signature, list[Rows]] = {}

    def add(self, answers: IntervalAnswers) -> None:
        """Add the changes of a time point."""
        for signature, news in answers.news().items():
            _collect(self._begins, signature, news.began, answers)
            _collect(self._ends, signature, news.ended, answers)

    def close(self, answers: IntervalAnswers) -> None:
        """End all intervals that hold at the last time point."""
        for signature, rows in answers.rows().items():
            _collect(self._ends, signature, rows[rows[:, 1] == answers.last], answers)

    def answer(self) -> Answer:
        """The intervals: the n-th start of an atom belongs to its n-th end."""
        answer: dict[Signature, Rows] = {}
        for signature, begins in self._begins.items():
            begin = _joined(begins)
            end = _joined(self._ends[signature])
            if len(begin.begin) != len(end.begin):
                message = f"`{signature}`: {len(begin.begin)} intervals start, {len(end.begin)} end"
                raise LarsparkError(Problem("L552", message))
            begin_order = np.lexsort((begin.begin, *map(constant_keys, begin.args)))
            end_order = np.lexsort((end.end, *map(constant_keys, end.args)))
            args = tuple(arg[begin_order] for arg in begin.args)
            answer[signature] = Rows(begin.begin[begin_order], end.end[end_order], args)
        return answer


def interval_answers(answers: Answers) -> IntervalAnswers:
    if not isinstance(answers, IntervalAnswers):
        raise TypeError("the answers are those of another engine")
    return answers


def began(answers: IntervalAnswers) -> int:
    """How many intervals started; reading them from the engine is part of the measured work."""
    return sum(len(news.began) for news in answers.news().values())


def _collect(
    parts: dict[Signature, list[Rows]], signature: Signature, rows: Ints, answers: IntervalAnswers
) -> None:
    if len(rows):
        found = Rows(rows[:, 0], rows[:, 1], _arguments(rows, answers))
        parts.setdefault(signature, []).append(found)


def _arguments(rows: Ints, answers: IntervalAnswers) -> tuple[Column, ...]:
    columns = (decoded(rows[:, place], answers._values) for place in range(2, rows.shape[1]))
    return tuple(np.array(column, _dtype(column)) for column in columns)


def _dtype(column: Sequence[Constant]) -> type:
    return np.int64 if all(type(value) is int for value in column) else object


def _joined(parts: Sequence[Rows]) -> Rows:
    columns = zip(*(rows.args for rows in parts), strict=True)
    return Rows(
        np.concatenate([rows.begin for rows in parts]),
        np.concatenate([rows.end for rows in parts]),
        tuple(np.concatenate(column) for column in columns),
    )


# What happens at one time point, and how a reasoner takes it in.
Point = Callable[[Reasoner, int], None]


class _ByReasoner:
    """One `append` and one `advance` for every time point; all changes are read.

    Measured are the time points after the windows have filled, at least half of all.
    """

    name = "Reasoner"
    times = None

    def __init__(self, workload: Workload) -> None:
        self._program = workload.program
        self._last = workload.facts.last
        warm_up = workload.window + 1 if workload.warm_up is None else workload.warm_up
        self._full = min(warm_up, self._last // 2)
        self._points = self._made(workload)
        facts = workload.facts
        times = np.concatenate([table["t"].to_numpy() for _, table in facts.segments])
        self._facts = int((times > self._full).sum())

    def _made(self, workload: Workload) -> Sequence[Point]:
        """What happens at every time point, from 1 on."""
        raise NotImplementedError

    def answer(self) -> Answer:
        reasoner = Reasoner(self._program, engine="interval", start=1)
        begun: dict[Atom, int] = {}
        found: list[tuple[Atom, int, int]] = []
        for t, append in enumerate(self._points, 1):
            append(reasoner, t)
            for answer in reasoner.advance(t):
                added, removed = self._changes(answer)
                found.extend((atom, begun.pop(atom), t - 1) for atom in removed)
                begun.update(dict.fromkeys(added, t))
        found += [(atom, begin, self._last) for atom, begin in begun.items()]
        return of_atoms(found)

    def run(self) -> Run:
        reasoner = Reasoner(self._program, engine="interval", start=1)
        found = self._advance(reasoner, 1, self._full)
        watch = Stopwatch()
        with watch.running():
            found += self._advance(reasoner, self._full + 1, self._last)
        size = reasoner.stats()["bytes"]
        time_points = self._last - self._full
        return Run(watch.seconds, watch.cpu_seconds, self._facts, time_points, found, size)

    def _advance(self, reasoner: Reasoner, first: int, last: int) -> int:
        """Evaluate time points; returns how many intervals began."""
        found = 0
        for t in range(first, last + 1):
            self._points[t - 1](reasoner, t)
            for answer in reasoner.advance(t):
                found += self._read(answer)
        return found

    def _changes(self, answer: Answered) -> tuple[Iterable[Atom], Iterable[Atom]]:
        """What was added and removed, as atoms."""
        return answer.added, answer.removed

    def _read(self, answer: Answered) -> int:
        """Read everything that changed; returns how many intervals began."""
        found = 0
        for _ in answer.added:
            found += 1
        for _ in answer.removed:
            pass
        return found


class ReasonerWithAtoms(_ByReasoner):
    """Facts as atoms."""

    name = "Reasoner, atoms in, changes out"

    def _made(self, workload: Workload) -> Sequence[Point]:
        atoms: list[list[Atom]] = [[] for _ in range(workload.facts.last)]
        for row in workload.facts.whole().rows():
            atoms[row.t - 1].append(row.atom)

        def point(here: list[Atom]) -> Point:
            return lambda reasoner, t: reasoner.append(t, here)

        return [point(here) for here in atoms]


class ReasonerWithTables(_ByReasoner):
    """Facts as Arrow tables, one for each predicate; changes as Arrow tables, too."""

    name = "Reasoner, Arrow in, Arrow out"

    def _changes(self, answer: Answered) -> tuple[Iterable[Atom], Iterable[Atom]]:
        both: tuple[list[Atom], list[Atom]] = ([], [])
        for row in answer.table().to_pylist():
            both[not row["added"]].append(parse_ground_atom(row["atom"]))
        return both

    def _read(self, answer: Answered) -> int:
        return sum(chunk.true_count for chunk in answer.table()["added"].chunks)

    def _made(self, workload: Workload) -> Sequence[Point]:
        tables: list[list[tuple[pa.Table, str]]] = [[] for _ in range(workload.facts.last)]
        for signature, table in workload.facts.segments:
            names = [f"a{number}" for number in range(signature.arity)]
            head = signature.predicate + (f"({', '.join(names)})" if names else "")
            points = np.arange(1, workload.facts.last + 2)
            bounds = np.searchsorted(table["t"].to_numpy(), points).tolist()
            columns = pa.table(table.columns[2:], names=names)
            for number, (start, end) in enumerate(pairwise(bounds)):
                if start < end:
                    tables[number].append((columns.slice(start, end - start), head))

        def point(here: list[tuple[pa.Table, str]]) -> Point:
            def append(reasoner: Reasoner, t: int) -> None:
                for table, head in here:
                    reasoner.append(t, table, map=head)

            return append

        return [point(here) for here in tables]
