"""Until when an atom holds if nothing more arrives.

The program is evaluated again at later time points over the same data. Most proofs can be followed
alone, with the few facts that they use, while they last; only then is the whole program evaluated
for another one. For most programs only a few time points can make a difference: those at which an
element, or the time point next to one, enters or leaves a window.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from larspark.analysis.checked import Checked
from larspark.analysis.fragment import has_nested_windows
from larspark.analysis.signatures import head_predicates
from larspark.base.atoms import Atom, Element, Signature
from larspark.base.problems import LarsparkError
from larspark.base.terms import Variable
from larspark.language.nodes import walk
from larspark.language.tree import At, AtomFormula, Comparison, Formula, Reset, Rule, Windowed
from larspark.logic.traversal import formulas, is_ground, occurrences
from larspark.meaning.answer_streams import AnswerStream
from larspark.show.explain.derivation import is_definite
from larspark.show.explain.knowledge import Knowledge, lay_over, ready_oracle
from larspark.show.explain.proof import Proof, Step, Until
from larspark.show.explain.proving import prove

# So many later time points are looked at: for one proof, and by the whole program. Where the search
# ends before the atom does, it says so.
PROOF_LIMIT = 200
PROGRAM_LIMIT = 50


# The rules of a longer proof are followed as they are written, not instance by instance.
INSTANCE_LIMIT = 100


class _Goal(NamedTuple):
    """An atom that should hold at t; None: at the evaluation time, whichever it is."""

    atom: Atom
    t: int | None

    def seen_from(self, at: int) -> Element:
        return Element(at if self.t is None else self.t, self.atom)


def find_until(known: Knowledge, proof: Proof) -> Until | None:
    """The last evaluation time through which the element of a proof holds; None: not determined.

    An atom that holds at the evaluation time is followed as time moves on; one that was derived
    for another time point stays there. With several answer streams nothing is promised.
    """
    if known.checked.several_models:
        return None
    try:
        return _find_until(known, proof)
    except LarsparkError:
        # Too large for the definitions at a later time point; the proof is still valid.
        return None


def _find_until(known: Knowledge, proof: Proof) -> Until:
    goal = _Goal(proof.element.atom, None if proof.element.t == proof.at else proof.element.t)
    whole = _Future(known, proof.at)
    alone = _alone(known, proof)
    t = proof.at
    if alone is None:
        return whole.lasting(goal, t, PROOF_LIMIT)
    for _ in range(PROGRAM_LIMIT):
        lasting = _Future(alone, t).lasting(goal, t, PROOF_LIMIT)
        if lasting.last is None or not lasting.certain or lasting.last == known.settings.until:
            return lasting
        t = lasting.last + 1
        answer = whole.answer(t)
        if answer is None or goal.atom not in answer.at(goal.seen_from(t).t):
            return lasting
        again = prove(lay_over(known, t, answer.derived), goal.seen_from(t))
        alone = None if again is None else _alone(known, again)
        if alone is None:
            return whole.lasting(goal, t, PROOF_LIMIT)
    return Until(t, certain=False)


class _Future:
    """Evaluations at later and later time points over the same data."""

    def __init__(self, known: Knowledge, at: int) -> None:
        self._known = known
        self._oracle = ready_oracle(known, at)
        self._jumps = _can_jump(known.checked)

    def answer(self, t: int) -> AnswerStream | None:
        """The answer stream at t, which what comes later remembers."""
        answers = self._oracle.answers(self._known.elements, t)
        if not answers:
            return None
        self._oracle.follow(answers[0], t)
        return answers[0]

    def lasting(self, goal: _Goal, t: int, limit: int) -> Until:
        """Through which time point does the goal hold from t on?"""
        end = self._known.settings.until
        for _ in range(limit):
            answer = self.answer(t)
            if answer is None or goal.atom not in answer.at(goal.seen_from(t).t):
                return Until(t - 1)
            following = t + 1
            if self._jumps:
                turns = min(_turning_points(self._known, answer, t), default=None)
                if turns is None:
                    return Until(end)
                following = turns
            if end is not None and following > end:
                return Until(end)
            t = following
        return Until(t - 1, certain=False)


def _alone(known: Knowledge, proof: Proof) -> Knowledge | None:
    """The rules and facts of a proof, and what it negates; None when others matter too.

    What follows from them follows from the whole program: other rules and facts can only matter
    to tuple windows and to the negation of what they derive.
    """
    if known.checked.program.remembered or proof.circular or not proof.steps:
        return None
    negated: set[Signature] = set()
    for step in proof.steps:
        if not is_definite(step.rule.head):
            return None
        for formula in step.rule.body:
            if any(
                isinstance(part, Windowed) and part.window.depends_on_others
                for part in walk(formula)
            ):
                return None
            negated.update(
                found.formula.atom.signature for found in occurrences(formula) if not found.positive
            )
    if negated & known.checked.derived:
        return None
    facts = set(proof.facts)
    elements = tuple(e for e in known.elements if e in facts or e.atom.signature in negated)
    rules = tuple(map(_instance, proof.steps))
    if len(rules) > INSTANCE_LIMIT:
        rules = tuple(dict.fromkeys(step.rule for step in proof.steps))
    return replace(known, checked=replace(known.checked, rules=rules), elements=elements)


def _instance(step: Step) -> Rule:
    values = (Comparison("=", Variable(name), value) for name, value in step.substitution)
    return replace(step.rule, body=(*values, *step.rule.body))


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
            case Reset():
                return False
            case Windowed(window) if not window.keeps_now or (window.trace and not window.bounds):
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
    windows: set[tuple[int | None, int | None]] = {(0, 0)}
    for part in (part for rule in known.checked.rules for f in formulas(rule) for part in walk(f)):
        match part:
            case Windowed(window) if window.bounds is not None:
                windows.add((window.bounds.past, window.bounds.future))
            case At(int() as pin):
                marks.add(pin)
            case _:
                pass
    for past, future in windows:
        for place in {mark + next_to for mark in marks for next_to in (-1, 0, 1)}:
            if future is not None and place - future > t:
                yield place - future
            if past is not None and place + past + 1 > t:
                yield place + past + 1
