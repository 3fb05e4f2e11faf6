"""LARS formulas with sliding time windows as formulas of temporal logic.

`pltl` is Algorithm 1 of the LARS paper: the formula for one time point of one timeline. Atoms
outside of the timeline are never asked, so the result means the same on finite streams.
"""

from collections.abc import Iterator
from typing import NamedTuple

from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Term, Variable, Wildcard
from larspark.language.dialects.ltl.temporal_tree import (
    Binary,
    Known,
    Listed,
    ListOperator,
    Proposition,
    Temporal,
    Unary,
)
from larspark.language.tree import (
    Always,
    And,
    At,
    AtomFormula,
    Formula,
    Implies,
    Not,
    Or,
    Reset,
    Some,
    Truth,
    Windowed,
)
from larspark.language.windows import TimeWindow

# The translation is exponential in the nesting of `some` and `always`.
SIZE_LIMIT = 20_000


class Timeline(NamedTuple):
    first: int
    last: int


def pltl(formula: Formula, timeline: Timeline, t: int) -> Temporal:
    """What the formula says at t, a point of the timeline, as a formula of temporal logic."""
    if not timeline.first <= t <= timeline.last:
        first, last = timeline
        message = f"the time point {t} lies outside the timeline, which is [{first}, {last}]"
        raise LarsparkError(Problem("L251", message))
    return _Translation(timeline).at(formula, timeline, t)


class _Translation:
    def __init__(self, whole: Timeline) -> None:
        self._whole = whole
        self._size = 0

    def at(self, formula: Formula, within: Timeline, t: int) -> Temporal:
        """The formula at t, when the windows around it leave a part of the timeline."""
        self._size += 1
        if self._size > SIZE_LIMIT:
            message = f"the translation has more than {SIZE_LIMIT} parts"
            hint = "use a shorter timeline, or fewer `some` and `always` in each other"
            raise LarsparkError(Problem("L254", message, formula.span, hint))
        match formula:
            case AtomFormula(atom):
                self._refuse_terms(formula, atom.args)
                return Proposition(atom, formula.span)
            case Truth(value):
                return Known("true" if value else "false")
            case Not(body):
                return Unary("!", self.at(body, within, t))
            case And(parts):
                return _listed("&", [self.at(part, within, t) for part in parts])
            case Or(parts):
                return _listed("|", [self.at(part, within, t) for part in parts])
            case Implies(left, right):
                return Binary("->", self.at(left, within, t), self.at(right, within, t))
            case _:
                return self._temporal(formula, within, t)

    def _temporal(self, formula: Formula, within: Timeline, t: int) -> Temporal:
        match formula:
            case Some(body):
                return _listed("|", list(self._everywhere(body, within, t)))
            case Always(body):
                if within.first > within.last:
                    # In an empty timeline nothing holds always.
                    return Known("false")
                return _listed("&", list(self._everywhere(body, within, t)))
            case At(time, body):
                self._refuse_terms(formula, (time,))
                if not isinstance(time, int) or not within.first <= time <= within.last:
                    return Known("false")
                return _moved(self.at(body, within, time), time - t)
            case Windowed(TimeWindow(past, future, 1), body):
                first = within.first if past is None else max(within.first, t - past)
                last = within.last if future is None else min(t + future, within.last)
                return self.at(body, Timeline(first, last), t)
            case Reset(body):
                return self.at(body, self._whole, t)
            case _:
                message = "only atoms, connectives, `some`, `always`, `@` and sliding time windows"
                hint = "hopping, tuple and filter windows have no counterpart in temporal logic"
                raise LarsparkError(
                    Problem("L472", f"{message} become temporal logic", formula.span, hint)
                )

    def _everywhere(self, body: Formula, within: Timeline, t: int) -> Iterator[Temporal]:
        for point in range(within.first, within.last + 1):
            yield _moved(self.at(body, within, point), point - t)

    def _refuse_terms(self, formula: AtomFormula | At, terms: tuple[Term, ...]) -> None:
        if any(isinstance(term, Variable | Wildcard) for term in terms):
            message = "a formula of temporal logic has no variables"
            raise LarsparkError(Problem("L472", message, formula.span, "write out its instances"))


def _listed(operator: ListOperator, parts: list[Temporal]) -> Temporal:
    """A conjunction or disjunction, without nested ones of the same kind."""
    flat: list[Temporal] = []
    for part in parts:
        same = isinstance(part, Listed) and part.operator == operator
        flat.extend(part.parts if isinstance(part, Listed) and same else [part])
    if not flat:
        return Known("true" if operator == "&" else "false")
    return flat[0] if len(flat) == 1 else Listed(operator, tuple(flat))


def _moved(formula: Temporal, steps: int) -> Temporal:
    """The formula so many time points later, or earlier."""
    for _ in range(abs(steps)):
        formula = Unary("X" if steps > 0 else "Y", formula)
    return formula
