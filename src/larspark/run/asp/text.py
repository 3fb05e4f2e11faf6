"""The encoding as text for the solver's grounder, and the functions that it calls.

The text is written once. It holds nothing that a user wrote but quoted constants: relations and
variables have numbers for names. The rows of given relations come in through functions that the
grounder calls, and so does whatever calculates.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, assert_never

from larspark.base.terms import Arithmetic, Constant, Term, Variable, Wildcard
from larspark.run.asp.core import (
    Core,
    CoreAtom,
    CoreCondition,
    CoreRule,
    EveryRule,
    LastFeed,
    PointsFeed,
    Within,
)
from larspark.run.asp.dependencies import recursive
from larspark.run.asp.plain import InTimeline, IsTime, Test, Windows, term_names
from larspark.run.asp.symbols import Symbols
from larspark.run.asp.values import compare, value

# From the values of its arguments a function gives a value, or None.
Calculation: TypeAlias = Callable[[Sequence[Constant]], Constant | None]


class Text:
    """A core program as text.

    With `ordered` the solver compares constants itself; otherwise every comparison but equality is
    a function too.
    """

    def __init__(
        self, core: Core, symbols: Symbols, shown: Iterable[int], *, ordered: bool
    ) -> None:
        self._core = core
        self._symbols = symbols
        self.ordered = ordered
        self.calculations: dict[str, Calculation] = {}
        # Windows by the name of the function that tells their bounds, or tests a time point.
        self.windows: dict[str, Windows] = {}
        self._circular = recursive(core)
        lines = [self._given(number) for number in core.given]
        lines += [self._rule(rule) for rule in core.rules]
        timed = {number for number, pinned in core.predicates.values() if pinned}
        # The solver's models hold the rows of shown relations: all, or those of the moment.
        rows = [self._show(number) for number in shown]
        rows_now = [self._show(number, number in timed) for number in shown]
        self.showing_all = "\n".join([*lines, "#show.", *rows])
        self.showing_now = "\n".join([*lines, "#show.", *rows_now])

    def _show(self, number: int, only_now: bool = False) -> str:
        arity = self._core.arities[number]
        if not only_now:
            return f"#show r{number}/{arity}."
        row = f"r{number}({','.join(f'V{column}' for column in range(arity))})"
        return f"#show {row} : {row}, r{self._core.now}(V{arity - 1})."

    def _given(self, number: int) -> str:
        names = [f"V{column}" for column in range(self._core.arities[number])]
        match names:
            case []:
                return f"r{number} :- 1 = @g{number}."
            case [name]:
                return f"r{number}({name}) :- {name} = @g{number}."
            case _:
                columns = ",".join(names)
                return f"r{number}({columns}) :- ({columns}) = @g{number}."

    def _rule(self, rule: CoreRule | EveryRule) -> str:
        if isinstance(rule, EveryRule):
            return self._every(rule)
        names = _Names(self._symbols)
        heads = " ; ".join(names.atom(head) for head in rule.heads)
        body = [names.atom(atom) for atom in rule.positive]
        body += [f"not {names.atom(atom)}" for atom in rule.negative]
        for condition in rule.conditions:
            body += self._condition(condition, names)
        return f"{heads} :- {'; '.join(body)}."

    def _every(self, rule: EveryRule) -> str:
        given = {feed: number for number, feed in self._core.given.items()}
        last, points = given[LastFeed(rule.windows)], given[PointsFeed(rule.windows)]
        columns = [f"V{column}" for column in range(self._core.arities[rule.head])]
        of_head = f"({','.join(columns)})" if columns else ""
        at_last = f"r{last}(L); r{rule.moments}({','.join([*columns, 'L'])})"
        at_each = f"r{rule.moments}({','.join([*columns, 'T'])})"
        head = f"r{rule.head}{of_head}"
        if rule.head in self._circular:
            return f"{head} :- {at_last}; {at_each} : r{points}(T)."
        # Where no circle leads through it, that no time point spoils it says the same for less.
        spoilt = f"s{rule.head}{of_head}"
        return (
            f"{spoilt} :- {at_last}; r{points}(T); not {at_each}.\n"
            f"{head} :- {at_last}; not {spoilt}."
        )

    def _condition(self, condition: CoreCondition, names: "_Names") -> list[str]:
        match condition:
            case Test():
                return [self._test(condition, names)]
            case InTimeline(term):
                return [f"1 = @t({names.term(term)})"]
            case IsTime(term):
                return [f"1 = @i({names.term(term)})"]
            case Within(term, windows):
                return self._within(names.term(term), windows)
            case _:
                assert_never(condition)

    def _test(self, test: Test, names: "_Names") -> str:
        operator, left, right = test.operator, test.left, test.right
        computed = isinstance(left, Arithmetic) or isinstance(right, Arithmetic)
        if not computed and (self.ordered or operator in ("=", "!=")):
            return f"{names.term(left)} {operator} {names.term(right)}"
        if operator == "=" and isinstance(left, Variable):
            variables = dict.fromkeys(term_names(right))
            call = self._call(_value_of(right, tuple(variables)), variables, names)
            return f"{names.term(left)} = {call}"
        variables = dict.fromkeys((*term_names(left), *term_names(right)))
        return f"1 = {self._call(_truth_of(test, tuple(variables)), variables, names)}"

    def _call(self, calculation: Calculation, variables: dict[str, None], names: "_Names") -> str:
        name = f"c{len(self.calculations)}"
        self.calculations[name] = calculation
        return f"@{name}({','.join(names.term(Variable(variable)) for variable in variables)})"

    def _within(self, term: str, windows: Windows) -> list[str]:
        name = f"{'b' if self.ordered else 'w'}{len(self.windows)}"
        self.windows[name] = windows
        if not self.ordered:
            return [f"1 = @{name}({term})"]
        low, high = f"L{len(self.windows)}", f"H{len(self.windows)}"
        return [f"({low},{high}) = @{name}", f"{low} <= {term}", f"{term} <= {high}"]


class _Names:
    """The names of one rule's variables."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._numbers: dict[str, int] = {}

    def atom(self, atom: CoreAtom) -> str:
        if not atom.terms:
            return f"r{atom.relation}"
        return f"r{atom.relation}({','.join(map(self.term, atom.terms))})"

    def term(self, term: Term) -> str:
        match term:
            case Variable(name):
                return f"V{self._numbers.setdefault(name, len(self._numbers))}"
            case Wildcard():
                return "_"
            case Arithmetic():
                raise TypeError("computed terms have variables of their own")
            case _:
                return str(self._symbols.symbol(term))


def _value_of(term: Term, variables: Sequence[str]) -> Calculation:
    return lambda given: value(term, dict(zip(variables, given, strict=True)))


def _truth_of(test: Test, variables: Sequence[str]) -> Calculation:
    def decide(given: Sequence[Constant]) -> Constant | None:
        binding = dict(zip(variables, given, strict=True))
        holds = compare(test.operator, value(test.left, binding), value(test.right, binding))
        return 1 if holds else None

    return decide
