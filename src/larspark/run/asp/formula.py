"""Evaluating any program at one time point, from scratch."""

import math

from larspark.base.problems import LarsparkError, Problem
from larspark.meaning.walk import depth
from larspark.run.asp.elements import Arrival
from larspark.run.asp.instances import instances
from larspark.run.asp.retention import retention
from larspark.run.asp.situation import Situation
from larspark.run.asp.solving import Solvable
from larspark.run.asp.task import Task
from larspark.run.asp.translate import solvable
from larspark.run.asp.views import View

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
