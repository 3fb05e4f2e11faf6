"""How much of the stream an evaluation can still see: the rest can be forgotten."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from larspark.language.tree import (
    Always,
    At,
    AtomFormula,
    Formula,
    Reset,
    Rule,
    Some,
    TimeWindow,
    TupleWindow,
    Windowed,
)
from larspark.meaning.walk import children, walk


class Retention(NamedTuple):
    """So many time points back, and so many input elements before them; `inf` is all."""

    time: float
    tuples: float

    def join(self, other: "Retention") -> "Retention":
        return Retention(max(self.time, other.time), max(self.tuples, other.tuples))


NOTHING = Retention(0, 0)
EVERYTHING = Retention(math.inf, 0)


def retention(rules: Iterable[Rule]) -> Retention:
    """What the formulas of a program can see, seen from the evaluation time."""
    total = NOTHING
    for rule in rules:
        for formula in (rule.head, *rule.body):
            total = total.join(_seen(formula))
    return total


def _seen(formula: Formula) -> Retention:
    total = NOTHING
    # Each part with where it can be evaluated, and with what the windows above it leave.
    pending: list[tuple[Formula, Retention, Retention]] = [(formula, NOTHING, EVERYTHING)]
    while pending:
        part, now, view = pending.pop()
        match part:
            case AtomFormula():
                total = total.join(now)
            case Some(body) | Always(body) | At(_, body):
                pending.append((body, view, view))
            case Reset(body):
                pending.append((body, now, EVERYTHING))
            case Windowed(TimeWindow(past, _, every), body):
                length = math.inf if past is None else past + every - 1
                window = Retention(now.time + length, now.tuples)
                # A window looks no further than the one around it.
                pending.append((body, now, window if view == EVERYTHING else view))
            case Windowed(TupleWindow(past, _, by), body):
                total = total.join(EVERYTHING if by or view != EVERYTHING else NOTHING)
                window = Retention(now.time, now.tuples + past)
                pending.append((body, now, window if view == EVERYTHING else view))
            case Windowed(_, body):
                # Through a filter, tuples are counted among those that pass.
                counts = any(isinstance(p, Windowed) for p in walk(body))
                total = total.join(EVERYTHING if counts else NOTHING)
                pending.append((body, now, view))
            case _:
                pending.extend((child, now, view) for child in children(part))
    return total
