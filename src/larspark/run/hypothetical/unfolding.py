"""Unfolding of LARS rules into rules over time points, for windows of fixed size.

| formula, evaluated at N | becomes |
|---|---|
| `p(X)` in a head or body | `@N p(X)` |
| `[n] some p(X)` | `@S p(X)` with N-n <= S <= N |
| `[n] @T p(X)` | `@T p(X)` with N-n <= T <= N |
| `[n] always p(X)` | `p(X)` at N-n, ..., N, without the time points before the start |
| `not [n] some p(X)` | `not p(X)` at N-n, ..., N |
| `[n every d]` | one case for each remainder of N by d |

The time points of a window stay variables with bounds; only disjunctions, and `always` over a
formula that is not an atom, are multiplied out.
"""

from collections.abc import Iterable, Iterator
from typing import assert_never

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem, Span
from larspark.base.terms import Term, Variable
from larspark.language.nodes import term_variables, variables, walk
from larspark.language.tree import (
    NEGATED,
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
    Rule,
    Some,
    Truth,
    Windowed,
)
from larspark.language.windows import Window
from larspark.run.hypothetical.dataset import Background
from larspark.run.hypothetical.patterns import ORIGIN, Calculation, Condition, Slot, Terms, Time
from larspark.run.hypothetical.temporal_rules import (
    NOW,
    Conjunction,
    Denial,
    Occurrence,
    TemporalRule,
)
from larspark.run.hypothetical.window_scope import (
    Cases,
    Range,
    Scope,
    before,
    fixed,
    inside,
    narrowed,
    outside,
    time_pairs,
    timed,
)

# A rule with more alternatives is refused.
LIMIT = 2_000

_TRUE = Conjunction()


def unfold_rule(rule: Rule, background: Background, start: int) -> list[TemporalRule]:
    """The rules over time points that together are equivalent to this rule."""
    match rule.head:
        case AtomFormula() as head:
            pin: Term | None = None
        case At(time, AtomFormula() as head):
            pin = time
        case _:
            raise LarsparkError(
                Problem(
                    "L473",
                    "hypothetical answers need rules with one atom, or `@T` and one atom, as head",
                    rule.head.span,
                    hint="use the engine `asp` for programs with constraints, disjunction or other "
                    "formulas in heads",
                )
            )
    unfolded = []
    for unfolding in _unfoldings((rule.head, *rule.body), background, start):
        pattern, conditions = unfolding.terms.flattened(head.atom)
        at = Time(NOW) if pin is None else unfolding.terms.time(pin, rule.head.span)
        on_timeline = timed(((Time(ORIGIN, start), at),))
        base = unfolding.product(on_timeline, [Conjunction(conditions=conditions)], rule.span)
        bodies = unfolding.body(rule.body, base, rule.span)
        unfolded += [TemporalRule(pattern, at, body, rule) for body in bodies]
    return unfolded


def unfold_query(
    query: Formula, background: Background, start: int
) -> list[tuple[tuple[Slot, ...], Conjunction]]:
    """The query as a rule body, with the slots of its variables."""
    unfolded: list[tuple[tuple[Slot, ...], Conjunction]] = []
    parts = query.parts if isinstance(query, And) else (query,)
    for unfolding in _unfoldings(parts, background, start):
        answer = tuple(unfolding.terms.slot(Variable(name)) for name in query_variables(query))
        unfolded += [(answer, body) for body in unfolding.body(parts, [_TRUE], query.span)]
    return unfolded


def query_variables(query: Formula) -> list[str]:
    """The variables that an answer binds, time variables last."""
    names = dict.fromkeys(variable.name for variable in variables(query))
    times = {variable.name for term, _ in _pins((query,)) for variable in term_variables(term)}
    return sorted(names, key=times.__contains__)


def _pins(formulas: Iterable[Formula]) -> Iterator[tuple[Term, Span]]:
    """The terms of all time pins."""
    for formula in formulas:
        for part in walk(formula):
            if isinstance(part, At):
                yield part.time, part.span


def _unfoldings(
    formulas: tuple[Formula, ...], background: Background, start: int
) -> Iterator["_Unfolding"]:
    """One unfolding for each choice of values of variable time shifts from background data."""
    times: set[str] = set()
    shifts: dict[str, tuple[set[int], Span]] = {}
    for term, span in _pins(formulas):
        names = {variable.name for variable in term_variables(term)}
        for name in names:
            values = _shift_values(name, formulas, background) if len(names) > 1 else set()
            if values:
                shifts[name] = (values, span)
            else:
                times.add(name)
    choices: list[dict[str, int]] = [{}]
    for name, (values, span) in shifts.items():
        choices = [choice | {name: value} for choice in choices for value in sorted(values)]
        if len(choices) > LIMIT:
            message = f"background data gives more than {LIMIT} values to the time shift `{name}`"
            raise LarsparkError(Problem("L471", message, span))
    for choice in choices:
        yield _Unfolding(Terms(frozenset(times), choice), background, Time(ORIGIN, start))


def _shift_values(name: str, formulas: tuple[Formula, ...], background: Background) -> set[int]:
    return {
        value
        for formula in formulas
        for part in walk(formula)
        if isinstance(part, AtomFormula)
        for position, arg in enumerate(part.atom.args)
        if arg == Variable(name)
        for row in background.rows(part.atom.signature)
        if isinstance(value := row[position], int)
    }


class _Unfolding:
    """Unfolds the formulas of one rule into cases, of which one has to hold."""

    def __init__(self, terms: Terms, background: Background, start: Time) -> None:
        self.terms = terms
        self._background = background
        self._start = start

    def body(self, formulas: tuple[Formula, ...], base: Cases, span: Span) -> Cases:
        cases = base
        for formula in formulas:
            cases = self.product(cases, self._cases(formula, Time(NOW), Scope(), True), span)
        return [on_timeline for case in cases for on_timeline in self._on_timeline(case)]

    def _on_timeline(self, case: Conjunction) -> Cases:
        names = {*case.asked_times(), *case.bounds.variables} - {ORIGIN}
        bounds = timed(tuple((self._start, Time(name)) for name in sorted(names)))
        return [joined for bound in bounds if (joined := case.joined(bound)) is not None]

    def product(self, left: Cases, right: Cases, span: Span) -> Cases:
        _refuse_many(len(left) * len(right), span)
        return [both for one in left for two in right if (both := one.joined(two)) is not None]

    def _cases(self, formula: Formula, at: Time, scope: Scope, wanted: bool) -> Cases:
        """The cases in which the formula is true (or false, if not wanted) at a time point."""
        match formula:
            case AtomFormula(atom):
                return self._atom(atom, at, scope, wanted, formula.span)
            case Comparison(relation, left, right):
                return self._comparison(relation if wanted else NEGATED[relation], left, right)
            case Truth(value):
                return [_TRUE] if value == wanted else []
            case Not(body):
                return self._cases(body, at, scope, not wanted)
            case And(parts) | Or(parts):
                each = [self._cases(part, at, scope, wanted) for part in parts]
                return self._all_or_any(each, isinstance(formula, And) == wanted, formula.span)
            case Implies(left, right):
                false_left = self._cases(left, at, scope, not wanted)
                both = [false_left, self._cases(right, at, scope, wanted)]
                return self._all_or_any(both, not wanted, formula.span)
            case Some(body) if wanted:
                return self._somewhere(body, scope, wanted)
            case Always(body) if not wanted:
                empty = [case for pairs in before(scope, self._start) for case in timed(pairs)]
                return self._somewhere(body, scope, wanted) + empty
            case Some(body) | Always(body):
                return self._everywhere(body, scope, wanted, formula.span)
            case At(time, body):
                return self._pinned(self.terms.time(time, formula.span), body, scope, wanted)
            case Windowed(window, body):
                return self._windowed(window, body, at, scope, wanted, formula.span)
            case Reset(body):
                return self._cases(body, at, Scope(), wanted)
            case Aggregate():
                message = "hypothetical answers do not support aggregates"
                hint = "a set of premises would be needed for every way to reach the value"
                raise LarsparkError(Problem("L472", message, formula.span, hint))
            case _:
                assert_never(formula)

    def _all_or_any(self, each: list[Cases], all_of_them: bool, span: Span) -> Cases:
        if not all_of_them:
            return [case for cases in each for case in cases]
        cases = [_TRUE]
        for more in each:
            cases = self.product(cases, more, span)
        return cases

    def _comparison(self, relation: str, left: Term, right: Term) -> Cases:
        one, two = self.terms.expression(left), self.terms.expression(right)
        if isinstance(one, Time) and isinstance(two, int):
            two = Time(ORIGIN, two)
        elif isinstance(one, int) and isinstance(two, Time):
            one = Time(ORIGIN, one)
        if isinstance(one, Time) and isinstance(two, Time) and relation != "!=":
            return timed(time_pairs(relation, one, two))
        return [Conjunction(conditions=(Condition(relation, one, two),))]

    # Atoms, at one time point or at all of a window

    def _atom(self, atom: Atom, at: Time, scope: Scope, wanted: bool, span: Span) -> Cases:
        here = (at.variable, at.offset, at.offset)
        if wanted:
            where = timed(inside(at, scope, self._start))
            return self._present(atom, here, None, where, scope, span)
        # There are no facts before the start; a denial accounts for that.
        elsewhere = [case for pairs in outside(at, scope, None) for case in timed(pairs)]
        return self._absent(atom, here, elsewhere, scope, span)

    def _present(
        self,
        atom: Atom,
        times: tuple[str, int, int],
        floor: int | None,
        where: Cases,
        scope: Scope,
        span: Span,
    ) -> Cases:
        pattern, conditions = self.terms.flattened(atom)
        cases: Cases = []
        if self._background.gives(atom.signature):
            cases.append(Conjunction(rigid=(pattern,), conditions=conditions))
        if self._background.streams(atom.signature):
            cases += [
                Conjunction((Occurrence(narrow, *times, floor),), conditions=conditions + equal)
                for narrow, equal in narrowed(pattern, scope)
            ]
        return self.product(where, cases, span)

    def _absent(
        self,
        atom: Atom,
        times: tuple[str, int, int],
        elsewhere: Cases,
        scope: Scope,
        span: Span,
    ) -> Cases:
        pattern, conditions = self.terms.flattened(atom)
        fixed_part = (pattern,) if self._background.gives(atom.signature) else ()
        cases = [Conjunction(missing=fixed_part, conditions=conditions)]
        if not self._background.streams(atom.signature):
            return cases
        for narrow, equal in narrowed(pattern, scope):
            denial = Denial(Occurrence(narrow, *times, self._start.offset), Time(NOW))
            ways = [*elsewhere, Conjunction(denials=(denial,))]
            for relation, left, right in equal:
                ways.append(Conjunction(conditions=(Condition(NEGATED[relation], left, right),)))
            cases = self.product(cases, ways, span)
        return cases

    # Time

    def _somewhere(self, body: Formula, scope: Scope, wanted: bool) -> Cases:
        at = self.terms.fresh_time()
        where = timed(inside(at, scope, self._start))
        return self.product(where, self._cases(body, at, scope, wanted), body.span)

    def _everywhere(self, body: Formula, scope: Scope, wanted: bool, span: Span) -> Cases:
        base, first, last = fixed(scope, span, wanted)
        if last < first:
            return [] if wanted else [_TRUE]
        if isinstance(body, AtomFormula):
            times = (base, first, last)
            if not wanted:
                return self._absent(body.atom, times, [], scope, span)
            some_point = timed(((self._start, Time(base, last)),))
            return self._present(body.atom, times, self._start.offset, some_point, scope, span)
        cases = [] if wanted else timed(((Time(base, last + 1), self._start),))
        for cut in range(last - first + 1):
            oldest = Time(base, first + cut)
            clipped = ((oldest, self._start),) if cut else ()
            each = timed(((self._start, oldest), *clipped))
            for offset in range(first + cut, last + 1):
                if each:
                    point = self._cases(body, Time(base, offset), scope, wanted)
                    each = self.product(each, point, span)
            cases += each
            _refuse_many(len(cases), span)
        return cases

    def _pinned(self, at: Time, body: Formula, scope: Scope, wanted: bool) -> Cases:
        if not wanted and isinstance(body, AtomFormula):
            return self._atom(body.atom, at, scope, wanted, body.span)
        where = timed(inside(at, scope, self._start))
        cases = self.product(where, self._cases(body, at, scope, wanted), body.span)
        if not wanted:
            ways = outside(at, scope, self._start)
            cases += [case for pairs in ways for case in timed(pairs)]
        return cases

    def _windowed(
        self, window: Window, body: Formula, at: Time, scope: Scope, wanted: bool, span: Span
    ) -> Cases:
        if window.bounds is not None:
            past, future, every = window.bounds
            cases: Cases = []
            for late in range(every):
                oldest = None if past is None else -past - late
                latest = None if future is None else future - late
                ranges = (*scope.ranges, Range(at, oldest, latest))
                seen = self._cases(body, at, Scope(ranges, scope.filters), wanted)
                cases += self.product(_hop(at, every, late), seen, span)
                _refuse_many(len(cases), span)
            return cases
        if window.filters is not None:
            only = tuple(self.terms.flattened(atom)[0] for atom in window.filters)
            return self._cases(body, at, Scope(scope.ranges, (*scope.filters, only)), wanted)
        if not window.is_known:
            message = f"the content of the window `{window.function}` is not known ahead of time"
            raise LarsparkError(Problem("L472", message, span))
        message = (
            f"a {window.noun} has no fixed size in time: its content depends on all future facts"
        )
        raise LarsparkError(Problem("L472", message, span, hint="use a time window such as `[5]`"))


def _hop(at: Time, every: int, late: int) -> Cases:
    """The case that the time point is `late` after the pivot of its hopping window."""
    if every == 1:
        return [_TRUE]
    return [Conjunction(conditions=(Condition("=", Calculation("mod", (at, every)), late),))]


def _refuse_many(number: int, span: Span) -> None:
    if number > LIMIT:
        message = f"this unfolds into more than {LIMIT} alternatives over time"
        raise LarsparkError(Problem("L471", message, span, hint="use smaller windows"))
