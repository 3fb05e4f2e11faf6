"""CQL: text to statements. What is not supported is named; parsing continues after it."""

from collections.abc import Iterator
from typing import Literal, cast, get_args

from larspark.language.dialects.cql.query_tokens import RESERVED, Stop, query_statements
from larspark.language.dialects.cql.query_tree import (
    Answer,
    Column,
    Condition,
    CqlStatement,
    Declared,
    Item,
    Junction,
    Kind,
    Named,
    Query,
    Register,
    Select,
    SetOperation,
    Streamed,
    StreamOperator,
    Unread,
    View,
)
from larspark.language.dialects.cql.source_parser import SourceParser
from larspark.language.source import Source as Text
from larspark.language.tokens import Token, brief

_OPERATORS = get_args(StreamOperator)
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("integer", "int", "bigint", "smallint"), "integer"),
    **dict.fromkeys(("float", "real", "double", "numeric", "decimal"), "float"),
    **dict.fromkeys(("char", "varchar", "byte", "text", "string"), "text"),
}
# What may follow a query in SQL, and is not supported here.
_TAILS = {"order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET", "fetch": "FETCH"}
_CHANGES = ("insert", "update", "delete", "drop", "alter", "merge")


def parse_cql(text: Text, tick: int, half_open: bool) -> Iterator[CqlStatement]:
    """The statements that can be read; `tick` is the length of a time point in microseconds."""
    for tokens in query_statements(text):
        try:
            statement = _Parser(text, tokens, tick, half_open).statement()
            if statement is not None:
                yield statement
        except Stop:
            name = _defined(tokens)
            if name:
                yield Unread(name)


def _defined(tokens: list[Token]) -> str:
    """The name that `CREATE VIEW name`, `REGISTER STREAM name` or the like defines."""
    words = [token.text.lower() for token in tokens[:5]]
    if words[1:2] == [":"]:
        words = words[2:]
    return words[2] if len(words) > 2 and words[0] in ("create", "register") else ""


class _Parser(SourceParser):
    """Reads one statement, and the queries in it."""

    # Statements

    def statement(self) -> CqlStatement | None:
        key = ""
        if self._type() == "NAME" and self._peek(1) == ":":
            token = self._next()
            key = token.text.lower()
            self._next()
            if key in ("source", "dest"):
                message = f"`{key} :` is ignored; files are named on the command line"
                self._text.warn("L150", message, token.span, "use `--stream NAME=FILE`")
                return None
            if key not in ("table", "vquery", "vtable", "query"):
                message = f"`{brief(token.text)} :` is no key of a script"
                hint = "the keys are `table`, `vquery`, `vtable`, `query`"
                self._text.report("L104", message, token.span, hint)
                raise Stop
        statement = self._keyed(key)
        if self._at < len(self._tokens):
            self._tail()
        return statement

    def _keyed(self, key: str) -> CqlStatement:
        word = self._peek()
        if word in ("register", "create") and self._peek(1) != "view":
            return self._register(key == "vtable")
        if word == "create":
            return self._view()
        if word in _CHANGES:
            hint = "relations are background data, the same at every time point"
            self._refuse(f"{word.upper()} (relation updates)", self._place(), hint)
            raise Stop
        first, at = self._place(), self._at
        query = self._query()
        if isinstance(query, Named) and self._type() and self._peek() not in _TAILS:
            message = f"expected a query, found `{brief(self._tokens[at].text)}`"
            self._text.report("L104", message, first, "it begins with `SELECT`")
            raise Stop
        if key == "vquery":
            return View("", (), query, self._from(first))
        return Answer(query, self._from(first))

    def _register(self, of_view: bool) -> Register:
        self._next()
        kind = self._take("stream", "relation", "table") or self._unexpected(
            "`STREAM` or `RELATION`"
        )
        name = self._name("a name")
        self._need("(")
        columns = [self._declared()]
        while self._take(","):
            columns.append(self._declared())
        self._need(")")
        names = [column.name for column in columns]
        for place, column in enumerate(names):
            if column in names[:place]:
                message = f"`{name.text}` has two columns `{column}`"
                self._text.report("L151", message, name.span)
        stream = kind.text.lower() == "stream"
        return Register(name.text.lower(), tuple(columns), stream, name.span, of_view)

    def _declared(self) -> Declared:
        name = self._name("a column")
        if self._type() != "NAME":
            self._unexpected("the type of the column, such as `INTEGER`")
        word = self._next()
        kind = _KINDS.get(word.text.lower())
        if kind is None:
            hint = "the types are INTEGER, FLOAT, BYTE, CHAR(n) and VARCHAR"
            self._refuse(f"the type {brief(word.text.upper())}", word.span, hint)
            kind = "text"
        if self._take("("):
            if self._type() != "NUMBER":
                self._unexpected("a length")
            self._next()
            self._need(")")
        return Declared(name.text.lower(), kind)

    def _view(self) -> View:
        self._next()
        self._next()
        name = self._name("the name of the view")
        columns: list[str] = []
        if self._take("("):
            columns.append(self._name("a column").text.lower())
            while self._take(","):
                columns.append(self._name("a column").text.lower())
            self._need(")")
        self._need("as")
        return View(name.text.lower(), tuple(columns), self._query(), name.span)

    # Queries

    def _query(self) -> Query:
        first = self._place()
        query = self._operand()
        depth = self._depth
        while word := self._take("union", "except", "intersect"):
            self._nest()
            if every := self._take("all"):
                self._refuse(f"{word.text.upper()} ALL", every.span, "answers are sets")
            operator = cast(Literal["union", "except", "intersect"], word.text.lower())
            query = SetOperation(operator, query, self._operand(), self._from(first))
        self._depth = depth
        return query

    def _operand(self) -> Query:
        first = self._place()
        word = self._peek()
        if word == "select":
            return self._select()
        if word in _OPERATORS and self._peek(1) == "(":
            operator = cast(StreamOperator, self._next().text.lower())
            return Streamed(operator, self._bracketed(), self._from(first))
        if word == "(":
            return self._bracketed()
        if self._type() != "NAME" or word in RESERVED:
            self._unexpected("a query")
        source = self._source()
        return Named(source)

    def _bracketed(self) -> Query:
        self._nest()
        self._need("(")
        query = self._query()
        if self._peek() in _TAILS:
            self._tail()
            raise Stop
        self._need(")")
        self._depth -= 1
        return query

    def _tail(self) -> None:
        """What follows a query that is complete."""
        if self._peek() in _TAILS:
            while self._at < len(self._tokens):
                word = self._peek()
                if word in _TAILS:
                    hint = "answers are sets without an order"
                    self._refuse(_TAILS[word], self._place(), hint)
                self._next()
            return
        self._unexpected("`;`")

    def _select(self) -> Select:
        first = self._need("select")
        operator: StreamOperator | None = None
        distinct = self._take("distinct") is not None
        self._take("all")
        if self._peek() in _OPERATORS and self._peek(1) == "(":
            operator = cast(StreamOperator, self._next().text.lower())
            self._next()
            distinct = self._take("distinct") is not None or distinct
            items = self._items()
            self._need(")")
        else:
            items = self._items()
        self._need("from")
        sources = [self._source()]
        conditions: list[Condition] = []
        while True:
            if self._take(","):
                sources.append(self._source())
            elif self._is_join():
                self._join(sources, conditions)
            else:
                break
        if self._take("where"):
            conditions.append(self._condition())
        groups: list[Column] = []
        if self._take("group"):
            self._need("by")
            groups = self._groups()
        having = self._condition() if self._take("having") else None
        where = None
        if conditions:
            where = conditions[0]
        if len(conditions) > 1:
            where = Junction("and", tuple(conditions), conditions[0].span)
        return Select(
            items,
            tuple(sources),
            where,
            tuple(groups),
            having,
            distinct,
            operator,
            self._span(first),
        )

    def _groups(self) -> list[Column]:
        """The columns of GROUP BY."""
        columns: list[Column] = []
        while True:
            first = self._place()
            found = self._expression()
            if isinstance(found, Column):
                columns.append(found)
            else:
                hint = "make it a column of a view"
                self._refuse("GROUP BY of an expression", self._from(first), hint)
            if not self._take(","):
                return columns

    def _items(self) -> tuple[Item, ...]:
        items = [self._item()]
        while self._take(","):
            items.append(self._item())
        return tuple(items)

    def _item(self) -> Item:
        first = self._place()
        if self._take("*"):
            return Item(None, "", first)
        if self._type() == "NAME" and self._peek(1) == "." and self._peek(2) == "*":
            qualifier = self._next().text.lower()
            self._next()
            self._next()
            return Item(None, "", self._from(first), qualifier)
        expression = self._expression()
        name = expression.name if isinstance(expression, Column) else ""
        if self._take("as") or (self._type() == "NAME" and self._peek() not in RESERVED):
            name = self._name("a name").text.lower()
        return Item(expression, name, self._from(first))
