"""Trees of CQL: expressions, conditions, windows, queries, statements; each with its place."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from larspark.base.problems import Span
from larspark.base.terms import Constant

# The types of columns that matter: integers divide without a rest.
Kind: TypeAlias = Literal["integer", "float", "text"]
StreamOperator: TypeAlias = Literal["istream", "dstream", "rstream"]


@dataclass(frozen=True, slots=True)
class Column:
    """`S.a` or `a`; names are lower case."""

    qualifier: str
    name: str
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Value:
    constant: Constant
    kind: Kind
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Operation:
    """`+ - * /` with two operands, `-` also with one."""

    operator: Literal["+", "-", "*", "/"]
    operands: tuple["Expression", ...]
    span: Span = field(compare=False)
    # How deep the tree below is.
    height: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """`COUNT(*)` has no argument."""

    function: Literal["count", "sum", "avg", "min", "max"]
    argument: "Expression | None"
    distinct: bool
    span: Span = field(compare=False)


Expression: TypeAlias = Column | Value | Operation | AggregateCall


@dataclass(frozen=True, slots=True)
class Compared:
    """`left operator right`, the operator as LARS writes it."""

    operator: str
    left: Expression
    right: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Junction:
    """`AND` or `OR` of two or more conditions."""

    operator: Literal["and", "or"]
    parts: tuple["Condition", ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Negation:
    body: "Condition"
    span: Span


@dataclass(frozen=True, slots=True)
class Exists:
    """`EXISTS (query)`, or `element IN (query)`."""

    query: "Select"
    element: Expression | None
    span: Span


Condition: TypeAlias = Compared | Junction | Negation | Exists


@dataclass(frozen=True, slots=True)
class TimeRange:
    """`RANGE n SLIDE m` in time points; `size` is None for `RANGE UNBOUNDED`, 0 for `NOW`."""

    size: int | None
    slide: int = 1
    now: bool = False


@dataclass(frozen=True, slots=True)
class Rows:
    """`PARTITION BY columns ROWS n`."""

    number: int
    columns: tuple[Column, ...] = ()


WindowClause: TypeAlias = TimeRange | Rows


@dataclass(frozen=True, slots=True)
class Source:
    """`name [window] AS alias` in a FROM clause."""

    name: str
    window: WindowClause | None
    alias: str
    span: Span


@dataclass(frozen=True, slots=True)
class Item:
    """`expression AS name` of a SELECT clause; without an expression all columns, `*` or `S.*`."""

    expression: Expression | None
    name: str
    span: Span
    qualifier: str = ""


@dataclass(frozen=True, slots=True)
class Select:
    items: tuple[Item, ...]
    sources: tuple[Source, ...]
    where: Condition | None
    groups: tuple[Column, ...]
    having: Condition | None
    distinct: bool
    operator: StreamOperator | None
    span: Span


@dataclass(frozen=True, slots=True)
class SetOperation:
    operator: Literal["union", "except", "intersect"]
    left: "Query"
    right: "Query"
    span: Span


@dataclass(frozen=True, slots=True)
class Streamed:
    """`ISTREAM (query)` and the like."""

    operator: StreamOperator
    query: "Query"
    span: Span


@dataclass(frozen=True, slots=True)
class Named:
    """The name of a stream, relation or view as a query."""

    source: Source


Query: TypeAlias = Select | SetOperation | Streamed | Named


@dataclass(frozen=True, slots=True)
class Declared:
    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Register:
    """`REGISTER STREAM name (columns)`, or of a relation; `vtable` names the query before it."""

    name: str
    columns: tuple[Declared, ...]
    is_stream: bool
    span: Span
    of_view: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """`CREATE VIEW name (columns) AS query`; a `vquery :` has no name of its own."""

    name: str
    columns: tuple[str, ...]
    query: Query
    span: Span


@dataclass(frozen=True, slots=True)
class Answer:
    """A query whose rows are the answers."""

    query: Query
    span: Span


@dataclass(frozen=True, slots=True)
class Unread:
    """A statement that could not be read, and what it would define."""

    name: str


CqlStatement: TypeAlias = Register | View | Answer | Unread
