"""The output stream by the definitions: at every time point the answer streams, from scratch."""

from collections.abc import Iterable, Iterator
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


def output_stream(
    checked: Checked,
    elements: Iterable[tuple[int, Atom]],
    background: Iterable[Atom] = (),
    start: int | None = None,
    to: int | None = None,
    at: int | None = None,
    hindsight: bool = False,
    until: int | None = None,
) -> Iterator[tuple[int, frozenset[Atom] | None]]:
    """The output at every time point from `start` to `to`, or only at `at`.

    At t only the elements up to t are known, unless `hindsight` lets all of them be. The output is
    None at a time point without an answer stream. The program's own elements come first.
    """
    data = [*checked.elements, *elements]
    oracle = _oracle(checked, data, background, start, to, at, hindsight, until)
    if oracle is None:
        return
    last = _last(data, to, at)
    if until is not None and at is None:
        last = min(last, until)
    for t in range(_first_step(oracle, at), last + 1):
        output = oracle.step(data, t)
        if at is None or t == at:
            yield t, output


def models(
    checked: Checked,
    elements: Iterable[tuple[int, Atom]],
    background: Iterable[Atom] = (),
    start: int | None = None,
    at: int | None = None,
    limit: int | None = None,
    hindsight: bool = False,
    until: int | None = None,
) -> list[dict[int, frozenset[Atom]]]:
    """The answer streams at `at` (or at the last element), shown atoms only, sorted by text."""
    data = [*checked.elements, *elements]
    oracle = _oracle(checked, data, background, start, None, at, hindsight, until)
    if oracle is None:
        return []
    t = _last(data, None, at)
    if checked.program.remembered:
        for point in range(oracle.start, t):
            oracle.step(data, point)
    return [oracle.model(answer) for answer in oracle.answers(data, t)[:limit]]


def _oracle(
    checked: Checked,
    data: list[tuple[int, Atom]],
    background: Iterable[Atom],
    start: int | None,
    to: int | None,
    at: int | None,
    hindsight: bool,
    until: int | None,
) -> Oracle | None:
    """An oracle at the start of the timeline; None when there is no time point."""
    marks = [t for t, _ in data]
    first = start if start is not None else min(marks, default=at if at is not None else to)
    if first is None:
        return None
    end = max([*marks, *(t for t in (to, at) if t is not None)], default=first)
    return Oracle(checked, frozenset(background), first, until, hindsight, end)


def _last(data: list[tuple[int, Atom]], to: int | None, at: int | None) -> int:
    if at is not None:
        return at
    return to if to is not None else max((t for t, _ in data), default=0)


def _first_step(oracle: Oracle, at: int | None) -> int:
    """Earlier time points matter to remembered atoms and to the choice among several answers."""
    depends = oracle.checked.program.remembered or oracle.checked.several_models
    return oracle.start if at is None or depends else at


def _texts(atoms: Iterable[Atom]) -> list[str]:
    return sorted(map(atom_text, atoms))
