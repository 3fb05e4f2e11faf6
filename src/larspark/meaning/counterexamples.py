"""Equivalence of two programs, searched for a counterexample over all small streams.

Two programs are data equivalent if they have the same answer streams for every stream of input
atoms, uniformly equivalent if that stays so with any further facts, and strongly equivalent if it
stays so with any further rules. The latter holds exactly if they have the same pairs (H, I), H ⊆ I,
such that I is a model of the program and H one of its reduct by I (the SE-models of answer set
programming, which Beck et al. carried over to LARS).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element, Signature
from larspark.language.nodes import walk
from larspark.language.tree import Windowed
from larspark.meaning.answer_streams import answer_streams
from larspark.meaning.streams import numbers_of
from larspark.meaning.verification import candidate, conditions

Kind: TypeAlias = Literal["data", "uniform", "strong"]
Elements: TypeAlias = tuple[Element, ...]
# An answer stream: all its elements beyond the data, in one order.
Derived: TypeAlias = frozenset[Element]


class Pair(NamedTuple):
    """Two programs, with the background data of both.

    Without hindsight, they see the stream and the timeline up to the evaluation time alone.
    """

    first: Checked
    second: Checked
    background: frozenset[Atom]
    hindsight: bool = True

    def timeline_at(self, t: int, timeline: tuple[int, int]) -> tuple[int, int]:
        """The timeline that the programs see at a time point."""
        return timeline if self.hindsight else (timeline[0], t)


class Difference(NamedTuple):
    """A stream, and what is added to both programs, under which they differ at a time point."""

    at: int
    stream: Elements
    # The facts that are added to both programs.
    facts: Elements = ()
    # Of these each is derived from each other one, by rules that are added to both.
    linked: Elements = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a search has found, and how far it looked."""

    difference: Difference | None
    # The atoms of the streams and facts.
    atoms: tuple[Atom, ...]
    # How many streams were looked at, and the largest number of elements they had.
    streams: int
    largest: int
    complete: bool


def compare(
    pair: Pair, kind: Kind, atoms: Iterable[Atom], timeline: tuple[int, int], limit: int
) -> Comparison:
    """Search the streams of these atoms on the timeline, small ones first, at most `limit`."""
    points = range(timeline[0], timeline[1] + 1)
    chosen = tuple(a for a in dict.fromkeys(atoms) if _may_be_given(a, pair, kind))
    elements = [Element(t, atom) for t in points for atom in chosen]
    data = _data_predicates(pair, kind, {atom.signature for atom in chosen})
    looked = 0
    for size in range(len(elements) + 1):
        for found in combinations(elements, size):
            if looked == limit:
                return Comparison(None, chosen, looked, size, complete=False)
            looked += 1
            stream = tuple(e for e in found if e.atom.signature in data)
            facts = tuple(e for e in found if e.atom.signature not in data)
            for t in points:
                seen = pair.timeline_at(t, timeline)
                if any(element.t > seen[1] for element in found):
                    # What can be seen of it has been looked at.
                    continue
                difference = _difference(pair, kind, stream, facts, seen, t)
                if difference is not None:
                    return Comparison(difference, chosen, looked, size, complete=False)
    return Comparison(None, chosen, looked, len(elements), complete=True)


def derived_atoms(
    checked: Checked,
    background: Iterable[Atom],
    stream: Iterable[Element],
    facts: Iterable[Element],
    timeline: tuple[int, int],
    t: int,
) -> set[Derived]:
    """The answer streams at t, as their shown derived elements; `facts` do not count."""
    return {
        frozenset(
            Element(point, atom)
            for point, atoms in answer.derived.items()
            for atom in atoms
            if atom.signature in checked.shown
        )
        for answer in answer_streams(
            checked, [*checked.elements, *stream], background, timeline, t, remembered=facts
        )
    }


def _may_be_given(atom: Atom, pair: Pair, kind: Kind) -> bool:
    derived = pair.first.derived | pair.second.derived
    background = pair.first.background_signatures | pair.second.background_signatures
    return atom.signature not in background and (kind != "data" or atom.signature not in derived)


def _data_predicates(pair: Pair, kind: Kind, given: set[Signature]) -> set[Signature]:
    """The predicates of the stream; atoms of all others are facts, or derived by further rules.

    Windows that select elements of the stream do not see what is derived. So where there are such
    windows, what neither program derives belongs to the stream; otherwise it makes no difference,
    and rules may derive it unless `#input` says that it is input.
    """
    programs = (pair.first, pair.second)
    inputs = {one for program in programs for one in program.program.inputs or ()}
    if kind == "strong" and not any(map(_selects_input, programs)):
        return given & inputs
    return given - pair.first.derived - pair.second.derived


def _selects_input(checked: Checked) -> bool:
    parts = (part for rule in checked.rules for f in (rule.head, *rule.body) for part in walk(f))
    return any(isinstance(part, Windowed) and part.window.depends_on_others for part in parts)


def _difference(
    pair: Pair, kind: Kind, stream: Elements, facts: Elements, timeline: tuple[int, int], t: int
) -> Difference | None:
    if kind == "strong":
        return _strong_difference(pair, stream, facts, timeline, t)
    first, second = (
        derived_atoms(checked, pair.background, stream, facts, timeline, t)
        for checked in (pair.first, pair.second)
    )
    # A fact that one program derives and the other does not is in both answer streams.
    given = frozenset(facts)
    if {one - given for one in first} == {one - given for one in second}:
        return None
    return Difference(t, stream, facts)


def _strong_difference(
    pair: Pair, stream: Elements, added: Elements, timeline: tuple[int, int], t: int
) -> Difference | None:
    """Rules and facts under which `added` completes the stream to an answer of one program only."""
    first, second = (
        _reduct(checked, pair.background, stream, added, timeline, t)
        for checked in (pair.first, pair.second)
    )
    if first is None and second is None:
        return None
    if first is None or second is None:
        return Difference(t, stream, facts=added)
    for size in range(len(added)):
        for kept in combinations(added, size):
            if first(frozenset(kept)) is not second(frozenset(kept)):
                return Difference(t, stream, kept, tuple(e for e in added if e not in kept))
    return None


def _reduct(
    checked: Checked,
    background: frozenset[Atom],
    stream: Elements,
    added: Elements,
    timeline: tuple[int, int],
    t: int,
) -> Callable[[frozenset[Element]], bool] | None:
    """Whether parts of an interpretation satisfy the reduct by it; None if it is no model."""
    own = set(checked.elements) - set(stream)
    if not own <= set(added):
        return None
    over = candidate(stream, added, timeline)
    program = conditions(checked, over, background, t)
    everything = program.search.assignment_of(frozenset(numbers_of(over.added)))
    if any(everything.value(rule.holds) < 0 for rule in program.clauses):
        return None
    reduct = [rule.holds for rule in program.clauses if everything.value(rule.body) > 0]
    numbers = over.stream.universe.numbers

    def is_model(kept: frozenset[Element]) -> bool:
        assignment = program.search.assignment_of(frozenset(numbers[e] for e in kept))
        return own <= kept and all(assignment.value(holds) > 0 for holds in reduct)

    return is_model
