"""Rules in a normal form: one atom as a head, and a conjunction of literals as a body.

A literal is a comparison or a formula over one atom, perhaps negated. What is not of that form is
brought there where that keeps the meaning:

    a and b :- c.              becomes   a :- c.   b :- c.
    a :- b or c.               becomes   a :- b.   a :- c.
    a :- not (b or c).         becomes   a :- not b, not c.
    a :- [5] (some b and c).   becomes   a :- [5] some b, [5] c.
    a :- [5] some (b and c).   becomes   a :- [5] @T b, [5] @T c.
    a :- @T (b and not c).     becomes   a :- @T b, not @T c.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, product
from typing import TypeAlias, assert_never

from larspark.base.problems import LarsparkError, Problem, Span
from larspark.base.terms import Variable
from larspark.language.tree import (
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
    Rule,
    Some,
    Truth,
    Windowed,
)

# A body with more alternatives than this is refused: each of them is a rule of its own.
ALTERNATIVES_LIMIT = 64


@dataclass(frozen=True, slots=True)
class Literal:
    """A comparison, or an atom below temporal operators and windows; perhaps negated."""

    formula: Formula
    negated: bool


Conjunction: TypeAlias = tuple[Literal, ...]
# A disjunction of conjunctions.
Alternatives: TypeAlias = tuple[Conjunction, ...]

_TRUE: Alternatives = ((),)
_FALSE: Alternatives = ()


@dataclass(frozen=True, slots=True)
class PlainRule:
    """A rule with an atom, perhaps at a time point, as its head."""

    head: AtomFormula | At
    body: Conjunction
    number: int
    span: Span


def plain_rules(rule: Rule, number: int) -> list[PlainRule]:
    """The rule in normal form; raises an error that says what stands in the way."""
    times = (Variable(f"@{number}") for number in count())
    body = [_with_named_times(part, True, times) for part in rule.body]
    parts = [_alternatives(part, False, rule.span) for part in body]
    alternatives = _conjoin(parts, rule.span)
    return [
        PlainRule(head, body, number, rule.span)
        for head in _heads(rule.head)
        for body in alternatives
    ]


def cannot(what: str, span: Span, hint: str = "") -> LarsparkError:
    """The error that says that this engine cannot do something."""
    return LarsparkError(Problem("L403", f"the interval engine cannot {what}", span, hint))


def _heads(head: Formula) -> Iterator[AtomFormula | At]:
    match head:
        case AtomFormula() | At(_, AtomFormula()):
            yield head
        case And(parts):
            for part in parts:
                yield from _heads(part)
        case _:
            raise cannot("derive anything but atoms", head.span, "use the engine `asp`")


def _with_named_times(formula: Formula, positive: bool, times: Iterator[Variable]) -> Formula:
    """Name the time point at which something holds that is no atom: `some (a and b)`.

    A variable of a body says that there is a value for it, so this is for what is not negated.
    """
    match formula:
        case Some(And() as body) if positive:
            return At(next(times), body, formula.span)
        case Not(body):
            return Not(_with_named_times(body, not positive, times), formula.span)
        case And(parts):
            return And(tuple(_with_named_times(part, positive, times) for part in parts))
        case Or(parts):
            return Or(tuple(_with_named_times(part, positive, times) for part in parts))
        case Implies(left, right):
            left = _with_named_times(left, not positive, times)
            return Implies(left, _with_named_times(right, positive, times), formula.span)
        case Windowed(window, body):
            return Windowed(window, _with_named_times(body, positive, times), formula.span)
        case Reset(body):
            return Reset(_with_named_times(body, positive, times), formula.span)
        case _:
            return formula


def _alternatives(formula: Formula, negated: bool, span: Span) -> Alternatives:
    match formula:
        case AtomFormula() | Comparison():
            return ((Literal(formula, negated),),)
        case Truth(value):
            return _TRUE if value != negated else _FALSE
        case Not(body):
            return _alternatives(body, not negated, span)
        case And(parts) | Or(parts):
            each = [_alternatives(part, negated, span) for part in parts]
            return _join(each, span, conjunctive=isinstance(formula, And) != negated)
        case Implies(left, right):
            each = [_alternatives(left, not negated, span), _alternatives(right, negated, span)]
            return _join(each, span, conjunctive=negated)
        case Windowed(window, body):
            # A window changes what is looked at, so it passes through all connectives.
            return _below(body, negated, span, lambda part: Windowed(window, part, formula.span))
        case Reset(body):
            return _below(body, negated, span, lambda part: Reset(part, formula.span))
        case At(time, body):
            return _temporal(formula, negated, lambda part: At(time, part, formula.span))
        case Some(body):
            return _temporal(formula, negated, lambda part: Some(part, formula.span))
        case Always(body):
            return _temporal(formula, negated, lambda part: Always(part, formula.span))
        case _:
            assert_never(formula)


def _below(
    body: Formula, negated: bool, span: Span, wrap: Callable[[Formula], Formula]
) -> Alternatives:
    return tuple(
        tuple(
            literal
            if isinstance(literal.formula, Comparison)
            else Literal(wrap(literal.formula), literal.negated)
            for literal in conjunction
        )
        for conjunction in _alternatives(body, negated, span)
    )


def _temporal(
    formula: At | Some | Always, negated: bool, wrap: Callable[[Formula], Formula]
) -> Alternatives:
    """`@T` passes through `and` and `or`, `always` through `and`, `some` through `or`."""
    match formula, formula.body:
        case _, AtomFormula():
            return ((Literal(formula, negated),),)
        case ((At() | Always()), And(parts)):
            each = tuple(_part(formula, part, parts, wrap) for part in parts)
            return _alternatives(And(each), negated, formula.span)
        case ((At() | Some()), Or(parts)):
            return _alternatives(Or(tuple(map(wrap, parts))), negated, formula.span)
        case _:
            raise cannot(
                "look below a temporal operator at anything but an atom",
                formula.span,
                "give what stands below it a name, by a rule of its own, or use the engine `asp`",
            )


def _part(
    formula: At | Always,
    part: Formula,
    parts: tuple[Formula, ...],
    wrap: Callable[[Formula], Formula],
) -> Formula:
    """A part of a conjunction below a temporal operator, with the operator where it belongs.

    An atom among the parts already says that there is a time point: then a comparison needs none,
    and what is not at a time point is what does not hold there.
    """
    if any(isinstance(other, AtomFormula) for other in parts):
        if isinstance(part, Comparison):
            return part
        if isinstance(part, Not) and isinstance(formula, At):
            return Not(wrap(part.body), part.span)
    return wrap(part)


def _join(each: list[Alternatives], span: Span, *, conjunctive: bool) -> Alternatives:
    if conjunctive:
        return _conjoin(each, span)
    return _limited(tuple(conjunction for part in each for conjunction in part), span)


def _conjoin(each: list[Alternatives], span: Span) -> Alternatives:
    alternatives = _TRUE
    for part in each:
        _limited(alternatives, span, len(part))
        alternatives = tuple((*left, *right) for left, right in product(alternatives, part))
    return _limited(alternatives, span)


def _limited(alternatives: Alternatives, span: Span, times: int = 1) -> Alternatives:
    if len(alternatives) * times > ALTERNATIVES_LIMIT:
        raise cannot(
            f"split a body into more than {ALTERNATIVES_LIMIT} alternatives",
            span,
            "give parts of the body a name, by rules of their own",
        )
    return alternatives
