"""The rows of given relations at every tick, and what changed about them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, assert_never, cast

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant, Wildcard
from larspark.run.answer_sets.encoding import (
    AtomFeed,
    Core,
    CoreRule,
    LastFeed,
    NowFeed,
    PointsFeed,
    Slot,
    SoleFeed,
    Within,
)
from larspark.run.answer_sets.plain_rules import InTimeline, Mode, Windows
from larspark.run.answer_sets.stream_views import Arrival, Elements, View
from larspark.run.answer_sets.window_contents import ComputedContent, Content, content

Row: TypeAlias = tuple[Constant, ...]
TimeFeed: TypeAlias = NowFeed | SoleFeed | LastFeed | PointsFeed


class GivenRelations:
    """All given relations of a core program."""

    def __init__(self, core: Core, background: Iterable[Atom], elements: Elements) -> None:
        self._elements = elements
        self._contents: dict[Windows, Content] = {}
        self._rows: dict[int, Rows] = {}
        self._t = 0
        self._kept = 0
        known: dict[Signature, list[Atom]] = {}
        for atom in sorted(background, key=str):
            known.setdefault(atom.signature, []).append(atom)
        for number, feed in core.given.items():
            inside = self._content(feed.windows)
            if isinstance(feed, AtomFeed):
                kind = _ATOM_ROWS[feed.mode]
                self._rows[number] = kind(feed, inside, known.get(feed.signature, ()))
            else:
                self._rows[number] = TimeRows(feed, inside)
        for rule in core.rules:
            if isinstance(rule, CoreRule):
                for condition in rule.conditions:
                    if isinstance(condition, Within):
                        self._content(condition.windows)
                    elif isinstance(condition, InTimeline):
                        self._content(())

    def begin(self, t: int, whole: View) -> None:
        """Time moves on to t."""
        self._t = t
        for inside in self._contents.values():
            inside.begin(t, whole)

    def add(self, arrival: Arrival) -> None:
        """The stream has one more element."""
        for inside in self._contents.values():
            inside.add(arrival)
        if len(self._elements) > 2 * self._kept + 1_000:
            self._forget()

    def refresh(self) -> None:
        """Must be called after the last change and before rows are read."""
        for inside in self._contents.values():
            if isinstance(inside, ComputedContent):
                inside.refresh()

    def restart(self) -> None:
        """Report all rows again as changes."""
        for rows in self._rows.values():
            rows.restart()

    def rows(self, relation: int) -> Iterable[Row]:
        """The rows of a given relation, each once."""
        return self._rows[relation].rows(self._t)

    def changes(self, relation: int) -> tuple[Sequence[Row], Sequence[Row]]:
        """The rows added and the rows removed since the last call."""
        return self._rows[relation].changes(self._t)

    def view(self, windows: Windows) -> View:
        """The timeline that a chain of windows leaves."""
        return self._contents[windows].view()

    def _content(self, windows: Windows) -> Content:
        if windows not in self._contents:
            self._contents[windows] = content(windows, self._elements)
        return self._contents[windows]

    def _forget(self) -> None:
        """Drop elements that no content can need any more."""
        needed: set[Arrival] = set()
        for inside in self._contents.values():
            found = inside.needed()
            if found is None:
                self._kept = len(self._elements)
                return
            needed.update(found)
        self._elements.keep(lambda arrival: arrival.t >= self._t or arrival in needed)
        self._kept = len(self._elements)


class Rows(ABC):
    """The rows of one relation."""

    def __init__(self) -> None:
        self._told: dict[Row, None] = {}

    @abstractmethod
    def rows(self, t: int) -> Iterable[Row]: ...

    def restart(self) -> None:
        self._told = {}

    def changes(self, t: int) -> tuple[Sequence[Row], Sequence[Row]]:
        now = dict.fromkeys(self.rows(t))
        before, self._told = self._told, now
        return [r for r in now if r not in before], [r for r in before if r not in now]


class TimeRows(Rows):
    """Time points that windows leave."""

    def __init__(self, feed: TimeFeed, inside: Content) -> None:
        super().__init__()
        self._feed = feed
        self._content = inside

    def rows(self, t: int) -> Iterable[Row]:
        view = self._content.view()
        match self._feed:
            case NowFeed():
                return [(t,)] if view.has_time(t) else []
            case SoleFeed():
                return [(t,)] if (view.start, view.end) == (t, t) else []
            case LastFeed():
                return [] if view.is_empty or view.end is None else [(view.end,)]
            case PointsFeed():
                return [(point,) for point in _points(view)]
            case _:
                assert_never(self._feed)


class AtomRows(Rows):
    """The rows of an extended atom over input and background."""

    def __init__(self, feed: AtomFeed, inside: Content, background: Iterable[Atom]) -> None:
        super().__init__()
        self._row = _reader(feed.pattern)
        self._content = inside
        found = map(self._row, background)
        self._background = dict.fromkeys(row for row in found if row is not None)
        inside.listen(feed.signature, self)

    def enter(self, arrival: Arrival) -> None:
        row = self._row(arrival.atom)
        if row is not None:
            self._count(row, arrival.t, 1)

    def leave(self, arrival: Arrival) -> None:
        row = self._row(arrival.atom)
        if row is not None:
            self._count(row, arrival.t, -1)

    @abstractmethod
    def _count(self, row: Row, t: int, change: int) -> None:
        """An element that gives this row at t was added or removed."""


class SomeRows(AtomRows):
    """`some p` and `@T p`: rows with the elements that give them counted."""

    def __init__(self, feed: AtomFeed, inside: Content, background: Iterable[Atom]) -> None:
        super().__init__(feed, inside, background)
        self._timed = feed.mode is Mode.AT
        self._counts: dict[Row, int] = {}
        # Rows added or removed; recorded only after the first call of `changes`.
        self._touched: dict[Row, None] | None = None

    def rows(self, t: int) -> Iterable[Row]:
        if not self._background:
            return self._counts
        return dict.fromkeys((*self._from_background(), *self._counts))

    def restart(self) -> None:
        super().restart()
        self._touched = dict.fromkeys(self._counts)

    def changes(self, t: int) -> tuple[Sequence[Row], Sequence[Row]]:
        if self._background or self._touched is None:
            return super().changes(t)
        touched, self._touched = self._touched, {}
        new = [row for row in touched if row in self._counts and row not in self._told]
        gone = [row for row in touched if row not in self._counts and row in self._told]
        self._told.update(dict.fromkeys(new))
        for row in gone:
            del self._told[row]
        return new, gone

    def _count(self, row: Row, t: int, change: int) -> None:
        if self._timed:
            row = (*row, t)
        count = self._counts.get(row, 0) + change
        if count:
            self._counts[row] = count
        else:
            del self._counts[row]
        if self._touched is not None:
            self._touched[row] = None

    def _from_background(self) -> Iterable[Row]:
        view = self._content.view()
        if not self._timed:
            return () if view.is_empty else self._background
        return ((*row, point) for row in self._background for point in _points(view))


class AlwaysRows(AtomRows):
    """`always p`: rows with the number of time points at which they hold."""

    def __init__(self, feed: AtomFeed, inside: Content, background: Iterable[Atom]) -> None:
        super().__init__(feed, inside, background)
        self._at: dict[int, dict[Row, int]] = {}
        self._points: dict[Row, int] = {}

    def rows(self, t: int) -> Iterable[Row]:
        view = self._content.view()
        if view.is_empty:
            return ()
        found = dict(self._background)
        if view.end is not None:
            length = view.end - view.start + 1
            # A row that holds at all time points holds at the last one.
            for row in self._at.get(view.end, ()):
                if self._points[row] == length:
                    found[row] = None
        return found

    def _count(self, row: Row, t: int, change: int) -> None:
        here = self._at.setdefault(t, {})
        count = here.get(row, 0) + change
        if count:
            if row not in here:
                self._points[row] = self._points.get(row, 0) + 1
            here[row] = count
            return
        del here[row]
        if not here:
            del self._at[t]
        self._points[row] -= 1
        if not self._points[row]:
            del self._points[row]


_ATOM_ROWS: dict[Mode, Callable[[AtomFeed, Content, Iterable[Atom]], AtomRows]] = {
    Mode.SOME: SomeRows,
    Mode.AT: SomeRows,
    Mode.ALWAYS: AlwaysRows,
}


def _reader(pattern: tuple[Constant | Wildcard | Slot, ...]) -> Callable[[Atom], Row | None]:
    """What an atom gives for the columns, if the pattern matches it."""
    if pattern == tuple(Slot(column) for column in range(len(pattern))):
        return lambda atom: cast("Row", atom.args)
    places = [(place, p) for place, p in enumerate(pattern) if not isinstance(p, Wildcard)]

    def read(atom: Atom) -> Row | None:
        args = cast("Row", atom.args)
        columns: dict[int, Constant] = {}
        for place, part in places:
            wanted = (
                columns.setdefault(part.column, args[place]) if isinstance(part, Slot) else part
            )
            if wanted != args[place]:
                return None
        return tuple(columns[column] for column in range(len(columns)))

    return read


def _points(view: View) -> range:
    if view.end is None:
        message = "a time variable can be any time point of an open timeline"
        raise LarsparkError(Problem("L403", message, hint="say where time ends with `until`"))
    return range(view.start, view.end + 1)
