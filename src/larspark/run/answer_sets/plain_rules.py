"""Plain rules in parts: extended atoms, comparisons, and heads of pinned atoms.

A plain rule here is a little more than plain LARS: windows may nest, heads may be disjunctions or
conjunctions, an unwindowed `some p` counts as one over the whole timeline.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from larspark.base.atoms import Atom
from larspark.base.terms import Arithmetic, Term, Variable, Wildcard
from larspark.language.nodes import subterms
from larspark.language.tree import (
    NEGATED,
    Always,
    And,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Not,
    Or,
    Rule,
    Some,
    Truth,
    Windowed,
)
from larspark.language.windows import TimeWindow, Window
from larspark.logic.binding import linear
from larspark.run.answer_sets.evaluation_context import without_variables


class Mode(StrEnum):
    """At which time points of its windows an atom has to hold."""

    SOME = "some"
    ALWAYS = "always"
    # At the time point that the relation's last column says.
    AT = "at"


Windows: TypeAlias = tuple[Window, ...]

# What a plain atom looks at: the time point of evaluation alone.
NOW: Windows = (TimeWindow(0),)


@dataclass(frozen=True, slots=True)
class ExtendedAtom:
    """`windows mode atom`; `time` is set for the mode AT alone.

    The arguments and the time are constants, variables or (arguments only) wildcards.
    """

    atom: Atom
    windows: Windows
    mode: Mode
    time: Term | None = None


@dataclass(frozen=True, slots=True)
class TimePoint:
    """`windows @T true`: the time is one of the time points that the windows leave."""

    windows: Windows
    time: Term


@dataclass(frozen=True, slots=True)
class PinnedAtom:
    """An atom of a head; without a time it holds at the evaluation time."""

    atom: Atom
    time: Term | None = None


@dataclass(frozen=True, slots=True)
class Test:
    """A comparison; `=` with a lone variable on the left may also bind it."""

    operator: str
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class InTimeline:
    """The value of a term is a time point of the timeline."""

    term: Term


@dataclass(frozen=True, slots=True)
class IsTime:
    """The value of a term is an integer."""

    term: Term


Condition: TypeAlias = Test | InTimeline | IsTime


@dataclass(frozen=True, slots=True)
class PlainRule:
    """Without a head it is a constraint, with several heads a disjunction."""

    heads: tuple[PinnedAtom, ...]
    positive: tuple[ExtendedAtom, ...]
    negative: tuple[ExtendedAtom, ...]
    conditions: tuple[Condition, ...]
    origin: Rule
    points: tuple[TimePoint, ...] = ()


def plain_rules(rules: Sequence[Rule]) -> list[PlainRule] | None:
    """The rules in parts; None when one of them is not plain."""
    found: list[PlainRule] = []
    for rule in rules:
        for heads in _heads(rule.head):
            taken = _Apart(rule).rule(heads)
            if taken is None:
                return None
            found.append(taken)
    return found


def _heads(head: Formula) -> Iterator[tuple[Formula, ...]]:
    """The disjunctions that a head asks for, each one."""
    match head:
        case Truth(True):
            return
        case Truth(False):
            yield ()
        case And(parts):
            for part in parts:
                yield from _heads(part)
        case Or(parts):
            yield parts
        case _:
            yield (head,)


class _NotPlainError(Exception):
    pass


class _Apart:
    """Splits one rule into parts; computed arguments get a variable of their own."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._conditions: dict[Condition, None] = {}
        self._positive: dict[ExtendedAtom, None] = {}
        self._negative: dict[ExtendedAtom, None] = {}
        self._points: dict[TimePoint, None] = {}
        self._fresh = 0

    def rule(self, heads: Sequence[Formula]) -> PlainRule | None:
        try:
            pinned = tuple(self._head(head) for head in heads)
            for element in self._rule.body:
                self._element(element)
        except _NotPlainError:
            return None
        return PlainRule(
            pinned,
            tuple(self._positive),
            tuple(self._negative),
            tuple(self._conditions),
            self._rule,
            tuple(self._points),
        )

    def _head(self, head: Formula) -> PinnedAtom:
        match head:
            case AtomFormula(atom):
                return PinnedAtom(self._flat(atom))
            case At(time, AtomFormula(atom)):
                pin = self._pin(time)
                self._add(InTimeline(pin))
                return PinnedAtom(self._flat(atom), pin)
            case _:
                raise _NotPlainError

    def _element(self, element: Formula) -> None:
        match element:
            case Comparison(operator, left, right):
                self._compare(operator, left, right)
            case Not(Comparison(operator, left, right)):
                self._compare(NEGATED[operator], left, right)
            case Truth(truth) | Not(Truth(truth)):
                if truth is isinstance(element, Not):
                    self._add(Test("=", 0, 1))
            case Not(body):
                self._negative[self._extended(body, negated=True)] = None
            case _:
                windows, below = _through_windows(element)
                if isinstance(below, At) and below.body == Truth(True):
                    self._points[TimePoint(windows, self._pin(below.time, binds=True))] = None
                else:
                    self._positive[self._extended(element, negated=False)] = None

    def _extended(self, formula: Formula, *, negated: bool) -> ExtendedAtom:
        windows, below = _through_windows(formula)
        match below:
            case AtomFormula(atom) if not windows:
                return ExtendedAtom(self._flat(atom), NOW, Mode.SOME)
            case Some(AtomFormula(atom)):
                return ExtendedAtom(self._flat(atom), windows, Mode.SOME)
            case Always(AtomFormula(atom)):
                return ExtendedAtom(self._flat(atom), windows, Mode.ALWAYS)
            case At(time, AtomFormula(atom)):
                pin = self._pin(time, binds=not negated)
                if negated:
                    self._add(IsTime(pin))
                return ExtendedAtom(self._flat(atom), windows, Mode.AT, pin)
            case _:
                raise _NotPlainError

    def _flat(self, atom: Atom) -> Atom:
        return Atom(atom.predicate, tuple(self._flat_term(term) for term in atom.args))

    def _flat_term(self, term: Term) -> Term:
        if not isinstance(term, Arithmetic):
            return term
        variable = self._variable()
        self._add(Test("=", variable, term))
        return variable

    def _pin(self, time: Term, binds: bool = False) -> Term:
        """The time of a pin; where it can, the pin binds the variable it is computed from."""
        known = linear(time)
        if known is None:
            return self._flat_term(time)
        name, offset = known
        self._add(InTimeline(Variable(name)))
        if not offset:
            return Variable(name)
        shifted = self._variable()
        if binds:
            self._add(Test("=", Variable(name), Arithmetic("-", (shifted, offset))))
        else:
            self._add(Test("=", shifted, Arithmetic("+", (Variable(name), offset))))
        return shifted

    def _compare(self, operator: str, left: Term, right: Term) -> None:
        if operator == "=" and isinstance(right, Variable) and not isinstance(left, Variable):
            left, right = right, left
        self._add(Test(operator, left, right))

    def _add(self, condition: Condition) -> None:
        self._conditions[condition] = None

    def _variable(self) -> Variable:
        self._fresh += 1
        # No variable of the language has such a name.
        return Variable(f"#{self._fresh}")


def _through_windows(formula: Formula) -> tuple[Windows, Formula]:
    """The windows that a formula begins with, and what stands below them."""
    windows: list[Window] = []
    while isinstance(formula, Windowed):
        windows.append(_window(formula))
        formula = formula.body
    return tuple(windows), formula


def _window(formula: Windowed) -> Window:
    window = without_variables(formula)
    if any(not isinstance(term, Wildcard | int | float | str) for term in window.filter_terms):
        raise _NotPlainError
    return window


def term_names(term: Term) -> list[str]:
    """The names of the variables in a term."""
    return [part.name for part in subterms(term) if isinstance(part, Variable)]
