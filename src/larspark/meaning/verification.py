"""Model checking (Section 4 of the LARS paper): is an interpretation an answer stream?

The definition, step by step: the interpretation has to satisfy every rule, and no smaller one may
satisfy the reduct, which consists of the rule instances whose bodies hold in the interpretation.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element
from larspark.base.problems import LarsparkError, Problem
from larspark.language.tree import Rule
from larspark.logic.circuit import Circuit
from larspark.logic.matching import Binding
from larspark.meaning.answer_streams import common_horizon
from larspark.meaning.entailment import Structure
from larspark.meaning.ground_program import GrowingRule, Instance, refuse_rule
from larspark.meaning.labelling import Labelling
from larspark.meaning.minimal_models import Clause, Search, clause
from larspark.meaning.queries import stream_matcher
from larspark.meaning.streams import Stream, Universe, numbers_of


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an interpretation is an answer stream; if not, one of the two reasons."""

    # The rule that it violates, and for which values of its variables.
    violated: Rule | None = None
    binding: Binding | None = None
    # The elements beyond the data of a smaller model of the reduct.
    smaller: tuple[Element, ...] | None = None

    @property
    def holds(self) -> bool:
        """Is it an answer stream?"""
        return self.violated is None and self.smaller is None


class Candidate(NamedTuple):
    """A data stream and what an interpretation adds to it, on one timeline."""

    stream: Stream
    # The elements that the interpretation adds, as bits.
    added: int


class RuleInstance(NamedTuple):
    """A rule with values for its variables."""

    rule: Rule
    binding: Binding
    instance: Instance


def candidate(
    data: Iterable[tuple[int, Atom]],
    added: Iterable[tuple[int, Atom]],
    timeline: tuple[int, int | None],
    remembered: Iterable[tuple[int, Atom]] = (),
) -> Candidate:
    """An interpretation of the data; tuple windows see neither `added` nor `remembered`."""
    start, end = timeline
    universe = Universe(e for e in data if start <= e[0] and (end is None or e[0] <= end))
    for t, atom in remembered:
        universe.add(t, atom)
    given = len(universe.elements)
    for t, atom in added:
        if t < start or (end is not None and t > end):
            message = f"`{atom}` at {t} lies outside the timeline, which is [{start}, {end}]"
            raise LarsparkError(Problem("L251", message))
        universe.add(t, atom)
    return Candidate(universe.whole(start, end), (1 << len(universe.elements)) - (1 << given))


class Conditions(NamedTuple):
    """The rule instances over an interpretation, as conditions on the elements that it adds."""

    instances: list[RuleInstance]
    # One for each instance.
    clauses: list[Clause]
    search: Search


def conditions(
    checked: Checked, interpretation: Candidate, background: Iterable[Atom], t: int
) -> Conditions:
    """The rule instances whose bodies can hold in some part of the interpretation."""
    stream, added = interpretation
    known = frozenset(background) | checked.background
    matcher = stream_matcher(stream, known, added)
    found: list[RuleInstance] = []
    for rule in checked.rules:
        refuse_rule(rule)
        growing = GrowingRule(rule, checked.derived)
        growing.grow(matcher, stream, t)
        found += [
            RuleInstance(rule, dict(sorted(key)), instance)
            for key, instance in growing.instances.items()
            if instance is not None
        ]
    circuit = Circuit[int]()
    for number in numbers_of(added):
        circuit.variable(number)
    horizon = common_horizon(stream, (item.instance for item in found), t)
    labelling = Labelling(Structure(stream, known, horizon), added, circuit)
    clauses = [
        clause(circuit, labelling.label(body, t), labelling.label(head, t))
        for _, _, (head, body) in found
    ]
    return Conditions(found, clauses, Search(circuit, clauses))


def verify(
    checked: Checked, interpretation: Candidate, background: Iterable[Atom], t: int
) -> Verdict:
    """Decide whether the interpretation is an answer stream of the program for the data at t."""
    found, clauses, search = conditions(checked, interpretation, background, t)
    everything = search.assignment_of(frozenset(numbers_of(interpretation.added)))
    for item, rule in zip(found, clauses, strict=True):
        if everything.value(rule.holds) < 0:
            return Verdict(violated=item.rule, binding=item.binding)
    smaller = search.smaller_model(everything)
    if smaller is None:
        return Verdict()
    elements = interpretation.stream.universe.elements
    return Verdict(smaller=tuple(elements[number] for number in sorted(smaller)))
