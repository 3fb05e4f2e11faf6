"""The operators of the interval algebra.

Every operator gives rows: values for its variables, and the evaluation times [from, to] at which
they hold. Trees are frozen, and every operator knows the place in the program it came from.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, assert_never

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import Span
from larspark.base.terms import Arithmetic, Term, Variable
from larspark.language.tree import AggregateFunction, Comparison
from larspark.language.windows import Key, SessionWindow, TupleWindow, Window


class Mode(StrEnum):
    """How an atom is asked for: at the evaluation time, or over the time points of a window."""

    NOW = "now"
    SOME = "some"
    ALWAYS = "always"
    AT = "at"


@dataclass(frozen=True, slots=True)
class Reach:
    """The time points [pivot - past, pivot + future] of a window; None is without bound.

    The pivot is the evaluation time, rounded down to a multiple of `every`.
    """

    past: int | None = None
    future: int | None = None
    every: int = 1


# A conjunction of filters, each of which keeps the atoms that one of its patterns matches.
Filters: TypeAlias = tuple[tuple[Atom, ...], ...]


@dataclass(frozen=True, slots=True)
class Tuples:
    """The last and the next tuples among those that pass the filters.

    `by` are keys over the arguments: with them, the tuples of the predicate in each group of equal
    values; None counts the tuples of all predicates.
    """

    past: int
    future: int
    by: tuple[Key, ...] | None
    among: Filters

    @property
    def size_text(self) -> str:
        """The window without its keys."""
        return TupleWindow(self.past, self.future).text()


@dataclass(frozen=True, slots=True)
class Sessions:
    """The session that reaches to now, or has just ended, of the tuples that pass the filters.

    `by` is as in `Tuples`; the window knows when a session ends.
    """

    window: SessionWindow
    by: tuple[Key, ...] | None
    among: Filters

    @property
    def size_text(self) -> str:
        """The window without its keys."""
        return self.window.text()


@dataclass(frozen=True, slots=True)
class Contents:
    """What a sequence of windows leaves of the input: atoms of a predicate, or time points (None).

    Each window looks from the evaluation time (None), or from one of the positions, which go
    through all time points that the windows before them leave. The rows begin with the positions.
    """

    signature: Signature | None
    windows: tuple[tuple[Window, int | None], ...]
    positions: int


@dataclass(frozen=True, slots=True)
class Seen:
    """A body formula over one atom: `p(X)`, `[5] some p(X)`, `[#3] @T p(X)`, ...

    The arguments of the atom are constants, variables and wildcards.
    """

    atom: Atom
    mode: Mode
    time: Variable | int | None
    reach: Reach
    tuples: Tuples | Sessions | Contents | None
    only: Filters
    origin: Span

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables it binds, in the order of the text."""
        terms = (*self.atom.args, self.time)
        return tuple(dict.fromkeys(term for term in terms if isinstance(term, Variable)))


@dataclass(frozen=True, slots=True)
class Ever:
    """The one empty row, which holds at every evaluation time: what an empty body gives."""

    origin: Span


@dataclass(frozen=True, slots=True)
class Join:
    """Rows of both sides that agree on the shared variables, while both hold."""

    left: "Operator"
    right: Seen
    on: tuple[Variable, ...]
    origin: Span


@dataclass(frozen=True, slots=True)
class Without:
    """Rows of the left side while no row of the right side agrees with them."""

    left: "Operator"
    right: Seen
    on: tuple[Variable, ...]
    origin: Span


@dataclass(frozen=True, slots=True)
class Where:
    """Rows for which a comparison is true, or false when it is negated.

    Rows for which it has no value pass only if `without_value` says so.
    """

    source: "Operator"
    comparison: Comparison
    negated: bool
    without_value: bool
    origin: Span


@dataclass(frozen=True, slots=True)
class Let:
    """Rows with the value of a term as one more variable; those without a value are dropped."""

    source: "Operator"
    variable: Variable
    term: Term
    origin: Span


@dataclass(frozen=True, slots=True)
class Each:
    """Rows with one more variable: a row for every integer from `low` to `high`."""

    source: "Operator"
    variable: Variable
    low: Term
    high: Term
    origin: Span


@dataclass(frozen=True, slots=True)
class Within:
    """Rows while the value of a variable is a time point of the timeline, in reach of now."""

    source: "Operator"
    variable: Variable
    reach: Reach
    origin: Span


@dataclass(frozen=True, slots=True)
class Collect:
    """A row for every group of tuples: its variables, and the value of a function over the group.

    The source has the tuples: the variables of the group, the value that the function is of, and
    what else makes tuples different. Without a function it is asked whether there is a tuple.
    """

    source: Seen
    function: AggregateFunction | None
    group: tuple[Variable, ...]
    origin: Span


Operator: TypeAlias = Seen | Ever | Join | Without | Where | Let | Each | Within | Collect


@dataclass(frozen=True, slots=True)
class Derive:
    """What a rule derives: an atom at the evaluation time, or at a time point of its own."""

    source: Operator
    atom: Atom
    time: Variable | int | None
    # The number of the rule in the checked program.
    rule: int
    origin: Span


@dataclass(frozen=True, slots=True)
class Group:
    """Predicates that depend on each other, with the rules that derive them.

    Groups follow each other in the order of evaluation.
    """

    predicates: tuple[Signature, ...]
    rules: tuple[Derive, ...]
    recursive: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole program; `moment` is the predicate of an atom that holds at every time point."""

    groups: tuple[Group, ...]
    moment: Signature


def steps(operator: Operator) -> Iterator[Operator]:
    """The operators of a left-deep tree from the bottom up; joined formulas before their joins."""
    stack: list[Operator] = []
    current = operator
    while True:
        stack.append(current)
        match current:
            case Seen() | Ever():
                break
            case Join(left) | Without(left):
                current = left
            case Where(source) | Let(source) | Each(source) | Within(source) | Collect(source):
                current = source
            case _:
                assert_never(current)
    return reversed(stack)


def formulas(operator: Operator) -> list[tuple[Seen, bool]]:
    """The formulas of a tree and whether they are negated, from the bottom up."""
    found: list[tuple[Seen, bool]] = []
    for step in steps(operator):
        match step:
            case Seen():
                found.append((step, False))
            case Join(_, right):
                found.append((right, False))
            case Without(_, right):
                found.append((right, True))
            case _:
                pass
    return found


def term_variables(term: Term) -> tuple[Variable, ...]:
    """The variables of a term, in the order of the text."""
    found: list[Variable] = []
    pending = [term]
    while pending:
        current = pending.pop()
        if isinstance(current, Variable):
            found.append(current)
        elif isinstance(current, Arithmetic):
            pending.extend(reversed(current.args))
    return tuple(dict.fromkeys(found))


def may_retract(tuples: Tuples | Sessions | Contents | None, *, hindsight: bool) -> bool:
    """Can what such a window shows be retracted, as elements that are not known yet push it out?

    An ended session is shown when it is over, and never changes.
    """
    if isinstance(tuples, Contents):
        return True
    ended = isinstance(tuples, Sessions) and tuples.window.ended
    return tuples is not None and not ended and not hindsight


def retracting_rules(plan: Plan, *, hindsight: bool, push: bool) -> tuple[tuple[bool, ...], ...]:
    """For every rule of every group: can what it derives be retracted later?

    What a recursion over rows that can be retracted derives is recomputed at every time point, so
    it is final itself; in push mode only at the end of the time point.
    """
    retracting: set[Signature] = set()
    answers: list[tuple[bool, ...]] = []
    for group in plan.groups:
        rules = tuple(
            isinstance(rule.source, Collect)
            or any(
                negated
                or may_retract(seen.tuples, hindsight=hindsight)
                or seen.atom.signature in retracting
                for seen, negated in formulas(rule.source)
            )
            for rule in group.rules
        )
        answers.append(rules)
        if any(rules) and (push or not group.recursive):
            retracting.update(
                rule.atom.signature
                for rule, can in zip(group.rules, rules, strict=True)
                if can or group.recursive
            )
    return tuple(answers)


def is_recomputed(group: Group, rules: tuple[bool, ...]) -> bool:
    """Is this a recursion over rows that can be retracted before their end?"""
    return group.recursive and any(rules)
