"""A program together with everything that is known about it before it runs."""

from dataclasses import dataclass, field
from enum import StrEnum

from larspark.base.atoms import Atom, Element, Signature
from larspark.base.problems import Problem, Severity
from larspark.language.tree import Program, Rule


class Fragment(StrEnum):
    """How much of LARS a program uses, from the least to all of it."""

    POSITIVE = "positive plain"
    STRATIFIED = "stratified plain"
    PLAIN = "plain"
    FULL = "full"


class EdgeKind(StrEnum):
    POSITIVE = "positive"
    NEGATIVE = "negative"
    WINDOW = "window"


@dataclass(frozen=True, slots=True)
class Edge:
    """`head` depends on `body` by the rule with this number (from 0, in `Checked.rules`)."""

    head: Signature
    body: Signature
    kind: EdgeKind
    rule: int


@dataclass(frozen=True, slots=True)
class Lookback:
    """How far back an answer can see; None is without bound."""

    time: int | None
    tuples: int | None


@dataclass(frozen=True, slots=True)
class Checked:
    """The checked program: what engines and the definitions read.

    `rules` are the rules proper; facts of the program are split into `background` atoms and stream
    `elements` (`@36 tram(a1,b).`), unless a rule with a body derives their predicate.
    """

    program: Program
    rules: tuple[Rule, ...]
    background: frozenset[Atom]
    elements: tuple[Element, ...]
    inputs: frozenset[Signature]
    background_signatures: frozenset[Signature]
    derived: frozenset[Signature]
    shown: frozenset[Signature]
    edges: tuple[Edge, ...]
    # From the lowest; None when the program is not stratified.
    strata: tuple[frozenset[Signature], ...] | None
    fragment: Fragment
    lookback: Lookback
    # How many time points after the evaluation time an atom can be placed; None: not known before.
    future_reach: int | None
    # Atoms can be placed ever further into the future: a run needs an end of the timeline.
    endless: bool
    nested_windows: bool
    # Several answer streams, or none, are possible.
    several_models: bool
    # For each stream predicate the argument position on which all rules join, or None.
    partition_key: dict[Signature, int] | None
    problems: tuple[Problem, ...] = field(default=())

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(p for p in self.problems if p.severity is Severity.WARNING)

    @property
    def future_heads(self) -> bool:
        """Can an atom be placed after the evaluation time?"""
        return self.future_reach != 0
