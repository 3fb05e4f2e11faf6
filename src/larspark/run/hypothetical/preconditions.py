"""Preconditions: the sets of facts, all of them still to come, that would give an answer.

At the start of a stream these are the set P_Q of Section 5 of the paper on hypothetical answers.
Time points without a bound stay variables, so one precondition stands for all its instances.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

from larspark.base.terms import Constant
from larspark.run.hypothetical.answer_instances import condensed
from larspark.run.hypothetical.clause import Clause, distance
from larspark.run.hypothetical.minimality import Rivals, minimal_answers
from larspark.run.hypothetical.patterns import (
    ORIGIN,
    Condition,
    Instance,
    Literal,
    Restriction,
    Time,
    slot_text,
    substitute,
    time_names,
)
from larspark.run.hypothetical.ranked_answers import (
    TimedAtom,
    program_names,
    timed_atoms,
    with_names,
)


class Unsupported(NamedTuple):
    """An answer without evidence, and the clause that it comes from."""

    instance: Instance
    clause: Clause


@dataclass(frozen=True, slots=True)
class Precondition:
    """An answer holds if all of the facts `first` and `then` come; `where` restricts variables.

    The `first` are those that no other one precedes. A variable of the answer that is open is the
    text of that variable.
    """

    answer: dict[str, Constant]
    first: tuple[TimedAtom, ...]
    then: tuple[TimedAtom, ...]
    where: tuple[str, ...] = ()

    def fields(self) -> dict[str, object]:
        """The precondition as JSON fields."""
        fields: dict[str, object] = {
            "answer": self.answer,
            "first": list(map(str, self.first)),
            "then": list(map(str, self.then)),
        }
        if self.where:
            fields["where"] = list(self.where)
        return fields


def after(found: Unsupported, t: int) -> Instance:
    """The instance with what is known of its open time points: all that it needs is to come."""
    instance, clause = found
    earliest: dict[str, int] = {}
    for literal in instance.hypotheses:
        if isinstance(literal.t, Time):
            name, offset = literal.t
            earliest[name] = min(offset, earliest.get(name, offset))
    asked = {*earliest, *time_names(instance.answer)}
    bounds = [
        Condition("<=", Time(left), Time(right, upper))
        for left, right in permutations(sorted(asked), 2)
        if (upper := clause.goal.body.bounds.upper(left, right)) is not None
    ]
    first = dict(zip(clause.times, clause.low, strict=True))
    later = [
        Condition(">", Time(name), max(t - offset, int(first[name]) - 1))
        for name, offset in earliest.items()
    ]
    return instance._replace(where=instance.where | set(map(Restriction, [*later, *bounds])))


def minimal(found: Sequence[Unsupported], rivals: Rivals) -> list[Unsupported]:
    """Those that no other one makes superfluous."""
    clauses = {condensed(instance, rivals.background): clause for instance, clause in found}
    general = [
        one for one in clauses if not all(isinstance(s, int | float | str) for s in one.answer)
    ]
    return [Unsupported(one, clauses[one]) for one in minimal_answers([*clauses], general, rivals)]


def precondition(found: Unsupported, variables: tuple[str, ...]) -> Precondition:
    """The precondition with the variable names of the program."""
    instance, clause = found
    names = program_names(instance)
    literals = instance.hypotheses
    first = {a for a in literals if not any(_precedes(clause, b, a) for b in literals)}
    texts = {
        variable: slot
        if isinstance(slot, int | float | str)
        else slot_text(substitute(slot, names))
        for variable, slot in zip(variables, instance.answer, strict=True)
    }
    where = sorted(str(with_names(restriction, names)) for restriction in instance.where)
    return Precondition(
        texts, timed_atoms(first, names), timed_atoms(literals - first, names), tuple(where)
    )


def _precedes(clause: Clause, one: Literal, other: Literal) -> bool:
    """Is the time point of one surely before that of the other?"""
    left, right = (
        literal.t if isinstance(literal.t, Time) else Time(ORIGIN, literal.t)
        for literal in (one, other)
    )
    return distance(clause, left, right) < 0
