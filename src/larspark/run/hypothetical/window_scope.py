"""The scope of a formula: the windows around it as bounds on time points and patterns of atoms."""

from typing import NamedTuple, TypeAlias

from larspark.base.problems import LarsparkError, Problem, Span
from larspark.base.terms import Variable, Wildcard
from larspark.run.hypothetical.patterns import Condition, Pattern, Slot, Time
from larspark.run.hypothetical.temporal_rules import Bounds, Conjunction

# Pairs of time points, the first at most the second.
Pairs: TypeAlias = tuple[tuple[Time, Time], ...]

Cases: TypeAlias = list[Conjunction]


class Range(NamedTuple):
    """The time points from `base + past` to `base + future`; None: without bound."""

    base: Time
    past: int | None
    future: int | None


class Scope(NamedTuple):
    """The windows around a formula: ranges of time points, and patterns of atoms."""

    ranges: tuple[Range, ...] = ()
    filters: tuple[tuple[Pattern, ...], ...] = ()


def timed(pairs: Pairs) -> Cases:
    """The case that all pairs are ordered; no case if that is impossible."""
    bounds = Bounds()
    for left, right in pairs:
        tighter = bounds.at_most(left, right)
        if tighter is None:
            return []
        bounds = tighter
    return [Conjunction(bounds=bounds)]


def time_pairs(relation: str, left: Time, right: Time) -> Pairs:
    match relation:
        case "<":
            return ((left.shifted(1), right),)
        case "<=":
            return ((left, right),)
        case ">":
            return ((right.shifted(1), left),)
        case ">=":
            return ((right, left),)
        case _:
            return ((left, right), (right, left))


def inside(at: Time, scope: Scope, start: Time | None) -> Pairs:
    """The pairs for `at` inside all windows of the scope, and not before the start."""
    pairs = [] if start is None else [(start, at)]
    for base, past, future in scope.ranges:
        if past is not None:
            pairs.append((base.shifted(past), at))
        if future is not None:
            pairs.append((at, base.shifted(future)))
    return tuple(pairs)


def outside(at: Time, scope: Scope, start: Time | None) -> list[Pairs]:
    """The alternatives for `at` outside of the scope or before the start."""
    ways: list[Pairs] = [] if start is None else [((at.shifted(1), start),)]
    for base, past, future in scope.ranges:
        if past is not None:
            ways.append(((at.shifted(1), base.shifted(past)),))
        if future is not None:
            ways.append(((base.shifted(future + 1), at),))
    return ways


def before(scope: Scope, start: Time) -> list[Pairs]:
    """The alternatives in which a window is empty because it ends before the start."""
    return [
        ((base.shifted(future + 1), start),)
        for base, _, future in scope.ranges
        if future is not None and future < 0
    ]


def fixed(scope: Scope, span: Span, wanted: bool) -> tuple[str, int, int]:
    """The base variable of the windows, and the first and last offset of their intersection."""
    operator = "always" if wanted else "not ... some"
    bases = {base.variable for base, _, _ in scope.ranges}
    pasts = [base.offset + past for base, past, _ in scope.ranges if past is not None]
    futures = [base.offset + future for base, _, future in scope.ranges if future is not None]
    if len(bases) > 1:
        raise LarsparkError(
            Problem(
                "L472",
                f"`{operator}` under windows inside each other has no fixed size",
                span,
                hint="put `reset` before the inner window",
            )
        )
    if not pasts or not futures:
        raise LarsparkError(
            Problem(
                "L472",
                f"`{operator}` without a window of fixed size is never decided",
                span,
                hint="put a window before it, such as `[5]`",
            )
        )
    return bases.pop(), max(pasts), min(futures)


def narrowed(pattern: Pattern, scope: Scope) -> list[tuple[Pattern, tuple[Condition, ...]]]:
    """The pattern restricted by the filters of the scope."""
    ways: list[tuple[Pattern, tuple[Condition, ...]]] = [(pattern, ())]
    for only in scope.filters:
        ways = [
            way
            for narrow, conditions in ways
            for allowed in only
            if allowed.signature == pattern.signature
            for way in [_filtered(narrow, allowed, conditions)]
            if way is not None
        ]
    return ways


def _filtered(
    pattern: Pattern, allowed: Pattern, conditions: tuple[Condition, ...]
) -> tuple[Pattern, tuple[Condition, ...]] | None:
    args: list[Slot] = []
    for arg, only in zip(pattern.args, allowed.args, strict=True):
        if isinstance(arg, Wildcard):
            args.append(only)
            continue
        args.append(arg)
        if isinstance(only, Wildcard) or only == arg:
            continue
        if not isinstance(arg, Variable | Time) and not isinstance(only, Variable | Time):
            return None
        conditions = (*conditions, Condition("=", arg, only))
    return Pattern(pattern.predicate, tuple(args)), conditions
