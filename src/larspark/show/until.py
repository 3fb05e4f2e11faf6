"""Until when does an atom hold if nothing more arrives?

The program is evaluated again at later time points over the same data. Most proofs can be followed
alone, with the few facts they use, for as long as they last; only then the whole program is asked
whether there is another one. And for most programs only a few time points can make a difference:
those at which an element, or the place next to one, enters or leaves a window.
"""

from collections.abc import Iterable, Iterator

from larspark.base.atoms import Element, Signature
from larspark.language.tree import (
    At,
    AtomFormula,
    Formula,
    NamedWindow,
    Reset,
    Rule,
    TimeWindow,
    Windowed,
)
from larspark.meaning.answers import AnswerStream
from larspark.meaning.checked import Checked
from larspark.meaning.fragment import has_nested_windows
from larspark.meaning.signatures import head_predicates
from larspark.meaning.walk import formulas, is_ground, walk
from larspark.show.instances import is_definite
from larspark.show.knowledge import Knowledge
from larspark.show.proof import Until

# So many later time points are looked at: for one proof, and by the whole program. Where the search
# ends before the atom does, it says so.
PROOF_LIMIT = 200
PROGRAM_LIMIT = 50


def find_until(known: Knowledge, proof: Proof) -> Until | None:
    """The last evaluation time through which the element of a proof holds; None: not determined.

    An atom that holds at the evaluation time is followed as time moves on; one that was derived
    for another time point stays there. With several answer streams nothing is promised.
    """
    if known.checked.several_models:
        return None
    goal = _Goal(proof.element.atom, None if proof.element.t == proof.at else proof.element.t)
    oracle = known.oracle()
    if known.checked.program.remembered:
        for t in range(known.start, proof.at):
            oracle.step(known.elements, t)
    t = proof.at
    for _ in range(PROGRAM_LIMIT):
        following = _proof_ends(known, proof, goal, t)
def _can_jump(checked: Checked) -> bool:
    """Can the answers change only where an element enters or leaves a window?

    Time variables must be bound by elements that stay where they are while time moves on.
    """
    if has_nested_windows(checked.rules) or checked.program.remembered:
        return False
    fixed = checked.inputs | (checked.derived - _moving(checked.rules))
    return all(
        is_definite(rule.head) and all(_is_steady(formula, fixed) for formula in rule.body)
        for rule in checked.rules
    )


def _moving(rules: Iterable[Rule]) -> set[Signature]:
    """The predicates that rules place at the evaluation time, whichever it is."""
    return {
        predicate
        for rule in rules
        if not isinstance(rule.head, At)
        for predicate in head_predicates(rule.head)
    }


def _is_steady(formula: Formula, fixed: frozenset[Signature]) -> bool:
    for part in walk(formula):
        match part:
            case Reset() | Windowed(NamedWindow()):
                return False
            case Windowed(TimeWindow(every=hop)) if hop != 1:
                return False
            case At(time, AtomFormula(atom)) if is_ground(time) or atom.signature in fixed:
                pass
            case At():
                return False
            case _:
                pass
    return True


def _turning_points(known: Knowledge, answer: AnswerStream, t: int) -> Iterator[int]:
    """The time points after t at which the answer may be another one."""
    moving = _moving(known.checked.rules)
    marks = {known.start, *(element.t for element in known.elements)}
    marks.update(p for p, atoms in answer.derived.items() if {a.signature for a in atoms} - moving)
    windows: set[tuple[int | None, int]] = {(0, 0)}
    for part in (part for rule in known.checked.rules for f in formulas(rule) for part in walk(f)):
        match part:
            case Windowed(TimeWindow(past, future)):
                windows.add((past, future))
            case At(int() as pin):
                marks.add(pin)
            case _:
                pass
    for past, future in windows:
        for place in {mark + next_to for mark in marks for next_to in (-1, 0, 1)}:
            if place - future > t:
                yield place - future
            if past is not None and place + past + 1 > t:
                yield place + past + 1
