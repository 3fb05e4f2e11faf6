"""Windows that select input elements, evaluated on sequences of elements: for the engines.

The definitions in `meaning.window_functions` do not use this module, so that they can judge it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from larspark.base.atoms import Signature
from larspark.base.terms import Term
from larspark.language.windows import GroupWindow, SessionWindow, TupleWindow, Window
from larspark.logic.values import key_values


class Timed(Protocol):
    """An element of a stream, of which only the time point matters here."""

    @property
    def t(self) -> int: ...


E = TypeVar("E", bound=Timed)

# The predicate and the arguments of an element.
Parts: TypeAlias = Callable[[E], tuple[Signature, Sequence[Term]]]


class Selection(NamedTuple, Generic[E]):
    """A timeline, open when `end` is None, and the elements on it in the order of their arrival."""

    start: int
    end: int | None
    members: Sequence[E]


def select(window: Window, given: Selection[E], t: int, parts: Parts[E]) -> Selection[E]:
    """What a window that selects input leaves of a stream with the time point t."""
    match window:
        case TupleWindow(past, future):
            return _tuples(given, t, past, future)
        case SessionWindow():
            return _session(window, given, t)
        case GroupWindow(each):
            return _groups(window, each, given, t, parts)
        case _:
            raise TypeError(f"{window!r} does not select input elements")


def needed(
    window: Window, members: Sequence[E], t: int, parts: Parts[E], *, clipped: bool
) -> Sequence[E]:
    """The elements up to t on which the content of a window at t or later depends.

    `clipped` says that a window before it drops the oldest elements as time goes on.
    """
    match window:
        case _ if window.bounds is not None:
            oldest, _ = window.bounds.at(t)
            return members if oldest is None else members[bisect_left(members, oldest, key=_time) :]
        case TupleWindow(past):
            return members[max(0, len(members) - past) :]
        case SessionWindow() if not clipped or window.longest is None:
            recent = (s for s in _sessions(window, members) if _last_point(window, s) + 1 >= t)
            return [element for session in recent for element in session]
        case GroupWindow(each):
            groups = _grouped(window, members, parts)
            return _in_order(
                members, [needed(each, group, t, parts, clipped=clipped) for group in groups]
            )
        case _:
            return members


def _tuples(given: Selection[E], t: int, past: int, future: int) -> Selection[E]:
    """The last `past` elements up to t and the first `future` ones after it."""
    start, end, members = given
    now = bisect_right(members, t, key=_time)
    low, high = max(0, now - past), min(len(members), now + future)
    # With too few elements the window reaches to the end of the timeline on that side.
    if now >= past:
        start = min(t, members[low].t) if past else t
    if now + future <= len(members):
        end = max(t, members[high - 1].t) if future else t
    return Selection(start, end, members[low:high])


def _session(window: SessionWindow, given: Selection[E], t: int) -> Selection[E]:
    """The session that reaches to t, or the one that ended just before t; else nothing, at t."""
    for members in _sessions(window, given.members[: bisect_right(given.members, t, key=_time)]):
        last = _last_point(window, members)
        if (last + 1 == t) if window.ended else (last >= t):
            return Selection(members[0].t, t, members)
    return Selection(t, t, ())


def _sessions(window: SessionWindow, members: Sequence[E]) -> Iterator[Sequence[E]]:
    first = 0
    for number, element in enumerate(members):
        if number and element.t > window.over(members[first].t, members[number - 1].t):
            yield members[first:number]
            first = number
    if members:
        yield members[first:]


def _last_point(window: SessionWindow, session: Sequence[E]) -> int:
    return window.over(session[0].t, session[-1].t)


def _groups(
    window: GroupWindow, each: Window, given: Selection[E], t: int, parts: Parts[E]
) -> Selection[E]:
    groups = _grouped(window, given.members, parts)
    selected = [select(each, given._replace(members=members), t, parts) for members in groups]
    start = min([t, *(group.start for group in selected)])
    ends = [group.end for group in selected if group.end is not None]
    end = max([t, *ends]) if len(ends) == len(selected) else None
    return Selection(start, end, _in_order(given.members, [group.members for group in selected]))


def _grouped(window: GroupWindow, members: Sequence[E], parts: Parts[E]) -> Sequence[Sequence[E]]:
    """The elements by predicate and key; those for which a key has no value are in no group."""
    keys = dict(window.positions)
    groups: dict[tuple[object, ...], list[E]] = {}
    for element in members:
        signature, args = parts(element)
        values = key_values(keys[signature], args) if signature in keys else None
        if values is not None:
            groups.setdefault((signature, *values), []).append(element)
    return list(groups.values())


def _in_order(members: Sequence[E], chosen: Sequence[Sequence[E]]) -> Sequence[E]:
    wanted = {id(element) for group in chosen for element in group}
    return [element for element in members if id(element) in wanted]


def _time(element: Timed) -> int:
    return element.t
