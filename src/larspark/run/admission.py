"""What enters a run: the order, the start of the timeline and the numbers of elements.

Batches are taken or refused as a whole: a refused batch leaves nothing behind.
"""

from collections.abc import Iterable
from typing import NamedTuple

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Signature
from larspark.base.batch_cuts import from_on
from larspark.base.facts import AnyBatch, Row, RowBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.time_format import POINTS, TimeFormat
from larspark.run.state import FURTHEST


class Admitted(NamedTuple):
    """A batch for the engine, and the part of it that is not from the program itself."""

    batch: AnyBatch
    given: AnyBatch


class Admission:
    """Admits the elements of one run.

    Elements must come in time order, none of them at a time point that was answered. Those before
    the start of the timeline are dropped, the program's own elements are merged in, and all are
    numbered by their arrival.
    """

    def __init__(self, checked: Checked, start: int | None) -> None:
        check_range((start, *(t for t, _ in checked.elements)))
        self._derived = checked.derived
        # The program's own elements that time has not reached.
        self.own = sorted(checked.elements, key=lambda element: element.t)
        self.last_own = self.own[-1].t if self.own else None
        # The number of the next element that arrives.
        self.next_seq = 0
        self.latest: int | None = None
        self.answered: int | None = None
        # Without a given start, the timeline starts with the first time point of the input.
        self._given_start = start
        self.start = start
        # The predicates of the stream that were checked.
        self._checked: set[tuple[str, int]] = set()
        # How messages write time points.
        self.times = POINTS

    @property
    def came(self) -> frozenset[Signature]:
        """The predicates of the stream so far."""
        return frozenset(Signature(*each) for each in self._checked)

    def begin(self, times: Iterable[int | None]) -> None:
        """Start the timeline at the earliest of these times and the program's own elements."""
        if self.start is None:
            heard = [t for t in times if t is not None]
            heard += [element.t for element in self.own[:1]]
            self.start = min(heard, default=None)

    def admit(self, batch: AnyBatch) -> Admitted:
        """Check a batch, cut it to the timeline, merge the program's elements, and number it."""
        first = self._check(batch)
        check_range((first, batch.last_t))
        self.begin((first, batch.last_t))
        batch = given = self._from_start(batch)
        if batch.last_t is not None:
            if self.own and self.own[0].t <= batch.last_t:
                batch = self._with_own_elements(batch, batch.last_t)
            # Elements may reach further than the time point that answers are asked for.
            self.reached(batch.last_t)
        batch = batch.numbered_from(self.next_seq)
        self.next_seq += len(batch)
        return Admitted(batch, given)

    def admits_at(self, t: int) -> bool:
        """Is what comes at t in order, and all that the engine gets? If not, `admit` decides."""
        latest, start = self.latest, self.start
        in_order = latest is not None and latest <= t <= FURTHEST and t != self.answered
        return in_order and not self.own and start is not None and start <= t

    def check_atoms(self, atoms: Iterable[Atom]) -> None:
        """Refuse atoms of predicates that must not be in the stream."""
        checked = self._checked
        for predicate, args in atoms:
            if (predicate, len(args)) not in checked:
                self._check_predicate(Signature(predicate, len(args)))

    def reached(self, latest: int | None) -> None:
        """Time has come to a time point, which may lie behind an earlier one."""
        if latest is not None and (self.latest is None or self.latest < latest):
            self.latest = latest

    def check_not_passed(self, t: int) -> None:
        """Refuse to answer at a time point before the last one that was answered."""
        if self.answered is not None and t < self.answered:
            answered = self.times.text(self.answered)
            message = (
                f"time point {self.times.text(t)} was already passed: answered up to {answered}"
            )
            raise LarsparkError(Problem("L408", message))

    def resume(
        self, start: int | None, answered: int | None, latest: int | None, next_seq: int
    ) -> None:
        """Continue where another admission of the same program stopped."""
        self.start, self.answered, self.latest, self.next_seq = start, answered, latest, next_seq
        if latest is not None:
            self.own = [element for element in self.own if element.t > latest]

    def _check(self, batch: AnyBatch) -> int | None:
        """Refuse what must not be in the stream here; the smallest time point otherwise."""
        if isinstance(batch, RowBatch):
            self._check_rows(batch)
        else:
            for part in batch.parts:
                self._check_predicate(part.signature)
        first = batch.first_t
        if first is None:
            return None
        if self.answered is not None and first <= self.answered:
            given, answered = self.times.text(first), self.times.text(self.answered)
            message = f"an element at {given} comes too late: answered up to {answered}"
            raise LarsparkError(Problem("L402", message))
        if self.latest is not None and first < self.latest:
            raise _out_of_order(first, self.latest, self.times)
        return first

    def _check_rows(self, batch: RowBatch) -> None:
        checked, latest = self._checked, batch.first_t or 0
        for t, (predicate, args), _ in batch.rows():
            if (predicate, len(args)) not in checked:
                self._check_predicate(Signature(predicate, len(args)))
            if t < latest:
                raise _out_of_order(t, latest, self.times)
            latest = t

    def _check_predicate(self, signature: Signature) -> None:
        if signature in self._derived:
            raise LarsparkError(derived_in_stream(signature))
        self._checked.add((signature.predicate, signature.arity))

    def _from_start(self, batch: AnyBatch) -> AnyBatch:
        """Drop the elements before the start of the timeline."""
        start = self._given_start
        if start is None or batch.first_t is None or start <= batch.first_t:
            return batch
        return from_on(batch, start)

    def _with_own_elements(self, batch: AnyBatch, last_t: int) -> AnyBatch:
        """Merge the program's elements in: each before what others give at its time point."""
        reached = [element for element in self.own if element.t <= last_t]
        self.own = self.own[len(reached) :]
        start = self.start if self.start is not None else 0
        rows = [Row(t, atom, 0) for t, atom in reached if t >= start]
        # Sorting is stable: at equal times the program's elements stay in front.
        merged = sorted([*rows, *batch.rows()], key=lambda row: row.t)
        numbered = [Row(t, atom, seq) for seq, (t, atom, _) in enumerate(merged, self.next_seq)]
        return RowBatch(numbered, last_t)


def _out_of_order(t: int, latest: int, times: TimeFormat) -> LarsparkError:
    message = f"an element at {times.text(t)} comes after one at {times.text(latest)}"
    hint = "append elements in the order of their time points"
    return LarsparkError(Problem("L402", message, hint=hint))


def derived_in_stream(signature: Signature) -> Problem:
    """The problem of a stream with atoms of a derived predicate."""
    message = f"the stream holds an atom of `{signature}`, which the program derives"
    hint = "rename one of the two; `#remember` lets conclusions join the stream"
    return Problem("L401", message, hint=hint)


def check_range(times: Iterable[int | None]) -> None:
    """Refuse time points with which engines could not calculate within 64 bits."""
    for t in times:
        if t is not None and abs(t) > FURTHEST:
            message = f"the time point {t} is too far from 0: at most {FURTHEST}"
            hint = "`#tick` turns timestamps into time points of a sensible size"
            raise LarsparkError(Problem("L419", message, hint=hint))
