"""The terms of one rule: which variables are times, and arithmetic taken out of atoms."""

from itertools import count

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem, Span
from larspark.base.terms import Arithmetic, Term, Variable, Wildcard
from larspark.run.hypothetical.patterns import (
    ORIGIN,
    Calculation,
    Condition,
    Expression,
    Pattern,
    Slot,
    Time,
)


class Terms:
    """Turns the terms of one rule into slots.

    `times` are the time variables, `constants` the values chosen for variable time shifts.
    """

    def __init__(self, times: frozenset[str], constants: dict[str, int]) -> None:
        self._times = times
        self._constants = constants
        self._fresh = count(1)

    def fresh_time(self) -> Time:
        """A time point that the text does not name."""
        return Time(f"S.{next(self._fresh)}")

    def slot(self, term: Term) -> Slot:
        match term:
            case Variable(name) if name in self._constants:
                return self._constants[name]
            case Variable(name) if name in self._times:
                return Time(name)
            case Variable() | Wildcard():
                return term
            case Arithmetic():
                raise AssertionError("arithmetic in atoms is flattened first")
            case _:
                return term

    def expression(self, term: Term) -> Expression:
        if not isinstance(term, Arithmetic):
            return self.slot(term)
        linear = self._linear(term)
        if linear is not None:
            return linear
        return Calculation(term.operation, tuple(self.expression(arg) for arg in term.args))

    def _linear(self, term: Term) -> Time | None:
        """`T`, `T+3`, `3+T` and `T-3` as a time point, when `T` is a time variable."""
        match term:
            case Variable():
                slot = self.slot(term)
                return slot if isinstance(slot, Time) else None
            case Arithmetic("+" | "-" as operation, (left, right)):
                moved, shift = self._linear(left), self._integer(right)
                if moved is None and operation == "+":
                    moved, shift = self._linear(right), self._integer(left)
                if moved is None or shift is None:
                    return None
                return moved.shifted(shift if operation == "+" else -shift)
            case _:
                return None

    def _integer(self, term: Term) -> int | None:
        match term:
            case int():
                return term
            case Variable(name):
                return self._constants.get(name)
            case Arithmetic("-", (arg,)):
                value = self._integer(arg)
                return None if value is None else -value
            case Arithmetic("+" | "-" as operation, (left, right)):
                one, two = self._integer(left), self._integer(right)
                if one is None or two is None:
                    return None
                return one + two if operation == "+" else one - two
            case _:
                return None

    def time(self, term: Term, span: Span) -> Time:
        linear = self._linear(term)
        if linear is not None:
            return linear
        known = self._integer(term)
        if known is not None:
            return Time(ORIGIN, known)
        raise LarsparkError(
            Problem(
                "L474",
                "a time pin here is a time point, a variable, or a variable shifted by a number",
                span,
                hint="a shift may also be a variable that background data gives values to",
            )
        )

    def flattened(self, atom: Atom) -> tuple[Pattern, tuple[Condition, ...]]:
        """The atom without arithmetic: `p(X*2)` is `p(Y)` with `Y = X*2`."""
        args: list[Slot] = []
        conditions = []
        for arg in atom.args:
            if not isinstance(arg, Arithmetic):
                args.append(self.slot(arg))
                continue
            expression = self.expression(arg)
            if isinstance(expression, Calculation):
                fresh = Variable(f"Value.{next(self._fresh)}")
                conditions.append(Condition("=", fresh, expression))
                args.append(fresh)
            else:
                args.append(expression)
        return Pattern(atom.predicate, tuple(args)), tuple(conditions)
