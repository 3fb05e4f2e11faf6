"""Aggregates as written: the long form `#count{...}` and the short form `count of ...`.

Which variables of an aggregate are global is known when the whole rule is; `finish_body` then
makes the literals of a body final.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple, TypeAlias

from larspark.base.terms import NOW, Term, Variable, Wildcard
from larspark.language.nodes import term_variables, variables, walk
from larspark.language.pieces import (
    Piece,
    ShortPiece,
    TermPiece,
    as_formula,
    as_operand,
    capital_hint,
)
from larspark.language.tokens import Token, span_between
from larspark.language.tree import (
    MIRRORED,
    Aggregate,
    AggregateElement,
    AggregateFunction,
    And,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Guard,
    Reset,
    Truth,
    Windowed,
)
from larspark.language.window_syntax import Children, WindowSteps
from larspark.language.windows import TimeWindow

# The operator that holds in the other cases.
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True, slots=True)
class ShortForm:
    """`N = avg of V in [5] p(V, _) where V > 3 by X`, before its local variables have names."""

    aggregate: Aggregate
    value: Term | None
    ranged: Formula
    conditions: tuple[Formula, ...]


class LiteralPiece(Piece):
    """An aggregate, which can only be a literal of a body."""

    __slots__ = ("literal",)

    def __init__(
        self, literal: Aggregate | ShortForm, first: Token, last: Token, depth: int
    ) -> None:
        super().__init__(first, last, depth)
        self.literal = literal


Literal: TypeAlias = Formula | ShortForm


class _Set(NamedTuple):
    function: AggregateFunction
    elements: tuple[AggregateElement, ...]
    first: Token
    last: Token
    depth: int


class _Conditions(NamedTuple):
    formulas: tuple[Formula, ...]
    depth: int


class _Element(NamedTuple):
    element: AggregateElement
    depth: int


class _Keys(NamedTuple):
    keys: tuple[Variable, ...]
    last: Token


class AggregateSteps(WindowSteps):
    """One method for each way to write an aggregate, and for its parts."""

    def set(self, children: Children) -> _Set:
        hash_, function, brace, *elements, last = children
        found = [element for element in elements if isinstance(element, _Element)]
        if not found:
            message, hint = "the braces are empty", f"for example `#{function.text}{{ X : p(X) }}`"
            brace.source.report("L127", message, span_between(brace, last), hint)
        depth = max((element.depth for element in found), default=0)
        elements_ = tuple(element.element for element in found)
        return _Set(function.text, elements_, hash_, last, depth)

    def element(self, children: Children) -> _Element:
        pieces, conditions = children[:-2:2], children[-1]
        values = tuple(as_operand(piece, "count") for piece in pieces)
        depth = max(conditions.depth, *(piece.depth for piece in pieces))
        return _Element(AggregateElement(values, conditions.formulas), depth)

    def conditions(self, children: Children) -> _Conditions:
        pieces = children[::2]
        formulas = _flat(_formula(piece, "inside another one") for piece in pieces)
        return _Conditions(formulas, max(piece.depth for piece in pieces))

    def group_keys(self, children: Children) -> _Keys:
        keys = []
        for piece in children[1::2]:
            if isinstance(piece, TermPiece) and isinstance(piece.term, Variable):
                keys.append(piece.term)
            else:
                message = f"`{piece.text()}` is not a variable, so it cannot be a key"
                piece.report("L125", message, capital_hint(piece))
        return _Keys(tuple(keys), children[-1].last)

    def left_aggregate(self, children: Children) -> Piece:
        not_, left, operator, found, second, right, keys = children
        guards = [Guard(MIRRORED[operator.text], as_operand(left, "compare"))]
        if second is not None:
            guards.append(Guard(second.text, as_operand(right, "compare")))
        pieces = [piece for piece in (left, right) if piece is not None]
        last = keys.last if keys else right.last if right else found.last
        return _aggregate(not_, found, guards, keys, not_ or left.first, last, pieces)

    def right_aggregate(self, children: Children) -> Piece:
        not_, found, operator, right, keys = children
        guards = [] if operator is None else [Guard(operator.text, as_operand(right, "compare"))]
        last = keys.last if keys else right.last if right else found.last
        if not guards:
            hint = f"for example `N = #{found.function}{{...}}` or `#{found.function}{{...}} > 3`"
            span = span_between(found.first, found.last)
            found.first.source.report("L127", "the aggregate is not compared", span, hint)
        pieces = [] if right is None else [right]
        return _aggregate(not_, found, guards, keys, not_ or found.first, last, pieces)

    def short_count(self, children: Children) -> Piece:
        not_, left, operator, function, _, ranged, _, where, keys = children
        return _short(not_, left, operator, function, None, ranged, where, keys)

    def short_of(self, children: Children) -> Piece:
        not_, left, operator, function, _, value, _, ranged, _, where, keys = children
        return _short(not_, left, operator, function, value, ranged, where, keys)


def _aggregate(
    not_: Token | None,
    found: _Set,
    guards: list[Guard],
    keys: _Keys | None,
    first: Token,
    last: Token,
    pieces: Sequence[Piece],
) -> Piece:
    span = span_between(first, last)
    by = keys.keys if keys else ()
    literal = Aggregate(found.function, found.elements, _negated(not_, guards, by), by, (), span)
    depth = max(found.depth, *(piece.depth for piece in pieces), 0) + 1
    return LiteralPiece(literal, first, last, depth)


def _negated(
    not_: Token | None, guards: Sequence[Guard], by: tuple[Variable, ...]
) -> tuple[Guard, ...]:
    """The guards, or the opposite guard behind `not`."""
    if not_ is None:
        return tuple(guards)
    if by:
        message = "`by` names the groups for which the literal holds, so it cannot follow a `not`"
        not_.source.report("L127", message, not_.span, "write the opposite comparison")
    elif len(guards) == 2:
        message = "an aggregate with two bounds cannot be negated"
        not_.source.report("L127", message, not_.span, "write a rule for each of the bounds")
    return tuple(Guard(_OPPOSITE[guard.operator], guard.term) for guard in guards[:1])


def _short(
    not_: Token | None,
    left: Piece,
    operator: Token,
    function: Token,
    value: Piece | None,
    ranged: Piece,
    where: Piece | None,
    keys: _Keys | None,
) -> Piece:
    first, last = not_ or left.first, keys.last if keys else (where or ranged).last
    by = keys.keys if keys else ()
    guard = Guard(MIRRORED[operator.text], as_operand(left, "compare"))
    name: AggregateFunction = function.text  # type: ignore[assignment]
    guards = _negated(not_, [guard], by)
    aggregate = Aggregate(name, (), guards, by, (), span_between(first, last))
    measured = None if value is None else as_operand(value, "measure")
    conditions = () if where is None else _flat([as_formula(where)])
    pieces = [piece for piece in (left, value, ranged, where) if piece is not None]
    depth = max(piece.depth for piece in pieces) + 2
    literal = ShortForm(aggregate, measured, _range(ranged), conditions)
    return LiteralPiece(literal, first, last, depth)


def _range(piece: Piece) -> Formula:
    """The formula that a short form ranges over: windows before an atom or a conjunction."""
    if isinstance(piece, ShortPiece):
        return Windowed(piece.window, piece.atom, piece.span)
    formula = as_formula(piece)
    core = formula
    while isinstance(core, Windowed | Reset):
        core = core.body
    parts = core.parts if isinstance(core, And) else (core,)
    if not isinstance(formula, Windowed):
        message, hint = "a window is missing before this", "for example `count of [5] p(X)`"
        piece.report("L127", message, f"{hint}; `[*]` is the whole past")
    elif not all(isinstance(part, AtomFormula | Comparison) for part in parts) or not any(
        isinstance(part, AtomFormula) for part in parts
    ):
        message = "the window of a short form is followed by an atom, or by atoms in parentheses"
        hint = "the time point is added to it; write the long form `#count{...}` for others"
        piece.report("L127", message, hint)
    return formula


def literals_of(pieces: Iterable[Piece]) -> list[Literal]:
    """The literals of a body, conjunctions flattened."""
    found: list[Literal] = []
    for piece in pieces:
        if isinstance(piece, LiteralPiece):
            found.append(piece.literal)
        else:
            found.extend(_flat([as_formula(piece)]))
    return found


def _formula(piece: Piece, where: str) -> Formula:
    if not isinstance(piece, LiteralPiece):
        return as_formula(piece)
    piece.report("L128", f"an aggregate cannot stand {where}", "give it a rule of its own")
    return Truth(True, piece.span)


def _flat(formulas: Iterable[Formula]) -> tuple[Formula, ...]:
    return tuple(
        part
        for formula in formulas
        for part in (formula.parts if isinstance(formula, And) else (formula,))
    )


def finish_body(head: Formula | None, literals: Sequence[Literal]) -> tuple[Formula, ...]:
    """The literals with their short forms written out and their global variables known.

    Where `now` is used, a literal binds it: `[0] @now true`.
    """
    literals = _with_now(head, literals)
    if not any(isinstance(literal, Aggregate | ShortForm) for literal in literals):
        return tuple(literal for literal in literals if not isinstance(literal, ShortForm))
    used = {name for literal in literals for name in _all_names(literal)}
    used.update(_names(head) if head is not None else ())
    written = [
        _written_out(literal, used) if isinstance(literal, ShortForm) else literal
        for literal in literals
    ]
    outside = set(_names(head) if head is not None else ())
    for literal in written:
        outside.update(_outer(literal) if isinstance(literal, Aggregate) else _names(literal))
    return tuple(
        replace(literal, shared=_shared(literal, outside))
        if isinstance(literal, Aggregate)
        else literal
        for literal in written
    )


def _with_now(head: Formula | None, literals: Sequence[Literal]) -> Sequence[Literal]:
    used = {name for literal in literals for name in _all_names(literal)}
    used.update(_names(head) if head is not None else ())
    binder = Windowed(TimeWindow(0), At(NOW, Truth(True)))
    return (binder, *literals) if NOW.name in used and binder not in literals else literals


def _shared(aggregate: Aggregate, outside: set[str]) -> tuple[Variable, ...]:
    names = dict.fromkeys(name for name in _inner(aggregate) if name in outside)
    return tuple(map(Variable, names))


def _written_out(short: ShortForm, used: set[str]) -> Aggregate:
    """The short form as a long one: the time point and every argument belong to the tuple."""
    fresh = (name for number in count(1) if (name := f"_X{number}") not in used)
    time = Variable(next(name for name in _time_names() if name not in used))
    ranged = _pinned(short.ranged, time, fresh)
    arguments = dict.fromkeys(
        term
        for part in walk(ranged)
        if isinstance(part, AtomFormula)
        for term in part.atom.args
        if isinstance(term, Variable)
    )
    rest = [term for term in arguments if term != short.value and term not in short.aggregate.by]
    measured = () if short.value is None else (short.value,)
    element = AggregateElement((*measured, time, *rest), (ranged, *short.conditions))
    return replace(short.aggregate, elements=(element,))


def _time_names() -> Iterator[str]:
    yield "_T"
    yield from (f"_T{number}" for number in count(1))


def _pinned(formula: Formula, time: Variable, fresh: Iterator[str]) -> Formula:
    """The formula with `@time` before its atoms, and variables instead of wildcards."""
    match formula:
        case Windowed(_, body) | Reset(body):
            return replace(formula, body=_pinned(body, time, fresh))
        case And(parts):
            named = tuple(_named(part, fresh) for part in parts)
            return At(time, replace(formula, parts=named), formula.span)
        case _:
            return At(time, _named(formula, fresh), formula.span)


def _named(formula: Formula, fresh: Iterator[str]) -> Formula:
    if not isinstance(formula, AtomFormula):
        return formula
    args = tuple(
        Variable(next(fresh)) if isinstance(term, Wildcard) else term for term in formula.atom.args
    )
    return replace(formula, atom=formula.atom._replace(args=args))


def _all_names(literal: Literal) -> Iterator[str]:
    match literal:
        case ShortForm(aggregate, value, ranged, conditions):
            yield from _outer(aggregate)
            yield from () if value is None else _term_names([value])
            for formula in (ranged, *conditions):
                yield from _names(formula)
        case Aggregate():
            yield from _outer(literal)
            yield from _inner(literal)
        case _:
            yield from _names(literal)


def _outer(aggregate: Aggregate) -> Iterator[str]:
    yield from _term_names(guard.term for guard in aggregate.guards)
    yield from _term_names(aggregate.by)


def _inner(aggregate: Aggregate) -> Iterator[str]:
    for element in aggregate.elements:
        yield from _term_names(element.terms)
        for condition in element.conditions:
            yield from _names(condition)


def _names(formula: Formula) -> Iterator[str]:
    return (variable.name for variable in variables(formula))


def _term_names(found: Iterable[Term]) -> Iterator[str]:
    return (variable.name for term in found for variable in term_variables(term))
