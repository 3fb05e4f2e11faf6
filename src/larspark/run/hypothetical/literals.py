"""What answers are made of: atoms at time points and their absence."""

from enum import IntEnum
from typing import NamedTuple

from larspark.run.hypothetical.patterns import Condition, Pattern, Slot, Time


class Prospect(IntEnum):
    """Will an atom hold at a time point? The larger, the surer."""

    IMPOSSIBLE = 0
    OPEN = 1
    CERTAIN = 2


class Literal(NamedTuple):
    """An atom at a time point, or its absence."""

    t: int | Time
    pattern: Pattern
    negated: bool = False

    def __str__(self) -> str:
        return f"{'not ' if self.negated else ''}@{self.t} {self.pattern}"


class Restriction(NamedTuple):
    """What has to hold for the variables that an answer leaves open."""

    condition: Condition | Pattern
    negated: bool = False

    def __str__(self) -> str:
        return f"{'not ' if self.negated else ''}{self.condition}"


class Denied(NamedTuple):
    """An atom at a time point, seen from `now` (None: that does not matter), that must not hold."""

    pattern: Pattern
    t: int | Time
    now: int | None

    @property
    def literal(self) -> Literal:
        return Literal(self.t, self.pattern, True)


class Instance(NamedTuple):
    """An answer, the facts it rests on, and the facts it still needs."""

    answer: tuple[Slot, ...]
    evidence: frozenset[Literal]
    hypotheses: frozenset[Literal]
    where: frozenset[Restriction]
