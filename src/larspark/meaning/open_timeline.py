"""How far an open timeline has to be looked through.

After the last element and the last time pin of a formula a stream is empty. Far enough from there
a formula can only tell time points apart by hopping windows, so its truth repeats with the least
common multiple of the hops. `reach` bounds from below how far is far enough:

- inside a window of a fixed length every temporal operator moves by at most that length;
- on an unbounded timeline a temporal operator must be able to stay clear of the evaluation time
  before it on both sides, and see one whole repetition in between.
"""

from math import lcm
from typing import NamedTuple, assert_never

from larspark.base.problems import LarsparkError, Problem
from larspark.meaning.grounding import (
    Ground,
    GroundAggregate,
    GroundAlways,
    GroundAnd,
    GroundAt,
    GroundAtom,
    GroundImplies,
    GroundNot,
    GroundOr,
    GroundReset,
    GroundSome,
    GroundTruth,
    GroundWindowed,
)
from larspark.meaning.streams import Stream

LENGTH_LIMIT = 1_000_000


class Horizon(NamedTuple):
    """The last mark on the timeline, and how far beyond marks one has to look."""

    latest: int
    reach: int


NO_HORIZON = Horizon(0, 0)


def time_points(stream: Stream, horizon: Horizon) -> range:
    """The time points of the timeline, of an open one as many as can differ."""
    end = stream.end
    if end is None:
        end = max(stream.start, horizon.latest) + horizon.reach
    refuse_length(end - stream.start)
    return range(stream.start, end + 1)


def refuse_length(length: int) -> None:
    """Refuse to look at more time points one by one than can be looked at."""
    if length > LENGTH_LIMIT:
        message = f"{length} time points would have to be looked at one by one"
        hint = "use windows, or a shorter timeline (`from`, `until`)"
        raise LarsparkError(Problem("L261", message, hint=hint))


def find_horizon(stream: Stream, t: int, formula: Ground) -> Horizon:
    """How far the evaluation of a formula at t has to look when the timeline is open."""
    if stream.end is not None:
        return NO_HORIZON
    latest = max(t, stream.start, stream.universe.last_time or t, *_pins(formula))
    return Horizon(latest, reach(formula, _period(formula), None))


def reach(formula: Ground, period: int, length: int | None) -> int:
    """How far from all marks the formula's truth begins to repeat, on timelines of this length."""
    match formula:
        case GroundAtom() | GroundTruth():
            return period
        case GroundNot(body) | GroundAt(_, body):
            return reach(body, period, length)
        case GroundAnd(parts) | GroundOr(parts):
            return max((reach(part, period, length) for part in parts), default=period)
        case GroundImplies(left, right):
            return max(reach(left, period, length), reach(right, period, length))
        case GroundSome(body) | GroundAlways(body):
            inner = reach(body, period, length)
            return 2 * inner + period if length is None else inner + length
        case GroundWindowed(window, body):
            bounds = window.bounds
            if bounds is None:
                return reach(body, period, length) + window.trace
            if bounds.past is None or bounds.future is None:
                side = (bounds.past or 0) + (bounds.future or 0)
                inner = reach(body, period, None if bounds.future is None else length)
                return inner + side + bounds.every
            size = bounds.past + bounds.future
            inner = reach(body, period, size if length is None else min(size, length))
            return inner + size + bounds.every
        case GroundReset(body):
            return reach(body, period, None)
        case GroundAggregate(members=members):
            return max((reach(body, period, length) for _, body in members), default=period)
        case _:
            assert_never(formula)


def _children(formula: Ground) -> tuple[Ground, ...]:
    match formula:
        case GroundAtom() | GroundTruth():
            return ()
        case GroundAnd(parts) | GroundOr(parts):
            return parts
        case GroundImplies(left, right):
            return left, right
        case GroundAggregate(members=members):
            return tuple(body for _, body in members)
        case (
            GroundNot(body)
            | GroundSome(body)
            | GroundAlways(body)
            | GroundReset(body)
            | GroundAt(_, body)
            | GroundWindowed(_, body)
        ):
            return (body,)
        case _:
            assert_never(formula)


def _pins(formula: Ground) -> list[int]:
    own = [formula.time] if isinstance(formula, GroundAt) else []
    return own + [pin for part in _children(formula) for pin in _pins(part)]


def _period(formula: Ground) -> int:
    own = 1
    if isinstance(formula, GroundWindowed) and formula.window.bounds is not None:
        own = formula.window.bounds.every
    return lcm(own, *map(_period, _children(formula)))
