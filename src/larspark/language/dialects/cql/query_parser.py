"""CQL: text to statements. What is not supported is named, and reading goes on behind it."""

from collections.abc import Callable, Iterator
from typing import Literal, NoReturn, cast, get_args

from larspark.base.problems import Span
from larspark.language.dialects.cql.query_tokens import query_statements, string_value
from larspark.language.dialects.cql.query_tree import (
    AggregateCall,
    Answer,
    Column,
    Compared,
    Condition,
    CqlStatement,
    Declared,
    Exists,
    Expression,
    Item,
    Junction,
    Kind,
    Named,
    Negation,
    Operation,
    Query,
    Register,
    Rows,
    Select,
    SetOperation,
    Source,
    Streamed,
    StreamOperator,
    TimeRange,
    Value,
    View,
    WindowClause,
)
from larspark.language.source import Source as Text
from larspark.language.tokens import Token, brief, number_of, span_between, whole_number

MAX_DEPTH = 60
FUNCTIONS = ("count", "sum", "avg", "min", "max")
_OPERATORS = get_args(StreamOperator)
_COMPARISONS = {"=": "=", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_SECOND = 1_000_000
_UNITS = {
    **dict.fromkeys(("microsecond", "microseconds"), 1),
    **dict.fromkeys(("millisecond", "milliseconds", "msec", "ms"), 1_000),
    **dict.fromkeys(("second", "seconds", "sec", "s"), _SECOND),
    **dict.fromkeys(("minute", "minutes", "min"), 60 * _SECOND),
    **dict.fromkeys(("hour", "hours", "h"), 3_600 * _SECOND),
    **dict.fromkeys(("day", "days", "d"), 86_400 * _SECOND),
}
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("integer", "int", "bigint", "smallint"), "integer"),
    **dict.fromkeys(("float", "real", "double", "numeric", "decimal"), "float"),
    **dict.fromkeys(("char", "varchar", "byte", "text", "string"), "text"),
}
# Words that end a name without `AS`.
_RESERVED = frozenset(
    (
        *("select", "distinct", "from", "where", "group", "having", "order", "limit", "as", "and"),
        *("or", "not", "in", "exists", "union", "except", "intersect", "join", "left", "right"),
        *("full", "inner", "outer", "cross", "natural", "on", "using", "like", "is", "between"),
        *("null", "case", "over", "offset", "fetch", "by"),
    )
)
# What may follow a query in SQL, and is not supported here.
_TAILS = {"order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET", "fetch": "FETCH"}
_CHANGES = ("insert", "update", "delete", "drop", "alter", "merge")


class _Stop(Exception):  # noqa: N818 - internal: the problem has been reported
    """The rest of the statement cannot be read."""


def parse_cql(text: Text, tick: int, half_open: bool) -> Iterator[CqlStatement]:
    """The statements that can be read; `tick` is the length of a time point in microseconds."""
    for tokens in query_statements(text):
        try:
            statement = _Parser(text, tokens, tick, half_open).statement()
            if statement is not None:
                yield statement
        except _Stop:
            continue


class _Parser:
    """Reads one statement, token by token."""

    def __init__(self, text: Text, tokens: list[Token], tick: int, half_open: bool) -> None:
        self._text = text
        self._tokens = tokens
        self._tick = tick
        self._half_open = half_open
        self._at = 0
        self._depth = 0

    # Tokens

    def _peek(self, ahead: int = 0) -> str:
        """The next word in lower case, or the next symbol; empty at the end."""
        place = self._at + ahead
        if place >= len(self._tokens) or self._tokens[place].type == "STRING":
            return ""
        return self._tokens[place].text.lower()

    def _type(self) -> str:
        return self._tokens[self._at].type if self._at < len(self._tokens) else ""

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _take(self, *words: str) -> Token | None:
        return self._next() if self._peek() in words and self._peek() else None

    def _need(self, word: str) -> Token:
        return self._take(word) or self._unexpected(f"`{word.upper()}`")

    def _place(self) -> Span:
        """The next token, or what follows the last one."""
        if self._at < len(self._tokens):
            return self._tokens[self._at].span
        end = self._tokens[-1].span
        return end._replace(column=end.end_column, end_column=end.end_column + 1)

    def _unexpected(self, expected: str) -> NoReturn:
        found = "the statement ends"
        if self._at < len(self._tokens):
            found = f"found `{brief(self._tokens[self._at].text)}`"
        message = f"expected {expected}, {found}"
        self._text.report("L104", message, self._place())
        raise _Stop

    def _refuse(self, what: str, span: Span, hint: str = "") -> None:
        self._text.report("L150", f"CQL: {what} is not supported", span, hint)

    def _span(self, first: Token) -> Span:
        return span_between(first, self._tokens[max(self._at - 1, 0)])

    def _from(self, span: Span) -> Span:
        last = self._tokens[max(self._at - 1, 0)]
        return span._replace(end_line=last.line, end_column=last.end_column)

    def _nest(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            message = f"queries and brackets nest more than {MAX_DEPTH} deep"
            self._text.report("L107", message, self._place())
            raise _Stop

    def _name(self, what: str) -> Token:
        if self._type() != "NAME" or self._peek() in _RESERVED:
            self._unexpected(what)
        return self._next()

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
                raise _Stop
        statement = self._keyed(key)
        if self._at < len(self._tokens):
            self._tail()
        return statement

    def _tail(self) -> None:
        """What follows a query that is complete."""
        word = self._peek()
        if word in _TAILS:
            self._refuse(_TAILS[word], self._place(), "answers are sets without an order")
            self._at = len(self._tokens)
            return
        self._unexpected("`;`")

    def _keyed(self, key: str) -> CqlStatement:
        word = self._peek()
        if word in ("register", "create") and self._peek(1) != "view":
            return self._register(key == "vtable")
        if word == "create":
            return self._view()
        if word in _CHANGES:
            hint = "relations are background data, the same at every time point"
            self._refuse(f"{word.upper()} (relation updates)", self._place(), hint)
            raise _Stop
        first = self._place()
        query = self._query()
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
        if self._type() != "NAME" or word in _RESERVED:
            self._unexpected("a query")
        source = self._source()
        return Named(source)

    def _bracketed(self) -> Query:
        self._nest()
        self._need("(")
        query = self._query()
        if self._peek() in _TAILS:
            self._tail()
            raise _Stop
        self._need(")")
        self._depth -= 1
        return query

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
            groups.append(self._column())
            while self._take(","):
                groups.append(self._column())
        having = self._condition() if self._take("having") else None
        where = None
        if conditions:
            span = conditions[0].span
            where = conditions[0] if len(conditions) == 1 else _all_of(conditions, span)
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

    def _is_join(self) -> bool:
        return self._peek() in ("join", "inner", "left", "right", "full", "cross", "natural")

    def _join(self, sources: list[Source], conditions: list[Condition]) -> None:
        """`JOIN source ON condition` is a source and a condition; other joins are refused."""
        token = self._next()
        word = token.text.lower()
        if word in ("left", "right", "full"):
            self._take("outer")
            self._refuse(f"{word.upper()} OUTER JOIN", token.span, "there is no NULL")
        elif word == "natural":
            self._refuse("NATURAL JOIN", token.span, "write the condition")
        if word != "join":
            self._need("join")
        sources.append(self._source())
        if self._peek() == "using":
            self._refuse("USING", self._place(), "write `ON` and the condition")
            raise _Stop
        if self._take("on"):
            conditions.append(self._condition())

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
        if self._take("as") or (self._type() == "NAME" and self._peek() not in _RESERVED):
            name = self._name("a name").text.lower()
        return Item(expression, name, self._from(first))

    def _source(self) -> Source:
        if self._peek() == "(" and self._peek(1) == "select":
            self._refuse("a subquery in FROM", self._place(), "make it a view: `CREATE VIEW`")
            raise _Stop
        first = self._name("a stream, relation or view")
        window = None
        if bracket := self._take("["):
            window = self._window(bracket)
            self._need("]")
        alias = first.text.lower()
        if self._take("as") or (self._type() == "NAME" and self._peek() not in _RESERVED):
            alias = self._name("a name").text.lower()
        return Source(first.text.lower(), window, alias, self._span(first))

    def _window(self, bracket: Token) -> WindowClause:
        if self._take("now"):
            return TimeRange(0, now=True)
        if self._take("rows"):
            return Rows(self._positive("how many rows"))
        if self._take("partition"):
            self._need("by")
            columns = [self._column()]
            while self._take(","):
                columns.append(self._column())
            self._need("rows")
            return Rows(self._positive("how many rows"), tuple(columns))
        if not self._take("range"):
            self._unexpected("`NOW`, `RANGE`, `ROWS` or `PARTITION BY`")
        unbounded = self._take("unbounded") is not None
        size = None if unbounded else self._duration("how long the range is")
        if self._take("slide"):
            slide_at = self._place()
            slide = self._duration("how long the slide is")
            covered = (size or 0) + (not self._half_open or not size)
            if slide == 0:
                self._text.report("L118", "a slide lasts at least one time point", slide_at)
                slide = 1
            elif size is not None and slide > covered:
                message = f"the slide leaves time points out: the range has {covered}"
                self._text.report("L118", message, slide_at)
            if size is None:
                self._refuse("SLIDE of an unbounded range", slide_at)
            return TimeRange(size, slide)
        return TimeRange(size)

    def _positive(self, what: str) -> int:
        at = self._place()
        number = self._whole(what)
        if number == 0:
            self._text.report("L118", "a window has at least one row", at)
        return number

    def _whole(self, what: str) -> int:
        if self._type() != "NUMBER":
            self._unexpected(what)
        return whole_number(self._next()) or 0

    def _duration(self, what: str) -> int:
        """A number of time points; with a unit it is converted by the tick."""
        if self._type() != "NUMBER":
            self._unexpected(what)
        token = self._next()
        if self._type() != "NAME" or self._peek() == "slide":
            return whole_number(token) or 0
        unit = self._next()
        micros = _UNITS.get(unit.text.lower())
        if micros is None:
            hint = "the units are milliseconds, seconds, minutes, hours and days"
            self._text.report("L116", f"`{brief(unit.text)}` is no unit of time", unit.span, hint)
            return 1
        number = whole_number(token)
        if number is None:
            return 1
        points, rest = divmod(number * micros, self._tick)
        if rest:
            message = "this is no whole number of time points"
            hint = f"a time point lasts {self._tick / _SECOND:g} s; `--tick` changes it"
            self._text.report("L117", message, span_between(token, unit), hint)
        return points

    # Conditions and expressions

    def _condition(self) -> Condition:
        first = self._place()
        found = self._disjunction()
        return self._as_condition(found, self._from(first))

    def _as_condition(self, found: Condition | Expression, span: Span) -> Condition:
        if isinstance(found, Compared | Junction | Negation | Exists):
            return found
        self._text.report("L112", "expected a condition, found a value", span)
        raise _Stop

    def _expression(self) -> Expression:
        first = self._place()
        found = self._sum()
        return self._as_value(found, self._from(first))

    def _as_value(self, found: Condition | Expression, span: Span) -> Expression:
        if isinstance(found, Compared | Junction | Negation | Exists):
            self._text.report("L113", "expected a value, found a condition", span)
            raise _Stop
        return found

    def _disjunction(self) -> Condition | Expression:
        return self._junction("or", self._conjunction)

    def _conjunction(self) -> Condition | Expression:
        return self._junction("and", self._negation)

    def _junction(
        self, word: Literal["and", "or"], part: Callable[[], Condition | Expression]
    ) -> Condition | Expression:
        first = self._place()
        found = part()
        if self._peek() != word:
            return found
        parts = [self._as_condition(found, self._from(first))]
        while self._take(word):
            at = self._place()
            parts.append(self._as_condition(part(), self._from(at)))
        return Junction(word, tuple(parts), self._from(first))

    def _negation(self) -> Condition | Expression:
        first = self._place()
        if self._take("not"):
            self._nest()
            body = self._as_condition(self._negation(), self._from(first))
            self._depth -= 1
            return Negation(body, self._from(first))
        if self._take("exists"):
            return Exists(self._subquery(), None, self._from(first))
        return self._comparison()

    def _subquery(self) -> Select:
        first = self._place()
        query = self._bracketed()
        if not isinstance(query, Select):
            self._refuse("this kind of subquery", self._from(first), "write a SELECT")
            raise _Stop
        return query

    def _comparison(self) -> Condition | Expression:
        first = self._place()
        left = self._sum()
        word = self._peek()
        if word in _COMPARISONS:
            self._next()
            at = self._place()
            value = self._as_value(left, self._from(first))
            right = self._as_value(self._sum(), self._from(at))
            return Compared(_COMPARISONS[word], value, right, self._from(first))
        if word in ("not", "in", "between", "like", "is"):
            return self._special(self._as_value(left, self._from(first)), first)
        return left

    def _special(self, left: Expression, first: Span) -> Condition:
        """`[NOT] IN`, `[NOT] BETWEEN`, and what is refused: LIKE and NULL."""
        negated = self._take("not") is not None
        found: Condition
        if self._take("in"):
            if self._peek(1) == "select":
                found = Exists(self._subquery(), left, self._from(first))
            else:
                found = self._listed(left, first)
        elif self._take("between"):
            low = self._expression()
            self._need("and")
            high = self._expression()
            span = self._from(first)
            parts = (Compared(">=", left, low, span), Compared("<=", left, high, span))
            found = Junction("and", parts, span)
        elif word := self._take("like"):
            self._refuse("LIKE", word.span)
            self._sum()
            found = Compared("=", left, left, self._from(first))
        elif word := self._take("is"):
            self._refuse("NULL", word.span, "there is no NULL here")
            self._take("not")
            self._need("null")
            found = Compared("=", left, left, self._from(first))
        else:
            self._unexpected("`IN`, `BETWEEN` or a comparison")
        return Negation(found, self._from(first)) if negated else found

    def _listed(self, left: Expression, first: Span) -> Condition:
        self._need("(")
        values = [self._expression()]
        while self._take(","):
            values.append(self._expression())
        self._need(")")
        span = self._from(first)
        parts = tuple(Compared("=", left, value, span) for value in values)
        return parts[0] if len(parts) == 1 else Junction("or", parts, span)

    def _sum(self) -> Condition | Expression:
        return self._chain(("+", "-"), self._product)

    def _product(self) -> Condition | Expression:
        return self._chain(("*", "/"), self._unary)

    def _chain(
        self, operators: tuple[str, ...], part: Callable[[], Condition | Expression]
    ) -> Condition | Expression:
        first = self._place()
        found = part()
        while True:
            if self._peek() in ("||", "%"):
                self._refuse(f"`{self._peek()}`", self._place())
                raise _Stop
            token = self._take(*operators)
            if token is None:
                return found
            left = self._as_value(found, self._from(first))
            at = self._place()
            right = self._as_value(part(), self._from(at))
            operator = cast(Literal["+", "-", "*", "/"], token.text)
            found = self._operation(operator, (left, right), first)

    def _operation(
        self, operator: Literal["+", "-", "*", "/"], operands: tuple[Expression, ...], first: Span
    ) -> Operation:
        height = 1 + max(getattr(operand, "height", 0) for operand in operands)
        if height > MAX_DEPTH:
            message = f"an expression has more than {MAX_DEPTH} operators above each other"
            self._text.report("L107", message, first)
            raise _Stop
        return Operation(operator, operands, self._from(first), height)

    def _unary(self) -> Condition | Expression:
        first = self._place()
        if self._take("+"):
            return self._unary_operand(first)
        if self._take("-"):
            operand = self._unary_operand(first)
            if isinstance(operand, Value) and isinstance(operand.constant, int | float):
                return Value(-operand.constant, operand.kind, self._from(first))
            return self._operation("-", (operand,), first)
        return self._primary()

    def _unary_operand(self, first: Span) -> Expression:
        self._nest()
        operand = self._as_value(self._unary(), self._from(first))
        self._depth -= 1
        return operand

    def _primary(self) -> Condition | Expression:
        kind = self._type()
        if kind == "NUMBER":
            token = self._next()
            number = number_of(token)
            return Value(number, "integer" if token.text.isdigit() else "float", token.span)
        if kind == "STRING":
            token = self._next()
            return Value(string_value(token), "text", token.span)
        if self._peek() == "(":
            return self._parenthesis()
        if self._peek() == "null":
            self._refuse("NULL", self._place(), "there is no NULL here")
            raise _Stop
        if self._peek() == "case":
            self._refuse("CASE", self._place(), "write one query for each case, and UNION")
            raise _Stop
        if kind == "NAME" and self._peek(1) == "(":
            return self._call()
        return self._column()

    def _parenthesis(self) -> Condition | Expression:
        self._nest()
        self._need("(")
        if self._peek() == "select":
            self._refuse("a subquery as a value", self._place(), "use IN, EXISTS or a view")
            raise _Stop
        found = self._disjunction()
        self._need(")")
        self._depth -= 1
        return found

    def _call(self) -> Expression:
        first = self._next()
        function = first.text.lower()
        self._next()
        if function not in FUNCTIONS:
            hint = "the functions are COUNT, SUM, AVG, MIN and MAX"
            self._refuse(f"the function {brief(first.text.upper())}", first.span, hint)
            self._skip_arguments()
            return Value(0, "integer", first.span)
        self._nest()
        distinct = self._take("distinct") is not None
        argument = None
        if function == "count" and not distinct and self._take("*"):
            pass
        else:
            argument = self._expression()
        self._need(")")
        self._depth -= 1
        if self._peek() == "over":
            self._refuse("OVER", self._place(), "use GROUP BY")
            raise _Stop
        name = cast(Literal["count", "sum", "avg", "min", "max"], function)
        return AggregateCall(name, argument, distinct, self._span(first))

    def _skip_arguments(self) -> None:
        """Go on behind the bracket that closes the one before."""
        opened = 1
        while opened and self._at < len(self._tokens):
            word = self._next().text
            opened += (word == "(") - (word == ")")

    def _column(self) -> Column:
        first = self._name("a column")
        if self._take("."):
            second = self._name("a column")
            return Column(first.text.lower(), second.text.lower(), self._span(first))
        return Column("", first.text.lower(), first.span)


def _all_of(conditions: list[Condition], span: Span) -> Condition:
    return Junction("and", tuple(conditions), span)
