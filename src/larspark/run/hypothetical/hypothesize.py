"""Hypothetical answers over a stream: online, and for a recorded one."""

from collections import deque
from collections.abc import Iterable, Iterator
from math import inf

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Signature
from larspark.base.facts import PointBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.language.tree import Formula
from larspark.run.admission import Admission
from larspark.run.hypothetical.answer_changes import ChangeTracker
from larspark.run.hypothetical.dataset import Row, row_of
from larspark.run.hypothetical.offline_step import prepare
from larspark.run.hypothetical.outlook import Outlook
from larspark.run.hypothetical.preconditions import Precondition
from larspark.run.hypothetical.ranked_answers import Change, HypotheticalAnswer, rank


class Hypotheses:
    """What may become true: hypothetical answers to a query, kept up to date as facts arrive.

    The timeline starts at `start`, or at the first fact. Pending answers are kept until they are
    decided; certain ones until nothing that is pending can concern them, or forever with
    `keep_certain`. With `follow`, `advance` returns what changed.
    """

    def __init__(
        self,
        checked: Checked,
        query: Formula,
        background: Iterable[Atom] = (),
        *,
        start: int | None = None,
        follow: bool = True,
        keep_certain: bool = False,
    ) -> None:
        self._checked = checked
        self._query = query
        self._background = tuple(background)
        self._follow = follow
        self._keep_certain = keep_certain
        self._admission = Admission(checked, start)
        self._changes: list[Change] = []
        # The facts of the time points that are not closed yet, in time order.
        self._coming: deque[tuple[int, Signature, Row]] = deque()
        # Without a start, what is wrong with the query still shows now, not with the first fact.
        self._prepare(start or 0)
        self._begun = start is not None

    def _prepare(self, start: int) -> None:
        self._prepared = prepare(self._checked, self._query, self._background, start)
        self._outlook = Outlook(self._prepared, self._keep_certain)
        self._following = ChangeTracker(self._outlook) if self._follow else None
        self._start = start
        self._done = start - 1

    def begin(self, times: Iterable[int]) -> None:
        """Start the timeline at the earliest of these times and the program's own elements."""
        self._admission.begin(times)
        if not self._begun and self._admission.start is not None:
            self._begun = True
            self._prepare(self._admission.start)

    def append(self, t: int, atoms: Iterable[Atom]) -> None:
        """Take in facts of a time point, which must not lie before the last one."""
        self._admit(t, tuple(atoms))
        self._close_before(t)

    def advance(self, t: int) -> "Now":
        """Advance time to t: the answers at t, and the changes since the last advance."""
        self._admission.check_not_passed(t)
        self._admit(t, ())
        self._close_before(t + 1)
        changes, self._changes = self._changes, []
        return Now(self, t, tuple(changes))

    def answers(self, limit: int | None = None) -> list[HypotheticalAnswer]:
        """The supported answers, those with the fewest missing facts first, then by deadline."""
        return self._outlook.answers(self._done, limit)

    def uncertain(self, limit: int | None = None) -> list[HypotheticalAnswer]:
        """Those of the answers that are not certain."""
        return self._outlook.answers(self._done, limit, certain=False)

    def unsupported(self) -> list[HypotheticalAnswer]:
        """The answers now without evidence; their open time points are variables."""
        found = self._outlook.unsupported(self._done)
        return sorted((self._outlook.shown(one.instance, self._done) for one in found), key=rank)

    def preconditions(self) -> list[Precondition]:
        """The sets of facts that are still to come and would give an answer."""
        return self._outlook.preconditions(self._done)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The rules whose answers may wait without bound."""
        return self._prepared.warnings

    @property
    def time(self) -> int:
        """The last time point that has been evaluated."""
        return self._done

    @property
    def pending(self) -> int:
        """The number of candidates that wait for facts; memory is proportional to it."""
        return self._outlook.candidates.size

    def _admit(self, t: int, atoms: tuple[Atom, ...]) -> None:
        batch, _ = self._admission.admit(PointBatch(t, atoms))
        self.begin((t,))
        self._coming += [(t, atom.signature, row_of(atom)) for t, atom, _ in batch.rows()]

    def _close_before(self, limit: int) -> None:
        """Evaluate all time points before the limit at which something changes."""
        while (t := self._next_time()) < limit:
            moment = int(t)
            found: dict[Signature, dict[Row, None]] = {}
            while self._coming and self._coming[0][0] == moment:
                _, signature, row = self._coming.popleft()
                found.setdefault(signature, {})[row] = None
            facts = {signature: list(rows) for signature, rows in found.items()}
            self._outlook.step(moment, facts)
            self._done = moment
            if self._following is not None:
                self._changes += self._following.changes(moment, facts)
        self._done = max(self._done, limit - 1)
        if self._done >= self._start:
            self._admission.answered = self._done

    def _next_time(self) -> float:
        coming = self._coming[0][0] if self._coming else inf
        expected = self._outlook.candidates.next_change(self._done)
        followed = inf if self._following is None else self._following.next_change(self._done)
        return min(coming, expected, followed)


class Now:
    """The answers at a time point, and the `changes` since the last one."""

    __slots__ = ("_answers", "_hypotheses", "changes", "t")

    def __init__(self, hypotheses: Hypotheses, t: int, changes: tuple[Change, ...]) -> None:
        self.t = t
        self.changes = changes
        self._hypotheses = hypotheses
        self._answers: tuple[HypotheticalAnswer, ...] | None = None

    @property
    def answers(self) -> tuple[HypotheticalAnswer, ...]:
        """The answers, ranked; available until time advances."""
        if self._answers is None:
            if self._hypotheses.time != self.t:
                message = f"the answers at {self.t} are no longer available: time has advanced"
                raise LarsparkError(Problem("L408", message))
            self._answers = tuple(self._hypotheses.answers())
        return self._answers


def hypothesize(
    checked: Checked,
    query: Formula,
    elements: Iterable[tuple[int, Atom]],
    background: Iterable[Atom] = (),
    at: int | None = None,
    start: int | None = None,
    limit: int | None = None,
    to: int | None = None,
    unsupported: bool = False,
) -> Iterator[HypotheticalAnswer]:
    """The supported answers at a time point, or at each one up to `to` or the last element.

    At each time point they are ranked, and at most `limit` are given. With `unsupported`, those
    without evidence follow them.
    """
    data = sorted(((t, atom) for t, atom in elements), key=lambda element: element[0])
    times = [t for t, _ in data] + [element.t for element in checked.elements]
    first = start if start is not None else min(times, default=0 if at is None else at)
    session = Hypotheses(checked, query, background, start=first, follow=False, keep_certain=True)
    last = at if at is not None else to if to is not None else max(times, default=first - 1)
    position = 0
    for t in range(first if at is None else last, last + 1):
        while position < len(data) and data[position][0] <= t:
            session.append(data[position][0], [data[position][1]])
            position += 1
        session.advance(t)
        found = session.answers(limit)
        if unsupported:
            found = [*found, *session.unsupported()][:limit]
        yield from found
