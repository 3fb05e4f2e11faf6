"""Evaluators: the answer stream of a program at one tick after the other."""

from typing import Protocol, TypeAlias

from larspark.base.atoms import Atom, Element
from larspark.run.answer_sets.any_program import FormulaGrounding
from larspark.run.answer_sets.incremental import IncrementalGrounding
from larspark.run.answer_sets.one_shot import StaticGrounding
from larspark.run.answer_sets.solver import Solvable
from larspark.run.answer_sets.stream_views import Arrival, View
from larspark.run.answer_sets.task import Task

Derived: TypeAlias = frozenset[Element]

SEVERAL = (
    "the program can have several answer streams: "
    "this run follows one of them, as close to its output before as it can"
)
FROM_SCRATCH = "every evaluation begins from scratch: the formulas of the program are not plain"


class Evaluator(Protocol):
    """Receives time and elements, and returns answer streams at the current tick."""

    def begin(self, t: int, whole: View) -> None:
        """Time moves on to t, on this timeline."""

    def add(self, arrival: Arrival) -> None:
        """The stream has one more element."""

    def answer(self, previous: frozenset[Atom], deadline: float | None) -> Derived | None:
        """The answer stream to follow after this output; None without one."""

    def solvable(self, deadline: float | None) -> Solvable:
        """All answer streams."""

    def size(self) -> int:
        """How many ground rules are kept from tick to tick."""


class Grounding(Protocol):
    """Passes the ground program at the current tick to the solver."""

    def begin(self, t: int, whole: View) -> None: ...

    def add(self, arrival: Arrival) -> None: ...

    def evaluate(self, deadline: float | None, *, everything: bool) -> Solvable:
        """The answer streams: all of them, or at least what holds at the time point."""

    def size(self) -> int: ...


class SolverEvaluator:
    """Runs the solver at every tick."""

    def __init__(self, task: Task, grounding: Grounding) -> None:
        self._task = task
        self._grounding = grounding
        self._several = task.has_choices
        self._t = 0

    def begin(self, t: int, whole: View) -> None:
        self._t = t
        self._grounding.begin(t, whole)

    def add(self, arrival: Arrival) -> None:
        self._grounding.add(arrival)

    def answer(self, previous: frozenset[Atom], deadline: float | None) -> Derived | None:
        solvable = self._grounding.evaluate(deadline, everything=False)
        if not self._several:
            return solvable.first()
        self._task.note(SEVERAL)
        return solvable.closest(self._t, self._task.checked.shown, previous)

    def solvable(self, deadline: float | None) -> Solvable:
        return self._grounding.evaluate(deadline, everything=True)

    def size(self) -> int:
        return self._grounding.size()


def incremental(task: Task) -> SolverEvaluator:
    """Grounding and solver kept alive; what is not plain is evaluated from scratch."""
    core = task.core()
    if core is None:
        task.note(FROM_SCRATCH)
        return one_shot(task)
    return SolverEvaluator(task, IncrementalGrounding(task, core))


def one_shot(task: Task) -> SolverEvaluator:
    """One solve per evaluation: the static encoding where there is one."""
    core = task.core()
    grounding = FormulaGrounding(task) if core is None else StaticGrounding(task, core)
    return SolverEvaluator(task, grounding)
