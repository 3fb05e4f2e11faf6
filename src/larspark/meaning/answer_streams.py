"""Answer streams (Definitions 11 and 12): exact, all of them, for any program."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from larspark.analysis.checked import Checked
from larspark.analysis.dependencies import layers
from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem
from larspark.language.tree import Rule
from larspark.logic.circuit import FALSE, TRUE, Circuit
from larspark.meaning.entailment import Structure
from larspark.meaning.ground_program import GroundProgram, Instance, ground_program
from larspark.meaning.labelling import Labelling
from larspark.meaning.minimal_models import Clause, Search, clause
from larspark.meaning.open_timeline import NO_HORIZON, Horizon, find_horizon
from larspark.meaning.streams import Stream, numbers_of


@dataclass(frozen=True, slots=True)
class AnswerStream:
    """What an answer stream adds to the data: its derived atoms by time point."""

    derived: dict[int, frozenset[Atom]]

    def at(self, t: int) -> frozenset[Atom]:
        """The derived atoms that hold at t."""
        return self.derived.get(t, frozenset())


def answer_streams(
    checked: Checked,
    elements: Iterable[tuple[int, Atom]],
    background: Iterable[Atom],
    timeline: tuple[int, int | None],
    t: int,
    *,
    remembered: Iterable[tuple[int, Atom]] = (),
    limit: int | None = None,
) -> Iterator[AnswerStream]:
    """The answer streams of the program for the data at t, found one after the other.

    `elements` are all the data in arrival order; `remembered` is data that tuple windows do not
    see. The timeline is [start, end], open to the right when its end is None.
    """
    start, end = timeline
    if t < start or (end is not None and t > end):
        message = f"the time point {t} lies outside the timeline, which is [{start}, {end}]"
        raise LarsparkError(Problem("L251", message))
    if checked.endless and end is None:
        message = "the program can place atoms ever further into the future"
        raise LarsparkError(Problem("L252", message, hint="say where time ends with `until`"))
    known = frozenset(background) | checked.background
    evaluation = _Evaluation(checked, list(elements), known, timeline, t)
    return islice(_solve_layers(evaluation, layers(checked), list(remembered)), limit)


class _Evaluation(NamedTuple):
    checked: Checked
    elements: list[tuple[int, Atom]]
    background: frozenset[Atom]
    timeline: tuple[int, int | None]
    t: int


def _solve_layers(
    evaluation: _Evaluation, rules: Sequence[tuple[Rule, ...]], given: list[tuple[int, Atom]]
) -> Iterator[AnswerStream]:
    """The answer streams of some layers; `given` is what lower ones derive, and is remembered."""
    checked, elements, background, timeline, t = evaluation
    lowest, *rest = rules
    part = replace(checked, rules=lowest)
    program = ground_program(part, elements, given, background, timeline, t)
    for answer in _solve(program, background, t):
        if not rest:
            yield answer
            continue
        more = [(point, atom) for point, atoms in answer.derived.items() for atom in atoms]
        for upper in _solve_layers(evaluation, rest, [*given, *more]):
            points = sorted(answer.derived.keys() | upper.derived.keys())
            yield AnswerStream({point: answer.at(point) | upper.at(point) for point in points})


def _solve(program: GroundProgram, background: frozenset[Atom], t: int) -> Iterator[AnswerStream]:
    circuit = Circuit[int]()
    for number in numbers_of(program.undecided):
        circuit.variable(number)
    horizon = common_horizon(program.stream, program.instances, t)
    structure = Structure(program.stream, background, horizon)
    labelling = Labelling(structure, program.undecided, circuit)
    clauses: dict[Clause, None] = {}
    for head, body in program.instances:
        condition = labelling.label(body, t)
        if condition == FALSE:
            continue
        rule = clause(circuit, condition, labelling.label(head, t))
        if rule.holds != TRUE:
            clauses[rule] = None
    elements = program.stream.universe.elements
    for names in Search(circuit, list(clauses)).answers():
        derived: dict[int, set[Atom]] = {}
        for name in sorted(names):
            derived.setdefault(elements[name].t, set()).add(elements[name].atom)
        yield AnswerStream({point: frozenset(derived[point]) for point in sorted(derived)})


def common_horizon(stream: Stream, instances: Iterable[Instance], t: int) -> Horizon:
    """A horizon that is far enough for every rule instance."""
    if stream.end is not None:
        return NO_HORIZON
    found = [find_horizon(stream, t, formula) for instance in instances for formula in instance]
    latest = max((horizon.latest for horizon in found), default=t)
    return Horizon(latest, max((horizon.reach for horizon in found), default=0))
