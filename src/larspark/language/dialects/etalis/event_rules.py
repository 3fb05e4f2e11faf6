"""Patterns of ETALIS as LARS rules over explicit intervals.

An atom of the stream at T happens on [T, T]. A complex event has two more arguments, the first and
the last time point of its interval, and is placed at its last one, so that overlapping events of
one atom stay apart. `c(X) <- a(X) seq b(X).` becomes

    @E1 c(X, S1, E1) :- [*] @S1 a(X), [*] @E1 b(X), S1 < E1.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import Span
from larspark.base.terms import Arithmetic, Operation, Term, Variable
from larspark.language.dialects.etalis.pattern_tree import (
    Event,
    EventRule,
    Pair,
    Pattern,
    Where,
    Without,
)
from larspark.language.nodes import variables
from larspark.language.tree import At, AtomFormula, Comparison, Formula, Not, Rule, Windowed
from larspark.language.windows import TimeWindow

# `or` doubles the rules; more than this many for one rule of the text are refused.
ALTERNATIVES_LIMIT = 64


class TooManyAlternativesError(Exception):
    """A rule with so many `or` that it would become too many rules."""


class Lack(NamedTuple):
    """No such pattern after one time point and before another, or (None) up to the second."""

    absent: Pattern
    after: Term | None
    before: Term


class Found(NamedTuple):
    """One way in which a pattern comes about: literals that bind its interval [first, last]."""

    literals: tuple[Formula, ...]
    first: Term
    last: Term
    lacks: tuple[Lack, ...] = ()


class EventTranslation:
    """Translates the rules of one text."""

    def __init__(self, rules: Sequence[EventRule]) -> None:
        self._rules = rules
        self.derived = {rule.head.signature for rule in rules}
        self._taken = {rule.head.predicate for rule in rules}
        for rule in rules:
            self._taken |= {event.atom.predicate for event, _ in events(rule.pattern)}
        self._needed = _needed(rules)
        # The rule that is being translated, its variables, and how many new ones it has so far.
        self.current: EventRule | None = None
        self._used: set[str] = set()
        self._numbers: dict[str, int] = {}
        self.found: list[Rule] = []

    def translate(self) -> tuple[Rule, ...]:
        used = {e.atom.signature for rule in self._rules for e, _ in events(rule.pattern)}
        for rule in self._rules:
            self.current = rule
            self._numbers = {}
            self._used = {v.name for v in _variables_of(rule)}
            for way in self._ways(rule, rule.pattern):
                self._derive(rule, way)
            if rule.head.signature in used:
                used.remove(rule.head.signature)
                self.found.append(self._given(rule))
        return tuple(self.found)

    def _given(self, rule: EventRule) -> Rule:
        """An atom of the stream with the name of a complex event, which is used, is one too."""
        predicate, arity = rule.head.signature
        args = tuple(Variable(f"X{number}") for number in range(1, arity + 1))
        time = Variable("T")
        given = At(time, AtomFormula(Atom(predicate, args), rule.span), rule.span)
        window = TimeWindow(self._needed[rule.head.signature])
        head = AtomFormula(Atom(predicate, (*args, time, time)), rule.span)
        body = (Windowed(window, given, rule.span),)
        return Rule(At(time, head, rule.span), body, rule.span)

    def _derive(self, rule: EventRule, way: Found) -> None:
        literals = list(self._complete(rule, way))
        first, last = way.first, way.last
        if not isinstance(last, Variable):
            end = self._fresh("End")
            literals.append(Comparison("=", end, last, rule.span))
            last = end
        if not isinstance(first, Variable):
            start = self._fresh("Start")
            literals.append(Comparison("=", start, first, rule.span))
            first = start
        if rule.window is not None and first != last:
            length = Arithmetic("-", (last, first))
            literals.append(Comparison("<=", length, rule.window, rule.span))
        head = Atom(rule.head.predicate, (*rule.head.args, first, last))
        placed = At(last, AtomFormula(head, rule.span), rule.span)
        self.found.append(Rule(placed, tuple(dict.fromkeys(literals)), rule.span))

    def _ways(self, rule: EventRule, pattern: Pattern, *, ever: bool = False) -> list[Found]:
        """The ways in which a pattern comes about; `ever` looks back without bound."""
        match pattern:
            case Event(atom, span):
                return [self._event(rule, atom, span, ever=ever)]
            case Where(inner, conditions):
                ways = self._ways(rule, inner, ever=ever)
                return [way._replace(literals=(*way.literals, *conditions)) for way in ways]
            case Pair("or", left, right):
                return [*self._ways(rule, left, ever=ever), *self._ways(rule, right, ever=ever)]
            case Pair():
                pairs = self._both(rule, pattern, ever)
                return [_joined(pattern.operator, *pair) for pair in pairs]
            case Without(inner, absent, True):
                conditions, sequence = _sequence(inner)
                pairs = self._both(rule, sequence, ever)
                found: list[Found] = []
                for one, other in pairs:
                    way = _joined("seq", one, other)
                    lacks = (*way.lacks, Lack(absent, one.last, other.first))
                    found.append(way._replace(literals=(*way.literals, *conditions), lacks=lacks))
                return found
            case Without(inner, absent):
                return [
                    way._replace(lacks=(*way.lacks, Lack(absent, None, way.last)))
                    for way in self._ways(rule, inner, ever=ever)
                ]

    def _both(self, rule: EventRule, pair: Pair, ever: bool) -> list[tuple[Found, Found]]:
        left, right = (self._ways(rule, side, ever=ever) for side in (pair.left, pair.right))
        if len(left) * len(right) > ALTERNATIVES_LIMIT:
            raise TooManyAlternativesError
        return [(one, other) for one in left for other in right]

    def _complete(self, rule: EventRule, way: Found) -> tuple[Formula, ...]:
        """All literals of a way; what it lacks is asked when everything else is bound.

        So variables that stand in an absent pattern alone are existential, and all others are not.
        """
        literals = tuple(dict.fromkeys(way.literals))
        bound = [v for part in literals for v in variables(part)]
        blocks = []
        for absent, after, before in way.lacks:
            name = self._predicate(f"{rule.head.predicate}_blocked")
            found = []
            for other in self._ways(rule, absent, ever=after is None):
                limits = [Comparison("<=" if after is None else "<", other.last, before, rule.span)]
                if after is not None:
                    limits.append(Comparison(">", other.first, after, rule.span))
                context = other._replace(literals=(*literals, *other.literals))
                body = (*self._complete(rule, context), *limits)
                found.append(((*other.literals, *limits), body))
            seen = {v for part, _ in found for literal in part for v in variables(literal)}
            atom = Atom(name, tuple(v for v in dict.fromkeys(bound) if v in seen))
            for _, body in found:
                head = AtomFormula(atom, rule.span)
                self.found.append(Rule(head, tuple(dict.fromkeys(body)), rule.span))
            blocks.append(Not(AtomFormula(atom, rule.span), rule.span))
        return (*literals, *blocks)

    def _event(self, rule: EventRule, atom: Atom, span: Span, *, ever: bool) -> Found:
        kept = None if ever else _sum(self._needed[rule.head.signature], rule.window)
        window = TimeWindow(kept)
        if atom.signature not in self.derived:
            time = self._fresh("T")
            seen = Windowed(window, At(time, AtomFormula(atom, span), span), span)
            return Found((seen,), time, time)
        first, last = self._fresh("S"), self._fresh("E")
        atom = Atom(atom.predicate, (*atom.args, first, last))
        return Found(
            (Windowed(window, At(last, AtomFormula(atom, span), span), span),), first, last
        )

    def _fresh(self, name: str) -> Variable:
        while True:
            number = self._numbers[name] = self._numbers.get(name, 0) + 1
            if f"{name}{number}" not in self._used:
                return Variable(f"{name}{number}")

    def _predicate(self, name: str) -> str:
        number = 1
        while f"{name}_{number}" in self._taken:
            number += 1
        self._taken.add(f"{name}_{number}")
        return f"{name}_{number}"


def _sequence(pattern: Pattern) -> tuple[tuple[Formula, ...], Pair]:
    """The sequence in front of `cnot`, and the conditions around it."""
    conditions: tuple[Formula, ...] = ()
    while isinstance(pattern, Where):
        conditions = (*pattern.conditions, *conditions)
        pattern = pattern.pattern
    if not isinstance(pattern, Pair):
        raise TypeError("`cnot` stands behind a sequence")
    return conditions, pattern


def _joined(operator: str, one: Found, other: Found) -> Found:
    """Two ways put together: the interval of the pair, and what it asks of the two."""
    (p, q), (r, s) = (one.first, one.last), (other.first, other.last)
    both = (_extreme("min", p, r), _extreme("max", q, s))
    overlap = (_extreme("max", p, r), _extreme("min", q, s))
    tests: dict[str, tuple[list[tuple[str, Term, Term]], tuple[Term, Term]]] = {
        "seq": ([("<", q, r)], (p, s)),
        "and": ([], both),
        "par": ([("<", *overlap)], both),
        "equals": ([("=", p, r), ("=", q, s)], (p, q)),
        "meets": ([("=", q, r)], (p, s)),
        "during": ([("<", r, p), ("<", q, s)], (r, s)),
        "starts": ([("=", p, r), ("<", q, s)], (p, s)),
        "finishes": ([("=", q, s), ("<", r, p)], (r, s)),
    }
    asked, interval = tests[operator]
    literals = (*one.literals, *other.literals, *(Comparison(*test) for test in asked))
    return Found(literals, *interval, (*one.lacks, *other.lacks))


def _extreme(operation: Operation, one: Term, other: Term) -> Term:
    return one if one == other else Arithmetic(operation, (one, other))


def events(pattern: Pattern, *, ever: bool = False) -> Iterator[tuple[Event, bool]]:
    """The events of a pattern, each with whether it is looked for in the whole past."""
    match pattern:
        case Event():
            yield pattern, ever
        case Where(inner):
            yield from events(inner, ever=ever)
        case Pair(_, left, right):
            yield from events(left, ever=ever)
            yield from events(right, ever=ever)
        case Without(inner, absent, between):
            yield from events(inner, ever=ever)
            yield from events(absent, ever=ever or not between)


def _variables_of(rule: EventRule) -> Iterator[Variable]:
    atoms = [rule.head, *(event.atom for event, _ in events(rule.pattern))]
    for atom in atoms:
        yield from (term for term in atom.args if isinstance(term, Variable))
    for condition in _conditions(rule.pattern):
        yield from variables(condition)


def _conditions(pattern: Pattern) -> Iterator[Formula]:
    match pattern:
        case Where(inner, conditions):
            yield from conditions
            yield from _conditions(inner)
        case Pair(_, left, right):
            yield from _conditions(left)
            yield from _conditions(right)
        case Without(inner, absent):
            yield from _conditions(inner)
            yield from _conditions(absent)
        case _:
            pass


def _needed(rules: Sequence[EventRule]) -> dict[Signature, int | None]:
    """How far back the complex events are looked for; None is without bound.

    An event that is a part of another one is looked for as far back as the window of that one
    reaches, and its own parts as far as its own window reaches from there.
    """
    needed: dict[Signature, int | None] = dict.fromkeys((rule.head.signature for rule in rules), 0)
    # Every pass hands needs on by one rule. What still grows after that depends on itself.
    for round_ in range(2 * len(needed) + 2):
        before = dict(needed)
        for rule in rules:
            reach = _sum(needed[rule.head.signature], rule.window)
            for event, ever in events(rule.pattern):
                part = event.atom.signature
                if part in needed:
                    needed[part] = _most((needed[part], None if ever else reach))
                    if needed[part] != before[part] and round_ > len(needed):
                        needed[part] = None
        if needed == before:
            break
    return needed


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _most(sizes: Iterable[int | None]) -> int | None:
    found = list(sizes)
    return None if None in found else max(size for size in found if size is not None)
