"""The input of an explanation: program, data, and the answer stream to explain."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from larspark.analysis.check import check
from larspark.analysis.checked import Checked, Lookback
from larspark.analysis.signatures import head_predicates
from larspark.base.atoms import Atom, Element, Signature
from larspark.language.tree import Program
from larspark.meaning.answer_streams import AnswerStream
from larspark.meaning.output_stream import Oracle
from larspark.meaning.streams import Stream, Universe, numbers_of
from larspark.run.protocol import Settings

Derived: TypeAlias = Mapping[int, Iterable[Atom]]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """A program with the data that is known at a time point, in time and arrival order."""

    checked: Checked
    elements: tuple[Element, ...]
    background: frozenset[Atom]
    # The first time point of the timeline, and with hindsight its last one.
    start: int
    last: int
    settings: Settings

    def timeline_end(self, t: int) -> int | None:
        """The last time point of the timeline of an evaluation at t; None when it is open."""
        if self.settings.until is not None:
            return self.settings.until
        if self.checked.future_heads:
            return None
        return max(t, self.last) if self.settings.hindsight else t

    def oracle(self) -> Oracle:
        """An evaluator of the definitions for this data."""
        until, hindsight = self.settings.until, self.settings.hindsight
        return Oracle(self.checked, self.background, self.start, until, hindsight, self.last)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One evaluation: the answer stream, and the origin of its elements, as bit sets."""

    checked: Checked
    at: int
    stream: Stream
    background: Mapping[Signature, frozenset[Atom]]
    given: int
    remembered: int

    @property
    def derived(self) -> int:
        return self.stream.bits & ~self.given & ~self.remembered

    def element(self, number: int) -> Element:
        return self.stream.universe.elements[number]

    def elements(self, bits: int) -> tuple[Element, ...]:
        """The elements of these bits, by time, then in the order of their arrival."""
        found = [self.element(number) for number in numbers_of(bits)]
        return tuple(sorted(found, key=lambda element: element.t))

    def number(self, element: Element) -> int | None:
        """The number of an element that the answer stream holds."""
        number = self.stream.universe.numbers.get(element)
        held = number is not None and self.stream.bits >> number & 1
        return number if held else None


def gather(
    checked: Checked,
    at: int,
    elements: Iterable[tuple[int, Atom]],
    background: Iterable[Atom],
    settings: Settings,
) -> Knowledge:
    """The data up to a time point; elements of the program come first."""
    data = [Element(*element) for element in (*checked.elements, *elements)]
    start = settings.start
    if start is None:
        start = min((element.t for element in data), default=at)
    seen = {
        element: None
        for element in data
        if start <= element.t and (settings.hindsight or element.t <= at)
    }
    ordered = tuple(sorted(seen, key=lambda element: element.t))
    last = max([start, at, *(element.t for element in ordered[-1:])])
    always = frozenset(background) | checked.background
    return Knowledge(checked, ordered, always, start, last, settings)


def narrow(known: Knowledge, goal: Element, at: int) -> Knowledge:
    """The part of the knowledge that can matter to a derived atom.

    With several answer streams everything can. Otherwise only the rules below the atom's predicate
    do; if these have a key, only the elements with the atom's; and for an atom of the output only
    what their windows can see.
    """
    if known.checked.several_models:
        return known
    below = _rules_below(known.checked, goal.atom.signature)
    elements = _with_key(below, goal.atom, known.elements)
    if goal.t == at:
        elements = _within_lookback(below, elements, at)
    return replace(known, checked=below, elements=elements)


def _within_lookback(
    checked: Checked, elements: tuple[Element, ...], at: int
) -> tuple[Element, ...]:
    time, tuples = checked.lookback.time, checked.lookback.tuples
    if time is None or tuples is None:
        return elements
    first = bisect_left(elements, at - time, key=lambda element: element.t)
    return elements[max(0, first - tuples) :]


def _with_key(checked: Checked, goal: Atom, elements: tuple[Element, ...]) -> tuple[Element, ...]:
    key = checked.partition_key or {}
    position = key.get(goal.signature)
    if position is None:
        return elements
    wanted = goal.args[position]
    return tuple(
        element
        for element in elements
        if (place := key.get(element.atom.signature)) is not None
        and element.atom.args[place] == wanted
    )


def reach_of(checked: Checked, goal: Signature) -> Lookback:
    """How far back the atoms of a derived predicate can see the stream."""
    return _rules_below(checked, goal).lookback


def _rules_below(checked: Checked, goal: Signature) -> Checked:
    """The program without the rules that a predicate does not depend on, analysed anew."""
    bodies: dict[Signature, set[Signature]] = {}
    for edge in checked.edges:
        bodies.setdefault(edge.head, set()).add(edge.body)
    reached = {goal}
    pending = [goal]
    while pending:
        new = bodies.get(pending.pop(), set()) - reached
        reached |= new
        pending.extend(new)
    rules = tuple(rule for rule in checked.rules if reached & head_predicates(rule.head))
    program = Program(
        rules,
        inputs=checked.inputs,
        shows=frozenset({goal}),
        remembered=checked.program.remembered & reached,
    )
    below = check(program, checked.background_signatures)
    # What the other rules do to the timeline they do still.
    return replace(below, future_reach=checked.future_reach)


def ready_oracle(known: Knowledge, at: int, goal: int | None = None) -> Oracle:
    """The definitions, ready to evaluate at `at`: what was derived before is remembered.

    It is remembered as far back as the output can see, and as the goal's time point can.
    """
    oracle = known.oracle()
    if known.checked.program.remembered:
        lookback = known.checked.lookback.time
        earliest = at if goal is None else min(at, goal)
        first = known.start if lookback is None else max(known.start, earliest - lookback)
        for t in range(first, at):
            oracle.step(known.elements, t)
    return oracle


def answers_at(
    known: Knowledge, at: int, goal: int | None = None
) -> tuple[list[AnswerStream], list[Element]]:
    """All answer streams at a time point, and what earlier evaluations left to be remembered."""
    oracle = ready_oracle(known, at, goal)
    return oracle.answers(known.elements, at), oracle.remembered


def lay_over(
    known: Knowledge, at: int, derived: Derived, remembered: Iterable[Element] = ()
) -> Evaluation:
    """The evaluation of an answer stream over the data."""
    end = known.timeline_end(at)
    universe = Universe(known.elements)
    given = (1 << len(universe.elements)) - 1
    kept = 0
    for element in remembered:
        kept |= 1 << universe.add(*element)
    for t, atoms in sorted(derived.items()):
        for atom in sorted(atoms, key=str):
            universe.add(t, atom)
    stream = universe.whole(known.start, end)
    background: dict[Signature, set[Atom]] = {}
    for atom in known.background:
        background.setdefault(atom.signature, set()).add(atom)
    return Evaluation(
        known.checked,
        at,
        stream,
        {signature: frozenset(atoms) for signature, atoms in background.items()},
        given & stream.bits,
        kept & stream.bits,
    )


def find_evaluation(
    known: Knowledge,
    goal: Element,
    at: int,
    model: Derived | None = None,
    shown: frozenset[Signature] = frozenset(),
) -> Evaluation | None:
    """The answer stream to explain: the given one, or one of the definitions'.

    A model holds the predicates that are `shown`; when it leaves others out that matter, it is
    completed. Without a model an answer stream with the goal is preferred; None when there is none.
    """
    checked = known.checked
    if model is not None and checked.derived <= shown and not checked.program.remembered:
        return lay_over(known, at, model)
    answers, remembered = answers_at(known, at, goal.t)
    if model is not None and checked.several_models:
        wanted = {atom for atom in model.get(at, ()) if atom.signature in shown}
        oracle = known.oracle()
        answers = [a for a in answers if oracle.output(a, at) == wanted] or answers
    if not answers:
        return None
    best = next((answer for answer in answers if goal.atom in answer.at(goal.t)), answers[0])
    return lay_over(known, at, best.derived, remembered)
