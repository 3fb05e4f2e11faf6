"""The engine `interval`: how it is made, what it can do, and which programs it cannot run."""

from collections.abc import Iterable, Iterator

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.plan.build import plan
from larspark.plan.literals import cannot
from larspark.plan.operators import (
    Contents,
    Mode,
    Plan,
    Seen,
    formulas,
    is_recomputed,
    retracting_rules,
)
from larspark.run.protocol import Engine, EngineKind, Settings


def obstacles(checked: Checked, settings: Settings) -> list[Problem]:
    """Everything in a program that the interval engine does not support."""
    try:
        planned = plan(checked)
    except LarsparkError as error:
        return list(error.problems)
    return [
        problem for error in _obstacles(checked, planned, settings) for problem in error.problems
    ]


def _obstacles(checked: Checked, planned: Plan, settings: Settings) -> Iterator[LarsparkError]:
    retracting = retracting_rules(planned, hindsight=settings.hindsight, push=settings.push)
    for group, rules in zip(planned.groups, retracting, strict=True):
        remembered = checked.program.remembered & set(group.predicates)
        if remembered and is_recomputed(group, rules):
            yield cannot(
                "remember what a recursion over negation or tuple windows derives",
                group.rules[0].origin,
                "remember another predicate, which a rule of its own derives from it",
            )
    open_end = settings.until is None and checked.future_heads
    for group in planned.groups:
        for rule in group.rules:
            for seen, _ in formulas(rule.source):
                yield from _formula_obstacles(seen, checked, planned.moment, open_end=open_end)


def _formula_obstacles(
    seen: Seen, checked: Checked, moment: Signature, *, open_end: bool
) -> Iterator[LarsparkError]:
    reach, signature = seen.reach, seen.atom.signature
    if isinstance(seen.tuples, Contents) and open_end and not _ends(seen.tuples):
        hint = "put it into a window, or end the timeline with `--until`"
        yield cannot("look through a timeline without an end", seen.origin, hint)
    background = signature in checked.background_signatures or signature == moment
    if background and seen.tuples is not None:
        yield cannot("look at background data through a tuple window", seen.origin)
    if signature == moment and reach.future is None and open_end:
        hint = "put it into a window, or end the timeline with `--until`"
        yield cannot("look through a timeline without an end", seen.origin, hint)
    elif background and seen.mode is Mode.AT and reach.future is None and open_end:
        yield cannot(
            "pin background data to a timeline without an end",
            seen.origin,
            "leave the time point out: background data holds always",
        )


def _ends(contents: Contents) -> bool:
    """On an open timeline: are there finitely many time points wherever they are listed?"""
    ends, positions = False, set[int | None]((None,))
    for window, position in contents.windows:
        if position not in positions:
            if not ends:
                return False
            positions.add(position)
        if window.bounds is not None:
            ends = ends or window.bounds.future is not None
        elif window.selects_input:
            ends = ends or not window.looks_ahead
    return ends


def _make(checked: Checked, background: Iterable[Atom], settings: Settings) -> Engine:
    # Imported when an engine is made: Numba takes its time to load.
    from larspark.run.interval.engine import IntervalEngine

    return IntervalEngine(checked, background, settings)


INTERVAL = EngineKind(
    "interval",
    _make,
    obstacles,
    "the fastest one, as there is one answer at every time point",
    stages=True,
    steps=True,
    slices=True,
)
