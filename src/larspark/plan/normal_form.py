"""Formulas in disjunctive normal form: a body as alternatives of literals.

Temporal operators are read as what they say about time points:

    @T f        T is a time point of what can be seen, and f holds at T
    some f      there is such a time point U
    always f    there is a time point, and none at which f does not hold

A window leaves a part of the time points: those around the place where it stands, which is the
evaluation time or a time point that was named before. So `[9] some (a and [2] some b)` becomes
`[9] @U a, [9] @V b, U-2 <= V, V <= U`: also the inner window sees only what the outer one leaves.

Where a formula says no more than the atom below it, it stays whole, and is one operator: `[5] some
a`, `[5] always a`, `[#3] @T a`.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from itertools import count

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import Span
from larspark.base.terms import Arithmetic, Term, Variable, Wildcard
from larspark.language.nodes import children, walk
from larspark.language.tree import (
    Aggregate,
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
from larspark.language.windows import TimeWindow, Window
from larspark.logic.binding import bound_variables
from larspark.logic.traversal import key_positions
from larspark.logic.values import compare
from larspark.plan.literals import (
    FALSE,
    TRUE,
    Absent,
    Alternatives,
    Collection,
    Condition,
    Conjunction,
    Literal,
    Placed,
    Point,
    Reading,
    Scope,
    cannot,
    conjoin,
    counts_tuples,
    disjoin,
    time_variable,
)
from larspark.plan.operators import Mode

# `always` is read twice, once for what holds and once for what does not: nested, that doubles. And
# every part is read together with the time points of all windows above it.
_STEPS_LIMIT = 1_000
_WINDOWS_LIMIT = 24


class FormulaReader:
    """Brings the formulas of one rule into normal form."""

    def __init__(self, given: Set[Signature]) -> None:
        # The predicates of which the stream is not all.
        self._given = given
        self._times: Iterator[Variable] = (Variable(f"@{number}") for number in count())
        self._steps = 0
        # The names of the evaluation time.
        self._nows: set[Variable] = set()

    def alternatives(
        self,
        formula: Formula,
        scope: Scope = (),
        position: Variable | None = None,
        *,
        negated: bool = False,
    ) -> Alternatives:
        """When the formula holds (or does not) at a position, by what can be seen from there."""
        self._steps += position is not None
        if self._steps > _STEPS_LIMIT or len(scope) > _WINDOWS_LIMIT:
            hint = "give parts of it a name, by rules of their own"
            raise cannot("evaluate a formula that nests so deeply", formula.span, hint)
        match formula:
            case AtomFormula(atom):
                return self._here(atom, scope, position, negated, formula.span)
            case Comparison():
                return _one(_condition(formula, negated, complement=negated))
            case Not(Comparison() as comparison):
                return _one(_condition(comparison, not negated, complement=negated))
            case Truth(value):
                return TRUE if value != negated else FALSE
            case Not(body):
                return self.alternatives(body, scope, position, negated=not negated)
            case And(parts) | Or(parts):
                each = [self.alternatives(p, scope, position, negated=negated) for p in parts]
                conjunctive = isinstance(formula, And) != negated
                return (conjoin if conjunctive else disjoin)(each, formula.span)
            case Implies(left, right):
                each = [
                    self.alternatives(left, scope, position, negated=not negated),
                    self.alternatives(right, scope, position, negated=negated),
                ]
                return (conjoin if negated else disjoin)(each, formula.span)
            case Windowed():
                return self._windowed(formula, scope, position, negated)
            case Reset(body):
                return self.alternatives(body, (), position, negated=negated)
            case Some() | Always() | At():
                return self._temporal(formula, scope, position, negated)
            case Aggregate():
                return _collections(formula)

    def _windowed(
        self, formula: Windowed, scope: Scope, position: Variable | None, negated: bool
    ) -> Alternatives:
        window, body, span = formula.window, formula.body, formula.span
        hops = self._hops_before(window, scope, position)
        if position is None and (hops or _hops_below(window, scope)):
            # Two time windows that differ in their pivot do not collapse: now gets a name.
            now = next(self._times)
            self._nows.add(now)
            present = Point(now, (Placed(TimeWindow(0), None, span),), span)
            here = self.alternatives(formula, scope, now, negated=negated)
            return conjoin([_one(present), here], span)
        keys = key_positions(window.keys, body) if window.keys else ()
        inner = (*scope, Placed(window, position, span, keys))
        inside = self.alternatives(body, inner, position, negated=negated)
        if position is None or not hops:
            return inside
        # Where a hop leaves the position out, what stands below it is no window at all.
        outside = self.alternatives(body, scope, position, negated=negated)
        within = tuple(_in_hop(position, every, future, span) for every, future in hops)
        beyond = tuple((replace(condition, negated=True),) for condition in within)
        return disjoin([conjoin([(within,), inside], span), conjoin([beyond, outside], span)], span)

    def _hops_before(
        self, window: Window, scope: Scope, position: Variable | None
    ) -> list[tuple[int, int]]:
        """The hops around the position above a time window, and how long each shows its pivot.

        Windows that count elements need no care: they are recomputed as they are.
        """
        if window.bounds is None or counts_tuples(scope):
            return []
        same = {position, None} if position is None or position in self._nows else {position}
        return _hops_of([placed for placed in scope if placed.position in same])

    def _here(
        self, atom: Atom, scope: Scope, position: Variable | None, negated: bool, span: Span
    ) -> Alternatives:
        """An atom at the position itself."""
        if position is None:
            return self._read(Reading(atom, Mode.NOW, None, scope, negated, span))
        around = [p for p in scope if p.position == position and _hops(p.window)]
        if not around or counts_tuples(scope) or atom.signature in self._given:
            return self._read(Reading(atom, Mode.AT, position, scope, negated, span))
        plain = tuple(placed for placed in scope if placed not in around)
        found = conjoin(
            [
                self._read(Reading(atom, Mode.AT, position, plain, False, span)),
                *(_one(_in_hop(position, *hop, span)) for hop in _hops_of(around)),
            ],
            span,
        )
        return _absent(found, span) if negated else found

    def _read(self, reading: Reading) -> Alternatives:
        """A reading; a filter with variables becomes an alternative for each of its patterns."""
        varying = [placed for placed in reading.scope if _varies(placed)]
        given = reading.atom.signature in self._given
        if not varying or counts_tuples(reading.scope) or given:
            return _one(reading)
        scope = tuple(placed for placed in reading.scope if placed not in varying)
        found: Alternatives = ((replace(reading, scope=scope, negated=False),),)
        for placed in varying:
            patterns = placed.window.filters or ()
            found = disjoin([self._matching(found, pattern) for pattern in patterns], reading.span)
        return _absent(found, reading.span) if reading.negated else found

    def _matching(self, found: Alternatives, pattern: Atom) -> Alternatives:
        """The alternatives whose atom, which comes first, a pattern of a filter matches."""
        matching: list[Conjunction] = []
        for conjunction in found:
            reading = conjunction[0]
            if not isinstance(reading, Reading) or reading.atom.signature != pattern.signature:
                continue
            args: list[Term] = []
            conditions: list[Literal] = []
            for arg, term in zip(reading.atom.args, pattern.args, strict=True):
                if isinstance(term, Wildcard):
                    args.append(arg)
                    continue
                value = next(self._times) if isinstance(arg, Wildcard) else arg
                args.append(value)
                equation = Comparison("=", value, term, reading.span)
                conditions.append(Condition(equation, False))
            atom = Atom(pattern.predicate, tuple(args))
            matching.append((replace(reading, atom=atom), *conjunction[1:], *conditions))
        return tuple(matching)

    def _temporal(
        self,
        formula: Some | Always | At,
        scope: Scope,
        position: Variable | None,
        negated: bool,
    ) -> Alternatives:
        simpler = _simpler(formula, scope)
        if simpler is not None:
            return self.alternatives(simpler, scope, position, negated=negated)
        body, span = formula.body, formula.span
        endless = isinstance(formula, Always) and (
            counts_tuples(scope) or any(map(_hops_endlessly, scope)) or any(map(_varies, scope))
        )
        here = all(placed.position is None for placed in scope)
        if isinstance(body, AtomFormula) and here and not endless:
            mode, time = _MODES[type(formula)], formula.time if isinstance(formula, At) else None
            return self._read(Reading(body.atom, mode, time, scope, negated, span))
        if isinstance(formula, Always):
            return self._always(formula, scope, position, negated)
        time = formula.time if isinstance(formula, At) else next(self._times)
        found = self._at(time, body, scope, span)
        return _absent(found, span) if negated else found

    def _at(
        self, time: Term, body: Formula, scope: Scope, span: Span, *, negated: bool = False
    ) -> Alternatives:
        point = _one(_point(time, scope, span))
        here = self.alternatives(body, scope, time_variable(time), negated=negated)
        return conjoin([point, here], span)

    def _always(
        self, formula: Always, scope: Scope, position: Variable | None, negated: bool
    ) -> Alternatives:
        body, span = formula.body, formula.span
        may_be_empty = _may_be_empty(scope)
        if negated and not may_be_empty:
            return self._at(next(self._times), body, scope, span, negated=True)
        parts: list[Alternatives] = []
        if bound_variables((body,)):
            # What holds always holds here, and that is where values come from. What the evaluation
            # time alone shows is gone with it: then values from other time points last longer.
            elsewhere = may_be_empty or (position is None and not _lasts(body))
            witness = Some(body, span) if elsewhere else body
            parts.append(self.alternatives(witness, scope, position))
        elif may_be_empty:
            parts.append(_one(_point(next(self._times), scope, span)))
        counterexample = self._at(next(self._times), body, scope, span, negated=True)
        parts.append(_absent(counterexample, span))
        found = conjoin(parts, span)
        return _absent(found, span) if negated else found


_MODES = {Some: Mode.SOME, Always: Mode.ALWAYS, At: Mode.AT}


def _simpler(formula: Some | Always | At, scope: Scope) -> Formula | None:
    """The same with the temporal operator further inside, or without it; None if there is none."""
    span = formula.span

    def wrapped(body: Formula) -> Formula:
        match formula:
            case At(time):
                return At(time, body, span)
            case Some():
                return Some(body, span)
            case _:
                return Always(body, span)

    match formula, formula.body:
        case _, Windowed(window, body) if window.filters is not None:
            # A filter does not look at the time.
            return Windowed(window, wrapped(body), span)
        case ((Some() | At()), Or(parts)):
            return Or(tuple(map(wrapped, parts)), span)
        case ((Always() | At()), And(parts)):
            return And(tuple(map(wrapped, parts)), span)
        case ((Some() | Always()), (Some() | Always() | At()) as inner):
            return inner
        case Some(), Windowed(window, Some(body)) if _slides(window) and _is_pointwise(body):
            # A time point lies in its own window.
            return Some(body, span)
        case Always(), Not(body) if not isinstance(body, Comparison):
            never = Not(Some(body, span), span)
            return And((Some(Truth(True), span), never)) if _may_be_empty(scope) else never
        case Always(), (Comparison() | Truth() | Not()) as timeless:
            return Some(timeless, span)
        case Some(), (Comparison() | Truth() | Not(Comparison())) as timeless:
            return None if _may_be_empty(scope) else timeless
        case _:
            return None


def _lasts(formula: Formula) -> bool:
    """Does the formula look beyond one time point, and through windows that slide?"""
    return not _is_pointwise(formula) and not any(
        isinstance(part, Windowed) and _hops(part.window) for part in walk(formula)
    )


def _hops(window: Window) -> bool:
    return window.bounds is not None and window.bounds.hops


def _point(time: Term, scope: Scope, span: Span) -> Point:
    """A time point of a scope, which filters do not change unless elements are counted."""
    if not counts_tuples(scope):
        scope = tuple(placed for placed in scope if not _varies(placed))
    return Point(time, scope, span)


def _varies(placed: Placed) -> bool:
    """Is this a filter whose patterns have variables?"""
    return any(isinstance(term, Variable | Arithmetic) for term in placed.window.filter_terms)


def _hops_of(scope: Scope | Sequence[Placed]) -> list[tuple[int, int]]:
    """The hops of windows, and how long each one shows its pivot if that ends."""
    return [
        (bounds.every, bounds.every if bounds.future is None else bounds.future)
        for bounds in (placed.window.bounds for placed in scope)
        if bounds is not None and bounds.hops
    ]


def _hops_endlessly(placed: Placed) -> bool:
    """Does a window hop through the whole past? Then its size has no bound."""
    bounds = placed.window.bounds
    return bounds is not None and bounds.hops and bounds.past is None


def _slides(window: Window) -> bool:
    return window.bounds is not None and not window.bounds.hops


def _hops_below(window: Window, scope: Scope) -> bool:
    """Is this a hopping window below a sliding one, in which the evaluation time lies?"""
    above = [placed.window for placed in scope if placed.window.bounds is not None]
    return _hops(window) and bool(above) and not any(map(_hops, above))


def _in_hop(position: Variable, every: int, future: int, span: Span) -> Condition:
    """Does a hopping window around a time point have this time point?"""
    since_pivot = Arithmetic("mod", (position, every))
    return Condition(Comparison("<=", since_pivot, future, span), False)


def _is_pointwise(formula: Formula) -> bool:
    """Does the formula look at one time point alone?"""
    if isinstance(formula, Some | Always | At | Windowed | Reset):
        return False
    return all(map(_is_pointwise, children(formula)))


def _may_be_empty(scope: Scope) -> bool:
    """Can there be no time point? That can be before the first pivot of a hopping window."""
    return any(_hops(placed.window) for placed in scope)


def _condition(comparison: Comparison, negated: bool, *, complement: bool) -> Condition:
    """A comparison without a value is false, negated or not; so its complement is true.

    Arithmetic may have no value, and an order between a number and a text has none.
    """
    uncertain = comparison.operator not in ("=", "!=") or any(
        isinstance(t, Arithmetic) for t in (comparison.left, comparison.right)
    )
    return Condition(comparison, negated, complement and uncertain)


def _collections(aggregate: Aggregate) -> Alternatives:
    filled = _one(Collection(aggregate, empty=False))
    if not _holds_of_nothing(aggregate):
        return filled
    return disjoin([filled, _one(Collection(aggregate, empty=True))], aggregate.span)


def _holds_of_nothing(aggregate: Aggregate) -> bool:
    """Can the literal hold of the empty set? A count or sum is 0 then, if groups come from others.

    >>> from larspark.language.tree import Guard
    >>> _holds_of_nothing(Aggregate("count", (), (Guard(">", 3),)))
    False
    """
    if aggregate.by or aggregate.function not in ("count", "sum"):
        return False
    return all(
        compare(guard.operator, 0, guard.term)
        for guard in aggregate.guards
        if isinstance(guard.term, int | float | str)
    )


def _one(literal: Literal) -> Alternatives:
    return ((literal,),)


def _absent(alternatives: Alternatives, span: Span) -> Alternatives:
    if () in alternatives:
        return FALSE
    return _one(Absent(alternatives, span)) if alternatives else TRUE
