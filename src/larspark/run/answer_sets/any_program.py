"""How much of the stream an evaluation can still see: the rest can be forgotten."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from larspark.base.problems import LarsparkError, Problem
from larspark.language.nodes import children, walk
from larspark.language.tree import Always, At, AtomFormula, Formula, Reset, Rule, Some, Windowed
from larspark.logic.traversal import depth
from larspark.run.answer_sets.evaluation_context import Situation
from larspark.run.answer_sets.flp_translation import solvable
from larspark.run.answer_sets.rule_instances import instances
from larspark.run.answer_sets.solver import Solvable
from larspark.run.answer_sets.stream_views import Arrival, View
from larspark.run.answer_sets.task import Task


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
            case Windowed(window, body) if window.bounds is not None:
                back = window.bounds.back
                seen = Retention(math.inf if back is None else now.time + back, now.tuples)
                # A window looks no further than the one around it.
                pending.append((body, now, seen if view == EVERYTHING else view))
            case Windowed(window, body) if window.selects_input:
                tuples = math.inf if window.tuples_back is None else window.tuples_back
                unbounded = tuples == math.inf or view != EVERYTHING
                total = total.join(EVERYTHING if unbounded else NOTHING)
                seen = Retention(now.time, now.tuples + tuples)
                pending.append((body, now, seen if view == EVERYTHING else view))
            case Windowed(_, body):
                # Through a filter, tuples are counted among those that pass.
                counts = any(isinstance(p, Windowed) for p in walk(body))
                total = total.join(EVERYTHING if counts else NOTHING)
                pending.append((body, now, view))
            case _:
                pending.extend((child, now, view) for child in children(part))
    return total


# Deeper formulas are refused: evaluating them recurses.
DEPTH_LIMIT = 110


class FormulaGrounding:
    """Instantiates the rules of any program anew at every evaluation."""

    def __init__(self, task: Task) -> None:
        checked = task.checked
        for rule in checked.rules:
            for formula in (rule.head, *rule.body):
                if depth(formula) > DEPTH_LIMIT:
                    message = f"the formula is nested more than {DEPTH_LIMIT} levels deep"
                    hint = "give parts of it a name, by a rule of their own"
                    raise LarsparkError(Problem("L403", message, formula.span, hint))
        self._checked = checked
        self._background = task.background
        self._elements = task.elements
        self._retention = retention(checked.rules)
        self._t = 0
        self._whole = View(0, -1)

    def begin(self, t: int, whole: View) -> None:
        """Time moves on to t."""
        self._t, self._whole = t, whole
        time, tuples = self._retention
        if math.isfinite(time) and math.isfinite(tuples):
            self._elements.forget_before(t - int(time), int(tuples))

    def add(self, arrival: Arrival) -> None:
        """The elements are looked at when the program is evaluated."""

    def evaluate(self, deadline: float | None, *, everything: bool) -> Solvable:
        """The answer streams at the current tick."""
        rules = self._checked.rules
        situation = Situation(
            self._elements, self._background, self._whole, self._t, rules, deadline
        )
        return solvable(instances(self._checked, situation), deadline)

    def size(self) -> int:
        """Nothing is kept but the elements."""
        return 0
