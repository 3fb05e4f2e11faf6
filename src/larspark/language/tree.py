"""The trees of the language: formulas, windows, rules, programs.

Trees are frozen and compare by content; the place they came from does not count.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import Span
from larspark.base.terms import Term, Variable
from larspark.language.windows import Window

NOWHERE = Span("<program>", 1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class AtomFormula:
    atom: Atom
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left operator right`, with operator one of `= != < <= > >=`."""

    operator: str
    left: Term
    right: Term
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Truth:
    value: bool
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Not:
    body: "Formula"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class And:
    """Two or more conjuncts; a conjunct is never itself an `And`."""

    parts: tuple["Formula", ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Or:
    """Two or more disjuncts; a disjunct is never itself an `Or`."""

    parts: tuple["Formula", ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Implies:
    left: "Formula"
    right: "Formula"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Some:
    body: "Formula"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Always:
    body: "Formula"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class At:
    time: Term
    body: "Formula"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Windowed:
    window: Window
    body: "Formula"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reset:
    body: "Formula"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


AggregateFunction: TypeAlias = Literal["count", "sum", "min", "max", "avg"]


@dataclass(frozen=True, slots=True)
class AggregateElement:
    """`X, Y : p(X), not q(Y)`: the tuple `terms` for each way in which all conditions hold.

    There is at least one term and one condition. Conditions are what may stand in a body, and
    no condition is or contains an `Aggregate`; none is an `And`. Terms hold no wildcards.
    """

    terms: tuple[Term, ...]
    conditions: tuple["Formula", ...]


# The operators of comparisons between numbers, or between texts.
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

# The operators of comparisons with their sides exchanged.
MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

# The comparison that holds exactly where another one does not, if both sides have a value, and
# numbers are compared with numbers, texts with texts.
NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True, slots=True)
class Guard:
    """The value of an aggregate compared with a term: `value operator term`.

    `3 <= #count{...}` is the guard `>= 3`, and `N = #count{...}` is the guard `= N`.
    """

    operator: str
    term: Term


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`3 <= #count{ X : p(X, M) ; Y : q(Y, M) } < N by M`: a body literal over a set of tuples.

    It only stands as an element of a rule's body or as a conjunct of a query: never in a head,
    and never below another operator. (`not #count{...} > 3` is read as `#count{...} <= 3`, which
    holds in the same cases, because neither holds when there is no value.) The short form
    `N = count of [5] p(X)` is read as the long form.

    `shared` are the global variables that occur in the elements, each once, in the order of the
    text: those that also occur in the head, in another literal (for another aggregate: outside
    of its braces), in `guards` or in `by`. All other variables are local to their element; two
    elements, or two aggregates of a rule, may use the same name for different local variables.

    Meaning, at a stream S, a time point t and values of the global variables: the set holds the
    values of `terms` for all values of the local variables under which the conditions of an
    element hold at S, t; tuples are compared as values, and one with a term that has no value is
    left out. The value of the aggregate is

    - `count`: the number of tuples;
    - `sum`, `min`, `max`, `avg`: of the first components that are numbers; other tuples are left
      out. Integers give an exact integer sum, without a value outside of 64 bits. If a float
      takes part, the sum is the exact sum rounded once. `avg` is the exact sum divided by the
      count: the integer when all are integers and the division leaves no rest, as `/` has it,
      and the exact quotient rounded once otherwise.

    Over no tuples (for the last four: no numbers) `count` and `sum` are 0, the others have no
    value. The literal holds if the value exists, fulfils all guards, and, with `by`, the set has
    at least one tuple (for `sum` also one whose first component is text).

    A guard `= N` with a variable binds `N`. `by` binds its variables: the literal holds for every
    group under which the set is not empty. Each of them occurs in every element. All other global
    variables are bound by other literals. There are one or two guards.
    """

    function: AggregateFunction
    elements: tuple[AggregateElement, ...]
    guards: tuple[Guard, ...]
    by: tuple[Variable, ...] = ()
    shared: tuple[Variable, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Formula: TypeAlias = (
    AtomFormula
    | Comparison
    | Truth
    | Not
    | And
    | Or
    | Implies
    | Some
    | Always
    | At
    | Windowed
    | Reset
    | Aggregate
)


@dataclass(frozen=True, slots=True)
class Rule:
    """`head :- body.` A constraint has the head `Truth(False)`, a fact an empty body.

    No element of the body is an `And`: a conjunction in a body is the same as a comma.
    """

    head: Formula
    body: tuple[Formula, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Background:
    """`#background "lines.csv" as line/2.`

    `columns` are the names of the columns that are the arguments: `as line(id, name)`. `types` has
    a type of `COLUMN_TYPES` for each, empty where none is given: `as line(text(id), name)`.
    """

    path: str
    signature: Signature
    columns: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Tick:
    """How long one time point lasts, in microseconds."""

    microseconds: int


@dataclass(frozen=True, slots=True)
class NamedData:
    """A stream or a relation that a query names: the atoms it consists of.

    `columns` are the names of the arguments; without them the data consists of ready atoms. `kinds`
    says what the values of each column are: `integer`, `number` or `text`.
    """

    name: str
    signature: Signature
    columns: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    is_stream: bool = True


@dataclass(frozen=True, slots=True)
class Program:
    """A whole program, includes resolved and durations turned into time points.

    `inputs` and `shows` are None when no directive names them.
    """

    rules: tuple[Rule, ...]
    tick: Tick | None = None
    inputs: frozenset[Signature] | None = None
    shows: frozenset[Signature] | None = None
    remembered: frozenset[Signature] = frozenset()
    backgrounds: tuple[Background, ...] = ()
    # The names that `#show alarm(machine, value)` gives to arguments, sorted by predicate.
    shown_columns: tuple[tuple[Signature, tuple[str, ...]], ...] = ()
    source: str = field(default="<program>", compare=False, repr=False)
    # The texts the program was read from, by source, to show places in them.
    texts: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    # The streams and relations that the text names, for files given by name.
    named: tuple[NamedData, ...] = field(default=(), compare=False, repr=False)
    # Whether it has to be run with hindsight (True) or without (False); None if both are right.
    hindsight: bool | None = field(default=None, compare=False, repr=False)
    # The variables that the arguments of the answers give, for a query of SPARQL's family.
    bindings: tuple[str, ...] | None = field(default=None, compare=False, repr=False)
    # Predicates that stand for events: their last two arguments are the ends of an interval.
    events: frozenset[Signature] = field(default=frozenset(), compare=False, repr=False)
