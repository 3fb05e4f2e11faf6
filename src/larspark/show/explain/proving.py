"""Proofs that an answer stream holds an element, with a minimal set of facts."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from larspark.base.atoms import Element, atom_text
from larspark.language import formula_text
from larspark.language.nodes import walk
from larspark.language.tree import Windowed
from larspark.logic.substitution import substitute
from larspark.meaning.streams import numbers_of
from larspark.show.explain.derivation import Choice, Derivations, Instance, UnsupportedError
from larspark.show.explain.knowledge import Evaluation
from larspark.show.explain.proof import Given, Part, Proof, Step, element_text
from larspark.show.explain.reasons import Reasons, find_reasons
from larspark.show.explain.support import Support

# A proof in which more facts than these could be left out is not tried for all of them.
TRIAL_LIMIT = 5_000


def prove(evaluation: Evaluation, goal: Element) -> Proof | None:
    """Why an answer stream holds a derived element; None when it does not."""
    number = evaluation.number(goal)
    if number is None:
        return None
    if evaluation.remembered >> number & 1:
        return Proof(goal, evaluation.at, (), (), Given.REMEMBERED)
    try:
        return _Builder(evaluation, number).build()
    except UnsupportedError:
        return None


class _Node(NamedTuple):
    """A chosen instance, why each element of its body holds, and what that takes in all."""

    choice: Choice
    reasons: list[Reasons]
    used: int
    needed: int
    counted: int


class _Builder:
    """Builds a proof: first any derivation, then without the facts that it does not need.

    `facts` are the elements at the bottom, given or remembered; every node is an element that
    follows from them by the chosen instances alone.
    """

    def __init__(self, evaluation: Evaluation, root: int) -> None:
        self._evaluation = evaluation
        self._root = root
        self._nodes: dict[int, _Node] = {}
        self._facts = 0
        self._derivations = Derivations(evaluation)

    def build(self) -> Proof:
        self._grow()
        minimal = not self._derivations.circular and self._leave_out()
        counted = self._facts & ~_union(node.used for node in self._nodes.values())
        steps = tuple(self._step(number, counted) for number in self._nodes)
        return Proof(
            element=self._evaluation.element(self._root),
            at=self._evaluation.at,
            steps=steps,
            facts=self._evaluation.elements(self._facts & self._evaluation.given),
            ends=tuple(dict.fromkeys(self._ends())),
            minimal=minimal,
            circular=self._derivations.circular,
        )

    def _grow(self) -> None:
        """Choose instances from the root downwards."""
        pending = [self._root]
        used = 0
        while pending:
            number = pending.pop()
            if number in self._nodes:
                continue
            choice = self._derivations.choice(number)
            node = self._nodes[number] = self._node(choice, choice.usable, used)
            used |= node.used
            pending.extend(numbers_of(node.used & self._evaluation.derived))
        self._facts = used & ~self._evaluation.derived

    def _node(self, choice: Choice, usable: int, preferred: int) -> _Node:
        instance = choice.instance
        support = Support(self._evaluation, usable, instance.horizon)
        texts = instance.window_texts()
        final = not choice.recursive and not _counts(instance)
        found: list[Reasons] = []
        for part in instance.body.parts:
            reasons = find_reasons(support, part, preferred, window_texts=texts, final=final)
            preferred |= reasons.used
            found.append(reasons)
        return _Node(
            choice,
            found,
            used=_union(reasons.used for reasons in found),
            needed=_union(reasons.needed for reasons in found),
            counted=_union(reasons.counted for reasons in found),
        )

    def _leave_out(self) -> bool:
        """Drop facts for as long as the root still follows; False when not all were tried."""
        if not self._settle(self._facts):
            return False
        trials = 0
        dropped = True
        while dropped:
            dropped = False
            for fact in numbers_of(self._facts & ~self._needed()):
                # An earlier trial may have dropped this one too.
                if not self._facts >> fact & 1:
                    continue
                trials += 1
                if trials > TRIAL_LIMIT:
                    return False
                if self._follows_without(fact):
                    self._settle(self._facts & ~(1 << fact))
                    dropped = True
            # Fewer tuples make tuple windows reach further: then what failed may work now.
            dropped = dropped and any(node.counted for node in self._nodes.values())
        return True

    def _needed(self) -> int:
        """What the root cannot do without, whichever way is chosen elsewhere."""
        needed = 0
        pending = [self._root]
        while pending:
            new = self._nodes[pending.pop()].needed & ~needed
            needed |= new
            pending.extend(numbers_of(new & self._evaluation.derived))
        return needed

    def _follows_without(self, fact: int) -> bool:
        """Does the root follow by the chosen instances without a fact?"""
        shaken = 1 << fact
        affected: list[int] = []
        # Nodes were settled in the order in which they follow, but may rest on later ones too.
        growing = True
        while growing:
            growing = False
            for number, node in self._nodes.items():
                if not shaken >> number & 1 and (node.counted or node.used & shaken):
                    shaken |= 1 << number
                    affected.append(number)
                    growing = True
        firm = _union(1 << number for number in self._nodes) & ~shaken
        return self._root in self._follow(self._facts & ~(1 << fact), affected, firm)

    def _follow(self, facts: int, waiting: Iterable[int], derived: int = 0) -> list[int]:
        """Which nodes follow from the facts and the nodes `derived`, in order."""
        order: list[int] = []
        rest = list(waiting)
        while rest:
            left: list[int] = []
            for number in rest:
                node = self._nodes[number]
                usable = facts | derived
                instance = node.choice.instance
                if not node.needed & ~usable and Support(
                    self._evaluation, usable, instance.horizon
                ).holds(instance.body):
                    derived |= 1 << number
                    order.append(number)
                else:
                    left.append(number)
            if len(left) == len(rest):
                break
            rest = left
        return order

    def _settle(self, facts: int) -> bool:
        """Find out anew what the nodes rest on when only these facts are there.

        False when the root does not follow: a window of the user's own needs to see still others.
        """
        order = self._follow(facts, reversed(self._nodes))
        if self._root not in order:
            # A tuple window reaches further when tuples in it are left out.
            facts |= _union(node.counted for node in self._nodes.values())
            facts &= ~self._evaluation.derived
            order = self._follow(facts, reversed(self._nodes))
        if self._root not in order:
            return False
        every = _union(1 << number for number in order)
        before = 0
        used = 0
        nodes: dict[int, _Node] = {}
        for number in order:
            choice = self._nodes[number].choice
            usable = facts | (before if choice.recursive else every & ~(1 << number))
            nodes[number] = self._node(choice, usable, used)
            used |= nodes[number].used
            before |= 1 << number
        self._nodes = nodes
        self._keep_reachable()
        self._facts = facts
        slim = facts & _union(node.used for node in self._nodes.values())
        if slim != facts and self._root in self._follow(slim, reversed(self._nodes)):
            self._facts = slim
        return True

    def _keep_reachable(self) -> None:
        kept: dict[int, _Node] = {}
        pending = deque([self._root])
        while pending:
            number = pending.popleft()
            if number not in kept:
                kept[number] = self._nodes[number]
                pending.extend(numbers_of(kept[number].used & self._evaluation.derived))
        self._nodes = kept

    def _step(self, number: int, counted: int) -> Step:
        node = self._nodes[number]
        instance = node.choice.instance
        binding = dict(instance.substitution)
        evaluation = self._evaluation
        parts = tuple(
            Part(
                text=formula_text(substitute(formula, binding)),
                facts=evaluation.elements(reasons.used & evaluation.given),
                derived=evaluation.elements(reasons.used & evaluation.derived),
                remembered=evaluation.elements(reasons.used & evaluation.remembered),
                background=tuple(reasons.background),
                counted=evaluation.elements(reasons.counted & counted),
                absent=reasons.absences(),
                windows=tuple(reasons.windows),
                collected=reasons.collected,
            )
            for formula, reasons in zip(instance.rule.body, node.reasons, strict=True)
        )
        return Step(evaluation.element(number), instance.rule, instance.substitution, parts)

    def _ends(self) -> Iterator[str]:
        """What could make the proof fail before its time."""
        evaluation = self._evaluation
        for node in self._nodes.values():
            for reasons in node.reasons:
                for absence in reasons.absences():
                    if absence.end is not None and absence.end < evaluation.at:
                        continue
                    if absence.atom.signature in evaluation.checked.inputs:
                        yield f"an arrival of {atom_text(absence.atom)}"
                    elif absence.atom.signature in evaluation.checked.derived:
                        yield f"{atom_text(absence.atom)} becoming true"
                for window, number, pushes, group in reasons.crowds:
                    tuples = "tuple" if pushes == 1 else "tuples"
                    kind = tuples if group is None else f"{tuples} {group}"
                    pushed = element_text(evaluation.element(number))
                    verb = "pushes" if pushes == 1 else "push"
                    yield f"{pushes} more {kind}, which {verb} {pushed} out of {window}"


def _counts(instance: Instance) -> bool:
    """Does the body look through windows whose content depends on how much there is?"""
    return any(
        isinstance(part, Windowed) and part.window.depends_on_others
        for formula in instance.rule.body
        for part in walk(formula)
    )


def _union(parts: Iterable[int]) -> int:
    bits = 0
    for part in parts:
        bits |= part
    return bits
