"""Literals: the parts of a rule body in normal form.

A body is a disjunction of conjunctions, and a conjunction is made of five kinds of literals: an
atom that is read from a part of the stream, a comparison, a time point that has to lie in a part
of the stream, something that must not hold, and an aggregate.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from larspark.base.atoms import Atom, Signature, term_text
from larspark.base.problems import LarsparkError, Problem, Span
from larspark.base.terms import Term, Variable
from larspark.language.tree import Aggregate, Comparison
from larspark.language.windows import Positions, Window
from larspark.plan.operators import Contents, Mode

# A body with more alternatives than this is refused: each of them is a rule of its own.
ALTERNATIVES_LIMIT = 64


@dataclass(frozen=True, slots=True)
class Placed:
    """A window, and the time point from which it looks; None is the evaluation time."""

    window: Window
    position: Variable | None
    span: Span = field(compare=False)
    # Where the keys of the window stand in the atoms below it.
    keys: Positions = ()


# The windows above a place in a formula, from the outermost: what can be seen from there.
Scope: TypeAlias = tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """An atom that is asked for in a scope; perhaps it must not be there."""

    atom: Atom
    mode: Mode
    time: Term | None
    scope: Scope
    negated: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison or its negation; without a value it is what `without_value` says."""

    comparison: Comparison
    negated: bool
    without_value: bool = False


@dataclass(frozen=True, slots=True)
class Point:
    """Something is a time point of a scope."""

    time: Term
    scope: Scope
    span: Span = field(compare=False)

    @property
    def variable(self) -> Variable:
        """The variable that stands for the time point."""
        return time_variable(self.time)


@dataclass(frozen=True, slots=True)
class Absent:
    """None of the alternatives holds."""

    alternatives: "Alternatives"
    span: Span


class Names:
    """Names for predicates that the program does not use itself.

    `moment` holds at every time point; `given` are the predicates of which the stream is not all.
    """

    def __init__(self, used: Iterable[str], background: Iterable[Signature]) -> None:
        self._used = set(used)
        self._numbers: dict[str, int] = {}
        self._contents: dict[Contents, str] = {}
        self.moment = Signature(self.fresh("moment"), 0)
        self.given = frozenset((self.moment, *background))

    def fresh(self, name: str) -> str:
        """The name, or one like it."""
        while name in self._used:
            name += "_"
        self._used.add(name)
        return name

    def part(self, kind: str = "part") -> str:
        """A name for a part of a rule."""
        number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
        return self.fresh(f"{kind}{number}")

    def contents(self, contents: Contents, predicate: str) -> str:
        """A name for what windows leave of a predicate."""
        if contents not in self._contents:
            self._contents[contents] = self.fresh(f"seen_{predicate}")
        return self._contents[contents]


@dataclass(frozen=True, slots=True)
class Collection:
    """An aggregate over a set with a tuple, or over the empty set."""

    aggregate: Aggregate
    empty: bool


Literal: TypeAlias = Reading | Condition | Point | Absent | Collection
Conjunction: TypeAlias = tuple[Literal, ...]
# A disjunction of conjunctions.
Alternatives: TypeAlias = tuple[Conjunction, ...]

TRUE: Alternatives = ((),)
FALSE: Alternatives = ()


def cannot(what: str, span: Span, hint: str = "") -> LarsparkError:
    """The error that says that this engine cannot do something."""
    return LarsparkError(Problem("L403", f"the interval engine cannot {what}", span, hint))


def time_variable(term: Term) -> Variable:
    """The variable that stands for a time point: itself, or one that is named like the term."""
    return term if isinstance(term, Variable) else Variable(term_text(term))


def counts_tuples(scope: Scope) -> bool:
    """Does a window of the scope count tuples?"""
    return any(placed.window.selects_input for placed in scope)


def conjoin(each: Iterable[Alternatives], span: Span) -> Alternatives:
    """The alternatives of a conjunction."""
    alternatives = TRUE
    for part in each:
        _limited(len(alternatives) * len(part), span)
        alternatives = tuple((*left, *right) for left, right in product(alternatives, part))
    return alternatives


def disjoin(each: Iterable[Alternatives], span: Span) -> Alternatives:
    """The alternatives of a disjunction."""
    alternatives = tuple(conjunction for part in each for conjunction in part)
    _limited(len(alternatives), span)
    return alternatives


def _limited(count: int, span: Span) -> None:
    if count > ALTERNATIVES_LIMIT:
        raise cannot(
            f"split a body into more than {ALTERNATIVES_LIMIT} alternatives",
            span,
            "give parts of the body a name, by rules of their own",
        )
