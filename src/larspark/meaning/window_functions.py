"""Window functions: Definitions 3 to 6, and functions of the user's own.

Every function takes a stream and a time point and gives a substream. Outside the stream's timeline
all but the filter window give the stream itself.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from larspark.base.problems import LarsparkError, Problem
from larspark.language.windows import (
    FilterWindow,
    GroupWindow,
    NamedWindow,
    SessionWindow,
    TimeWindow,
    TupleWindow,
    Window,
)
from larspark.logic.values import key_values, matches
from larspark.meaning.streams import Stream, numbers_of

WindowFunction: TypeAlias = Callable[..., Stream]

_registered: dict[str, WindowFunction] = {}


def register_window(name: str, function: WindowFunction) -> None:
    """Let `[name(args)]` stand for `function(stream, t, *args)`, which gives a substream.

    What it gives is checked each time: a window never adds elements or time points.
    """
    _registered[name] = function


def apply_window(window: Window, stream: Stream, t: int) -> Stream:
    """w(S, t) of a window of a ground formula."""
    match window:
        case FilterWindow(patterns):
            return stream.only(lambda element: any(matches(p, element.atom) for p in patterns))
        case NamedWindow():
            return _named(window, stream, t)
        case _ if not stream.has_time(t):
            return stream
        case TimeWindow():
            return _time(window, stream, t)
        case TupleWindow(past, future):
            return _tuples(stream, t, past, future)
        case SessionWindow():
            return _session(window, stream, t)
        case GroupWindow():
            return _groups(window, stream, t)
        case _:
            raise TypeError(f"the window {window!r} has no definition")


def _time(window: TimeWindow, stream: Stream, t: int) -> Stream:
    pivot = t // window.every * window.every
    start = stream.start if window.past is None else pivot - window.past
    return stream.during(start, None if window.future is None else pivot + window.future)


def _tuples(stream: Stream, t: int, past: int, future: int) -> Stream:
    """The last `past` tuples up to t and the first `future` ones after it."""
    arrived = stream.bits & stream.universe.arrived
    before = list(_last(arrived & stream.universe.during(stream.start, t), past))
    after = list(_first(arrived & stream.universe.during(t + 1, stream.end), future))
    times = [stream.universe.elements[number].t for number in (*before, *after)]
    # With too few tuples the window reaches to the end of the timeline on that side.
    start = stream.start if len(before) < past else min([t, *times[: len(before)]])
    end = stream.end if len(after) < future else max([t, *times[len(before) :]])
    bits = sum(1 << number for number in (*before, *after))
    return Stream(stream.universe, start, end, bits)


def _last(bits: int, count: int) -> Iterator[int]:
    while bits and count:
        number = bits.bit_length() - 1
        yield number
        bits ^= 1 << number
        count -= 1


def _first(bits: int, count: int) -> Iterator[int]:
    for number, _ in zip(numbers_of(bits), range(count), strict=False):
        yield number


def _session(window: SessionWindow, stream: Stream, t: int) -> Stream:
    """The session that reaches to t, or the one that ended just before; else nothing, on [t, t]."""
    for begin, over, members in _sessions(window, stream, t):
        if (over + 1 == t) if window.ended else (over >= t):
            return Stream(stream.universe, begin, t, members)
    return Stream(stream.universe, t, t, 0)


def _sessions(window: SessionWindow, stream: Stream, t: int) -> Iterator[tuple[int, int, int]]:
    """The sessions up to t: the first and the last time point, and the elements.

    A session lasts as long as no two elements that follow each other are further apart than the
    gap, then for the gap, and never longer than the given length. The first element after it begins
    another one.
    """
    begin = over = members = 0
    arrived = stream.bits & stream.universe.arrived & stream.universe.during(stream.start, t)
    for number in numbers_of(arrived):
        time = stream.universe.elements[number].t
        if not members:
            begin = time
        elif time > over:
            yield begin, over, members
            begin, members = time, 0
        members |= 1 << number
        over = time + window.gap
        if window.longest is not None:
            over = min(over, begin + window.longest)
    if members:
        yield begin, over, members


def _groups(window: GroupWindow, stream: Stream, t: int) -> Stream:
    keys = dict(window.positions)
    groups: dict[tuple[Any, ...], int] = {}
    for number in numbers_of(stream.bits & stream.universe.arrived):
        atom = stream.universe.elements[number].atom
        values = key_values(keys[atom.signature], atom.args) if atom.signature in keys else None
        # An element for which a key has no value is in no group.
        if values is not None:
            key = (atom.signature, *values)
            groups[key] = groups.get(key, 0) | 1 << number
    parts = [apply_window(window.each, stream.with_bits(members), t) for members in groups.values()]
    # Elements of no group form one of size zero, whose window is [t, t].
    start = min([t, *(part.start for part in parts)])
    ends = [part.end for part in parts if part.end is not None]
    end = max([t, *ends]) if len(ends) == len(parts) else None
    bits = 0
    for part in parts:
        bits |= part.bits
    return Stream(stream.universe, start, end, bits)


def _named(window: NamedWindow, stream: Stream, t: int) -> Stream:
    function = _registered.get(window.name)
    if function is None:
        known = ", ".join(sorted(_registered)) or "none so far"
        message = f"there is no window function `{window.name}`"
        hint = f"register it with `register_window`; registered: {known}"
        raise LarsparkError(Problem("L257", message, hint=hint))
    if stream.end is None:
        message = f"the window `{window.name}` needs a timeline that ends"
        raise LarsparkError(Problem("L260", message, hint="say where time ends with `until`"))
    try:
        result = function(stream, t, *window.args)
    except LarsparkError:
        raise
    except Exception as error:
        message = f"the window function `{window.name}` raised {type(error).__name__}: {error}"
        raise LarsparkError(Problem("L259", message)) from error
    if not isinstance(result, Stream) or not result.is_substream_of(stream):
        message = f"the window function `{window.name}` gave no substream of its input at {t}"
        hint = "build the result with the stream's `during` and `only`"
        raise LarsparkError(Problem("L258", message, hint=hint))
    return result.during(result.start, result.end)
