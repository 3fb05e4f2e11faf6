"""Proofs as data.

A proof is a set of rule instances, not a tree: a conclusion that is used twice is proved once. The
tree that people see is unfolded from it when it is shown.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from larspark.base.atoms import Atom, Element, atom_text
from larspark.base.terms import Constant, constant_text
from larspark.language.tree import AggregateFunction, Rule
from larspark.logic.aggregates import Tuple, aggregate_value
from larspark.logic.values import order_key
from larspark.show.time_text import time_text


class Given(StrEnum):
    """Where an atom comes from that no rule has to derive."""

    STREAM = "in the stream"
    BACKGROUND = "background"
    REMEMBERED = "remembered"


@dataclass(frozen=True, slots=True)
class WindowSpan:
    """Windows, as they are written, and the time points they cover; an open end is None.

    A window without time points has `start > end`.
    """

    text: str
    start: int
    end: int | None

    def __str__(self) -> str:
        return f"{self.text} = {interval_text(self.start, self.end)}"


@dataclass(frozen=True, slots=True)
class Absence:
    """No instance of the atom is there at these time points."""

    atom: Atom
    start: int
    end: int | None

    def __str__(self) -> str:
        if self.start == self.end:
            return f"no {atom_text(self.atom)} at {time_text(self.start)}"
        return f"no {atom_text(self.atom)} in {interval_text(self.start, self.end)}"


# An explanation names so many tuples of an aggregate.
TUPLES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Collected:
    """The tuples of an aggregate, the first by value, how many more there are, and its value."""

    value: Constant | None
    tuples: tuple[Tuple, ...]
    more: int

    @classmethod
    def of(cls, function: AggregateFunction, tuples: Collection[Tuple]) -> "Collected":
        """What an explanation names of a set of tuples."""
        listed = sorted(tuples, key=lambda found: [order_key(value) for value in found])
        shown = tuple(listed[:TUPLES_SHOWN])
        return cls(aggregate_value(function, tuples), shown, len(listed) - len(shown))

    def __str__(self) -> str:
        """The tuples in words.

        >>> str(Collected.of("sum", {(3, "a"), (4, "b")}))
        '7, from (3, a), (4, b)'
        """
        value = "no value" if self.value is None else constant_text(self.value)
        if not self.tuples:
            return f"{value}, from no tuples"
        texts = [", ".join(map(constant_text, found)) for found in self.tuples]
        more = f" and {self.more} more" if self.more else ""
        return f"{value}, from {', '.join(f'({text})' for text in texts)}{more}"


@dataclass(frozen=True, slots=True)
class Part:
    """One element of a rule's body, with its variables replaced, and what makes it hold."""

    text: str
    facts: tuple[Element, ...] = ()
    derived: tuple[Element, ...] = ()
    remembered: tuple[Element, ...] = ()
    background: tuple[Atom, ...] = ()
    # Facts that only matter because a tuple window counts them.
    counted: tuple[Element, ...] = ()
    absent: tuple[Absence, ...] = ()
    windows: tuple[WindowSpan, ...] = ()
    # What an aggregate is over.
    collected: Collected | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A rule instance that gives an element."""

    element: Element
    rule: Rule
    substitution: tuple[tuple[str, Constant], ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Until:
    """The last evaluation time through which an atom holds when nothing more arrives.

    `last` is None when it holds forever. Unless `certain`, the search ended there and the atom
    may hold longer.
    """

    last: int | None
    certain: bool = True


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """In which of several answer streams (numbered from 1) an atom holds, and by which choice.

    The choice is what is true in all of these and in none of the others.
    """

    models: tuple[int, ...]
    total: int
    choice: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """Why `element` belongs to an answer stream of the evaluation at `at`.

    `steps` begin with the one that gives the element; there are none when it is `given`. `facts`
    are the stream elements that the steps use, by time: without any one of them these steps no
    longer give the element, as far as `minimal` says so.
    """

    element: Element
    at: int
    steps: tuple[Step, ...]
    facts: tuple[Element, ...]
    given: Given | None = None
    until: Until | None = None
    # What would make the proof fail before that.
    ends: tuple[str, ...] = ()
    models: ModelChoice | None = None
    minimal: bool = True
    # No order of the steps lets each rest on earlier ones only.
    circular: bool = False


def interval_text(start: int, end: int | None) -> str:
    """Write an interval of time points.

    >>> interval_text(5, 25), interval_text(5, None), interval_text(1, 0)
    ('[5,25]', '[5,∞)', '[]')
    """
    if end is None:
        return f"[{time_text(start)},∞)"
    return f"[{time_text(start)},{time_text(end)}]" if start <= end else "[]"


def element_text(element: Element) -> str:
    """Write an element with its time: `@17 hot(m3)`."""
    return f"@{time_text(element.t)} {atom_text(element.atom)}"
