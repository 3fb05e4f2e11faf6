"""The incremental mode: grounding and solver are kept alive from tick to tick."""

from typing import cast

from larspark.base.atoms import Atom, Element, atom_text
from larspark.run.asp.core import Core, element_of
from larspark.run.asp.dependencies import comparable, recursive, undetermined
from larspark.run.asp.elements import Arrival
from larspark.run.asp.feeds import Feeds, Row
from larspark.run.asp.grounder import Grounder
from larspark.run.asp.live import LiveProgram, LiveSolvable
from larspark.run.asp.solving import Solvable
from larspark.run.asp.task import Task
from larspark.run.asp.views import View


class IncrementalGrounding:
    """Grounds what a tick changes, and hands it to a solver that stays.

    Where one output can be part of another, both equally close to the output before, staying close
    needs a new solver at every tick; the grounding is kept all the same.
    """

    def __init__(self, task: Task, core: Core) -> None:
        self._core = core
        self._elements = task.elements
        self._feeds = Feeds(core, task.background, task.elements)
        self._wanted = [(p, *core.predicates[p]) for p in sorted(task.wanted)]
        self._remembered = bool(task.remembered)
        self._recursive = recursive(core)
        self._several = task.checked.several_models
        # Only the rows of these relations can be closer to the output before, or less close.
        choices = undetermined(core)
        self._output = {n: p for p, (n, _) in core.predicates.items() if n in choices}
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

    def evaluate(self, deadline: float | None) -> Solvable:
        """The answer streams at the current tick."""
        self._feeds.refresh()
        if self._grounder.wasteful:
            self._start()
        self._grounder.tick()
        if self._several and self._comparable:
            control, known = self._program.snapshot()
            return Solvable(control, self._literals(known), deadline=deadline)
        self._program.flush()
        return LiveSolvable(
            self._program.control,
            self._literals(self._program.literals()),
            deadline=deadline,
            keep=self._keep if self._several else None,
        )

    def _start(self) -> None:
        self._program = LiveProgram(self._is_recursive, self._text)
        self._grounder = Grounder(self._core, self._feeds, self._program)

    def _literals(self, known: dict[int, int]) -> dict[Element, int]:
        found: dict[Element, int] = {}
        for signature, relation, pinned in self._wanted:
            for row, number in self._grounder.rows(relation):
                literal = known.get(number)
                if literal is not None:
                    found[element_of(signature, row, pinned, self._t)] = literal
        if self._remembered:
            # What the stream remembers is not derived.
            found = {e: n for e, n in found.items() if self._elements.holds(*e) is None}
        return found

    def _is_recursive(self, number: int) -> bool:
        return self._grounder.atom(number)[0] in self._recursive

    def _text(self, number: int) -> str | None:
        if not self._several or self._comparable:
            return None
        relation, row = self._grounder.atom(number)
        signature = self._output.get(relation)
        return None if signature is None else atom_text(Atom(signature.predicate, row))

    def _keep(self, previous: frozenset[Atom]) -> list[int]:
        found = (
            self._grounder.number(self._core.predicates[a.signature][0], cast("Row", a.args))
            for a in previous
            if self._core.predicates[a.signature][0] in self._output
        )
        return self._program.keep(frozenset(number for number in found if number is not None))
