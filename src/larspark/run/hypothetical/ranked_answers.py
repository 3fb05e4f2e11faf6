"""Hypothetical answers as returned to users: ranked, as JSON lines, and as changes over time."""

import json
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, count
from math import inf
from typing import NamedTuple

from larspark.base.atoms import Atom, Signature, atom_text
from larspark.base.terms import Constant, Term, Variable
from larspark.feeds.time_format import POINTS, TimeFormat
from larspark.run.hypothetical.patterns import (
    Expression,
    Instance,
    Literal,
    Pattern,
    Restriction,
    Slot,
    Time,
    object_names,
    substitute_condition,
    substitute_pattern,
    substitute_time,
    time_names,
)


class TimedAtom(NamedTuple):
    """An atom at a time point, or its absence: an element of evidence and hypotheses.

    An unbounded time point is the text of a variable; an unbound argument is a variable.
    """

    t: int | str
    atom: Atom
    negated: bool = False

    def text(self, times: TimeFormat = POINTS) -> str:
        """The element as text, its time as the format says."""
        t = self.t if isinstance(self.t, str) else times.text(self.t)
        return f"{'not ' if self.negated else ''}@{t} {atom_text(self.atom)}"

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True, slots=True)
class HypotheticalAnswer:
    """An answer that, as known at `t`, holds if all hypotheses come true.

    A variable of the answer is None while its value depends on future facts; `where` lists its
    restrictions. An answer without hypotheses is certain. With hypotheses, it is decided at the
    `deadline` at the latest; None: without bound.
    """

    t: int
    answer: dict[str, Constant | None]
    evidence: tuple[TimedAtom, ...]
    hypotheses: tuple[TimedAtom, ...]
    deadline: int | None
    where: tuple[str, ...] = ()

    @property
    def certain(self) -> bool:
        return not self.hypotheses

    @property
    def seen(self) -> float:
        """The fraction of the needed facts and absences that is already evidence."""
        total = len(self.evidence) + len(self.hypotheses)
        return len(self.evidence) / total if total else 1.0

    def __hash__(self) -> int:
        return hash((self.t, tuple(self.answer.items()), self.evidence, self.hypotheses))


class ChangeKind(StrEnum):
    NEW = "new"
    STRENGTHENED = "strengthened"
    CONFIRMED = "confirmed"
    REFUTED = "refuted"


class Change:
    """A change of an answer at a time point.

    `values` are those of the query's variables; `answer` is the best answer for them, computed on
    access. A refuted answer is given as it was before.
    """

    __slots__ = ("_answer", "_make", "kind", "t", "values")

    def __init__(
        self,
        t: int,
        kind: ChangeKind,
        values: dict[str, Constant | None],
        make: Callable[[], HypotheticalAnswer],
    ) -> None:
        self.t = t
        self.kind = kind
        self.values = values
        self._make = make
        self._answer: HypotheticalAnswer | None = None

    @property
    def answer(self) -> HypotheticalAnswer:
        if self._answer is None:
            self._answer = self._make()
        return self._answer

    def __repr__(self) -> str:
        return f"Change({self.t}, {self.kind}, {self.values})"


def rank(answer: HypotheticalAnswer) -> tuple[object, ...]:
    """Sort key: fewest hypotheses first, then the earliest deadline."""
    deadline = inf if answer.deadline is None else answer.deadline
    return (
        len(answer.hypotheses),
        deadline if answer.hypotheses else 0,
        [_in_order(value) for value in answer.answer.values()],
        [str(item) for item in answer.hypotheses],
        [str(item) for item in answer.evidence],
    )


def _in_order(value: Constant | None) -> tuple[int, Constant]:
    if value is None:
        return (2, 0)
    return (int(isinstance(value, str)), value)


def answer_line(
    answer: HypotheticalAnswer, times: TimeFormat = POINTS, time_names: Container[str] = ()
) -> str:
    """The answer as a line of JSON; the values of the `time_names` are time points."""
    values = {
        name: times.json_value(value) if name in time_names and isinstance(value, int) else value
        for name, value in answer.answer.items()
    }
    line = {"t": times.json_value(answer.t), "answer": values, **answer_fields(answer, times)}
    return json.dumps(line, ensure_ascii=False)


def answer_fields(answer: HypotheticalAnswer, times: TimeFormat = POINTS) -> dict[str, object]:
    """The evidence, hypotheses, restrictions and deadline of an answer as JSON fields."""
    fields: dict[str, object] = {
        "evidence": [item.text(times) for item in answer.evidence],
        "hypotheses": [item.text(times) for item in answer.hypotheses],
    }
    if answer.where:
        fields["where"] = answer.where
    if not answer.certain:
        deadline = answer.deadline
        fields["deadline"] = None if deadline is None else times.json_value(deadline)
        fields["seen"] = round(answer.seen, 3)
    return fields


def values(instance: Instance, variables: tuple[str, ...]) -> dict[str, Constant | None]:
    """The values of the query's variables; None for unbound ones."""
    return {
        variable: slot if isinstance(slot, int | float | str) else None
        for variable, slot in zip(variables, instance.answer, strict=True)
    }


def shown(
    instance: Instance,
    variables: tuple[str, ...],
    t: int,
    delays: Mapping[Signature, float],
) -> HypotheticalAnswer:
    """An instance as an answer, with the variable names of the program."""
    names = program_names(instance)
    deadline = max((_decided(literal, delays) for literal in instance.hypotheses), default=inf)
    return HypotheticalAnswer(
        t,
        values(instance, variables),
        timed_atoms(instance.evidence, names),
        timed_atoms(instance.hypotheses, names),
        None if deadline == inf else int(deadline),
        tuple(sorted(str(with_names(restriction, names)) for restriction in instance.where)),
    )


def _decided(literal: Literal, delays: Mapping[Signature, float]) -> float:
    if isinstance(literal.t, Time):
        return inf
    return literal.t + (delays.get(literal.pattern.signature, 0) if literal.negated else 0)


def program_names(instance: Instance) -> dict[str, Slot]:
    """Variable names without the suffixes of resolution, numbered where they clash."""
    literals = instance.evidence | instance.hypotheses
    slots: list[Expression] = [arg for literal in literals for arg in literal.pattern.args]
    slots += [literal.t for literal in literals if isinstance(literal.t, Time)]
    if all(isinstance(slot, int | float | str) for slot in slots) and not instance.where:
        return {}
    # The variables of the query keep their names.
    slots = list(instance.answer)
    slots += [arg for literal in sorted(literals, key=str) for arg in literal.pattern.args]
    slots += [literal.t for literal in sorted(literals, key=str) if isinstance(literal.t, Time)]
    for condition, _ in sorted(instance.where, key=str):
        if isinstance(condition, Pattern):
            slots += condition.args
        else:
            slots += (condition.left, condition.right)
    names: dict[str, Slot] = {}
    taken: set[str] = set()
    for is_time, found in ((False, object_names(slots)), (True, time_names(slots))):
        for name in dict.fromkeys(found):
            base = name.partition(".")[0]
            separator = "_" if base[-1:].isdigit() else ""
            numbered = (f"{base}{separator}{number}" for number in count(2))
            chosen = next(text for text in chain([base], numbered) if text not in taken)
            taken.add(chosen)
            names[name] = Time(chosen) if is_time else Variable(chosen)
    return names


def with_names(restriction: Restriction, names: Mapping[str, Slot]) -> Restriction:
    condition, negated = restriction
    if isinstance(condition, Pattern):
        return Restriction(substitute_pattern(condition, names), negated)
    return Restriction(substitute_condition(condition, names), negated)


def timed_atoms(literals: Iterable[Literal], names: Mapping[str, Slot]) -> tuple[TimedAtom, ...]:
    atoms = []
    for t, pattern, negated in sorted(literals, key=_by_open_time):
        args = substitute_pattern(pattern, names).args if names else pattern.args
        when = t if isinstance(t, int) else str(substitute_time(t, names))
        atom = Atom(pattern.predicate, tuple([_term(arg) for arg in args]))
        atoms.append(TimedAtom(when, atom, negated))
    return tuple(sorted(atoms, key=_in_time_order))


def _by_open_time(literal: Literal) -> tuple[str, int]:
    return literal.t if isinstance(literal.t, Time) else ("", 0)


def _in_time_order(item: TimedAtom) -> tuple[object, ...]:
    """Open time points come last, in the order that they have already."""
    t, (predicate, args), negated = item
    return (True,) if isinstance(t, str) else (False, t, predicate, negated, str(args))


def _term(slot: Slot) -> Term:
    return Variable(str(slot)) if isinstance(slot, Time) else slot
