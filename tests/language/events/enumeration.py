"""Complex events by enumeration: every rule with all intervals of the events in its pattern."""

from collections.abc import Iterable, Iterator
from random import Random

from larspark.base.atoms import Atom
from larspark.base.terms import Arithmetic, Constant, Term, Variable, Wildcard
from larspark.language.dialects.etalis.pattern_tree import (
    Event,
    EventRule,
    Pair,
    Pattern,
    Where,
    Without,
)
from larspark.language.tree import AtomFormula, Comparison, Formula, Not

Binding = dict[str, Constant]
Intervals = dict[Atom, set[tuple[int, int]]]


def happened(
    rules: Iterable[EventRule], elements: Iterable[tuple[int, Atom]], facts: Iterable[Atom]
) -> Intervals:
    """The intervals of all events; rules only use heads of earlier rules, or their own."""
    known: Intervals = {}
    for t, atom in elements:
        known.setdefault(atom, set()).add((t, t))
    given = set(facts)
    for rule in rules:
        while True:
            new = [
                (instance(rule.head, binding), (first, last))
                for binding, first, last in matches(rule.pattern, {}, known, given)
                if rule.window is None or last - first <= rule.window
            ]
            if all(interval in known.get(atom, ()) for atom, interval in new):
                break
            for atom, interval in new:
                known.setdefault(atom, set()).add(interval)
    return known


# What must not have happened: a pattern, and the time points around it (None: from the beginning).
Lacks = tuple[tuple[Pattern, int | None, int], ...]
Match = tuple[Binding, int, int, Lacks]


def matches(
    pattern: Pattern, binding: Binding, known: Intervals, facts: set[Atom]
) -> Iterator[tuple[Binding, int, int]]:
    """Negation comes last, so that it sees what the rest of the pattern has bound."""
    for found, first, last, lacks in partial(pattern, binding, known, facts):
        if not any(present(lack, found, known, facts) for lack in lacks):
            yield found, first, last


def present(
    lack: tuple[Pattern, int | None, int], binding: Binding, known: Intervals, facts: set[Atom]
) -> bool:
    absent, after, before = lack
    return any(
        last <= before if after is None else after < first and last < before
        for _, first, last in matches(absent, binding, known, facts)
    )


def partial(
    pattern: Pattern, binding: Binding, known: Intervals, facts: set[Atom]
) -> Iterator[Match]:
    match pattern:
        case Event(atom):
            for found, interval in seen(atom, binding, known):
                yield found, *interval, ()
        case Where(inner, conditions):
            for found, first, last, lacks in partial(inner, binding, known, facts):
                for full in satisfied(conditions, found, facts):
                    yield full, first, last, lacks
        case Pair("or", left, right):
            yield from partial(left, binding, known, facts)
            yield from partial(right, binding, known, facts)
        case Pair(operator):
            for both, interval, _, lacks in pairs(operator, pattern, binding, known, facts):
                yield both, *interval, lacks
        case Without(inner, absent, False):
            for found, first, last, lacks in partial(inner, binding, known, facts):
                yield found, first, last, (*lacks, (absent, None, last))
        case Without(Pair("seq") as sequence, absent):
            for both, interval, gap, lacks in pairs("seq", sequence, binding, known, facts):
                yield both, *interval, (*lacks, (absent, *gap))


def seen(
    atom: Atom, binding: Binding, known: Intervals
) -> Iterator[tuple[Binding, tuple[int, int]]]:
    for other, intervals in list(known.items()):
        found = unify(atom, other, binding)
        if found is not None:
            for interval in list(intervals):
                yield found, interval


def pairs(
    operator: str, pair: Pair, binding: Binding, known: Intervals, facts: set[Atom]
) -> Iterator[tuple[Binding, tuple[int, int], tuple[int, int], Lacks]]:
    """Two events with their interval, and the gap from the end of one to the start of the other."""
    for one, p, q, lacks in partial(pair.left, binding, known, facts):
        for both, r, s, more in partial(pair.right, one, known, facts):
            interval = allen(operator, p, q, r, s)
            if interval is not None:
                yield both, interval, (q, r), (*lacks, *more)


def allen(operator: str, p: int, q: int, r: int, s: int) -> tuple[int, int] | None:
    """The interval of two events on [p, q] and [r, s]."""
    both = (min(p, r), max(q, s))
    holds, interval = {
        "seq": (q < r, (p, s)),
        "and": (True, both),
        "par": (max(p, r) < min(q, s), both),
        "equals": ((p, q) == (r, s), (p, q)),
        "meets": (q == r, (p, s)),
        "during": (r < p and q < s, (r, s)),
        "starts": (p == r and q < s, (p, s)),
        "finishes": (q == s and r < p, (r, s)),
    }[operator]
    return interval if holds else None


def satisfied(
    conditions: tuple[Formula, ...], binding: Binding, facts: set[Atom]
) -> Iterator[Binding]:
    if not conditions:
        yield binding
        return
    condition, *rest = conditions
    match condition:
        case AtomFormula(atom):
            for fact in facts:
                found = unify(atom, fact, binding)
                if found is not None:
                    yield from satisfied(tuple(rest), found, facts)
        case Not(AtomFormula(atom)):
            if not any(unify(atom, fact, binding) is not None for fact in facts):
                yield from satisfied(tuple(rest), binding, facts)
        case Comparison(operator, left, right):
            if operator == "=" and isinstance(left, Variable) and left.name not in binding:
                bound = {**binding, left.name: number(right, binding)}
                yield from satisfied(tuple(rest), bound, facts)
                return
            a, b = number(left, binding), number(right, binding)
            compared = {"=": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b}
            if {**compared, ">=": a >= b}[operator]:
                yield from satisfied(tuple(rest), binding, facts)
        case _:
            raise AssertionError(condition)


def number(term: Term, binding: Binding) -> int:
    match term:
        case Variable(name):
            value = binding[name]
        case Arithmetic("+", (left, right)):
            value = number(left, binding) + number(right, binding)
        case int():
            value = term
        case _:
            raise AssertionError(term)
    assert isinstance(value, int)
    return value


def unify(pattern: Atom, atom: Atom, binding: Binding) -> Binding | None:
    if pattern.signature != atom.signature:
        return None
    found = dict(binding)
    for term, value in zip(pattern.args, atom.args, strict=True):
        assert isinstance(value, int | float | str)
        if isinstance(term, Variable):
            if found.setdefault(term.name, value) != value:
                return None
        elif not isinstance(term, Wildcard) and term != value:
            return None
    return found


def instance(atom: Atom, binding: Binding) -> Atom:
    args = (binding[t.name] if isinstance(t, Variable) else t for t in atom.args)
    return Atom(atom.predicate, tuple(args))


# Random rules, as text.

INPUTS = (("a", 1), ("b", 1), ("d", 0))
OPERATORS = ("seq", "seq", "and", "par", "or", "equals", "meets", "during", "starts", "finishes")


class RandomRules:
    """Random rules over the inputs and the heads of the rules before."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._known = list(INPUTS)

    def text(self) -> str:
        lines = ["limit(2).", "limit(3)."]
        for number_ in range(self._random.randint(1, 3)):
            lines.append(self._rule(f"c{number_}"))
        return "\n".join(lines)

    def _rule(self, head: str) -> str:
        random = self._random
        names: list[str] = []
        recursive = random.random() < 0.1
        if recursive:
            names = ["X"]
            pattern = f"{head}(X) seq a(X)"
            start = f"{head}(X) <- b(X) seq a(X).\n"
        else:
            start = ""
            pattern = self._pattern(random.randint(1, 3), names)
            if names and "or" not in pattern and random.random() < 0.3:
                pattern = f"{pattern} where ({self._condition(random.choice(names))})"
        certain = names if "or" not in pattern else []
        argument = random.choice(certain) if certain else str(random.randint(1, 3))
        label = ""
        if random.random() < 0.6:
            label = f"r([property(event_rule_window, {random.randint(0, 6)})]) 'rule:' "
        self._known.append((head, 1))
        return f"{start}{label}{head}({argument}) <- {pattern}."

    def _pattern(self, depth: int, names: list[str]) -> str:
        random = self._random
        if depth == 0 or random.random() < 0.15:
            return self._event(names)
        if random.random() < 0.15:
            sequence = f"({self._pattern(depth - 1, names)} seq {self._pattern(depth - 1, names)})"
            return f"({sequence} cnot {self._pattern(depth - 1, [*names])})"
        if random.random() < 0.1:
            return f"({self._pattern(depth - 1, names)} fnot {self._pattern(0, [*names])})"
        operator = random.choice(OPERATORS)
        quoted = f"'{operator}'" if random.random() < 0.2 else operator
        return f"({self._pattern(depth - 1, names)} {quoted} {self._pattern(depth - 1, names)})"

    def _event(self, names: list[str]) -> str:
        random = self._random
        name, arity = random.choice(self._known)
        if not arity:
            return name
        if random.random() < 0.2:
            return f"{name}({random.randint(1, 3)})"
        variable = random.choice("XYZ")
        names.append(variable)
        return f"{name}({variable})"

    def _condition(self, name: str) -> str:
        kinds = (f"{name} > 1", f"{name} =< 2", f"limit({name})", f"\\+ limit({name})")
        return self._random.choice((*kinds, f"N is {name} + 1, N \\= 3", f"{name} =:= 2"))
