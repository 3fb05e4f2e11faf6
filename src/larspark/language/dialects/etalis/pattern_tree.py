"""Rules of ETALIS: a complex event, and the pattern of events that it consists of."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from larspark.base.atoms import Atom
from larspark.base.problems import Span
from larspark.language.tree import NOWHERE, Formula

PairOperator: TypeAlias = Literal[
    "seq", "equals", "meets", "during", "starts", "finishes", "and", "par", "or"
]


@dataclass(frozen=True, slots=True)
class Event:
    """An atom of the stream, or a complex event."""

    atom: Atom
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Pair:
    operator: PairOperator
    left: "Pattern"
    right: "Pattern"


@dataclass(frozen=True, slots=True)
class Without:
    """`(p seq q) cnot r`: no r between p and q; `p fnot q`: no q up to the end of p."""

    pattern: "Pattern"
    absent: "Pattern"
    between: bool


@dataclass(frozen=True, slots=True)
class Where:
    pattern: "Pattern"
    conditions: tuple[Formula, ...]


Pattern: TypeAlias = Event | Pair | Without | Where


@dataclass(frozen=True, slots=True)
class EventRule:
    """`head <- pattern`; the interval of the event is at most `window` long."""

    head: Atom
    pattern: Pattern
    window: int | None
    span: Span
