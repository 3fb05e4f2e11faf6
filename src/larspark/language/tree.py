"""The trees of the language: formulas, windows, rules, programs.

Trees are frozen and compare by content; the place they came from does not count.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import Span
from larspark.base.terms import Term
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
    """`#background "lines.csv" as line/2.`"""

    path: str
    signature: Signature
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Tick:
    """How long one time point lasts, in microseconds."""

    microseconds: int


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
    source: str = field(default="<program>", compare=False, repr=False)
    # The texts the program was read from, by source, to show places in them.
    texts: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
