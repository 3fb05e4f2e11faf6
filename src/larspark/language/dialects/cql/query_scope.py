"""Names of a query: its sources with a variable for each column, and expressions as terms."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Literal

from larspark.base.atoms import Atom
from larspark.base.terms import Arithmetic, Term, Variable, Wildcard
from larspark.language.dialects.cql.query_tree import (
    AggregateCall,
    Column,
    Declared,
    Expression,
    Kind,
    Operation,
    Rows,
    Source,
    Value,
    WindowClause,
)
from larspark.language.source import Source as Text
from larspark.language.tree import At, AtomFormula, Formula, Some, Windowed
from larspark.language.windows import FilterWindow, TimeWindow, TupleWindow, Window


@dataclass(frozen=True, slots=True)
class Relation:
    """What a name in a FROM clause stands for.

    A view that is a stream holds what a query derived at each time point.
    """

    predicate: str
    columns: tuple[Declared, ...]
    is_stream: bool
    is_view: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """A source with its relation, a term for each column, and a variable for the time."""

    source: Source
    relation: Relation
    terms: tuple[Term, ...]
    time: Variable

    @property
    def atom(self) -> Atom:
        return Atom(self.relation.predicate, self.terms)

    @property
    def keys(self) -> tuple[Term, ...]:
        """The terms of the columns that its window partitions by."""
        window = self.source.window
        if not isinstance(window, Rows):
            return ()
        names = [column.name for column in self.relation.columns]
        places = [names.index(key.name) for key in window.columns if key.name in names]
        return tuple(self.terms[place] for place in places)

    def literal(self, half_open: bool, timed: bool = False) -> Formula:
        """The source as a body literal; `timed` names the time points of a stream."""
        span = self.source.span
        atom = AtomFormula(self.atom, span)
        if not self.relation.is_stream:
            return atom
        held: Formula = At(self.time, atom, span) if timed else Some(atom, span)
        for window in reversed(self._windows(self.source.window, half_open)):
            held = Windowed(window, held, span)
        return held

    def _windows(self, clause: WindowClause | None, half_open: bool) -> list[Window]:
        if clause is None:
            return [TimeWindow(None)]
        if isinstance(clause, Rows):
            pattern = Atom(self.relation.predicate, (Wildcard(),) * len(self.terms))
            keys = tuple(key for key in self.keys if isinstance(key, Variable))
            return [FilterWindow((pattern,)), TupleWindow(clause.number, by=keys)]
        size = clause.size
        if half_open and size:
            size -= 1
        return [TimeWindow(size, every=clause.slide)]


class Names:
    """Fresh variables and predicates."""

    def __init__(self, predicates: Iterable[str]) -> None:
        self._predicates = set(predicates)

    def predicate(self, wanted: str) -> str:
        """A predicate that nothing else has, named like this."""
        for name in _numbered(wanted):
            if name not in self._predicates:
                self._predicates.add(name)
                return name
        raise AssertionError("numbers do not end")


@dataclass(slots=True)
class Scope:
    """The sources that the names of a query can mean, and those of the queries around it.

    `defined` are names that an equation gives a value: `TY = S.T + 3`.
    """

    text: Text
    bound: list[Bound] = field(default_factory=list)
    outer: "Scope | None" = None
    defined: dict[str, tuple[Term, Kind]] = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)

    def fresh(self, *wanted: str) -> Variable:
        """A variable that this query and those around it do not have yet."""
        for name in chain(wanted[:-1], _numbered(wanted[-1])):
            if name not in self.variables:
                self.variables.add(name)
                return Variable(name)
        raise AssertionError("numbers do not end")

    def add(self, source: Source, relation: Relation) -> None:
        """Add a source, with fresh variables."""
        alias = source.alias.capitalize().lstrip("_") or "S"
        terms = []
        for column in relation.columns:
            name = column.name.lstrip("_").capitalize() or "C"
            name = name if name[0].isalpha() else f"C{name}"
            terms.append(self.fresh(name, f"{alias}_{name}" if alias[0].isalpha() else f"S_{name}"))
        self.bound.append(Bound(source, relation, tuple(terms), self.fresh("T")))

    def substituted(self, changes: Mapping[Variable, Term]) -> "Scope":
        """The same with other terms for some variables."""
        bound = [
            replace(one, terms=tuple(substitute(term, changes) for term in one.terms))
            for one in self.bound
        ]
        defined = {n: (substitute(t, changes), k) for n, (t, k) in self.defined.items()}
        return Scope(self.text, bound, self.outer, defined, self.variables)

    def around(self) -> Iterator["Scope"]:
        """This query and those around it, inside out."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def find(self, column: Column) -> tuple[Term, Kind] | None:
        """The term and the type of a column; None, and a problem, if there is no such column."""
        for scope in self.around():
            found = scope._here(column)
            if len(found) > 1:
                message = f"`{column.name}` is a column of several sources"
                hint = "write the source before it: `S.a`"
                self.text.report("L151", message, column.span, hint)
                return None
            if found:
                return found[0]
        self._unknown(column)
        return None

    def knows(self, column: Column) -> bool:
        return any(scope._here(column) for scope in self.around())

    def _here(self, column: Column) -> list[tuple[Term, Kind]]:
        if not column.qualifier and column.name in self.defined:
            return [self.defined[column.name]]
        return [
            (term, declared.kind)
            for one in self.bound
            if column.qualifier in ("", one.source.alias)
            for term, declared in zip(one.terms, one.relation.columns, strict=True)
            if declared.name == column.name
        ]

    def _unknown(self, column: Column) -> None:
        aliases = [one.source.alias for scope in self.around() for one in scope.bound]
        if column.qualifier and column.qualifier not in aliases:
            message = f"there is no source `{column.qualifier}` in FROM"
            hint = f"the sources are {_listed(aliases)}"
        else:
            message = f"there is no column `{column.name}`"
            names = [
                declared.name
                for scope in self.around()
                for one in scope.bound
                if column.qualifier in ("", one.source.alias)
                for declared in one.relation.columns
            ]
            hint = f"the columns are {_listed(names)}"
        self.text.report("L151", message, column.span, hint)

    def term(
        self, expression: Expression, calls: Mapping[AggregateCall, tuple[Term, Kind]] | None = None
    ) -> tuple[Term, Kind] | None:
        """An expression as a term, with its type; `calls` are the values of aggregates."""
        match expression:
            case Column():
                return self.find(expression)
            case Value(constant, kind):
                return constant, kind
            case AggregateCall():
                if calls is not None and expression in calls:
                    return calls[expression]
                message = f"{expression.function.upper()} stands where there are no groups"
                self.text.report("L152", message, expression.span, "use it in SELECT or HAVING")
                return None
            case Operation(operator, operands):
                found = [self.term(operand, calls) for operand in operands]
                parts = [part for part in found if part is not None]
                if len(parts) < len(found):
                    return None
                if any(kind == "text" for _, kind in parts):
                    message = f"`{operator}` computes with numbers, and this is a text"
                    self.text.report("L152", message, expression.span)
                    return None
                return _calculated(operator, parts)


def _calculated(
    operator: Literal["+", "-", "*", "/"], parts: list[tuple[Term, Kind]]
) -> tuple[Term, Kind]:
    kind: Kind = "integer" if all(kind == "integer" for _, kind in parts) else "float"
    terms = tuple(term for term, _ in parts)
    if operator == "/" and kind == "integer":
        return _truncated(*terms), kind
    return Arithmetic(operator, terms), kind


def _truncated(left: Term, right: Term) -> Term:
    """The quotient of two integers without its fraction.

    `mod` has the sign of the divisor, so it is taken of the amounts, and the signs are put back.
    """
    if isinstance(right, int) and right > 0:
        divisor: Term = right
        signs = _sign(left)
    else:
        divisor = Arithmetic("abs", (right,))
        signs = Arithmetic("*", (_sign(left), _sign(right)))
    amount = Arithmetic("abs", (left,))
    whole = Arithmetic("-", (amount, Arithmetic("mod", (amount, divisor))))
    return Arithmetic("*", (Arithmetic("/", (whole, divisor)), signs))


def _sign(term: Term) -> Term:
    return Arithmetic("max", (-1, Arithmetic("min", (1, term))))


def substitute(term: Term, changes: Mapping[Variable, Term]) -> Term:
    """The term with other terms for some variables."""
    if isinstance(term, Variable):
        return changes.get(term, term)
    if isinstance(term, Arithmetic):
        return Arithmetic(term.operation, tuple(substitute(arg, changes) for arg in term.args))
    return term


def _numbered(name: str) -> Iterator[str]:
    yield name
    for number in count(2):
        yield f"{name}{number}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in dict.fromkeys(names)) or "none"
