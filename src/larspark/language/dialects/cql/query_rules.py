"""From CQL to rules: sources are window atoms, equations between columns are shared variables.

>>> from larspark.language.dialects.cql import parse
>>> from larspark.language.dialect import ProgramText
>>> from larspark.language.printer import program_text
>>> query = '''REGISTER STREAM S (a INTEGER, b INTEGER); REGISTER STREAM T (b INTEGER);
... SELECT DISTINCT S.a FROM S [RANGE 5], T [NOW] WHERE S.b = T.b;'''
>>> print(program_text(parse(ProgramText(query)).program), end="")
#tick 1 s.
#input s/2, t/1.
#show answer/1.
answer(A) :- [5] some s(A, B), [0] some t(B).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from larspark.base.atoms import Atom
from larspark.base.problems import Span
from larspark.base.terms import NOW, Arithmetic, Term, Variable
from larspark.language.dialects.cql.query_bodies import (
    Columns,
    QueryBodies,
    bound_row,
    column_variables,
)
from larspark.language.dialects.cql.query_conditions import calls
from larspark.language.dialects.cql.query_scope import Scope
from larspark.language.dialects.cql.query_tree import (
    AggregateCall,
    Declared,
    Exists,
    Item,
    Kind,
    Named,
    Query,
    Select,
    SetOperation,
    Streamed,
    StreamOperator,
)
from larspark.language.nodes import term_variables
from larspark.language.tree import (
    Aggregate,
    AggregateElement,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Guard,
    Not,
    Windowed,
)
from larspark.language.windows import TimeWindow


class QueryRules(QueryBodies):
    """The rules of queries; a query that has a problem gives no columns."""

    def derive(self, query: Query, head: str) -> Columns | None:
        """Add rules that derive the rows of a query; returns its columns."""
        match query:
            case Select():
                if query.operator is not None:
                    inner = replace(query, operator=None)
                    return self._streamed(query.operator, inner, head, query.span)
                return self.select(query, head)
            case Streamed(operator, inner, span):
                return self._streamed(operator, inner, head, span)
            case SetOperation():
                return self._combined(query, head)
            case Named():
                source = query.source
                star = Item(None, "", source.span)
                select = Select((star,), (source,), None, (), None, True, None, source.span)
                return self.select(select, head)

    def _streamed(
        self, operator: StreamOperator, query: Query, head: str, span: Span
    ) -> Columns | None:
        """The rows that are new, or over, compared with the time point before; or all rows."""
        if operator == "rstream":
            return self.derive(query, head)
        rows, before = self.names.predicate(f"{head}_rows"), self.names.predicate(f"{head}_before")
        columns = self.derive(query, rows)
        if columns is None:
            return None
        terms = column_variables(columns)
        time = Variable("T")
        now, then = AtomFormula(Atom(rows, terms), span), AtomFormula(Atom(before, terms), span)
        self.remembered.add(now.atom.signature)
        earlier = Windowed(TimeWindow(1), At(time, now, span), span)
        last = Comparison("=", time, Arithmetic("-", (NOW, 1)), span)
        self.rule(then.atom, (earlier, last), span)
        if operator == "istream":
            self.rule(Atom(head, terms), (now, Not(then, span)), span)
        else:
            self.rule(Atom(head, terms), (then, Not(now, span)), span)
        return columns

    def _combined(self, query: SetOperation, head: str) -> Columns | None:
        if query.operator == "union":
            parts = [head, head]
        else:
            parts = [self.names.predicate(f"{head}_{side}") for side in ("left", "right")]
        left = self.derive(query.left, parts[0])
        right = self.derive(query.right, parts[1])
        if left is None or right is None:
            return None
        if len(left) != len(right):
            message = f"{query.operator.upper()} of {len(left)} and {len(right)} columns"
            self.text.report("L152", message, query.span)
            return None
        columns = tuple(
            Declared(one.name, _common(one.kind, other.kind))
            for one, other in zip(left, right, strict=True)
        )
        if query.operator != "union":
            terms = column_variables(columns)
            first, second = (AtomFormula(Atom(part, terms), query.span) for part in parts)
            other = Not(second, query.span) if query.operator == "except" else second
            self.rule(Atom(head, terms), (first, other), query.span)
        return columns

    def select(self, query: Select, head: str) -> Columns | None:
        scope = self.scope(query, None)
        if scope is None:
            return None
        items = self.items(query, scope)
        if items is None:
            return None
        found = [call for item in items for call in calls(item.expression)]
        found += calls(query.having)
        if found:
            return self._grouped(query, items, scope, head, tuple(dict.fromkeys(found)))
        return self._plain(query, items, scope, head)

    def _plain(
        self, query: Select, items: Sequence[Item], scope: Scope, head: str
    ) -> Columns | None:
        kinds: list[Kind] | None = None
        conditions = [part for part in (query.where, query.having) if part is not None]
        grouped = {scope.find(column) for column in query.groups}
        if query.groups and None not in grouped:
            for item in items:
                value = scope.term(item.expression) if item.expression is not None else None
                if value is not None and not _within(value, grouped):
                    self._ungrouped(item.span)
        selected = [item.expression for item in items if item.expression is not None]
        right = True
        for required in self.cases(conditions):
            made = self.body(scope, required, head, selected=selected)
            if made is None:
                right = False
                continue
            inner, body = made
            values = [inner.term(expression) for expression in selected]
            given = [value for value in values if value is not None]
            if len(given) < len(items):
                return None
            kinds = [kind for _, kind in given]
            atom = Atom(head, tuple(term for term, _ in given))
            self.rule(atom, body, query.span)
        return _columns(items, kinds) if right and kinds is not None else None

    def _grouped(
        self,
        query: Select,
        items: Sequence[Item],
        scope: Scope,
        head: str,
        found: Sequence[AggregateCall],
    ) -> Columns | None:
        """A rule for each alternative of HAVING, over the rows of the sources."""
        groups = [scope.find(column) for column in query.groups]
        by = tuple(dict.fromkeys(group[0] for group in groups if group is not None))
        keys = tuple(key for key in by if isinstance(key, Variable))
        if None in groups or len(keys) < len(by):
            return None
        sets = self._elements(query, scope, head, found, keys)
        if sets is None:
            return None
        values: dict[AggregateCall, tuple[Term, Kind]] = {}
        aggregates: list[Formula] = []
        for call in found:
            kind = self._kind(call, scope)
            if kind is None:
                return None
            variable = scope.fresh(call.function.capitalize())
            values[call] = variable, kind
            guard = (Guard("=", variable),)
            aggregates.append(Aggregate(call.function, sets[call], guard, keys, span=call.span))
        sums = [call for call in found if call.function == "sum"]
        if sums and not keys:
            # A sum of nothing is NULL in SQL.
            guard = (Guard(">", 0),)
            aggregates.append(Aggregate("count", sets[sums[0]], guard, span=sums[0].span))
        grouped = {*groups, *values.values()}
        kinds: list[Kind] = []
        terms: list[Term] = []
        for item in items:
            value = None if item.expression is None else scope.term(item.expression, values)
            if value is None:
                return None
            if not _within(value, grouped):
                self._ungrouped(item.span)
            terms.append(value[0])
            kinds.append(value[1])
        for required in self.cases([] if query.having is None else [query.having]):
            body = list(aggregates)
            for part in required:
                condition = part.condition
                if isinstance(condition, Exists):
                    message = "CQL: a subquery in HAVING is not supported"
                    self.text.report("L150", message, condition.span, "make it a view")
                    return None
                sides = self.sides(condition, scope, values)
                if sides is None:
                    return None
                left, right = sides
                if not (_within(left, grouped) and _within(right, grouped)):
                    self._ungrouped(condition.span)
                operator = condition.operator
                body.append(Comparison(operator, left[0], right[0], condition.span))
            self.rule(Atom(head, tuple(terms)), body, query.span)
        return _columns(items, kinds)

    def _elements(
        self,
        query: Select,
        scope: Scope,
        head: str,
        found: Sequence[AggregateCall],
        keys: Sequence[Variable],
    ) -> dict[AggregateCall, tuple[AggregateElement, ...]] | None:
        """The rows that each aggregate ranges over, one tuple for each.

        One aggregate has the conditions in its braces; several share a predicate of the rows.
        """
        bodies = []
        for required in self.cases([] if query.where is None else [query.where]):
            made = self.body(scope, required, head, frozen=keys, timed=True)
            if made is None:
                return None
            bodies.append(made)
        if len(found) > 1:
            rows = self.names.predicate(f"{head}_rows")
            for inner, body in bodies:
                self.rule(Atom(rows, bound_row(inner.bound)), body, query.span)
            row = AtomFormula(Atom(rows, bound_row(scope.bound)), query.span)
            bodies = [(scope, [row])]
        sets: dict[AggregateCall, tuple[AggregateElement, ...]] = {}
        for call in found:
            elements = []
            for inner, body in bodies:
                terms = () if call.distinct else bound_row(inner.bound)
                if call.argument is not None:
                    value = inner.term(call.argument)
                    if value is None:
                        return None
                    terms = (value[0], *terms)
                elements.append(AggregateElement(terms, tuple(body)))
            sets[call] = tuple(elements)
        return sets

    def _kind(self, call: AggregateCall, scope: Scope) -> Kind | None:
        """The type of an aggregate's value."""
        value = None if call.argument is None else scope.term(call.argument)
        if call.function == "count":
            return "integer"
        if value is None:
            return None
        if value[1] == "text":
            message = f"CQL: {call.function.upper()} of a text is not supported"
            self.text.report("L150", message, call.span)
            return None
        return "float" if call.function == "avg" else value[1]

    def _ungrouped(self, span: Span) -> None:
        message = "this is no aggregate, and no column of GROUP BY"
        self.text.report("L152", message, span, "group by it, or aggregate it")


def _common(one: Kind, other: Kind) -> Kind:
    return one if one == other else "float" if "text" not in (one, other) else "text"


def _columns(items: Sequence[Item], kinds: Sequence[Kind]) -> Columns:
    return tuple(
        Declared(item.name or f"c{number}", kind)
        for number, (item, kind) in enumerate(zip(items, kinds, strict=True), 1)
    )


def _within(value: tuple[Term, Kind], grouped: Iterable[tuple[Term, Kind] | None]) -> bool:
    groups = {entry[0] for entry in grouped if entry is not None}
    return all(variable in groups for variable in term_variables(value[0]))
