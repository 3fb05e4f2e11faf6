"""The incremental mode: grounding, labels and solver are kept alive from tick to tick."""

from typing import cast

from larspark.base.atoms import Atom, Element, atom_text
from larspark.run.asp.core import Core, element_of
from larspark.run.asp.dependencies import comparable, recursive, undetermined
from larspark.run.asp.elements import Arrival
from larspark.run.asp.feeds import Feeds, Row
from larspark.run.asp.grounder import Grounder
from larspark.run.asp.hybrid import HybridRules
from larspark.run.asp.live import LiveProgram, LiveSolvable
from larspark.run.asp.solving import Solvable
from larspark.run.asp.task import Task
from larspark.run.asp.views import View
from larspark.run.tms.labelled import Labelled
from larspark.run.tms.network import Network


class IncrementalGrounding:
    """Grounds what a tick changes; labels settle what has one answer, a solver gets the choices.

    Where one output can be part of another, both equally close to the output before, staying close
    needs a new solver at every tick; everything else is kept all the same.
    """

    def __init__(self, task: Task, core: Core) -> None:
        self._wanted = task.wanted
        self._remembered = bool(task.remembered)
        self._elements = task.elements
        self._core = core
        self._feeds = Feeds(core, task.background, task.elements)
        self._recursive = recursive(core)
        self._choices = undetermined(core)
        self._chosen = {
            relation: (p, pinned)
            for p, (relation, pinned) in sorted(core.predicates.items())
            if relation in self._choices
        }
        self._relations: dict[tuple[str, int], int] = {
            signature: relation for relation, (signature, _) in self._chosen.items()
        }
        self._several = task.has_choices
        self._comparable = comparable(core, task.checked.shown)
        self._t = 0
        self._start()

    def begin(self, t: int, whole: View) -> None:
        """Time moves on to t."""
        self._t = t
        self._feeds.begin(t, whole)

    def add(self, arrival: Arrival) -> None:
        """The stream has one more element."""
        self._feeds.add(arrival)

    def evaluate(self, deadline: float | None, *, everything: bool) -> Solvable:
        """The answer streams at the current tick."""
        self._feeds.refresh()
        if self._grounder.wasteful:
            self._start()
        self._grounder.tick(deadline)
        changed = self._rules.flush()
        self._labelled.update(changed, self._network.holds, self._grounder.atom)
        settled = [
            element
            for element in self._labelled.elements(self._t)
            if (everything or element.t == self._t) and self._is_new(element)
        ]
        if self._several and self._comparable:
            control, known = self._live.snapshot()
            literals = self._literals(known)
            return Solvable(control, literals, lambda _: settled, deadline=deadline)
        return LiveSolvable(
            self._live.control,
            self._literals(self._live.literals()),
            lambda _: settled,
            deadline=deadline,
            keep=self._keep if self._several else None,
        )

    def size(self) -> int:
        return len(self._grounder)

    def _start(self) -> None:
        self._network = Network(self._is_recursive)
        self._live = LiveProgram(self._is_recursive, self._text)
        self._rules = HybridRules(self._network, self._live, self._is_settled)
        self._labelled = Labelled(self._core, self._wanted)
        self._grounder = Grounder(self._core, self._feeds, self._rules)

    def _literals(self, known: dict[int, int]) -> dict[Element, int]:
        """The literals of the elements that answer streams can choose."""
        found: dict[Element, int] = {}
        for relation, (signature, pinned) in self._chosen.items():
            if signature not in self._wanted:
                continue
            for row, number in self._grounder.rows(relation):
                element = element_of(signature, row, pinned, self._t)
                if number in known and self._is_new(element):
                    found[element] = known[number]
        return found

    def _is_new(self, element: Element) -> bool:
        """Is the element not in the stream already?"""
        return not self._remembered or self._elements.holds(*element) is None

    def _is_settled(self, number: int) -> bool:
        return self._grounder.atom(number)[0] not in self._choices

    def _is_recursive(self, number: int) -> bool:
        return self._grounder.atom(number)[0] in self._recursive

    def _text(self, number: int) -> str | None:
        """The text of atoms whose output can be kept, where the solver keeps it by itself."""
        if not self._several or self._comparable:
            return None
        relation, row = self._grounder.atom(number)
        known = self._chosen.get(relation)
        return None if known is None else atom_text(Atom(known[0].predicate, row))

    def _keep(self, previous: frozenset[Atom]) -> list[int]:
        found: list[int] = []
        for atom in previous:
            # A signature is a tuple; making one for every atom would cost more than all the rest.
            relation = self._relations.get((atom.predicate, len(atom.args)))
            if relation is not None:
                number = self._grounder.number(relation, cast("Row", atom.args))
                if number is not None:
                    found.append(number)
        return self._live.keep(frozenset(found))
