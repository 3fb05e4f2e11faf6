"""Entailment, Definition 9, word for word.

`entails` follows the definition's own recursion and forgets what it has seen, so nested windows
can take exponentially long; `labelling` gives the same answers in polynomial time.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from larspark.base.atoms import Atom
from larspark.logic.aggregates import fulfils
from larspark.logic.values import matches
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
from larspark.meaning.open_timeline import NO_HORIZON, Horizon, time_points
from larspark.meaning.streams import Stream
from larspark.meaning.window_functions import apply_window


@dataclass(frozen=True, slots=True)
class Structure:
    """M = ⟨S*, W, B⟩ without W: the windows stand in the formulas.

    `horizon` is how far an open timeline has to be looked through.
    """

    stream: Stream
    background: frozenset[Atom]
    horizon: Horizon = NO_HORIZON


def entails(structure: Structure, stream: Stream, t: int, formula: Ground) -> bool:
    """M, S, t ⊩ α."""
    match formula:
        case GroundAtom(atom):
            return _holds(atom, stream.at(t)) or _holds(atom, structure.background)
        case GroundTruth(value):
            return value
        case GroundNot(body):
            return not entails(structure, stream, t, body)
        case GroundAnd(parts):
            return all(entails(structure, stream, t, part) for part in parts)
        case GroundOr(parts):
            return any(entails(structure, stream, t, part) for part in parts)
        case GroundImplies(left, right):
            return not entails(structure, stream, t, left) or entails(structure, stream, t, right)
        case GroundSome(body):
            points = time_points(stream, structure.horizon)
            return any(entails(structure, stream, point, body) for point in points)
        case GroundAlways(body):
            # In an empty timeline nothing holds always: a free choice of the meaning.
            points = time_points(stream, structure.horizon)
            return len(points) > 0 and all(
                entails(structure, stream, point, body) for point in points
            )
        case GroundAt(time, body):
            return stream.has_time(time) and entails(structure, stream, time, body)
        case GroundWindowed(window, body):
            return entails(structure, apply_window(window, stream, t), t, body)
        case GroundReset(body):
            return entails(structure, structure.stream, t, body)
        case GroundAggregate(function, members, guards, grouped):
            tuples = {found for found, body in members if entails(structure, stream, t, body)}
            return fulfils(function, tuples, guards, grouped=grouped)
        case _:
            assert_never(formula)


def _holds(pattern: Atom, atoms: Iterable[Atom]) -> bool:
    return any(matches(pattern, atom) for atom in atoms)
