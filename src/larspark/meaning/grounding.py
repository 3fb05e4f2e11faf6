"""Ground formulas: what a formula becomes under a substitution.

Variables are replaced, comparisons decided, and the keys of partitions turned into positions, so
that Definition 9 can be read off. Wildcards stay: an atom with wildcards holds where one of its
instances does.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Term
from larspark.language.nodes import walk
from larspark.language.tree import (
    NEGATED,
    Aggregate,
    AggregateFunction,
    Always,
    And,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Implies,
    Not,
    Or,
    Reset,
    Some,
    Truth,
    Windowed,
)
from larspark.language.windows import GroupWindow, Window
from larspark.logic.aggregates import GroundGuard, Tuple
from larspark.logic.binding import linear
from larspark.logic.traversal import depth, key_positions
from larspark.logic.values import (
    NoValueError,
    Substitution,
    compare,
    ground_atom,
    time_value,
    value,
)
from larspark.meaning.streams import Stream


@dataclass(frozen=True, slots=True)
class GroundAtom:
    atom: Atom


@dataclass(frozen=True, slots=True)
class GroundTruth:
    value: bool


@dataclass(frozen=True, slots=True)
class GroundNot:
    body: "Ground"


@dataclass(frozen=True, slots=True)
class GroundAnd:
    parts: tuple["Ground", ...]


@dataclass(frozen=True, slots=True)
class GroundOr:
    parts: tuple["Ground", ...]


@dataclass(frozen=True, slots=True)
class GroundImplies:
    left: "Ground"
    right: "Ground"


@dataclass(frozen=True, slots=True)
class GroundSome:
    body: "Ground"


@dataclass(frozen=True, slots=True)
class GroundAlways:
    body: "Ground"


@dataclass(frozen=True, slots=True)
class GroundAt:
    time: int
    body: "Ground"


@dataclass(frozen=True, slots=True)
class GroundWindowed:
    window: Window
    body: "Ground"


@dataclass(frozen=True, slots=True)
class GroundReset:
    body: "Ground"


@dataclass(frozen=True, slots=True)
class GroundAggregate:
    """An aggregate with the tuples that its set can hold, each with its condition.

    A tuple stands here once for every way in which it can come into the set.
    """

    function: AggregateFunction
    members: tuple[tuple[Tuple, "GroundAnd"], ...]
    guards: tuple[GroundGuard, ...]
    # With `by` the set must not be empty.
    grouped: bool


Ground: TypeAlias = (
    GroundAtom
    | GroundTruth
    | GroundNot
    | GroundAnd
    | GroundOr
    | GroundImplies
    | GroundSome
    | GroundAlways
    | GroundAt
    | GroundWindowed
    | GroundReset
    | GroundAggregate
)

# Deeper formulas are refused: every level of nesting costs a few levels of the Python stack.
DEPTH_LIMIT = 120


def ground(formula: Formula, substitution: Substitution) -> Ground:
    """σ(α). Raises `NoValueError` when an atom or a time pin has no value under σ.

    A comparison without a value is false, positive or negated. An aggregate becomes ground only
    with a stream, in `larspark.meaning.matching`.
    """
    match formula:
        case AtomFormula(atom):
            return GroundAtom(ground_atom(atom, substitution))
        case Comparison(operator):
            return GroundTruth(_decide(operator, formula, substitution))
        case Truth(truth):
            return GroundTruth(truth)
        case Not(Comparison(operator) as comparison):
            return GroundTruth(_decide(NEGATED[operator], comparison, substitution))
        case Not(body):
            return GroundNot(ground(body, substitution))
        case And(parts):
            return GroundAnd(tuple(ground(part, substitution) for part in parts))
        case Or(parts):
            return GroundOr(tuple(ground(part, substitution) for part in parts))
        case Implies(left, right):
            return GroundImplies(ground(left, substitution), ground(right, substitution))
        case Some() | Always() | At() | Windowed() | Reset():
            return _ground_temporal(formula, substitution)
        case Aggregate():
            raise TypeError("an aggregate stands below another formula")


def _ground_temporal(
    formula: Some | Always | At | Windowed | Reset, substitution: Substitution
) -> Ground:
    match formula:
        case Some(body):
            return GroundSome(ground(body, substitution))
        case Always(body):
            return GroundAlways(ground(body, substitution))
        case At(time, body):
            return GroundAt(time_point(time, substitution), ground(body, substitution))
        case Windowed(window, body):
            return GroundWindowed(
                ground_window(window, body, substitution), ground(body, substitution)
            )
        case Reset(body):
            return GroundReset(ground(body, substitution))


def pins_in_timeline(formulas: Iterable[Formula], binding: Substitution, stream: Stream) -> bool:
    """Do the time variables, those of pins such as `@T` and `@T+3`, have values in the timeline?

    The pins of an aggregate concern its elements, each of which is read like a rule of its own.
    """
    for formula in formulas:
        for part in () if isinstance(formula, Aggregate) else walk(formula):
            pin = linear(part.time) if isinstance(part, At) else None
            if pin is not None:
                point = binding[pin[0]]
                if not isinstance(point, int) or not stream.has_time(point):
                    return False
    return True


def time_point(time: Term, substitution: Substitution) -> int:
    """The time point that a time pin names. Raises `NoValueError` if it names none."""
    point = time_value(time, substitution)
    if point is None:
        raise NoValueError
    return point


def ground_window(window: Window, body: Formula, substitution: Substitution) -> Window:
    """The window over `body`, whose atoms say where the keys of a partition are."""
    if window.keys:
        return GroupWindow(window.ungrouped(), key_positions(window.keys, body))
    return window.with_filters(lambda pattern: ground_atom(pattern, substitution))


def check_depth(formula: Formula) -> None:
    """Refuse formulas that are nested too deeply to be evaluated."""
    if depth(formula) > DEPTH_LIMIT:
        message = f"the formula is nested more than {DEPTH_LIMIT} levels deep"
        raise LarsparkError(Problem("L262", message, formula.span))


def _decide(operator: str, sides: Comparison, substitution: Substitution) -> bool:
    left, right = value(sides.left, substitution), value(sides.right, substitution)
    return compare(operator, left, right)
