"""Hypothetical answers of a whole program: the atoms it may come to derive."""

import json
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Signature
from larspark.base.facts import AnyBatch, Row
from larspark.base.problems import Problem
from larspark.base.terms import Variable
from larspark.feeds.time_format import POINTS, TimeFormat
from larspark.language.nodes import walk
from larspark.language.tree import At, AtomFormula, Formula
from larspark.run.hypothetical.hypothesize import Hypotheses
from larspark.run.hypothetical.ranked_answers import (
    ChangeKind,
    HypotheticalAnswer,
    TimedAtom,
    answer_fields,
    rank,
)

_TIME = "T"


class Announcement(NamedTuple):
    """At `t`: an atom that may come to hold at a time point, and the answer that says how.

    `change` says what happened to it at `t`; it is None in a list of pending answers.
    """

    t: int
    holds: TimedAtom
    answer: HypotheticalAnswer
    change: ChangeKind | None = None


class Monitor:
    """Hypothetical answers for every derived predicate that the program shows.

    Facts may be appended ahead of the time points of `advance`.
    """

    def __init__(
        self,
        checked: Checked,
        background: Iterable[Atom] = (),
        *,
        start: int | None = None,
        follow: bool = True,
    ) -> None:
        atoms = tuple(background)
        self._queries = [
            (atom, Hypotheses(checked, query, atoms, start=start, follow=follow))
            for signature in sorted(checked.shown & checked.derived)
            for atom, query in [_query(checked, signature)]
        ]
        self._coming: deque[Row] = deque()
        self._begun = False

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The rules whose answers may wait without bound."""
        found = (warning for _, session in self._queries for warning in session.warnings)
        return tuple(dict.fromkeys(found))

    def hear(self, batch: AnyBatch) -> None:
        """Take in a batch of elements, in time order."""
        if not self._begun:
            heard = [row.t for row in batch.rows()]
            if batch.last_t is not None:
                heard.append(batch.last_t)
            self._begin(heard)
        self._coming.extend(batch.rows())

    def _begin(self, heard: Sequence[int]) -> None:
        if heard:
            self._begun = True
            for _, session in self._queries:
                session.begin(heard)

    def advance(self, t: int) -> list[Announcement]:
        """Advance time to t: the answers that are new, strengthened, confirmed or refuted since."""
        due: dict[int, list[Atom]] = {}
        while self._coming and self._coming[0].t <= t:
            row = self._coming.popleft()
            due.setdefault(row.t, []).append(row.atom)
        found = []
        for atom, session in self._queries:
            for moment, atoms in due.items():
                session.append(moment, atoms)
            found += [
                Announcement(change.t, _held(atom, change.answer), change.answer, change.kind)
                for change in session.advance(t).changes
            ]
        return sorted(found, key=_in_order)

    def pending(self, limit: int | None = None) -> list[Announcement]:
        """The atoms that may come to hold, those with the fewest missing facts first."""
        found = [
            Announcement(answer.t, _held(atom, answer), answer)
            for atom, session in self._queries
            for answer in session.uncertain(limit)
        ]
        return sorted(found, key=_in_order)[:limit]


def announcement_line(announcement: Announcement, times: TimeFormat = POINTS) -> str:
    """The announcement as a line of JSON."""
    t, holds, answer, change = announcement
    line: dict[str, object] = {
        "t": times.json_value(t),
        "hypothetical": holds.text(times),
    }
    if change is not None:
        line["change"] = change.value
    return json.dumps(line | answer_fields(answer, times), ensure_ascii=False)


def _query(checked: Checked, signature: Signature) -> tuple[Atom, Formula]:
    """The question for a predicate; its variables are called as in a rule, where that works."""
    atom = Atom(signature.predicate, tuple(Variable(f"X{n + 1}") for n in range(signature.arity)))
    for rule in checked.program.rules:
        for head in walk(rule.head):
            if isinstance(head, AtomFormula) and head.atom.signature == signature:
                names = {arg.name for arg in head.atom.args if isinstance(arg, Variable)}
                if len(names - {_TIME}) == signature.arity:
                    atom = head.atom
    return atom, At(Variable(_TIME), AtomFormula(atom))


def _held(atom: Atom, answer: HypotheticalAnswer) -> TimedAtom:
    """The atom of the query with the values of an answer."""
    values = answer.answer
    args = tuple(
        arg if not isinstance(arg, Variable) or (value := values[arg.name]) is None else value
        for arg in atom.args
    )
    t = values[_TIME]
    return TimedAtom(t if isinstance(t, int) else _TIME, Atom(atom.predicate, args))


def _in_order(announcement: Announcement) -> tuple[object, ...]:
    lacking, deadline, *others = rank(announcement.answer)
    return (announcement.t, lacking, deadline, announcement.holds.atom.predicate, others)
