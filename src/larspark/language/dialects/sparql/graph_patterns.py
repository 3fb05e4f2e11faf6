"""SPARQL's algebra, as rdflib gives it, to branches and rules."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count, product
from typing import Any

from rdflib.plugins.sparql.algebra import translateGroupGraphPattern
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import BNode, Identifier, Literal, URIRef
from rdflib.term import Variable as QueryVariable

from larspark.base.atoms import Atom
from larspark.base.problems import Span
from larspark.base.rdf_terms import iri_text, literal_constant
from larspark.base.terms import Arithmetic, Constant, Operation, Term, Variable
from larspark.language.aggregate_syntax import finish_body
from larspark.language.dialects.sparql.branches import (
    Branch,
    limited,
    positive_variables,
)
from larspark.language.nodes import term_variables
from larspark.language.tree import (
    COMPARISONS,
    NEGATED,
    Aggregate,
    AggregateElement,
    AggregateFunction,
    AtomFormula,
    Comparison,
    Formula,
    Guard,
    Not,
    Rule,
)
from larspark.language.wildcards import with_wildcards

UNBOUND = "undef"
# The literals of one alternative of a condition.
Alternative = tuple[Formula, ...]
# The triples of a graph as a literal; the graph is None for the default graph.
TripleLiteral = Callable[[str | None, tuple[Term, Term, Term]], Formula | None]

_FUNCTIONS: dict[str, AggregateFunction] = {
    "Aggregate_Count": "count",
    "Aggregate_Sum": "sum",
    "Aggregate_Avg": "avg",
    "Aggregate_Min": "min",
    "Aggregate_Max": "max",
}


class UnsupportedError(Exception):
    """A construct that is not supported, by its name, with a hint.

    It stands where the text `near` is, the first one after a word of `after`.
    """

    def __init__(
        self, what: str, hint: str = "", near: str = "", after: tuple[str, ...] = ()
    ) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.near = near
        self.after = after


def term_of(node: Identifier) -> Constant:
    """An RDF term of a query as a constant."""
    if isinstance(node, URIRef):
        return iri_text(str(node))
    if not isinstance(node, Literal):
        raise UnsupportedError("a term of this kind")
    datatype = None if node.datatype is None else str(node.datatype)
    return literal_constant(str(node), datatype, node.language)


class Patterns:
    """Translates the algebra of one query; rules for parts of it are collected."""

    def __init__(self, triple: TripleLiteral, span: Span) -> None:
        self._triple = triple
        self._span = span
        self._names: dict[str, Variable] = {}
        self._taken: set[str] = set()
        self._numbers: dict[str, count[int]] = {}
        self.rules: list[Rule] = []
        # What is bound around the pattern of an EXISTS.
        self._outside: Branch | None = None
        # Whether variables were compared by `<` or the like.
        self.orders_variables = False

    def rule(self, head: Atom, body: Iterable[Formula]) -> None:
        """Add a rule; a variable that is used once is a wildcard in it."""
        atom = AtomFormula(head, self._span)
        self.rules.append(Rule(atom, finish_body(atom, with_wildcards(head, body)), self._span))

    def predicate(self, wanted: str) -> str:
        number = next(self._numbers.setdefault(wanted, count(1)))
        return f"{wanted}{number}"

    def variable(self, name: str) -> Variable:
        """The variable of a variable or blank node of the query."""
        if name not in self._names:
            stem = "".join(c if c.isascii() and c.isalnum() else "_" for c in name).strip("_")
            stem = stem[:40].capitalize() or "X"
            stem = stem if stem[0].isalpha() else f"V{stem}"
            fresh = stem
            for number in count(2):
                if fresh not in self._taken:
                    break
                fresh = f"{stem}{number}"
            self._taken.add(fresh)
            self._names[name] = Variable(fresh)
        return self._names[name]

    # Patterns

    def branches(self, node: Any, graph: str | None = None) -> list[Branch]:
        """The branches of a node of the algebra, within a graph."""
        match node.name:
            case "BGP":
                return self._triples(node.triples, graph)
            case "Join":
                left, right = self.branches(node.p1, graph), self.branches(node.p2, graph)
                return limited(one.joined(two) for one, two in product(left, right))
            case "LeftJoin":
                return self._optional(node, graph)
            case "Union":
                sides = (self.branches(node.p1, graph), self.branches(node.p2, graph))
                union = self.predicate("u")
                return limited(
                    branch._replace(origin=f"{union}{side}{branch.origin}")
                    for side, part in zip("lr", sides, strict=True)
                    for branch in part
                )
            case "Minus":
                return self._minus(node, graph)
            case "Filter":
                return self._filtered(self.branches(node.p, graph), node.expr, graph)
            case "Extend":
                return self._extended(self.branches(node.p, graph), node.expr, str(node.var))
            case "Graph":
                if not isinstance(node.term, URIRef):
                    raise UnsupportedError("GRAPH with a variable", "name the graph")
                return self.branches(node.p, str(node.term))
            case "AggregateJoin":
                return self._grouped(node, graph)
            case "Project" | "Distinct" | "Reduced":
                return self.branches(node.p, graph)
            case "ToMultiSet":
                raise UnsupportedError("a subquery or VALUES")
            case name:
                raise UnsupportedError(str(name))

    def _triples(self, triples: Sequence[Any], graph: str | None) -> list[Branch]:
        bound: dict[str, Term] = {}
        body: list[Formula] = []
        for triple in triples:
            terms: list[Term] = []
            for part in triple:
                if isinstance(part, QueryVariable):
                    bound[str(part)] = self.variable(str(part))
                    terms.append(bound[str(part)])
                elif isinstance(part, BNode):
                    # A blank node of a pattern is a variable that cannot be named.
                    bound[f"_:{part}"] = self.variable(f"node {part}")
                    terms.append(bound[f"_:{part}"])
                elif isinstance(part, URIRef | Literal):
                    terms.append(term_of(part))
                else:
                    raise UnsupportedError("a property path", "write the triples of the path")
            subject, predicate, object_ = terms
            literal = self._triple(graph, (subject, predicate, object_))
            if literal is None:
                raise UnsupportedError(f"GRAPH <{graph}> over a stream", "write its window")
            body.append(literal)
        return [Branch(bound, tuple(dict.fromkeys(body)))]

    def _optional(self, node: Any, graph: str | None) -> list[Branch]:
        found: list[Branch] = []
        right = self.branches(node.p2, graph)
        for left in self.branches(node.p1, graph):
            joined = [left.joined(branch) for branch in right]
            matches = self._filtered(joined, node.expr, graph)
            found += matches
            match = self._exists("optional", left, right, node.expr, graph)
            found.append(left if match is None else left.with_body(Not(match, self._span)))
        return limited(found)

    def _minus(self, node: Any, graph: str | None) -> list[Branch]:
        right = self.branches(node.p2, graph)
        found = []
        for left in self.branches(node.p1, graph):
            kept = left
            for branch in right:
                if any(name in left.bound for name in branch.bound if name[:2] != "_:"):
                    match = self._exists("minus", left, [branch], None, graph)
                    kept = kept if match is None else kept.with_body(Not(match, self._span))
            found.append(kept)
        return found

    def _exists(
        self, wanted: str, left: Branch, right: Sequence[Branch], expr: Any, graph: str | None
    ) -> AtomFormula | None:
        """An atom that holds where one of the branches on the right is compatible with the left.

        None if that is never so.
        """
        bodies: list[Alternative] = []
        for branch in right:
            joined = left.joined(branch)
            equal = [
                formula for formula in joined.body[len(left.body) :] if formula not in branch.body
            ]
            alternatives: list[Alternative] = [()]
            if not _is_true(expr):
                alternatives = self._condition(expr, joined, True, graph)
            bodies += [(*branch.body, *equal, *literals) for literals in alternatives]
        if not bodies:
            return None
        predicate = self.predicate(wanted)
        outside = _variables(left.bound.values())
        used = {v for body in bodies for formula in body for v in formula_variables(formula)}
        arguments = tuple(dict.fromkeys(v for v in outside if v in used))
        for body in bodies:
            missing = set(arguments) - positive_variables(body)
            context = left.body if missing else ()
            self.rule(Atom(predicate, arguments), dict.fromkeys((*context, *body)))
        return AtomFormula(Atom(predicate, arguments), self._span)

    def _filtered(self, branches: Sequence[Branch], expr: Any, graph: str | None) -> list[Branch]:
        if _is_true(expr):
            return list(branches)
        return limited(
            branch.with_body(*literals)
            for branch in branches
            for literals in self._condition(expr, branch, True, graph)
        )

    def _extended(self, branches: Sequence[Branch], expr: Any, name: str) -> list[Branch]:
        """`BIND`: where the expression has no value, the variable stays unbound."""
        found: list[Branch] = []
        for branch in branches:
            term = self._value(expr, branch)
            if term is None:
                found.append(branch)
            elif not isinstance(term, Arithmetic):
                found.append(branch._replace(bound={**branch.bound, name: term}))
            else:
                variable = self.variable(name)
                value = Comparison("=", variable, term, self._span)
                bound = {**branch.bound, name: variable}
                found.append(branch._replace(bound=bound).with_body(value))
                arguments = tuple(dict.fromkeys(term_variables(term)))
                has = Atom(self.predicate("value"), arguments)
                self.rule(has, (*branch.body, value))
                found.append(branch.with_body(Not(AtomFormula(has, self._span), self._span)))
        return limited(found)

    # Conditions

    def _condition(
        self, expr: Any, branch: Branch, wanted: bool, graph: str | None
    ) -> list[Alternative]:
        """When a condition is true, or with `wanted` false when it is false, as alternatives.

        Where it is an error it is neither, as in SPARQL.
        """
        if self._outside is not None:
            branch = self._outside.joined(branch)
        name = expr.name if isinstance(expr, CompValue) else ""
        if name in ("ConditionalOrExpression", "ConditionalAndExpression"):
            parts = [
                self._condition(part, branch, wanted, graph) for part in (expr.expr, *expr.other)
            ]
            if (name == "ConditionalOrExpression") is wanted:
                return [alternative for part in parts for alternative in part]
            found: list[Alternative] = [()]
            for part in parts:
                found = [(*left, *right) for left, right in product(found, part)]
                limited(branch for _ in found)
            return found
        if name == "UnaryNot":
            return self._condition(expr.expr, branch, not wanted, graph)
        if name == "Builtin_BOUND":
            return [()] if (str(expr.arg) in branch.bound) is wanted else []
        if name in ("Builtin_EXISTS", "Builtin_NOTEXISTS"):
            return self._existence(expr, branch, wanted, graph)
        if name == "RelationalExpression":
            return self._relation(expr, branch, wanted)
        if isinstance(expr, Literal) and isinstance(expr.value, bool):
            return [()] if expr.value is wanted else []
        near = f"?{expr}" if isinstance(expr, QueryVariable) else ""
        after = ("filter", "having", "optional")
        raise UnsupportedError("a value as a condition", "write a comparison", near, after)

    def _existence(
        self, expr: Any, branch: Branch, wanted: bool, graph: str | None
    ) -> list[Alternative]:
        pattern = expr.graph
        if pattern.name in ("GroupGraphPatternSub", "GroupOrUnionGraphPattern"):
            pattern = translateGroupGraphPattern(pattern)
        # What is bound outside is so inside, also in groups of the pattern.
        before, self._outside = self._outside, branch
        inner = self.branches(pattern, graph)
        self._outside = before
        atom = self._exists("exists", branch, inner, None, graph)
        holds = (expr.name == "Builtin_EXISTS") is wanted
        if atom is None:
            return [] if holds else [()]
        return [(atom,)] if holds else [(Not(atom, self._span),)]

    def _relation(self, expr: Any, branch: Branch, wanted: bool) -> list[Alternative]:
        symbol = str(expr.op)
        if symbol in ("IN", "NOT IN"):
            others = list(expr.other) if isinstance(expr.other, list) else []
            equal = (symbol == "IN") is wanted
            found = [self._compared("=" if equal else "!=", expr.expr, o, branch) for o in others]
            if equal:
                return [alternative for part in found for alternative in part]
            if any(not part for part in found):
                return []
            return [tuple(formula for part in found for formula in part[0])]
        return self._compared(symbol if wanted else NEGATED[symbol], expr.expr, expr.other, branch)

    def _compared(self, symbol: str, one: Any, two: Any, branch: Branch) -> list[Alternative]:
        left, right = self._value(one, branch), self._value(two, branch)
        if left is None or right is None:
            return []
        if left == right and isinstance(left, Variable) and symbol in ("=", "!="):
            return [()] if symbol == "=" else []
        if symbol not in ("=", "!="):
            if isinstance(left, str) or isinstance(right, str):
                raise UnsupportedError("an order between texts")
            if isinstance(left, Variable) and isinstance(right, Variable):
                # Numbers only: a sum has no value for a text.
                self.orders_variables = True
                left = Arithmetic("+", (left, 0))
        if isinstance(left, int | float) and isinstance(right, int | float):
            return [()] if COMPARISONS[symbol](left, right) else []
        return [(Comparison(symbol, left, right, self._span),)]

    def _value(self, expr: Any, branch: Branch) -> Term | None:
        """An expression as a term; None if a variable in it is not bound."""
        if isinstance(expr, QueryVariable):
            return branch.bound.get(str(expr))
        if isinstance(expr, URIRef | Literal):
            return term_of(expr)
        name = expr.name if isinstance(expr, CompValue) else ""
        if name in ("AdditiveExpression", "MultiplicativeExpression"):
            found = self._value(expr.expr, branch)
            for sign, operand in zip(expr.op, expr.other, strict=True):
                right = self._value(operand, branch)
                if found is None or right is None:
                    return None
                operation: Operation = str(sign)  # type: ignore[assignment]
                found = Arithmetic(operation, (found, right))
            return found
        if name in ("UnaryMinus", "UnaryPlus"):
            operand = self._value(expr.expr, branch)
            if operand is None:
                return None
            if isinstance(operand, int | float):
                return -operand if name == "UnaryMinus" else operand
            return Arithmetic("-" if name == "UnaryMinus" else "+", (0, operand))
        if name.startswith("Builtin_"):
            raise UnsupportedError(f"the function {name.removeprefix('Builtin_')}")
        raise UnsupportedError("a condition or function as a value")

    # Groups

    def _grouped(self, node: Any, graph: str | None) -> list[Branch]:
        """One branch for each way in which the aggregates of a group have values."""
        group = node.p
        keys = list(group.expr or ())
        if not all(isinstance(key, QueryVariable) for key in keys):
            raise UnsupportedError("GROUP BY of an expression", "BIND it to a variable")
        inner = self.branches(group.p, graph)
        names = list(dict.fromkeys(name for branch in inner for name in branch.bound))
        rows = self.predicate("rows")
        for branch in inner:
            values = [branch.bound.get(name, UNBOUND) for name in names]
            self.rule(Atom(rows, (branch.origin, *values)), branch.body)
        tag = self.variable("origin of")
        row = AtomFormula(Atom(rows, (tag, *map(self.variable, names))), self._span)
        known = [key for key in keys if str(key) in names]
        given: tuple[Formula, ...] = ()
        if keys:
            groups = Atom(self.predicate("groups"), tuple(self.variable(str(k)) for k in known))
            self.rule(groups, (row,))
            given = (AtomFormula(groups, self._span),)
        bound: dict[str, Term] = {str(key): self.variable(str(key)) for key in known}
        found = [Branch(bound, given)]
        same: dict[tuple[str, str, bool], str] = {}
        for number, aggregate in enumerate(node.A):
            key = (aggregate.name, repr(aggregate.vars), bool(aggregate.distinct))
            if key in same:
                found = [_also(branch, str(aggregate.res), same[key]) for branch in found]
                continue
            same[key] = str(aggregate.res)
            found = self._aggregated(aggregate, found, row, given, list(map(str, keys)), number)
        return limited(found)

    def _aggregated(
        self,
        aggregate: Any,
        branches: Sequence[Branch],
        row: AtomFormula,
        given: tuple[Formula, ...],
        grouped: Sequence[str],
        number: int,
    ) -> list[Branch]:
        result = str(aggregate.res)
        if aggregate.name == "Aggregate_Sample":
            # The value of a variable of GROUP BY.
            if str(aggregate.vars) not in grouped:
                what = f"`?{aggregate.vars}` outside of GROUP BY"
                hint = "group by it, or aggregate it"
                raise UnsupportedError(what, hint, f"?{aggregate.vars}", ("select", "having"))
            return [_also(branch, result, str(aggregate.vars)) for branch in branches]
        function = _FUNCTIONS.get(aggregate.name)
        if function is None:
            name = aggregate.name.removeprefix("Aggregate_").upper()
            raise UnsupportedError(f"the aggregate {name}")
        conditions: tuple[Formula, ...] = (row,)
        terms: tuple[Term, ...] = row.atom.args[1:] if aggregate.distinct else row.atom.args
        if aggregate.vars != "*":
            inside = Branch({n: v for n, v in self._names.items() if v in row.atom.args})
            value = self._value(aggregate.vars, inside)
            if value is None:
                terms, conditions = (UNBOUND,), (row, Comparison("=", 0, 1, self._span))
            else:
                for variable in dict.fromkeys(term_variables(value)):
                    conditions = (*conditions, Comparison("!=", variable, UNBOUND, self._span))
                terms = (value,) if aggregate.distinct else (value, *terms)
        element = (AggregateElement(terms, conditions),)
        variable = self.variable(f"{function} {number}")
        literal = Aggregate(function, element, (Guard("=", variable),), span=self._span)
        if function in ("count", "sum"):
            return [
                branch._replace(bound={**branch.bound, result: variable}).with_body(literal)
                for branch in branches
            ]
        held = row.atom.args
        keys = tuple(key for key in map(self.variable, grouped) if key in held)
        value_of = Atom(self.predicate(function), (*keys, variable))
        self.rule(value_of, (*given, literal))
        has = Atom(self.predicate(f"has_{function}"), keys)
        self.rule(has, (AtomFormula(value_of, self._span),))
        absent = Not(AtomFormula(has, self._span), self._span)
        found = []
        for branch in branches:
            with_value = {**branch.bound, result: variable}
            found.append(
                branch._replace(bound=with_value).with_body(AtomFormula(value_of, self._span))
            )
            without: Mapping[str, Term] = branch.bound
            if function == "avg":
                without = {**branch.bound, result: 0}
            found.append(branch._replace(bound=without).with_body(absent))
        return limited(found)


def _also(branch: Branch, name: str, other: str) -> Branch:
    """The branch with a second name for what is bound, if it is."""
    if other not in branch.bound:
        return branch
    return branch._replace(bound={**branch.bound, name: branch.bound[other]})


def _is_true(expr: Any) -> bool:
    """Is it the condition of an OPTIONAL without a FILTER?"""
    return expr is None or (isinstance(expr, CompValue) and expr.name == "TrueFilter")


def _variables(terms: Iterable[Term]) -> list[Variable]:
    return [variable for term in terms for variable in term_variables(term)]


def formula_variables(formula: Formula) -> list[Variable]:
    """The variables in a literal."""
    match formula:
        case AtomFormula(atom):
            return _variables(atom.args)
        case Comparison(_, left, right):
            return _variables((left, right))
        case _:
            below = getattr(formula, "body", None)
            return [] if below is None else formula_variables(below)
