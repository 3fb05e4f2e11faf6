"""Constants and the solver's symbols, one to one.

Integers of 32 bits and text that the solver can hold are symbols of its own. It orders integers and
text each as we do, but also one before the other, where we have no order. Everything else is
wrapped, so that the solver knows nothing but whether two are equal.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, assert_never

from clingo import Function, Number, String, Symbol, SymbolType

from larspark.base.terms import Arithmetic, Constant, Term, Variable, Wildcard
from larspark.logic.values import compare, value
from larspark.run.answer_sets.encoding import (
    AlwaysRule,
    Core,
    CoreAtom,
    CoreCondition,
    CoreRule,
    LastFeed,
    PointsFeed,
    Within,
    recursive,
)
from larspark.run.answer_sets.plain_rules import InTimeline, IsTime, Test, Windows, term_names

_SMALLEST, _LARGEST = -(2**31), 2**31 - 1

# Text ends with NUL for the solver, and lone surrogates have no encoding.
_UNSPEAKABLE = re.compile("[\0\ud800-\udfff]")


class Symbols:
    """The symbols of one engine.

    >>> symbols = Symbols()
    >>> [str(symbols.symbol(value)) for value in (3, "a b", 2**40, 1.5)]
    ['3', '"a b"', 'integer("1099511627776")', 'float("1.5")']
    >>> constant(symbols.symbol(1.5)), symbols.ordered
    (1.5, False)
    """

    def __init__(self) -> None:
        # Does the solver order all symbols so far as we order their constants?
        self.ordered = True

    def symbol(self, value: Constant) -> Symbol:
        """The symbol of a constant."""
        match value:
            case int() if _SMALLEST <= value <= _LARGEST:
                return Number(value)
            case str() if not _UNSPEAKABLE.search(value):
                return String(value)
            case int():
                wrapped = Function("integer", [String(str(value))])
            case float():
                wrapped = Function("float", [String(repr(value))])
            case _:
                wrapped = Function("text", [String(value.encode("unicode_escape").decode())])
        self.ordered = False
        return wrapped


def constant(symbol: Symbol) -> Constant:
    """The constant of a symbol.

    >>> [constant(Symbols().symbol(value)) for value in (-3, "a", 10**18, "\\0")]
    [-3, 'a', 1000000000000000000, '\\x00']
    """
    if symbol.type is SymbolType.Number:
        return symbol.number
    if symbol.type is SymbolType.String:
        return symbol.string
    text = symbol.arguments[0].string
    match symbol.name:
        case "integer":
            return int(text)
        case "float":
            return float(text)
        case _:
            return text.encode().decode("unicode_escape")


# A function from the values of its arguments to a value, or None.
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
        # Windows by the name of the function that returns their bounds, or tests a time point.
        self.windows: dict[str, Windows] = {}
        self._circular = recursive(core)
        lines = [self._given(number) for number in core.given]
        lines += [self._rule(rule) for rule in core.rules]
        timed = {number for number, pinned in core.predicates.values() if pinned}
        # Models hold the rows of shown relations: all of them, or those of the evaluation time.
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

    def _rule(self, rule: CoreRule | AlwaysRule) -> str:
        if isinstance(rule, AlwaysRule):
            return self._every(rule)
        names = _Names(self._symbols)
        heads = " ; ".join(names.atom(head) for head in rule.heads)
        body = [names.atom(atom) for atom in rule.positive]
        body += [f"not {names.atom(atom)}" for atom in rule.negative]
        timed = _time_variables(rule)
        for condition in rule.conditions:
            body += self._condition(condition, names, timed)
        return f"{heads} :- {'; '.join(body)}."

    def _every(self, rule: AlwaysRule) -> str:
        given = {feed: number for number, feed in self._core.given.items()}
        last, points = given[LastFeed(rule.windows)], given[PointsFeed(rule.windows)]
        columns = [f"V{column}" for column in range(self._core.arities[rule.head])]
        of_head = f"({','.join(columns)})" if columns else ""
        at_last = f"r{last}(L); r{rule.moments}({','.join([*columns, 'L'])})"
        at_each = f"r{rule.moments}({','.join([*columns, 'T'])})"
        head = f"r{rule.head}{of_head}"
        if rule.head in self._circular:
            return f"{head} :- {at_last}; {at_each} : r{points}(T)."
        # Without recursion the absence of a counterexample says the same with fewer rules.
        spoilt = f"s{rule.head}{of_head}"
        return (
            f"{spoilt} :- {at_last}; r{points}(T); not {at_each}.\n"
            f"{head} :- {at_last}; not {spoilt}."
        )

    def _condition(
        self, condition: CoreCondition, names: "_Names", timed: frozenset[Term]
    ) -> list[str]:
        match condition:
            case Test():
                return self._test(condition, names, timed)
            case InTimeline(term):
                return [f"1 = @t({names.term(term)})"]
            case IsTime(term):
                return [f"1 = @i({names.term(term)})"]
            case Within(term, windows):
                return self._within(names.term(term), windows)
            case _:
                assert_never(condition)

    def _test(self, test: Test, names: "_Names", timed: frozenset[Term]) -> list[str]:
        operator, left, right = test.operator, test.left, test.right
        computed = isinstance(left, Arithmetic) or isinstance(right, Arithmetic)
        if not computed:
            written = f"{names.term(left)} {operator} {names.term(right)}"
            if operator in ("=", "!="):
                return [written]
            if self.ordered:
                ascending = (left, right) if operator in ("<", "<=") else (right, left)
                return [written, *self._same_kind(*ascending, names, timed)]
        if operator == "=" and isinstance(left, Variable):
            variables = dict.fromkeys(term_names(right))
            call = self._call(_value_of(right, tuple(variables)), variables, names)
            return [f"{names.term(left)} = {call}"]
        variables = dict.fromkeys((*term_names(left), *term_names(right)))
        return [f"1 = {self._call(_truth_of(test, tuple(variables)), variables, names)}"]

    def _same_kind(
        self, smaller: Term, larger: Term, names: "_Names", timed: frozenset[Term]
    ) -> list[str]:
        """Conditions under which two terms in this order are both numbers or both text.

        The solver orders all numbers before all text, and the empty text is its smallest.
        """
        kinds = {_is_text(term, timed): term for term in (smaller, larger)}
        if None not in kinds:
            return [] if len(kinds) == 1 else ["#false"]
        if len(kinds) == 1:
            return [f'#false : {names.term(smaller)} < "", {names.term(larger)} >= ""']
        relation = ">=" if True in kinds else "<"
        return [f'{names.term(kinds[None])} {relation} ""']

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


def _time_variables(rule: CoreRule) -> frozenset[Term]:
    """Variables of a rule that stand for time points, and so for numbers."""
    return frozenset(c.term for c in rule.conditions if isinstance(c, InTimeline | IsTime))


def _is_text(term: Term, timed: frozenset[Term]) -> bool | None:
    if isinstance(term, Variable):
        return False if term in timed else None
    return isinstance(term, str)


def _value_of(term: Term, variables: Sequence[str]) -> Calculation:
    return lambda given: value(term, dict(zip(variables, given, strict=True)))


def _truth_of(test: Test, variables: Sequence[str]) -> Calculation:
    def decide(given: Sequence[Constant]) -> Constant | None:
        binding = dict(zip(variables, given, strict=True))
        holds = compare(test.operator, value(test.left, binding), value(test.right, binding))
        return 1 if holds else None

    return decide
