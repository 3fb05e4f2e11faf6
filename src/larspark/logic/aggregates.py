"""Aggregates over a set of tuples: their values, guards, and states while some are undecided.

Sums are exact: integers stay integers, and if a float takes part the exact sum is rounded once.
"""

from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from larspark.base.problems import LarsparkError, Problem, Span
from larspark.base.terms import Constant, constant
from larspark.language.tree import AggregateFunction
from larspark.logic.values import compare

Tuple: TypeAlias = tuple[Constant, ...]
# An operator and the value to compare with; None is no value.
GroundGuard: TypeAlias = tuple[str, Constant | None]


def aggregate_value(function: AggregateFunction, tuples: Collection[Tuple]) -> Constant | None:
    """The value of an aggregate over different tuples; None if it has no value.

    >>> aggregate_value("sum", {(1e16, 1), (1, 2), (-1e16, 3)})
    1
    >>> aggregate_value("sum", {(2**63 - 1, 1), (1, 2)}) is None
    True
    >>> aggregate_value("avg", {(1,), (2,)}), aggregate_value("avg", {("text",)})
    (1.5, None)
    """
    if function == "count":
        return len(tuples)
    numbers = [first for first, *_ in tuples if not isinstance(first, str)]
    if not numbers:
        return 0 if function == "sum" else None
    if function == "min":
        return min(numbers)
    if function == "max":
        return max(numbers)
    exact = sum(map(Fraction, numbers), Fraction(0))
    if function == "avg":
        exact /= len(numbers)
    return rounded(exact, integers=all(isinstance(number, int) for number in numbers))


def rounded(exact: Fraction, *, integers: bool) -> Constant | None:
    """An exact result as a constant: an integer if only integers took part and it is one."""
    whole = integers and exact.denominator == 1
    try:
        return constant(exact.numerator if whole else exact.numerator / exact.denominator)
    except (ValueError, OverflowError):
        return None


def fulfils(
    function: AggregateFunction,
    tuples: Collection[Tuple],
    guards: Sequence[GroundGuard],
    *,
    grouped: bool,
) -> bool:
    """Does an aggregate literal hold of a set of tuples? With `by` the set must not be empty."""
    if grouped and not tuples:
        return False
    found = aggregate_value(function, tuples)
    return all(compare(operator, found, bound) for operator, bound in guards)


# Different states of one aggregate that are followed.
STATES_LIMIT = 20_000


class State(NamedTuple):
    """What counts of a set of tuples; fields that a function does not need stay as they are."""

    empty: bool = True
    # How many tuples (`count`) or numbers (`avg`) there are.
    number: int = 0
    total: Fraction = Fraction(0)
    # Only integers took part in the total.
    integers: bool = True
    extreme: int | float | None = None

    def joined(self, function: AggregateFunction, found: Tuple) -> "State":
        """The state with one more tuple."""
        first = found[0]
        state = self._replace(empty=False)
        if function == "count":
            return state._replace(number=self.number + 1)
        if isinstance(first, str):
            return state
        if function == "min" or function == "max":
            known = [first] if self.extreme is None else [first, self.extreme]
            return state._replace(extreme=min(known) if function == "min" else max(known))
        return state._replace(
            number=self.number + 1 if function == "avg" else 0,
            total=self.total + Fraction(first),
            integers=self.integers and isinstance(first, int),
        )

    def value(self, function: AggregateFunction) -> Constant | None:
        """The value of the aggregate, None if it has none."""
        match function:
            case "count":
                return self.number
            case "min" | "max":
                return self.extreme
            case "sum":
                return rounded(self.total, integers=self.integers)
            case "avg":
                if not self.number:
                    return None
                return rounded(self.total / self.number, integers=self.integers)


def check_states(count: int, span: Span) -> None:
    """Refuse an aggregate that can be in too many states."""
    if count > STATES_LIMIT:
        message = f"an aggregate over undecided atoms can be in more than {STATES_LIMIT} states"
        hint = "let it collect fewer atoms whose truth depends on choices or on the aggregate"
        raise LarsparkError(Problem("L410", message, span, hint))


def possible_values(
    function: AggregateFunction, certain: set[Tuple], possible: Iterable[Tuple], span: Span
) -> set[Constant]:
    """The values of an aggregate over the certain tuples and any of the possible ones.

    >>> from larspark.language.tree import NOWHERE
    >>> sorted(possible_values("sum", {(1,)}, [(2,), (4,)], NOWHERE))
    [1, 3, 5, 7]
    """
    state = State()
    for found in certain:
        state = state.joined(function, found)
    states = {state}
    for found in possible:
        if found not in certain:
            states |= {each.joined(function, found) for each in states}
            check_states(len(states), span)
    values = {each.value(function) for each in states}
    return {value for value in values if value is not None}
