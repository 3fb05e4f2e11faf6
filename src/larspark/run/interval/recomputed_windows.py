"""Windows that are evaluated anew at every time point, by their definitions: any, in any order.

They are the fallback for what has no closed form, such as a tuple window seen from each time point
of a time window. A time point costs as much as the windows hold, once for every time point from
which they are seen. Where what is seen from a time point does not change afterwards, only the
present is evaluated.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Term
from larspark.language.windows import Window
from larspark.logic.window_selection import Parts, Selection, needed, select
from larspark.plan.operators import Contents
from larspark.run.interval.interning import Constants
from larspark.run.interval.kernels.layout import FOREVER, FROM, TO, Ints
from larspark.run.interval.kernels.scan import TIME
from larspark.run.interval.network_nodes import Node, State
from larspark.run.interval.restored import require
from larspark.run.interval.run_clock import Clock
from larspark.run.interval.tuple_windows import Arrived
from larspark.run.state import FURTHEST, whole_number

# The time point of an atom (or the time point itself), the positions, and the arguments, as codes.
_Row: TypeAlias = tuple[int, ...]
# Every time point of a window takes room, so there must not be too many.
_POINTS_LIMIT = 1_000_000
_Patterns: TypeAlias = dict[Signature, list[tuple[tuple[int, int], ...]]]


class _Element(NamedTuple):
    """An element of the stream; the arguments are codes."""

    t: int
    signature: Signature
    args: tuple[int, ...]


_Members: TypeAlias = Sequence[_Element]


class _View(NamedTuple):
    """A substream: its time points, both ends inclusive, and its elements in order of arrival."""

    start: int
    end: int
    members: _Members

    def during(self, start: int, end: int) -> "_View":
        start, end = max(start, self.start), min(end, self.end)
        if start > end:
            return _View(1, 0, ())
        low = bisect_left(self.members, start, key=_time_of)
        high = bisect_right(self.members, end, key=_time_of)
        return _View(start, end, self.members[low:high])


class RecomputedWindows:
    """What a sequence of windows leaves of the stream, from all positions: rows as they change."""

    _elements: list[_Element]
    # What holds at the last evaluated time point.
    _rows: frozenset[_Row]
    _done: int | None

    def __init__(
        self,
        contents: Contents,
        background: Iterable[tuple[int, ...]],
        constants: Constants,
        clock: Clock,
    ) -> None:
        self._contents = contents
        self._background = tuple(background)
        self._clock = clock
        self._constants = constants
        self._steps = [
            (window, position, _coded(window, constants)) for window, position in contents.windows
        ]
        arity = 0 if contents.signature is None else contents.signature.arity
        self._width = TIME + 1 + contents.positions + arity
        self._settled = _settled(contents, clock)
        self.consumers: list[Node] = []
        self.clear()

    def arrive(self, arrived: Arrived) -> None:
        """Let elements arrive and time come to the clock's last time point."""
        waiting = self._take(arrived)
        clock, changes = self._clock, _Changes(self._rows)
        again = self._done is not None and self._done >= clock.floor
        first = self._done if again and self._done is not None else clock.floor
        if again and not waiting and first == clock.last:
            return
        if clock.hindsight:
            self._elements += waiting
            waiting = []
        lasting: list[tuple[_Row, int, int]] = []
        for t in range(first, clock.last + 1):
            came = bisect_right(waiting, t, key=_time_of)
            self._elements += waiting[:came]
            waiting = waiting[came:]
            if self._settled is None:
                changes.become(t, self._now(t))
            else:
                before = self._rows if t == self._done else frozenset[_Row]()
                self._rows = self._now(t)
                lasting += [(row, 1, t) for row in self._rows - before]
                lasting += [(row, -1, t) for row in before - self._rows]
            self._done = t
            self._forget()
        if self._settled is None:
            self._rows = changes.rows
            self._pass_on(-1, changes.outside)
            self._pass_on(1, changes.inside())
        else:
            self._pass_on(-1, [(row, t, self._until(row)) for row, sign, t in lasting if sign < 0])
            self._pass_on(1, [(row, t, self._until(row)) for row, sign, t in lasting if sign > 0])

    def _until(self, row: _Row) -> int:
        return FOREVER if self._settled in (None, FOREVER) else row[0] + (self._settled or 0)

    def _take(self, arrived: Arrived) -> list[_Element]:
        found: list[tuple[int, int, _Element]] = []
        for signature, elements in arrived.items():
            lines = zip(elements.rows.tolist(), elements.order.tolist(), strict=True)
            for row, order in lines:
                element = _Element(row[TIME], signature, tuple(row[TIME + 1 :]))
                found.append((element.t, order, element))
        found.sort(key=lambda each: each[:2])
        return [element for _, _, element in found]

    def _whole(self, t: int) -> _View:
        clock = self._clock
        return _View(clock.start, t if clock.end is None else clock.end, self._elements)

    def _now(self, t: int) -> frozenset[_Row]:
        """All rows that hold at the evaluation time t."""
        positions: dict[int, int] = {}
        return frozenset(self._walk(self._whole(t), 0, positions, t))

    def _walk(self, view: _View, number: int, positions: dict[int, int], t: int) -> Iterator[_Row]:
        while number < len(self._steps):
            window, position, patterns = self._steps[number]
            if position is not None and position not in positions:
                # In windows that no later evaluation changes, the past has been seen before.
                settled = position == 0 and self._settled is not None
                for at in _points(view.during(t, t) if settled else view):
                    positions[position] = at
                    yield from self._walk(view, number, positions, t)
                positions.pop(position, None)
                return
            at = t if position is None else positions[position]
            view = _apply(window, patterns, view, at, self._parts)
            number += 1
        yield from self._shown(view, tuple(positions[n] << 2 for n in range(len(positions))))

    def _shown(self, view: _View, positions: tuple[int, ...]) -> Iterator[_Row]:
        signature = self._contents.signature
        if signature is None:
            for point in _points(view):
                yield (point, *positions)
            return
        for element in view.members:
            if element.signature == signature:
                yield (element.t, *positions, *element.args)
        for args in self._background:
            for point in _points(view):
                yield (point, *positions, *args)

    def _parts(self, element: _Element) -> tuple[Signature, Sequence[Term]]:
        return element.signature, list(map(self._constants.decode, element.args))

    def _forget(self) -> None:
        """Forget the elements that no later evaluation can see."""
        t = self._done
        if t is None:
            return
        reached = bisect_right(self._elements, t, key=_time_of)
        kept: _Members = self._elements[:reached]
        clipped = False
        for window, position, patterns in self._steps:
            if position is not None and (self._settled is None or position > 0):
                break
            if window.filters is not None:
                kept = [element for element in kept if _passes(patterns, element)]
            else:
                kept = needed(window, kept, t, self._parts, clipped=clipped)
            # What a window that counts does not need, one below it could not see either; but the
            # other way round it could still count.
            if window.selects_input or not window.keeps_now:
                break
            clipped = clipped or window.filters is None
        if len(kept) < reached:
            self._elements = [*kept, *self._elements[reached:]]

    def _pass_on(self, sign: int, rows: Sequence[tuple[_Row, int, int]]) -> None:
        if not rows:
            return
        batch = np.empty((len(rows), self._width), np.int64)
        batch[:, FROM] = [first for _, first, _ in rows]
        batch[:, TO] = [last for _, _, last in rows]
        batch[:, TIME:] = [row for row, _, _ in rows]
        for consumer in self.consumers:
            consumer.receive(sign, batch)

    def expire(self) -> None:
        """Elements are forgotten as soon as a time point is evaluated."""

    def clear(self) -> None:
        self._elements = []
        self._rows = frozenset()
        self._done = None

    def state(self) -> State:
        signatures = sorted({element.signature for element in self._elements})
        parts = {
            f"{signature.arity} {signature.predicate}": np.array(
                [
                    (number, element.t, *element.args)
                    for number, element in enumerate(self._elements)
                    if element.signature == signature
                ],
                np.int64,
            )
            for signature in signatures
        }
        done = [] if self._done is None else [self._done]
        return {"evaluated": np.array(done, np.int64), **parts}

    def load(self, state: Mapping[str, Ints]) -> None:
        self.clear()
        found: list[tuple[int, _Element]] = []
        for name, rows in state.items():
            if name == "evaluated":
                continue
            arity, _, predicate = name.partition(" ")
            signature = Signature(predicate, int(arity))
            require(rows.dtype == np.int64, "the elements of a window are no 64-bit numbers")
            width = 2 + signature.arity
            require(rows.ndim == 2 and rows.shape[1] == width, "elements have another width")
            for number, t, *args in rows.tolist():
                found.append((number, _Element(t, signature, tuple(args))))
        found.sort(key=lambda each: each[0])
        self._elements = [element for _, element in found]
        times = [element.t for element in self._elements]
        require(times == sorted(times), "the elements of a window are not in order")
        require(all(abs(t) <= FURTHEST for t in times), "elements of a window are too far away")
        done = state["evaluated"]
        require(done.dtype == np.int64 and done.ndim == 1, "no time point was evaluated")
        if len(done):
            self._done = whole_number(int(done[0]), self._clock.start, self._clock.last)
            self._rows = self._now(self._done)

    def size(self) -> tuple[int, int]:
        rows = len(self._elements) + len(self._rows)
        return rows, 8 * self._width * rows


class _Changes:
    """Rows that come and go while time passes: those that stay hold until further notice."""

    def __init__(self, rows: frozenset[_Row]) -> None:
        self.rows = rows
        self._since: dict[_Row, int] = {}
        self._inside: list[tuple[_Row, int, int]] = []
        self.outside: list[tuple[_Row, int, int]] = []

    def become(self, t: int, rows: frozenset[_Row]) -> None:
        """From t on these rows hold."""
        for row in self.rows - rows:
            first = self._since.pop(row, None)
            if first is None:
                self.outside.append((row, t, FOREVER))
            elif first < t:
                self._inside.append((row, first, t - 1))
        for row in rows - self.rows:
            self._since[row] = t
        self.rows = rows

    def inside(self) -> list[tuple[_Row, int, int]]:
        """The new rows, with the evaluation times at which they hold."""
        return [*self._inside, *((row, first, FOREVER) for row, first in self._since.items())]


def _points(view: _View) -> range:
    """The time points of a view; an error when there are too many to look at each of them."""
    if view.end - view.start > _POINTS_LIMIT:
        message = f"a window has more than {_POINTS_LIMIT} time points to look at one by one"
        hint = "put it into a time window, or use a larger `#tick`"
        raise LarsparkError(Problem("L403", message, hint=hint))
    return range(view.start, view.end + 1)


def _time_of(element: _Element) -> int:
    return element.t


def _coded(window: Window, constants: Constants) -> _Patterns:
    """The patterns of a filter, each as (place, code) of its constants."""
    found: _Patterns = {}
    for atom in window.filters or ():
        places = [
            (place, constants.code(term))
            for place, term in enumerate(atom.args)
            if isinstance(term, int | float | str)
        ]
        found.setdefault(atom.signature, []).append(tuple(places))
    return found


def _passes(patterns: _Patterns, element: _Element) -> bool:
    return any(
        all(element.args[place] == code for place, code in pattern)
        for pattern in patterns.get(element.signature, ())
    )


def _apply(
    window: Window, patterns: _Patterns, view: _View, t: int, parts: Parts[_Element]
) -> _View:
    """w(S, t); outside the timeline all windows but filters give the stream itself."""
    if window.filters is not None:
        return view._replace(members=[e for e in view.members if _passes(patterns, e)])
    if not view.start <= t <= view.end:
        return view
    if window.bounds is not None:
        start, end = window.bounds.at(t)
        return view.during(view.start if start is None else start, view.end if end is None else end)
    start, end, members = select(window, Selection(*view), t, parts)
    return _View(start, view.end if end is None else end, members)


def _settled(contents: Contents, clock: Clock) -> int | None:
    """How long a row holds, if what is seen from a position never changes; FOREVER is without end.

    None if it can change, so that everything has to be evaluated anew.
    """
    before = [window for window, position in contents.windows if position is None]
    inner = contents.windows[len(before) :]
    if not inner or any(position is None for _, position in inner):
        return None
    if not all(window.filters is not None or _slides(window) for window in before):
        return None
    now_ends_it = any(window.bounds is not None and window.bounds.future == 0 for window in before)
    if clock.end is not None and not now_ends_it:
        return None
    if any(_looks_ahead(window) for window, _ in inner):
        return None
    pasts = [w.bounds.past for w in before if w.bounds is not None and w.bounds.past is not None]
    if not pasts:
        return FOREVER
    only_elements = contents.signature is not None and contents.positions == 1
    return min(pasts) if all(_is_cut(window, only_elements) for window, _ in inner) else None


def _slides(window: Window) -> bool:
    return window.bounds is not None and not window.bounds.hops


def _looks_ahead(window: Window) -> bool:
    if window.bounds is not None:
        return window.bounds.future != 0
    return window.looks_ahead


def _is_cut(window: Window, only_elements: bool) -> bool:
    """Does cutting the stream at its beginning cut what the window leaves, and nothing else?"""
    if window.bounds is not None:
        return not window.bounds.hops
    if window.filters is not None or window.tuples_back is not None:
        return True
    return only_elements and window.selects_input and not window.counts_hidden
