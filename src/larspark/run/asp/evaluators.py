"""What evaluates a program at one tick after the other."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from larspark.base.atoms import Atom, Element, Signature
from larspark.meaning.checked import Checked
from larspark.run.asp.core import Core, NotEncodableError, encode
from larspark.run.asp.elements import Arrival, Elements
from larspark.run.asp.formula import FormulaGrounding
from larspark.run.asp.incremental import IncrementalGrounding
from larspark.run.asp.plain import plain_rules
from larspark.run.asp.solving import Solvable
from larspark.run.asp.static import StaticGrounding
from larspark.run.asp.views import View

Derived: TypeAlias = frozenset[Element]

SEVERAL = (
    "the program can have several answer streams: "
    "this run follows one of them, as close to its output before as it can"
)


class Task:
    """A program with all that does not change while it runs.

    `tell` passes on what a user should know about the answers.
    """

    def __init__(
        self,
        checked: Checked,
        background: frozenset[Atom],
        elements: Elements,
        tell: Callable[[str], None],
    ) -> None:
        self.checked = checked
        self.background = background
        self.elements = elements
        self.tell = tell

    @property
    def wanted(self) -> frozenset[Signature]:
        """The predicates whose derived elements matter: what is shown, and what is remembered."""
        return self.checked.shown | (self.checked.program.remembered & self.checked.derived)

    def core(self) -> Core | None:
        """The static encoding, if the program is plain enough to have one."""
        rules = plain_rules(self.checked.rules)
        if rules is None:
            return None
        try:
            return encode(self.checked, rules, self.background)
        except NotEncodableError:
            return None


class Evaluator(Protocol):
    """Is told about time and elements, and gives answer streams at the current tick."""

    def begin(self, t: int, whole: View) -> None:
        """Time moves on to t, on this timeline."""

    def add(self, arrival: Arrival) -> None:
        """The stream has one more element."""

    def answer(self, previous: frozenset[Atom], deadline: float | None) -> Derived | None:
        """The answer stream to follow after this output; None without one."""

    def solvable(self, deadline: float | None) -> Solvable:
        """All answer streams."""


class Grounding(Protocol):
    """Gives the ground program at the current tick to the solver."""

    def begin(self, t: int, whole: View) -> None: ...

    def add(self, arrival: Arrival) -> None: ...

    def evaluate(self, deadline: float | None) -> Solvable: ...


class SolverEvaluator:
    """Asks the solver at every tick."""

    def __init__(self, task: Task, grounding: Grounding) -> None:
        self._task = task
        self._grounding = grounding
        self._t = 0

    def begin(self, t: int, whole: View) -> None:
        self._t = t
        self._grounding.begin(t, whole)

    def add(self, arrival: Arrival) -> None:
        self._grounding.add(arrival)

    def answer(self, previous: frozenset[Atom], deadline: float | None) -> Derived | None:
        solvable = self._grounding.evaluate(deadline)
        if not self._task.checked.several_models:
            return solvable.first()
        self._task.tell(SEVERAL)
        shown = self._task.checked.shown
        output = [e for e in solvable.literals if e.t == self._t and e.atom.signature in shown]
        return solvable.closest(output, previous)

    def solvable(self, deadline: float | None) -> Solvable:
        return self._grounding.evaluate(deadline)


def incremental(task: Task) -> SolverEvaluator:
    """Grounding and solver kept alive; what is not plain is evaluated from scratch."""
    core = task.core()
    if core is None:
        return one_shot(task)
    grounding = IncrementalGrounding(
        task.checked, core, task.background, task.elements, task.wanted
    )
    return SolverEvaluator(task, grounding)


def one_shot(task: Task) -> SolverEvaluator:
    """One solve per evaluation: the static encoding where there is one."""
    core = task.core()
    if core is None:
        grounding: Grounding = FormulaGrounding(task.checked, task.background, task.elements)
    else:
        remembered = task.checked.program.remembered
        grounding = StaticGrounding(core, task.background, task.elements, task.wanted, remembered)
    return SolverEvaluator(task, grounding)
