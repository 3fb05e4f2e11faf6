"""The output stream by the definitions: at every time point the answer streams, from scratch."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element, atom_text
from larspark.base.problems import LarsparkError, Problem
from larspark.meaning.answer_streams import AnswerStream, answer_streams

# More answer streams at one time point than this are not listed.
MODEL_LIMIT = 10_000


@dataclass(slots=True)
class Oracle:
    """Evaluates a program at one time point after the other, and follows one answer stream.

    With several answer streams it takes the one whose output changes least from the output before
    (the first time: from no output), and of equally close ones the first by text. With hindsight
    the timeline reaches to `end`.
    """

    checked: Checked
    background: frozenset[Atom]
    start: int
    until: int | None = None
    hindsight: bool = False
    end: int | None = None
    remembered: list[Element] = field(default_factory=list)
    previous: frozenset[Atom] = frozenset()

    def answers(self, elements: Iterable[tuple[int, Atom]], t: int) -> list[AnswerStream]:
        """The answer streams at t, of which only elements up to t count without hindsight."""
        known = [element for element in elements if self.hindsight or element[0] <= t]
        found = list(
            islice(
                answer_streams(
                    self.checked,
                    known,
                    self.background,
                    (self.start, self.timeline_end(t)),
                    t,
                    remembered=self.remembered,
                ),
                MODEL_LIMIT + 1,
            )
        )
        if len(found) > MODEL_LIMIT:
            message = f"there are more than {MODEL_LIMIT} answer streams at {t}"
            raise LarsparkError(Problem("L256", message, hint="use another engine"))
        return sorted(found, key=self._text)

    def closest(self, answers: Iterable[AnswerStream], t: int) -> AnswerStream | None:
        """The answer stream to follow."""

        def distance(answer: AnswerStream) -> tuple[int, list[str]]:
            output = self.output(answer, t)
            return len(output ^ self.previous), _texts(output)

        return min(answers, key=distance, default=None)

    def output(self, answer: AnswerStream, t: int) -> frozenset[Atom]:
        """The shown atoms that are derived and hold at t."""
        return self._shown(answer.at(t))

    def model(self, answer: AnswerStream) -> dict[int, frozenset[Atom]]:
        """The shown derived atoms by time point."""
        shown = {t: self._shown(atoms) for t, atoms in answer.derived.items()}
        return {t: atoms for t, atoms in shown.items() if atoms}

    def follow(self, answer: AnswerStream | None, t: int) -> frozenset[Atom] | None:
        """Make this the answer at t: what comes later keeps close to it and remembers it."""
        if answer is None:
            return None
        remembered = self.checked.program.remembered
        self.remembered += [
            Element(t, atom)
            for atom in sorted(answer.at(t), key=atom_text)
            if atom.signature in remembered
        ]
        self.previous = self.output(answer, t)
        return self.previous

    def step(self, elements: Iterable[tuple[int, Atom]], t: int) -> frozenset[Atom] | None:
        """The output at t; None without an answer stream."""
        return self.follow(self.closest(self.answers(elements, t), t), t)

    def timeline_end(self, t: int) -> int | None:
        """The last time point of the timeline for the evaluation at t; None if it is open."""
        if self.until is not None:
            return self.until
        if self.checked.future_heads:
            return None
        return max(t, self.end) if self.hindsight and self.end is not None else t

    def _shown(self, atoms: Iterable[Atom]) -> frozenset[Atom]:
        return frozenset(atom for atom in atoms if atom.signature in self.checked.shown)

    def _text(self, answer: AnswerStream) -> list[tuple[int, list[str]]]:
        return [(t, _texts(atoms)) for t, atoms in self.model(answer).items()]


def _texts(atoms: Iterable[Atom]) -> list[str]:
    return sorted(map(atom_text, atoms))
