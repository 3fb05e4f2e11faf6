"""From the inner form to rules: windows, the pattern, and the time points of reports.

The rules have the form of Section 5.3 of the LARS paper: `report` holds when the query reports.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from pyparsing import ParseBaseException
from rdflib.plugins.sparql.algebra import translateQuery, traverse
from rdflib.plugins.sparql.parser import parseQuery
from rdflib.plugins.sparql.sparql import Prologue
from rdflib.term import BNode
from rdflib.term import Variable as QueryVariable

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import Span
from larspark.base.rdf_terms import DATA, STREAMED, iri_text
from larspark.base.terms import NOW, Arithmetic, Term, Variable, Wildcard
from larspark.language.collector import has_errors
from larspark.language.dialects.sparql.branches import Branch, TooManyBranchesError
from larspark.language.dialects.sparql.graph_patterns import (
    UNBOUND,
    Patterns,
    UnsupportedError,
    term_of,
)
from larspark.language.dialects.sparql.rdf_query import (
    Places,
    QueryToken,
    StreamQuery,
    StreamWindow,
    query_tokens,
)
from larspark.language.query_options import QueryOptions
from larspark.language.source import Source
from larspark.language.tree import (
    At,
    AtomFormula,
    Comparison,
    Formula,
    NamedData,
    Not,
    Program,
    Some,
    Truth,
    Windowed,
)
from larspark.language.windows import FilterWindow, TimeWindow, TupleWindow, Window

ANSWER, SOLUTION, BEFORE, REPORT, TRIPLE = "answer", "solution", "before", "report", "t"
DEFAULT_GRAPH = "default"
MAX_BRACKETS = 12
_REFUSED = {
    "service": "SERVICE",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "describe": "DESCRIBE",
    "values": "VALUES",
    "aggregate": "AGGREGATE",
    "insert": "INSERT",
    "delete": "DELETE",
    "load": "LOAD",
}
_FUNCTIONS = frozenset(
    (
        *("str", "lang", "langmatches", "datatype", "iri", "uri", "bnode", "rand", "abs", "ceil"),
        *("floor", "round", "concat", "strlen", "ucase", "lcase", "encode_for_uri", "contains"),
        *("strstarts", "strends", "strbefore", "strafter", "substr", "replace", "regex", "year"),
        *("month", "day", "hours", "minutes", "seconds", "timezone", "tz", "now", "uuid"),
        *("struuid", "md5", "sha1", "sha256", "sha384", "sha512", "coalesce", "if", "strlang"),
        *("strdt", "sameterm", "isiri", "isuri", "isblank", "isliteral", "isnumeric"),
        *("group_concat", "sample"),
    )
)


class StreamProgram:
    """Translates one query."""

    def __init__(self, source: Source, options: QueryOptions, language: str) -> None:
        self._source = source
        self._options = options
        self._language = language
        self._places = Places(source)
        self._tokens = query_tokens(source.text)

    def _span(self, token: QueryToken) -> Span:
        return self._places.span(token.start, token.end)

    def _refuse(self, what: str, token: QueryToken, hint: str = "") -> None:
        message = f"{self._language}: {what} is not supported"
        self._source.report("L150", message, self._span(token), hint)

    def refuse_unsupported(self) -> None:
        """Report what is not supported and known by a word; and brackets that nest too deep."""
        depth = 0
        # For each open brace, how many round brackets are open in it.
        rounds = [0]
        for place, token in enumerate(self._tokens):
            following = self._tokens[place + 1] if place + 1 < len(self._tokens) else None
            before = self._tokens[place - 1] if place else None
            depth += (token.text in "({[") - (token.text in ")}]") if token.text else 0
            if depth > MAX_BRACKETS:
                message = f"more than {MAX_BRACKETS} brackets are open here"
                self._source.report("L107", message, self._span(token))
                break
            if token.text == "{":
                rounds.append(0)
            elif token.text == "}" and len(rounds) > 1:
                rounds.pop()
            rounds[-1] += (token.text == "(") - (token.text == ")")
            # `+2` is a number.
            positive = following is not None and following.kind == "NUMBER" and token.text == "+"
            in_path = token.text in ("/", "|", "^", "*", "+") and not positive
            if len(rounds) > 1 and rounds[-1] == 0 and in_path:
                self._refuse("a property path", token, "write the triples of the path")
            after = "" if following is None else following.text
            if token.word in _REFUSED:
                self._refuse(_REFUSED[token.word], token)
            elif token.word == "graph" and following is not None and following.kind == "VARIABLE":
                self._refuse("GRAPH with a variable", token, "name the graph")
            elif token.word == "order":
                self._refuse("ORDER BY", token, "answers are sets without an order")
            elif token.word == "select" and before is not None and before.text == "{":
                self._refuse("a subquery", token, "write its pattern, or a query of its own")
            elif token.word in _FUNCTIONS and after == "(":
                self._refuse(f"the function {token.text.upper()}", token)
            elif token.kind in ("PREFIXED", "IRI") and after == "(":
                name = token.text.rpartition(":")[2]
                hint = "write a rule with `@T`" if name == "timestamp" else ""
                called = rounds[-1] > 0 or (before is not None and before.word == "filter")
                if called or name == "timestamp":
                    self._refuse(f"the function {token.text}", token, hint)

    def translate(self, query: StreamQuery) -> Program | None:
        """The program of a query; None when there are errors."""
        span = self._places.span(0, len(self._source.text.rstrip()))
        if not query.windows:
            hint = "a static graph alone has the same answers at all times"
            self._source.report("L104", "the query names no stream", _short(span), hint)
        if has_errors(tuple(self._source.problems)):
            # What rdflib finds in a text of which parts are refused is beside the point.
            return None
        algebra = self._algebra(query)
        if algebra is None:
            return None
        self._query = query
        patterns = Patterns(self._triple, span)
        try:
            rules = self._rules(algebra, query, patterns, span)
        except UnsupportedError as error:
            self._source.report(
                "L150",
                f"{self._language}: {error.what} is not supported",
                self._where(error, span),
                error.hint,
            )
            return None
        except TooManyBranchesError:
            message = "the pattern has too many alternatives"
            hint = "every OPTIONAL, UNION and `||` doubles them; split the query"
            self._source.report("L152", message, _short(span), hint)
            return None
        if patterns.orders_variables:
            message = "`<` and the like compare numbers; texts have no order here"
            self._source.warn("L153", message, _short(span))
        return rules

    def _where(self, error: UnsupportedError, whole: Span) -> Span:
        """The place of a construct that the algebra has without one."""
        symbols = {
            "a property path": ("/", "|", "^", "+", "*", "?", "!"),
            "an order between texts": ("<", "<=", ">", ">="),
        }.get(error.what)
        words = {word for word in error.what.lower().split() if len(word) > 1}
        after = error.after or ("{",)
        started = False
        for token in self._tokens:
            started = started or token.text.lower() in after
            if not started or not token.text:
                continue
            if error.near:
                found = token.text.replace("$", "?") == error.near
            elif symbols:
                found = token.kind == "SYMBOL" and token.text in symbols
            else:
                found = token.word in words
            if found:
                return self._span(token)
        return _short(whole)

    def _of_graph(self, terms: tuple[Term, ...], graph: str) -> Formula:
        """A triple of a static graph, with the place where it is named."""
        found = next((token for token in self._tokens if token.text == graph), None)
        span = self._places.span(0, 1) if found is None else self._span(found)
        return AtomFormula(Atom(DATA, (*terms, graph)), span)

    def _algebra(self, query: StreamQuery) -> Any | None:
        text = query.sparql
        try:
            parsed = parseQuery(text)
            # rdflib names blank nodes by chance.
            names: dict[BNode, BNode] = {}
            traverse(parsed, visitPost=lambda node: _numbered(node, names))
            return translateQuery(parsed).algebra
        except ParseBaseException as error:
            offset = min(error.loc, max(len(text) - 1, 0))
            found = text[offset : offset + 12].split("\n")[0].strip() or "the end"
            message = f"this is no SPARQL: `{found}` does not fit here"
            for at in query.inserted:
                offset -= at < offset
            self._source.report("L104", message, self._places.span(offset, offset + 1))
        except RecursionError:
            message = "the query nests too deeply"
            self._source.report("L107", message, self._places.span(0, 1))
        except Exception as error:
            # The translation of rdflib raises plain exceptions for what it refuses.
            if self._unknown_prefixes():
                return None
            why = str(error).split("\n")[0][:200]
            self._source.report("L104", f"this is no SPARQL: {why}", self._places.span(0, 1))
        return None

    def _unknown_prefixes(self) -> bool:
        """Report the prefixes that nothing declares; are there any?"""
        declared = {
            after.text[:-1]
            for token, after in pairwise(self._tokens)
            if token.word == "prefix" and after.kind == "PREFIXED"
        }
        known = Prologue().namespace_manager.store
        for token in self._tokens:
            prefix = token.text.partition(":")[0]
            if token.kind == "PREFIXED" and prefix not in ("_", *declared):
                declared.add(prefix)
                if known.namespace(prefix) is None:
                    message = f"there is no prefix `{prefix}:`"
                    self._source.report("L151", message, self._span(token))
        return has_errors(tuple(self._source.problems))

    # Triples

    def _triple(self, graph: str | None, terms: tuple[Term, Term, Term]) -> Formula | None:
        """A triple of a graph as a literal; None for a stream without a window."""
        query = self._query
        if graph is None:
            return AtomFormula(Atom(TRIPLE, terms))
        for window in query.windows:
            if window.graph == graph:
                return _streamed(window, terms)
        if any(window.stream == graph for window in query.windows):
            return None
        if graph not in query.named_graphs:
            query.named_graphs.append(graph)
        return self._of_graph(terms, iri_text(graph))

    def _rules(self, algebra: Any, query: StreamQuery, patterns: Patterns, span: Span) -> Program:
        found = patterns.branches(algebra.p)
        names, heads = self._heads(algebra, found)
        rules = list(patterns.rules)
        patterns.rules.clear()
        self._default_graph(query, patterns, [*rules], found)
        self._reports(query, patterns)
        base, patterns.rules = [*patterns.rules, *rules], []
        report = AtomFormula(Atom(REPORT), span)
        arity = len(names)
        gated = query.emission == "rstream"
        target = ANSWER if gated else SOLUTION
        gate = (report,) if gated or not query.arriving else ()
        if not heads:
            # The conditions can never hold.
            heads = [((UNBOUND,) * arity, (Truth(False, span),))]
        for head, body in heads:
            patterns.rule(Atom(target, head), (*gate, *body))
        remembered: set[Signature] = set()
        if not gated:
            self._emitted(query, patterns, arity, span)
            remembered.add(Signature(SOLUTION, arity))
        streams = dict.fromkeys(window.stream for window in query.windows)
        graphs = dict.fromkeys([*query.graphs, *query.named_graphs])
        if self._reads_default and not query.graphs and not _default_streams(query):
            graphs[DEFAULT_GRAPH] = None
        named = [NamedData(name, STREAMED) for name in streams]
        named += [NamedData(name, Signature(DATA, 4), is_stream=False) for name in graphs]
        return Program(
            tuple(dict.fromkeys([*base, *patterns.rules])),
            self._options.tick,
            frozenset((STREAMED,)),
            frozenset((Signature(ANSWER, arity), Signature(REPORT, 0))),
            frozenset(remembered),
            source=self._source.name,
            texts={self._source.name: self._source.text},
            named=tuple(named),
            bindings=names,
        )

    def _heads(
        self, algebra: Any, branches: Sequence[Branch]
    ) -> tuple[tuple[str, ...], list[tuple[tuple[Term, ...], tuple[Formula, ...]]]]:
        """The names of the arguments of answers, and their heads and bodies."""
        if algebra.name == "AskQuery":
            return (), [((), branch.body) for branch in branches]
        if algebra.name == "ConstructQuery":
            heads = []
            for branch in branches:
                for triple in algebra.template:
                    terms = [self._template(part, branch) for part in triple]
                    if None not in terms:
                        heads.append((tuple(t for t in terms if t is not None), branch.body))
            return ("s", "p", "o"), heads
        if algebra.name != "SelectQuery":
            raise UnsupportedError("this kind of query", "write SELECT, CONSTRUCT or ASK")
        names = self._selected(algebra)
        seen = {name for branch in branches for name in branch.bound if name[:2] != "_:"}
        grouped = any(name.startswith("__agg") for name in seen)
        if algebra.p.name == "Project" and not grouped and seen - set(names):
            message = "answers are sets here: equal answers of a report are one answer"
            self._source.warn("L153", message, self._word("select"), "write SELECT DISTINCT")
        found = [
            (tuple(branch.bound.get(name, UNBOUND) for name in names), branch.body)
            for branch in branches
        ]
        return names, found

    def _word(self, word: str) -> Span:
        """The place of the first such word."""
        found = next((token for token in self._tokens if token.word == word), None)
        return self._places.span(0, 1) if found is None else self._span(found)

    def _selected(self, algebra: Any) -> tuple[str, ...]:
        """The selected variables; those of `SELECT *` in the order of the text."""
        names = [str(name) for name in algebra.PV]
        order = [token.text[1:] for token in self._tokens if token.kind == "VARIABLE"]
        words = [token.text.lower() for token in self._tokens]
        start = words.index("select") if "select" in words else 0
        if "*" in words[start + 1 : start + 3]:
            names.sort(key=lambda name: order.index(name) if name in order else len(order))
        return tuple(names)

    def _template(self, part: Any, branch: Branch) -> Term | None:
        if isinstance(part, BNode):
            hint = "name it by an IRI"
            raise UnsupportedError("a blank node in CONSTRUCT", hint, after=("construct",))
        if isinstance(part, QueryVariable):
            return branch.bound.get(str(part))
        return term_of(part)

    def _default_graph(
        self, query: StreamQuery, patterns: Patterns, rules: Iterable[Any], found: Iterable[Branch]
    ) -> None:
        """`t(S, P, O)`: the triples of all windows without a name, and of the static graphs."""
        bodies = [formula for rule in rules for formula in rule.body]
        bodies += [formula for branch in found for formula in branch.body]
        self._reads_default = any(
            isinstance(formula, AtomFormula) and formula.atom.signature == Signature(TRIPLE, 3)
            for formula in bodies
        )
        terms = (Variable("S"), Variable("P"), Variable("O"))
        for window in query.windows:
            if window.graph is None:
                patterns.rule(Atom(TRIPLE, terms), (_streamed(window, terms),))
        if not self._reads_default:
            return
        graphs: list[str] = [iri_text(graph) for graph in query.graphs]
        if not graphs and not _default_streams(query):
            graphs = [DEFAULT_GRAPH]
        for graph in graphs:
            patterns.rule(Atom(TRIPLE, terms), (self._of_graph(terms, graph),))

    def _reports(self, query: StreamQuery, patterns: Patterns) -> None:
        """`report`: by the clock, or when triples of the streams arrive."""
        if query.step is not None:
            since: Term = NOW if not query.first else Arithmetic("-", (NOW, query.first))
            phase = Comparison("=", Arithmetic("mod", (since, query.step)), 0)
            begun = (Comparison(">=", NOW, query.first),) if query.first else ()
            patterns.rule(Atom(REPORT), (*begun, phase))
        for stream in dict.fromkeys(query.arriving):
            atom = AtomFormula(Atom("i", (Wildcard(), Wildcard(), Wildcard(), iri_text(stream))))
            patterns.rule(Atom(REPORT), (Windowed(TimeWindow(0), Some(atom)),))

    def _emitted(self, query: StreamQuery, patterns: Patterns, arity: int, span: Span) -> None:
        """What is new, or over, compared with `before` time points ago."""
        terms = tuple(Variable(f"X{number}") for number in range(1, arity + 1))
        now, then = (AtomFormula(Atom(name, terms), span) for name in (SOLUTION, BEFORE))
        time = Variable("T")
        earlier = Windowed(TimeWindow(query.before), At(time, now, span), span)
        last = Comparison("=", time, Arithmetic("-", (NOW, query.before)), span)
        patterns.rule(then.atom, (earlier, last))
        report = AtomFormula(Atom(REPORT), span)
        if query.emission == "istream":
            patterns.rule(Atom(ANSWER, terms), (report, now, Not(then, span)))
        else:
            patterns.rule(Atom(ANSWER, terms), (report, then, Not(now, span)))


def _numbered(node: Any, names: dict[BNode, BNode]) -> Any:
    """A blank node of the query under a number, in the order of the text."""
    if not isinstance(node, BNode):
        return None
    return names.setdefault(node, BNode(str(len(names) + 1)))


def _default_streams(query: StreamQuery) -> bool:
    return any(window.graph is None for window in query.windows)


def _short(span: Span) -> Span:
    """The beginning of a place of several lines."""
    return span._replace(end_line=span.line, end_column=span.column + 1)


def _streamed(window: StreamWindow, terms: tuple[Term, ...]) -> Formula:
    """A triple in a window: the last `size` time points, or so many triples."""
    stream = iri_text(window.stream)
    held: Formula = Some(AtomFormula(Atom("i", (*terms, stream)), window.span), window.span)
    windows: list[Window]
    if window.triples is not None:
        any_triple = Atom("i", (Wildcard(), Wildcard(), Wildcard(), stream))
        windows = [FilterWindow((any_triple,)), TupleWindow(window.triples)]
    else:
        past = None if window.size is None else window.size - 1
        windows = [TimeWindow(past, every=window.slide)]
    for kind in reversed(windows):
        held = Windowed(kind, held, window.span)
    return held
