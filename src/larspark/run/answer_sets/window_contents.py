"""Contents of windows over the input, maintained as time passes and elements arrive.

A content knows which elements a chain of windows leaves at the evaluation time, and reports to its
listeners about each that enters or leaves. The usual chains cost what enters and leaves, whatever
the size of the window; unusual ones are computed anew at every evaluation.
"""

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from typing import Protocol

from larspark.base.atoms import Atom, Signature
from larspark.language.windows import GroupWindow, Positions, TupleWindow, Window
from larspark.logic.values import key_values, matches
from larspark.run.answer_sets.plain_rules import Windows
from larspark.run.answer_sets.stream_views import (
    Arrival,
    Elements,
    View,
    apply,
)


class Listener(Protocol):
    """Receives the elements of one predicate that enter and leave."""

    def enter(self, arrival: Arrival) -> None: ...

    def leave(self, arrival: Arrival) -> None: ...


class Content(ABC):
    """The elements that a chain of windows leaves at the evaluation time."""

    def __init__(self) -> None:
        self._listeners: dict[Signature, list[Listener]] = {}
        self._t = -math.inf
        self._whole = _BEFORE_ALL_TIME
        # Elements after the evaluation time, which hindsight knows already.
        self._upcoming: deque[Arrival] = deque()

    def listen(self, signature: Signature, listener: Listener) -> None:
        self._listeners.setdefault(signature, []).append(listener)

    def begin(self, t: int, whole: View) -> None:
        """Time moves on to t, on this timeline."""
        self._t, self._whole = t, whole
        while self._upcoming and self._upcoming[0].t <= t:
            self._arrive(self._upcoming.popleft())

    def add(self, arrival: Arrival) -> None:
        """The stream has one more element."""
        if arrival.t > self._t:
            self._upcoming.append(arrival)
        else:
            self._arrive(arrival)

    @abstractmethod
    def view(self) -> View:
        """The timeline that the windows leave."""

    @abstractmethod
    def needed(self) -> Iterator[Arrival] | None:
        """The elements that a later evaluation can need; None if that may be any."""

    @abstractmethod
    def _arrive(self, arrival: Arrival) -> None: ...

    def _enter(self, arrival: Arrival) -> None:
        for listener in self._listeners.get(arrival.atom.signature, ()):
            listener.enter(arrival)

    def _leave(self, arrival: Arrival) -> None:
        for listener in self._listeners.get(arrival.atom.signature, ()):
            listener.leave(arrival)


class TimeContent(Content):
    """One time window, or none: the whole timeline."""

    def __init__(self, window: Window | None) -> None:
        super().__init__()
        self._window = window
        self._view = self._whole
        self._inside: deque[Arrival] = deque()
        bounds = None if window is None else window.bounds
        self._forgets = bounds is not None and bounds.past is not None

    def begin(self, t: int, whole: View) -> None:
        self._t, self._whole = t, whole
        window = self._window
        self._view = whole if window is None else apply(window, whole, t, _NO_ELEMENTS)
        end = math.inf if self._view.end is None else self._view.end
        while self._upcoming and self._upcoming[0].t <= end:
            self._arrive(self._upcoming.popleft())
        while self._inside and self._inside[0].t < self._view.start:
            self._leave(self._inside.popleft())

    def add(self, arrival: Arrival) -> None:
        if arrival.atom.signature not in self._listeners:
            return
        if self._view.end is not None and arrival.t > self._view.end:
            _insert(self._upcoming, arrival)
        else:
            self._arrive(arrival)

    def view(self) -> View:
        return self._view

    def needed(self) -> Iterator[Arrival] | None:
        if self._listeners and not self._forgets:
            return None
        return iter((*self._inside, *self._upcoming))

    def _arrive(self, arrival: Arrival) -> None:
        if arrival.t < self._view.start:
            return
        if self._forgets:
            _insert(self._inside, arrival)
        self._enter(arrival)


class TupleContent(Content):
    """The last tuples, of each group if the window has groups."""

    def __init__(self, past: int, positions: Positions | None) -> None:
        super().__init__()
        self._past = past
        self._keys = None if positions is None else dict(positions)
        self._last: dict[tuple[object, ...], deque[Arrival]] = {}
        # When the first element of each group happened.
        self._begins: dict[tuple[object, ...], int] = {}

    def add(self, arrival: Arrival) -> None:
        key = self._key(arrival)
        if key is not None:
            # With hindsight a group can be known before any of its elements counts.
            self._begins.setdefault(key, arrival.t)
            super().add(arrival)

    def view(self) -> View:
        t, whole = int(self._t), self._whole
        starts: list[int] = []
        for key, begin in self._begins.items():
            last = self._last.get(key, deque())
            if whole.has_time(begin):
                starts.append(whole.start if len(last) < self._past else last[0].t)
        if self._keys is None and not starts:
            starts = [whole.start]
        return View(min([t, *starts]), t)

    def needed(self) -> Iterator[Arrival] | None:
        return iter([a for last in self._last.values() for a in last] + list(self._upcoming))

    def _arrive(self, arrival: Arrival) -> None:
        key = self._key(arrival)
        if key is None:
            return
        last = self._last.setdefault(key, deque())
        last.append(arrival)
        self._enter(arrival)
        if len(last) > self._past:
            self._leave(last.popleft())

    def _key(self, arrival: Arrival) -> tuple[object, ...] | None:
        """The group of an element; None if it is in no group, or does not count."""
        if arrival.number is None:
            return None
        if self._keys is None:
            return ()
        keys = self._keys.get(arrival.atom.signature)
        values = None if keys is None else key_values(keys, arrival.atom.args)
        return None if values is None else (arrival.atom.signature, *values)


class FilteredContent(Content):
    """Another content, of the elements alone that pass filters."""

    def __init__(self, filters: tuple[tuple[Atom, ...], ...], inner: Content) -> None:
        super().__init__()
        self._filters = filters
        self._inner = inner

    def listen(self, signature: Signature, listener: Listener) -> None:
        self._inner.listen(signature, listener)

    def begin(self, t: int, whole: View) -> None:
        self._inner.begin(t, whole)

    def add(self, arrival: Arrival) -> None:
        if all(any(matches(p, arrival.atom) for p in patterns) for patterns in self._filters):
            self._inner.add(arrival)

    def view(self) -> View:
        return self._inner.view()

    def needed(self) -> Iterator[Arrival] | None:
        return self._inner.needed()

    def _arrive(self, arrival: Arrival) -> None:
        """Elements arrive at the inner content."""


class ComputedContent(Content):
    """Any chain of windows, applied to all elements at every evaluation."""

    def __init__(self, windows: Windows, elements: Elements) -> None:
        super().__init__()
        self._windows = windows
        self._elements = elements
        self._view = self._whole
        self._shown: dict[Arrival, None] = {}

    def begin(self, t: int, whole: View) -> None:
        self._t, self._whole = t, whole

    def add(self, arrival: Arrival) -> None:
        """The elements are looked at when the content is asked for."""

    def refresh(self) -> None:
        """Apply the windows to the current elements."""
        view = self._whole
        for window in self._windows:
            view = apply(window, view, int(self._t), self._elements)
        self._view = view
        shown = {
            arrival: None
            for arrival in self._elements.during(view.start, view.end)
            if view.shows(arrival)
        }
        before, self._shown = self._shown, shown
        for arrival in before:
            if arrival not in shown:
                self._leave(arrival)
        for arrival in shown:
            if arrival not in before:
                self._enter(arrival)

    def view(self) -> View:
        return self._view

    def needed(self) -> Iterator[Arrival] | None:
        return None

    def _arrive(self, arrival: Arrival) -> None:
        """Nothing arrives: the content is computed."""


def content(windows: Windows, elements: Elements) -> Content:
    """The content of a chain of windows."""
    filters = tuple(window.filters for window in windows if window.filters is not None)
    # Time windows and filters can change places, a tuple window and a filter after it cannot.
    leading = all(window.filters is not None for window in windows[: len(filters)])
    match [window for window in windows if window.filters is None]:
        case []:
            inner: Content = TimeContent(None)
        case [window] if window.bounds is not None:
            inner = TimeContent(window)
        case [TupleWindow(past, 0)] if leading:
            inner = TupleContent(past, None)
        case [GroupWindow(TupleWindow(past, 0), positions)] if leading:
            inner = TupleContent(past, positions)
        case _:
            return ComputedContent(windows, elements)
    return FilteredContent(filters, inner) if filters else inner


def _insert(arrivals: deque[Arrival], arrival: Arrival) -> None:
    """Insert in time order: with hindsight a remembered atom can arrive after later input."""
    if not arrivals or arrivals[-1].t <= arrival.t:
        arrivals.append(arrival)
    else:
        arrivals.insert(bisect_right(arrivals, arrival.t, key=lambda other: other.t), arrival)


_NO_ELEMENTS = Elements()

# Before the first evaluation every element lies ahead.
_BEFORE_ALL_TIME = View(1 - 2**64, -(2**64))
