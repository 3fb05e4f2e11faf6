"""Grounding of programs with any formulas, from scratch at every evaluation."""

from larspark.analysis.lookback import evaluation_lookback
from larspark.base.problems import LarsparkError, Problem
from larspark.logic.traversal import depth
from larspark.run.answer_sets.evaluation_context import Situation
from larspark.run.answer_sets.flp_translation import solvable
from larspark.run.answer_sets.rule_instances import instances
from larspark.run.answer_sets.solver import Solvable
from larspark.run.answer_sets.stream_views import Arrival, View
from larspark.run.answer_sets.task import Task

# Deeper formulas are refused: evaluating them recurses.
DEPTH_LIMIT = 110


class FormulaGrounding:
    """Instantiates the rules at every evaluation; elements out of sight are dropped."""

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
        self._lookback = evaluation_lookback(checked.rules)
        self._t = 0
        self._whole = View(0, -1)

    def begin(self, t: int, whole: View) -> None:
        """Time moves on to t."""
        self._t, self._whole = t, whole
        time, tuples = self._lookback.time, self._lookback.tuples
        if time is not None and tuples is not None:
            self._elements.forget_before(t - time, tuples)

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
