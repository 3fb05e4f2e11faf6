"""Entailment by labelling streams (section 4.3 of the LARS paper).

Every pair of a substream and a time point is labelled at most once with a subformula. Substreams
that windows give again are recognised, so windows that give few different ones (all but those of
the user's own making) stay polynomial however deep they nest.

Some elements may be undecided. Windows other than the user's own choose among them without regard
to whether they are there, so a label is then the condition on undecided elements under which the
formula holds; without undecided elements it is `TRUE` or `FALSE`.
"""

from collections.abc import Callable, Iterable
from typing import assert_never

from larspark.base.atoms import Atom, Signature
from larspark.base.terms import Wildcard
from larspark.logic.aggregates import fulfils
from larspark.logic.circuit import FALSE, TRUE, Circuit
from larspark.logic.values import matches
from larspark.meaning.entailment import Structure
from larspark.meaning.grounding import (
    Ground,
    GroundAggregate,
    GroundAlways,
    GroundAnd,
    GroundAt,
    GroundAtom,
    GroundImplies,
    GroundNot,
    GroundOr,
    GroundReset,
    GroundSome,
    GroundTruth,
    GroundWindowed,
)
from larspark.meaning.open_timeline import time_points
from larspark.meaning.streams import Stream, numbers_of
from larspark.meaning.window_functions import apply_window


class Labelling:
    """The labels of one structure; `undecided` are the elements that may be missing."""

    def __init__(
        self, structure: Structure, undecided: int = 0, circuit: Circuit[int] | None = None
    ) -> None:
        self._structure = structure
        self._undecided = undecided
        self._circuit = circuit or Circuit[int]()
        self._background: dict[Signature, list[Atom]] = {}
        for atom in structure.background:
            self._background.setdefault(atom.signature, []).append(atom)
        self._streams: dict[Stream, int] = {}
        self._labels: dict[tuple[int, int, int], int] = {}
        # Labels name formulas by identity, so every formula seen has to stay alive.
        self._formulas: dict[int, Ground] = {}

    def label(self, formula: Ground, t: int) -> int:
        """The condition under which the whole stream satisfies the formula at t."""
        self._formulas[id(formula)] = formula
        return self._label(formula, self._structure.stream, t)

    def _label(self, formula: Ground, stream: Stream, t: int) -> int:
        if isinstance(formula, GroundAtom):
            return self._atom(formula.atom, stream, t)
        number = self._streams.setdefault(stream, len(self._streams))
        key = (id(formula), number, t)
        known = self._labels.get(key)
        if known is None:
            known = self._labels[key] = self._evaluate(formula, stream, t)
        return known

    def _evaluate(self, formula: Ground, stream: Stream, t: int) -> int:
        circuit = self._circuit
        match formula:
            case GroundAtom(atom):
                return self._atom(atom, stream, t)
            case GroundTruth(value):
                return TRUE if value else FALSE
            case GroundNot(body):
                return -self._label(body, stream, t)
            case GroundAnd(parts):
                return circuit.conjunction(self._label(part, stream, t) for part in parts)
            case GroundOr(parts):
                return circuit.disjunction(self._label(part, stream, t) for part in parts)
            case GroundImplies(left, right):
                sides = ((-1, left), (1, right))
                return circuit.disjunction(sign * self._label(f, stream, t) for sign, f in sides)
            case GroundSome(body):
                points = self._moments(body, stream)
                return circuit.disjunction(self._label(body, stream, point) for point in points)
            case GroundAlways(body):
                # In an empty timeline nothing holds always: a free choice of the meaning.
                points = time_points(stream, self._structure.horizon)
                every = circuit.conjunction(self._label(body, stream, point) for point in points)
                return every if points else FALSE
            case GroundAt(time, body):
                return self._label(body, stream, time) if stream.has_time(time) else FALSE
            case GroundWindowed(window) if not window.is_known and stream.bits & self._undecided:
                return circuit.defer(self._when_decided(formula, stream, t))
            case GroundWindowed(window, body):
                return self._label(body, apply_window(window, stream, t), t)
            case GroundReset(body):
                return self._label(body, self._structure.stream, t)
            case GroundAggregate():
                return self._aggregate(formula, stream, t)
            case _:
                assert_never(formula)

    def _aggregate(self, formula: GroundAggregate, stream: Stream, t: int) -> int:
        """The value of an aggregate, deferred while conditions of its tuples are undecided."""
        labels = {self._label(body, stream, t) for _, body in formula.members}
        if labels - {TRUE, FALSE}:
            return self._circuit.defer(self._when_decided(formula, stream, t))
        members = formula.members
        tuples = {found for found, body in members if self._label(body, stream, t) == TRUE}
        holds = fulfils(formula.function, tuples, formula.guards, grouped=formula.grouped)
        return TRUE if holds else FALSE

    def _moments(self, body: Ground, stream: Stream) -> Iterable[int]:
        """The time points at which the body can hold: those of an atom's predicate, or all."""
        if isinstance(body, GroundAtom) and body.atom.signature not in self._background:
            moments = stream.universe.by_signature.get(body.atom.signature, ())
            if stream.end is None or stream.end - stream.start > len(moments):
                return [point for point in moments if stream.has_time(point)]
        return time_points(stream, self._structure.horizon)

    def _atom(self, atom: Atom, stream: Stream, t: int) -> int:
        if any(isinstance(term, Wildcard) for term in atom.args):
            return self._pattern(atom, stream, t)
        number = stream.universe.numbers.get((t, atom))
        if number is not None and stream.bits >> number & 1:
            return self._presence(number)
        return TRUE if atom in self._structure.background else FALSE

    def _pattern(self, pattern: Atom, stream: Stream, t: int) -> int:
        if _one_matches(pattern, self._background.get(pattern.signature, ())):
            return TRUE
        elements = stream.universe.elements
        moments = stream.universe.by_signature.get(pattern.signature, {})
        return self._circuit.disjunction(
            self._presence(number)
            for number in moments.get(t, ())
            if stream.bits >> number & 1 and matches(pattern, elements[number].atom)
        )

    def _presence(self, number: int) -> int:
        return self._circuit.variable(number) if self._undecided >> number & 1 else TRUE

    def _when_decided(
        self, formula: Ground, stream: Stream, t: int
    ) -> Callable[[Callable[[int], bool]], bool]:
        def decide(is_there: Callable[[int], bool]) -> bool:
            bits = self._structure.stream.bits
            for number in numbers_of(self._undecided):
                if not is_there(number):
                    bits &= ~(1 << number)
            structure = Structure(
                self._structure.stream.with_bits(bits),
                self._structure.background,
                self._structure.horizon,
            )
            return Labelling(structure)._label(formula, stream.with_bits(bits), t) == TRUE

        return decide


def _one_matches(pattern: Atom, atoms: Iterable[Atom]) -> bool:
    return any(matches(pattern, atom) for atom in atoms)
