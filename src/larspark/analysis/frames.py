"""Where in time a formula looks, seen from the evaluation time.

All times here are offsets: 0 is the evaluation time, -5 five time points before it. A frame says
where the part of a formula that it belongs to is evaluated (`now`) and what it can see
(`timeline`); both are bounds, as tight as the windows and time variables allow.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, TypeAlias, assert_never

from larspark.base.atoms import Signature
from larspark.base.terms import Term
from larspark.language.nodes import children, term_variables
from larspark.language.tree import (
    Aggregate,
    Always,
    And,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Implies,
    Not,
    Or,
    Reset,
    Some,
    Truth,
    Windowed,
)
from larspark.language.windows import Bounds, Window
from larspark.logic.binding import linear
from larspark.logic.traversal import sees_only_atoms

Offset: TypeAlias = int | float

# An offset that only the data knows, such as `D` in `@T+D`: finite, and larger than any other, so
# that a recursion which adds it grows.
UNKNOWN = 2**200


class Range(NamedTuple):
    """The offsets from `low` to `high`; none at all when `low` is the larger one."""

    low: Offset
    high: Offset

    def meet(self, other: "Range") -> "Range":
        return Range(max(self.low, other.low), min(self.high, other.high))

    def join(self, other: "Range") -> "Range":
        if self.empty or other.empty:
            return other if self.empty else self
        return Range(min(self.low, other.low), max(self.high, other.high))

    def shift(self, low: Offset, high: Offset | None = None) -> "Range":
        return Range(self.low + low, self.high + (low if high is None else high))

    @property
    def empty(self) -> bool:
        return self.low > self.high


ALL = Range(-math.inf, math.inf)
NONE = Range(math.inf, -math.inf)
NOW = Range(0, 0)
SOME_DATA = Range(-math.inf, UNKNOWN)


class Floor(NamedTuple):
    """The oldest data that counts: elements from `time` on, and so many tuples before them."""

    time: Offset
    tuples: int | None = 0


EVERYTHING = Floor(-math.inf)


class View(NamedTuple):
    """Time points, and the data that decides what is there."""

    times: Range
    floor: Floor


@dataclass(frozen=True, slots=True)
class Frame:
    now: View
    timeline: View
    # The whole timeline, to which `reset` returns.
    whole: View
    # A head may place atoms after the end of the timeline, which is open then.
    in_head: bool = False
    # `now` lies in the timeline; where it does not, windows leave the stream as it is.
    inside: bool = True
    # Atoms are hidden, so counting tuples no longer counts all of them.
    filtered: bool = False
    # Tuples are counted in groups, and the timeline starts with the oldest group.
    grouped: bool = False
    # Elements that are hidden decide what is seen, however old they are.
    rooted: bool = False
    # From where on tuples are counted forwards, if they are.
    counted_from: Offset = math.inf
    positive: bool = True
    # The formula holds only if this part of it does.
    certain: bool = True
    # More atoms can only make this part of the formula truer.
    monotone: bool = True


Times: TypeAlias = Mapping[str, Range]
Placed: TypeAlias = Mapping[Signature, Range]


@lru_cache(64)
def first_frame(end: Offset, in_head: bool = False) -> Frame:
    """The frame of a rule's formulas on a timeline that ends `end` after the evaluation time."""
    whole = View(Range(-math.inf, end), EVERYTHING)
    return Frame(View(NOW, Floor(0)), whole, whole, in_head)


def frames(formula: Formula, frame: Frame, times: Times) -> Iterator[tuple[Formula, Frame]]:
    """Every part of a formula with its frame; `times` bounds the time variables."""
    pending = [(formula, frame)]
    while pending:
        current, frame = pending.pop()
        yield current, frame
        match current:
            case AtomFormula() | Comparison() | Truth():
                pass
            case And(parts):
                pending.extend((part, frame) for part in reversed(parts))
            case Or(parts):
                inner = replace(frame, certain=False)
                pending.extend((part, inner) for part in reversed(parts))
            case Not(body):
                pending.append((body, _negated(frame)))
            case Implies(left, right):
                pending.append((right, replace(frame, certain=False, monotone=False)))
                pending.append((left, _negated(frame)))
            case Some(body):
                pending.append((body, replace(frame, now=frame.timeline, inside=True)))
            case Always(body):
                inner = replace(frame, now=frame.timeline, inside=True, monotone=False)
                pending.append((body, inner))
            case At(time, body):
                now = _pinned(time, body, frame, times)
                inner = replace(frame, now=now, inside=True)
                pending.append((body, inner))
            case Windowed(window, body):
                pending.append((body, _windowed(window, body, frame)))
            case Reset(body):
                pending.append((body, _reset(frame)))
            case Aggregate():
                inner = replace(frame, certain=False, monotone=False)
                pending.extend((part, inner) for part in reversed(children(current)))
            case _:
                assert_never(current)


def time_range(term: Term, times: Times) -> Range:
    """Where a time pin can lie.

    >>> from larspark.base.terms import Arithmetic, Variable
    >>> time_range(Arithmetic("+", (Variable("T"), 3)), {"T": Range(-5, 0)})
    Range(low=-2, high=3)
    """
    shifted = linear(term)
    if shifted is not None:
        name, offset = shifted
        return times.get(name, SOME_DATA).shift(offset)
    bounds = [times[v.name].high for v in term_variables(term) if v.name in times]
    return Range(-math.inf, max(bounds, default=0) + UNKNOWN)


def holds(formula: Formula, placed: Placed) -> Range:
    """Where a formula can hold, evaluated on the whole timeline; `placed` bounds its atoms."""
    match formula:
        case AtomFormula(atom):
            return placed.get(atom.signature, ALL)
        case And(parts):
            bounds = ALL
            for part in parts:
                bounds = bounds.meet(holds(part, placed))
            return bounds
        case Or(parts):
            bounds = NONE
            for part in parts:
                bounds = bounds.join(holds(part, placed))
            return bounds
        case Windowed(window, Some(body) | Always(body) | At(_, body)) if window.bounds:
            inner = holds(body, placed)
            ahead, back = _ahead(window.bounds), _back(window.bounds)
            return inner if inner.empty else inner.shift(-ahead, back)
        case Some(body) | Always(body) | At(_, body):
            return NONE if holds(body, placed).empty else ALL
        case Windowed(window, body):
            return holds(body, placed) if window.keeps_now else ALL
        case Reset(body):
            return holds(body, placed)
        case Not() | Implies() | Comparison() | Truth() | Aggregate():
            return ALL
        case _:
            assert_never(formula)


def _negated(frame: Frame) -> Frame:
    return replace(frame, positive=not frame.positive, certain=False, monotone=False)


def _reset(frame: Frame) -> Frame:
    return replace(
        frame,
        timeline=frame.whole,
        inside=True,
        filtered=False,
        grouped=False,
        rooted=False,
        counted_from=math.inf,
    )


def _pinned(time: Term, body: Formula, frame: Frame, times: Times) -> View:
    pin = time_range(time, times)
    # In a head the pin says where the atom goes; elsewhere it must lie in the timeline.
    if not (frame.in_head and frame.timeline == frame.whole):
        pin = pin.meet(frame.timeline.times)
    oldest = min(pin.low, frame.counted_from)
    # An atom that holds at a time point shows that the timeline reaches back so far.
    unbounded = oldest == -math.inf or frame.rooted
    if unbounded or (frame.grouped and not sees_only_atoms(At(time, body))):
        return View(pin, frame.timeline.floor)
    return View(pin, Floor(oldest))


def _windowed(window: Window, body: Formula, frame: Frame) -> Frame:
    if not window.is_known:
        return replace(frame, filtered=True, inside=False)
    if window.hides_atoms:
        return replace(frame, filtered=True)
    if not frame.inside:
        return frame
    if window.bounds is not None:
        timeline = _time_window(window.bounds, frame)
        if frame.rooted or (frame.grouped and not sees_only_atoms(body)):
            # Where the timeline starts depends on the oldest group, however old that is.
            timeline = View(timeline.times, frame.timeline.floor)
        return replace(frame, timeline=timeline, inside=window.keeps_now)
    if window.selects_input:
        time, tuples = frame.now.floor
        counted_from = (time if tuples == 0 else -math.inf) if window.looks_ahead else math.inf
        return replace(
            frame,
            timeline=_tuple_window(window, frame),
            grouped=frame.grouped or window.tuples_back is None,
            rooted=frame.rooted or window.counts_hidden,
            counted_from=min(frame.counted_from, counted_from),
        )
    return frame


def _back(bounds: Bounds) -> Offset:
    return math.inf if bounds.back is None else bounds.back


def _ahead(bounds: Bounds) -> Offset:
    return math.inf if bounds.future is None else bounds.future


def _time_window(bounds: Bounds, frame: Frame) -> View:
    back = _back(bounds)
    times = frame.now.times.shift(-back, _ahead(bounds))
    outer = frame.timeline
    if not (frame.in_head and outer == frame.whole):
        times = times.meet(outer.times)
    floor = Floor(frame.now.floor.time - back)
    bounded = frame.now.floor.tuples == 0 and floor != EVERYTHING
    # Where tuples were counted before, the bound in time is the one that can be relied on.
    if bounded and (outer.floor.tuples != 0 or floor.time > outer.floor.time):
        return View(times, floor)
    return View(times, outer.floor)


def _tuple_window(window: Window, frame: Frame) -> View:
    outer = frame.timeline
    times = outer.times
    if not window.looks_ahead:
        times = times.meet(Range(-math.inf, frame.now.times.high))
    if outer.floor != EVERYTHING:
        return View(times, outer.floor)
    time, tuples = frame.now.floor
    if window.tuples_back is None or frame.filtered or tuples is None:
        return View(times, Floor(time, None))
    return View(times, Floor(time, tuples + window.tuples_back))
