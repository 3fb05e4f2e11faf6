"""Windows: one class for each kind, which answers what the rest of the project asks about it.

A kind states its time bounds, whether it selects input elements, how it groups them, what it
filters, how far back it looks and how it is written. Analyses, planner and engines ask these
questions and do not test for classes, so a new kind is one more class here, its definition in
`meaning.window_functions`, and its evaluation in the engines that support it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self, TypeAlias

from larspark.base.atoms import Atom, Signature
from larspark.base.terms import Arithmetic, Constant, Term, Variable
from larspark.language.term_text import atom_text, term_text

# What a window groups by, over the arguments of the atoms below it.
KeyTerm: TypeAlias = Variable | Arithmetic


class Bounds(NamedTuple):
    """The time points [pivot - past, pivot + future]; None is without bound.

    The pivot is the last multiple of `every` up to the evaluation time.
    """

    past: int | None
    future: int | None
    every: int

    @property
    def back(self) -> int | None:
        """How far before the evaluation time the bounds reach at most."""
        return None if self.past is None else self.past + self.every - 1

    @property
    def hops(self) -> bool:
        """Does the pivot stay behind the evaluation time?"""
        return self.every > 1

    def at(self, t: int) -> tuple[int | None, int | None]:
        """The first and the last time point at the evaluation time t; None without bound."""
        pivot = t // self.every * self.every
        return (
            None if self.past is None else pivot - self.past,
            None if self.future is None else pivot + self.future,
        )


class Window:
    """The questions, with the answers of a window that leaves the stream as it is."""

    __slots__ = ()

    # What messages call this kind.
    noun: ClassVar[str] = "window"
    # Why the data that it looks at has no bound in time, if that is so.
    unbounded: ClassVar[str] = ""

    @property
    def bounds(self) -> Bounds | None:
        """The time bounds of a window that selects by time alone; None for all others."""
        return None

    @property
    def selects_input(self) -> bool:
        """Does it select input elements by how many there are, or when? Derived atoms it hides."""
        return False

    @property
    def tuples_back(self) -> int | None:
        """How many input elements it looks back at most; None is without bound."""
        return 0

    @property
    def looks_ahead(self) -> bool:
        """Does it select input elements after the evaluation time?"""
        return False

    @property
    def counts_hidden(self) -> bool:
        """Can elements that it does not show decide which others it shows?"""
        return not self.is_known

    @property
    def trace(self) -> int:
        """How long after the last element what it shows can still change."""
        if self.bounds is None:
            return 0
        return (self.bounds.past or 0) + (self.bounds.future or 0) + self.bounds.every

    @property
    def keys(self) -> tuple[KeyTerm, ...]:
        """What the input elements are grouped by."""
        return ()

    @property
    def groups(self) -> "Positions | None":
        """The keys of the groups by predicate, once they are known; None without groups."""
        return None

    @property
    def sizes(self) -> tuple[Variable, ...]:
        """The variables that stand for its size, which background data gives."""
        return ()

    @property
    def filters(self) -> tuple[Atom, ...] | None:
        """The patterns of the atoms that it keeps; None when it keeps atoms of any form."""
        return None

    @property
    def hides_atoms(self) -> bool:
        """Does it hide atoms, derived ones too, that lie between the ends of its timeline?"""
        return self.filters is not None

    @property
    def function(self) -> str | None:
        """The name of a function of the user's own, of which nothing else is known."""
        return None

    @property
    def is_known(self) -> bool:
        """Is it defined by the language? Then more derived atoms never hide others."""
        return self.function is None

    @property
    def depends_on_others(self) -> bool:
        """Can further elements change which of the others it shows?"""
        return self.selects_input or not self.is_known

    @property
    def monotone(self) -> bool | None:
        """Does it show no less when the stream has more? None: only its definition could say it."""
        return not self.selects_input if self.is_known else None

    @property
    def sparse(self) -> bool | None:
        """Do such windows, nested, show only polynomially many different parts of a stream?

        None: only the data or its definition could say it.
        """
        return True if self.is_known and not self.keys else None

    @property
    def keeps_now(self) -> bool:
        """Does it always keep the evaluation time, and the elements there that its filters keep?"""
        return self.is_known and (self.bounds is None or not self.bounds.hops)

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms in it, in the order of the text."""
        return (*self.sizes, *self.keys, *self.filter_terms)

    @property
    def filter_terms(self) -> tuple[Term, ...]:
        """The terms that need a value before the window has a content."""
        return tuple(term for pattern in self.filters or () for term in pattern.args)

    def with_sizes(self, _values: Mapping[str, Constant]) -> "Window":
        """The same with values for variables that stand for its size."""
        return self

    def with_filters(self, _change: Callable[[Atom], Atom]) -> Self:
        """The same with changed filter patterns."""
        return self

    def ungrouped(self) -> "Window":
        """The window that each group of elements has."""
        return self

    def text(self) -> str:
        """What stands between the brackets."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class TimeWindow(Window):
    """`[past,+future every hop]` in time points; None is all of the past or the future, `*`."""

    past: int | None
    future: int | None = 0
    every: int = 1

    noun: ClassVar[str] = "time window"

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.past, self.future, self.every)

    def text(self) -> str:
        size = _sides(self.past, self.future)
        return size if self.every == 1 else f"{size} every {self.every}"


@dataclass(frozen=True, slots=True)
class TupleWindow(Window):
    """`[#past,+future by Key]`: the last and the next tuples, of each group when `by` is given."""

    past: int
    future: int = 0
    by: tuple[KeyTerm, ...] = ()

    noun: ClassVar[str] = "tuple window"
    unbounded: ClassVar[str] = "counts tuples, which may be arbitrarily old"

    @property
    def selects_input(self) -> bool:
        return True

    @property
    def tuples_back(self) -> int | None:
        return None if self.by else self.past

    @property
    def looks_ahead(self) -> bool:
        return self.future > 0

    @property
    def keys(self) -> tuple[KeyTerm, ...]:
        return self.by

    def ungrouped(self) -> "TupleWindow":
        return replace(self, by=())

    def text(self) -> str:
        return f"#{_sides(self.past, self.future)}{_by(self.by)}"


@dataclass(frozen=True, slots=True)
class SizedTupleWindow(Window):
    """`[#N by Key]`: a tuple window whose size background data gives, before that is known."""

    past: int | Variable
    future: int | Variable = 0
    by: tuple[KeyTerm, ...] = ()

    noun: ClassVar[str] = TupleWindow.noun
    unbounded: ClassVar[str] = TupleWindow.unbounded

    @property
    def selects_input(self) -> bool:
        return True

    @property
    def tuples_back(self) -> None:
        return None

    @property
    def looks_ahead(self) -> bool:
        return self.future != 0

    @property
    def keys(self) -> tuple[KeyTerm, ...]:
        return self.by

    @property
    def sizes(self) -> tuple[Variable, ...]:
        return tuple(side for side in (self.past, self.future) if isinstance(side, Variable))

    def with_sizes(self, values: Mapping[str, Constant]) -> Window:
        past, future = (_size(side, values) for side in (self.past, self.future))
        if isinstance(past, int) and isinstance(future, int):
            return TupleWindow(past, future, self.by)
        return SizedTupleWindow(past, future, self.by)

    def text(self) -> str:
        return f"#{_sides(self.past, self.future)}{_by(self.by)}"


@dataclass(frozen=True, slots=True)
class SessionWindow(Window):
    """`[session gap max longest by Key]`: the session that reaches to the evaluation time.

    With `ended` the session that ended just before, `[ended session gap by Key]`.
    """

    gap: int
    longest: int | None = None
    ended: bool = False
    by: tuple[KeyTerm, ...] = ()

    noun: ClassVar[str] = "session window"
    unbounded: ClassVar[str] = "shows a session, which may be arbitrarily old"

    @property
    def selects_input(self) -> bool:
        return True

    @property
    def tuples_back(self) -> None:
        return None

    @property
    def counts_hidden(self) -> bool:
        # Where a session of limited length begins depends on the sessions before it.
        return self.longest is not None

    @property
    def trace(self) -> int:
        return self.gap + 2

    @property
    def keys(self) -> tuple[KeyTerm, ...]:
        return self.by

    def ungrouped(self) -> "SessionWindow":
        return replace(self, by=())

    def over(self, start: int, last: int) -> int:
        """The last time point of a session, from the times of its first and its last element."""
        over = last + self.gap
        return over if self.longest is None else min(over, start + self.longest)

    def text(self) -> str:
        longest = "" if self.longest is None else f" max {self.longest}"
        return f"{'ended ' * self.ended}session {self.gap}{longest}{_by(self.by)}"


@dataclass(frozen=True, slots=True)
class FilterWindow(Window):
    """`[only p(a,_), q(_)]`: the atoms that one of the patterns matches."""

    patterns: tuple[Atom, ...]

    noun: ClassVar[str] = "filter"

    @property
    def filters(self) -> tuple[Atom, ...]:
        return self.patterns

    def with_filters(self, change: Callable[[Atom], Atom]) -> "FilterWindow":
        return FilterWindow(tuple(map(change, self.patterns)))

    def text(self) -> str:
        return f"only {', '.join(map(atom_text, self.patterns))}"


@dataclass(frozen=True, slots=True)
class NamedWindow(Window):
    """`[mywindow(3)]`: a function registered from Python."""

    name: str
    args: tuple[Constant, ...] = ()

    @property
    def function(self) -> str:
        return self.name

    @property
    def tuples_back(self) -> None:
        return None

    def text(self) -> str:
        return atom_text(Atom(self.name, self.args))


# A key of a partition, as the position of an argument, or as a term over arguments: its variables
# are named by their positions.
Key: TypeAlias = int | Arithmetic
# The predicates of a partition, each with its keys.
Positions: TypeAlias = tuple[tuple[Signature, tuple[Key, ...]], ...]


@dataclass(frozen=True, slots=True)
class GroupWindow(Window):
    """A partition-based window of a ground formula: a window on each group of elements, merged.

    A group is a predicate of `positions` with the values of its keys.
    """

    each: Window
    positions: Positions

    @property
    def noun(self) -> str:  # type: ignore[override]
        return self.each.noun

    @property
    def groups(self) -> Positions:
        return self.positions

    @property
    def selects_input(self) -> bool:
        return True

    @property
    def tuples_back(self) -> None:
        return None

    @property
    def looks_ahead(self) -> bool:
        return self.each.looks_ahead

    @property
    def counts_hidden(self) -> bool:
        return self.each.counts_hidden

    @property
    def trace(self) -> int:
        return self.each.trace

    def ungrouped(self) -> Window:
        return self.each

    def text(self) -> str:
        return self.each.text()


def _size(side: int | Variable, values: Mapping[str, Constant]) -> int | Variable:
    value = values.get(side.name) if isinstance(side, Variable) else None
    return value if isinstance(value, int) else side


def _sides(past: int | Variable | None, future: int | Variable | None) -> str:
    before, after = ("*" if side is None else term_text(side) for side in (past, future))
    if future == 0:
        return before
    return f"+{after}" if past == 0 else f"{before},+{after}"


def _by(keys: tuple[KeyTerm, ...]) -> str:
    return f" by {', '.join(map(term_text, keys))}" if keys else ""
