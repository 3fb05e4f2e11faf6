"""Bodies of rules for CQL: sources, conditions and subqueries as literals."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import Span
from larspark.base.terms import Term, Variable
from larspark.language.aggregate_syntax import finish_body
from larspark.language.dialects.cql.query_conditions import (
    Equation,
    Required,
    TooManyAlternativesError,
    alternatives,
    calls,
    unify,
)
from larspark.language.dialects.cql.query_scope import (
    Bound,
    Names,
    Relation,
    Scope,
    substitute,
)
from larspark.language.dialects.cql.query_tree import (
    AggregateCall,
    Column,
    Compared,
    Condition,
    Declared,
    Exists,
    Expression,
    Item,
    Kind,
    Rows,
    Select,
)
from larspark.language.nodes import term_variables
from larspark.language.source import Source as Text
from larspark.language.tree import (
    At,
    AtomFormula,
    Comparison,
    Formula,
    Not,
    Rule,
)
from larspark.language.wildcards import with_wildcards

Columns = tuple[Declared, ...]


class QueryBodies(ABC):
    """Collects rules; what has a problem is reported and gives None."""

    def __init__(
        self, text: Text, relations: Mapping[str, Relation], names: Names, half_open: bool
    ) -> None:
        self.text = text
        self.relations = relations
        self.names = names
        self.half_open = half_open
        self.rules: list[Rule] = []
        self.remembered: set[Signature] = set()
        # Views that have a problem; what reads them has no further one.
        self.broken: set[str] = set()

    @abstractmethod
    def select(self, query: Select, head: str) -> Columns | None:
        """Add rules that derive the rows of a query; returns its columns."""

    def rule(self, head: Atom, body: Iterable[Formula], span: Span) -> None:
        """Add a rule; a variable that is used once is a wildcard in it."""
        atom = AtomFormula(head, span)
        self.rules.append(Rule(atom, finish_body(atom, with_wildcards(head, body)), span))

    def cases(self, conditions: Sequence[Condition]) -> Iterator[list[Required]]:
        """The alternatives of all conditions together."""
        found: list[list[Required]] = [[]]
        for condition in conditions:
            try:
                parts = alternatives(condition)
            except TooManyAlternativesError:
                message = "the condition has too many alternatives"
                self.text.report("L152", message, condition.span, "split it into views")
                return
            found = [[*left, *right] for left in found for right in parts]
        yield from found

    def comparable(self, one: tuple[Term, Kind], other: tuple[Term, Kind], span: Span) -> bool:
        """Whether two values are both texts or both numbers; otherwise that is reported."""
        right = (one[1] == "text") is (other[1] == "text")
        if not right:
            message = "a text is compared with a number"
            self.text.report("L152", message, span, "the types of columns are those of the schema")
        return right

    def sides(
        self,
        condition: Compared,
        scope: Scope,
        values: Mapping[AggregateCall, tuple[Term, Kind]] | None = None,
    ) -> tuple[tuple[Term, Kind], tuple[Term, Kind]] | None:
        """The two sides of a comparison; `values` are those of aggregates."""
        one = scope.term(condition.left, values)
        other = scope.term(condition.right, values)
        if one is None or other is None or not self.comparable(one, other, condition.span):
            return None
        return one, other

    def scope(self, query: Select, outer: Scope | None) -> Scope | None:
        """The sources of a query; None if one of them is wrong."""
        variables = set[str]() if outer is None else outer.variables
        scope = Scope(self.text, outer=outer, variables=variables)
        right = True
        aliases: set[str] = set()
        for source in query.sources:
            relation = self.relations.get(source.name)
            if relation is None and (not source.name or source.name in self.broken):
                right = False
                continue
            if relation is None:
                known = ", ".join(f"`{name}`" for name in self.relations) or "none"
                message = f"there is no stream, relation or view `{source.name}`"
                hint = f"register it with its columns; registered are {known}"
                self.text.report("L151", message, source.span, hint)
                right = False
                continue
            if source.alias in aliases:
                message = f"two sources are called `{source.alias}`"
                self.text.report("L151", message, source.span, "name one of them: `S AS s2`")
                right = False
            aliases.add(source.alias)
            right = self._window_fits(source.window, relation, source.span) and right
            scope.add(source, relation)
        return scope if right else None

    def _window_fits(self, window: object, relation: Relation, span: Span) -> bool:
        if window is None:
            return True
        if not relation.is_stream:
            message = f"`{relation.predicate}` is a relation, and only streams have windows"
            self.text.report("L152", message, span, "leave the window out")
            return False
        if isinstance(window, Rows):
            if relation.is_view:
                message = "CQL: ROWS over a view is not supported"
                hint = "rows are counted in the order in which they arrive; use RANGE"
                self.text.report("L150", message, span, hint)
                return False
            names = {column.name for column in relation.columns}
            for key in window.columns:
                if key.name not in names:
                    message = f"`{relation.predicate}` has no column `{key.name}`"
                    self.text.report("L151", message, key.span)
                    return False
        return True

    def items(self, query: Select, scope: Scope) -> tuple[Item, ...] | None:
        """The items of SELECT, with `*` written out."""
        items: list[Item] = []
        for item in query.items:
            if item.expression is not None:
                items.append(item)
                continue
            sources = [one for one in scope.bound if item.qualifier in ("", one.source.alias)]
            if not sources:
                message = f"there is no source `{item.qualifier}` in FROM"
                self.text.report("L151", message, item.span)
                return None
            for one in sources:
                for column in one.relation.columns:
                    named = Column(one.source.alias, column.name, item.span)
                    items.append(Item(named, column.name, item.span))
        return tuple(items)

    def body(
        self,
        scope: Scope,
        required: Sequence[Required],
        head: str,
        *,
        frozen: Iterable[Term] = (),
        timed: bool = False,
        given: Sequence[Equation] = (),
        selected: Iterable[Expression] = (),
    ) -> tuple[Scope, list[Formula]] | None:
        """The literals of one alternative, and the scope with its variables.

        Variables of `frozen` keep their names. `given` are equations besides the conditions,
        `selected` are expressions that are read with the same names.
        """
        scope = scope.substituted({})
        compared = [part.condition for part in required if isinstance(part.condition, Compared)]
        equations = [*given]
        right = True
        mentioned = Counter(_names_in((tuple(required), tuple(selected))))
        for condition in self._define(scope, compared, mentioned):
            sides = self.sides(condition, scope)
            if sides is None:
                right = False
                continue
            (one, _), (other, _) = sides
            equations.append(Equation(condition.operator, one, other, condition.span))
        changes, rest = unify(scope.bound, equations, set(frozen))
        scope = scope.substituted(changes)
        body: list[Formula] = [one.literal(self.half_open, timed) for one in scope.bound]
        for equation in rest:
            first = substitute(equation.left, changes)
            second = substitute(equation.right, changes)
            body.append(Comparison(equation.operator, first, second, equation.span))
        for part in required:
            if isinstance(part.condition, Exists):
                literal = self._exists(part.condition, scope, head)
                if literal is None:
                    right = False
                    continue
                body.append(Not(literal, part.condition.span) if part.negated else literal)
        if right:
            return scope, body
        for expression in selected:
            # What else is wrong is reported too.
            scope.term(expression)
        return None

    def _define(
        self, scope: Scope, conditions: Sequence[Compared], mentioned: Mapping[str, int]
    ) -> list[Compared]:
        """Equations such as `TY = S.T + 3` give a name that is no column a value.

        The name has to be mentioned more than once; otherwise it is a mistake.
        """
        rest = list(conditions)
        defining = True
        while defining:
            defining = False
            for condition in rest:
                if condition.operator != "=":
                    continue
                left, right = condition.left, condition.right
                for name, other in ((left, right), (right, left)):
                    if (
                        isinstance(name, Column)
                        and not name.qualifier
                        and mentioned[name.name] > 1
                        and not scope.knows(name)
                        and all(map(scope.knows, _columns_of(other)))
                    ):
                        value = scope.term(other)
                        if value is not None:
                            scope.defined[name.name] = value
                            rest.remove(condition)
                            defining = True
                            break
                if defining:
                    break
        return rest

    def _exists(self, exists: Exists, outer: Scope, head: str) -> AtomFormula | None:
        """An atom that holds where a subquery has rows."""
        query = exists.query
        predicate = self.names.predicate(f"{head}_exists")
        if query.operator is not None:
            message = f"CQL: {query.operator.upper()} in a subquery is not supported"
            self.text.report("L150", message, query.span, "make it a view")
            return None
        element: tuple[Term, Kind] | None = None
        if exists.element is not None:
            element = outer.term(exists.element)
            if element is None:
                return None
        if any(calls(item.expression) for item in query.items) or calls(query.having):
            return self._aggregated(query, element, predicate, exists.span)
        scope = self.scope(query, outer)
        if scope is None:
            return None
        items = self.items(query, scope)
        if items is None:
            return None
        if element is not None and len(items) != 1:
            message = f"IN compares with one column, and the query has {len(items)}"
            self.text.report("L152", message, query.span)
            return None
        found: list[tuple[Scope, list[Formula]]] = []
        conditions = [part for part in (query.where, query.having) if part is not None]
        for required in self.cases(conditions):
            given: list[Equation] = []
            if element is not None and items[0].expression is not None:
                value = scope.term(items[0].expression)
                if value is None or not self.comparable(element, value, exists.span):
                    return None
                given.append(Equation("=", value[0], element[0], exists.span))
            made = self.body(scope, required, predicate, given=given)
            if made is None:
                return None
            found.append(made)
        return self._correlated(found, outer, predicate, exists.span)

    def _correlated(
        self,
        found: Sequence[tuple[Scope, list[Formula]]],
        outer: Scope,
        predicate: str,
        span: Span,
    ) -> AtomFormula:
        """Rules of a subquery whose arguments are the variables that it shares with its outside."""
        around = [one for scope in outer.around() for one in scope.bound]
        known = dict.fromkeys(v for one in around for v in _variables(one.terms))
        used = {v for _, body in found for formula in body for v in _formula_variables(formula)}
        arguments = tuple(variable for variable in known if variable in used)
        for scope, body in found:
            own = {v for one in scope.bound for v in _variables(one.terms)}
            missing = [variable for variable in arguments if variable not in own]
            context: list[Formula] = []
            for one in around:
                if missing and any(v in missing for v in _variables(one.terms)):
                    context.append(one.literal(self.half_open))
                    bound = set(_variables(one.terms))
                    missing = [variable for variable in missing if variable not in bound]
            self.rule(Atom(predicate, arguments), [*context, *body], span)
        return AtomFormula(Atom(predicate, arguments), span)

    def _aggregated(
        self, query: Select, element: tuple[Term, Kind] | None, predicate: str, span: Span
    ) -> AtomFormula | None:
        """A subquery with aggregates, which must not look outside."""
        columns = self.select(query, predicate)
        if columns is None:
            return None
        if element is not None and len(columns) != 1:
            message = f"IN compares with one column, and the query has {len(columns)}"
            self.text.report("L152", message, query.span)
            return None
        if element is None:
            some = self.names.predicate(f"{predicate}_some")
            rows = AtomFormula(Atom(predicate, column_variables(columns)), span)
            self.rule(Atom(some), (rows,), span)
            return AtomFormula(Atom(some), span)
        if not self.comparable(element, (column_variables(columns)[0], columns[0].kind), span):
            return None
        return AtomFormula(Atom(predicate, (element[0],)), span)


def column_variables(columns: Columns) -> tuple[Variable, ...]:
    return tuple(Variable(f"X{number}") for number in range(1, len(columns) + 1))


def _names_in(part: object) -> Iterator[str]:
    """The names without a source in a part of a query, with repetitions."""
    if isinstance(part, Column):
        yield from () if part.qualifier else (part.name,)
    elif isinstance(part, tuple):
        for inner in part:
            yield from _names_in(inner)
    elif is_dataclass(part):
        for inner in fields(part):
            yield from _names_in(getattr(part, inner.name))


def _columns_of(expression: object) -> Iterator[Column]:
    if isinstance(expression, Column):
        yield expression
    for operand in getattr(expression, "operands", ()):
        yield from _columns_of(operand)


def _variables(terms: Iterable[Term]) -> Iterator[Variable]:
    for term in terms:
        yield from term_variables(term)


def _formula_variables(formula: Formula) -> Iterator[Variable]:
    """The variables of a literal, as often as they occur; those of a window's key do not count."""
    match formula:
        case AtomFormula(atom):
            yield from _variables(atom.args)
        case Comparison(_, left, right):
            yield from _variables((left, right))
        case At(time, inner):
            yield from term_variables(time)
            yield from _formula_variables(inner)
        case _:
            below = getattr(formula, "body", None)
            if below is not None:
                yield from _formula_variables(below)


def bound_row(bound: Sequence[Bound]) -> tuple[Term, ...]:
    """What tells rows of joined sources apart: the times of streams, and all columns."""
    times = [one.time for one in bound if one.relation.is_stream]
    return (*times, *(term for one in bound for term in one.terms))
