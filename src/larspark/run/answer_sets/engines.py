"""The engines `asp` and `tms`: answer streams by a solver, and by truth maintenance."""

from collections.abc import Iterable
from typing import cast

from larspark.base.atoms import Atom
from larspark.run.answer_sets.encoding import Core, CoreRule, recursive
from larspark.run.answer_sets.evaluators import Derived, Evaluator, incremental, one_shot
from larspark.run.answer_sets.given_relations import GivenRelations, Row
from larspark.run.answer_sets.grounder import Grounder
from larspark.run.answer_sets.justifications import Labelled, Network
from larspark.run.answer_sets.label_search import GiveUpError
from larspark.run.answer_sets.solver import Solvable
from larspark.run.answer_sets.stepping import SteppingEngine
from larspark.run.answer_sets.stream_views import Arrival, View
from larspark.run.answer_sets.task import Task

SEVERAL = (
    "the program can have several answer streams: "
    "this run follows one of them, and changes what it must"
)
LEFT_TO_SOLVER = "truth maintenance found no answer stream at {t}: the solver runs from there on"


class AspEngine(SteppingEngine):
    """Answer streams of any program, through an answer set solver.

    Every evaluation grounds and solves anew, or grounding and solver are kept and changed, as the
    settings say.
    """

    def _new_evaluator(self, task: Task) -> Evaluator:
        return incremental(task) if self._settings.incremental else one_shot(task)


class TmsEngine(SteppingEngine):
    """Keeps one answer stream of a plain program; other programs are left to the solver."""

    def _new_evaluator(self, task: Task) -> Evaluator:
        core = task.core()
        reason = _obstacle(core)
        if core is None or reason is not None:
            self._add_note(f"the program is left to the solver: {reason}")
            return one_shot(task)
        return TmsEvaluator(task, core)


def _obstacle(core: Core | None) -> str | None:
    """Why truth maintenance cannot run a program; None if it can."""
    if core is None:
        return "its formulas are not plain"
    for rule in core.rules:
        if isinstance(rule, CoreRule) and len(rule.heads) != 1:
            return "it has a disjunction in a head" if rule.heads else "it has a constraint"
    return None


class TmsEvaluator:
    """The incremental program of a core program, and labels for it.

    The solver answers what labels cannot: all answer streams, and everything from the
    tick on at which odd loops leave no labels.
    """

    def __init__(self, task: Task, core: Core) -> None:
        self._task = task
        self._core = core
        self._given_relations = GivenRelations(core, task.background, task.elements)
        self._recursive = recursive(core)
        self._several = task.has_choices
        self._now: tuple[int, View] = (0, View(0, -1))
        self._is_new = True
        self._start()
        self._solver: Evaluator | None = None

    def begin(self, t: int, whole: View) -> None:
        self._now = (t, whole)
        (self._solver or self._given_relations).begin(t, whole)

    def add(self, arrival: Arrival) -> None:
        (self._solver or self._given_relations).add(arrival)

    def answer(self, previous: frozenset[Atom], deadline: float | None) -> Derived | None:
        if self._solver is None:
            if self._several:
                self._task.note(SEVERAL)
            try:
                return self._maintained(previous, deadline)
            except GiveUpError:
                self._task.note(LEFT_TO_SOLVER.format(t=self._now[0]))
                self._solver = self._new_solver()
        return self._solver.answer(previous, deadline)

    def solvable(self, deadline: float | None) -> Solvable:
        return (self._solver or self._new_solver()).solvable(deadline)

    def size(self) -> int:
        return self._solver.size() if self._solver else len(self._grounder)

    def _new_solver(self) -> Evaluator:
        solver = one_shot(self._task)
        for arrival in self._task.elements:
            solver.add(arrival)
        solver.begin(*self._now)
        return solver

    def _maintained(self, previous: Iterable[Atom], deadline: float | None) -> Derived:
        """An answer stream close to the one before; the output before guides the first choices."""
        self._given_relations.refresh()
        preferred: list[tuple[int, Row]] = []
        if self._is_new:
            preferred = [
                (self._core.predicates[atom.signature][0], cast("Row", atom.args))
                for atom in previous
            ]
            self._is_new = False
        elif self._grounder.wasteful:
            preferred = [(r, row) for n, r, row in self._grounder.atoms() if self._network.holds(n)]
            self._start()
        self._grounder.tick(deadline)
        for relation, row in preferred:
            number = self._grounder.number(relation, row)
            if number is not None:
                self._network.prefer(number)
        self._network.relabel()
        return self._answer()

    def _start(self) -> None:
        self._labelled = Labelled(self._core, self._task.observed)
        self._network = Network(self._is_recursive)
        self._grounder = Grounder(self._core, self._given_relations, self._network)

    def _is_recursive(self, number: int) -> bool:
        return self._grounder.atom(number)[0] in self._recursive

    def _answer(self) -> Derived:
        network, grounder = self._network, self._grounder
        self._labelled.update(network.changes(), network.holds, grounder.atom)
        answer = frozenset(self._labelled.elements(self._now[0]))
        if self._task.remembered:
            # What the stream remembers is not derived.
            return frozenset(e for e in answer if self._task.elements.holds(*e) is None)
        return answer
