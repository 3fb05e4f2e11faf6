"""Acyclic derivations: a rule instance for every derived element.

For a predicate that is not recursive, any rule instance will do. For recursive ones, all instances
below the goal are collected top-down and then ranked bottom-up: an element may depend only on
elements of a lower rank.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from larspark.analysis.dependencies import evaluation_order
from larspark.base.atoms import Signature
from larspark.logic.traversal import occurrences
from larspark.logic.values import ground_atom
from larspark.show.explain.knowledge import Evaluation
from larspark.show.explain.rule_support import Instance, Instances
from larspark.show.explain.support import Support

_Source: TypeAlias = Callable[[int], Iterator[Instance]]


class Choice(NamedTuple):
    """The rule instance that derives an element, and the elements that it may use, as a bit set."""

    instance: Instance
    usable: int
    # Does the element's predicate depend on itself?
    recursive: bool


class UnsupportedError(Exception):
    """No rule supports an element: the model is no answer stream."""


class Derivations:
    """The derivations of one evaluation, computed on demand."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._instances = Instances(evaluation)
        self._groups = dict(_recursive_groups(evaluation))
        self._choices: dict[int, Choice] = {}
        # Some element depends on itself, which only programs beyond the plain fragment allow.
        self.circular = False

    def choice(self, goal: int) -> Choice:
        """How an element is derived."""
        if goal not in self._choices:
            group = self._groups.get(self._evaluation.element(goal).atom.signature)
            if group is None:
                instance = self._any_instance(goal)
                self._choices[goal] = Choice(instance, self._evaluation.stream.bits, False)
            else:
                self._choices.update(self._ranked(goal, group))
        return self._choices[goal]

    def _any_instance(self, goal: int) -> Instance:
        for source in (self._instances.supporting, self._instances.naming):
            for instance in source(goal):
                return instance
        raise UnsupportedError(str(self._evaluation.element(goal)))

    def _ranked(self, goal: int, group: frozenset[Signature]) -> dict[int, Choice]:
        # A head such as `a or b` may have to be used although the other choice is true as well.
        for source in (self._instances.supporting, self._instances.naming):
            collected = self._collect(goal, group, source)
            ranked = self._upwards(goal, group, collected)
            if goal in ranked:
                return ranked
        self.circular = True
        bits = self._evaluation.stream.bits
        return {n: Choice(found[0], bits, True) for n, found in collected.items() if found}

    def _collect(
        self, goal: int, group: frozenset[Signature], source: _Source
    ) -> dict[int, list[Instance]]:
        """All instances below a goal that derive elements of its recursive group."""
        collected: dict[int, list[Instance]] = {}
        pending = [goal]
        while pending:
            number = pending.pop()
            if number not in collected:
                collected[number] = list(source(number))
                for instance in collected[number]:
                    pending.extend(self._looked_at(instance, group))
        if not collected[goal]:
            raise UnsupportedError(str(self._evaluation.element(goal)))
        return collected

    def _looked_at(self, instance: Instance, group: frozenset[Signature]) -> Iterator[int]:
        """The derived elements of the group that the body of an instance may look at."""
        evaluation = self._evaluation
        support = Support(evaluation, evaluation.derived, instance.horizon)
        binding = dict(instance.substitution)
        for formula in instance.rule.body:
            for occurrence in occurrences(formula):
                atom = occurrence.formula.atom
                if atom.signature in group:
                    yield from support.presences(ground_atom(atom, binding), support.whole.active)

    def _upwards(
        self, goal: int, group: frozenset[Signature], collected: dict[int, list[Instance]]
    ) -> dict[int, Choice]:
        """Rank elements from below, round by round, until the goal has its rank."""
        evaluation = self._evaluation
        readers: dict[int, set[int]] = {}
        for number, found in collected.items():
            for instance in found:
                for other in self._looked_at(instance, group):
                    readers.setdefault(other, set()).add(number)
        usable = evaluation.stream.bits & ~self._bits_of(group)
        ranked: dict[int, Choice] = {}
        waiting = set(collected)
        while waiting and goal not in ranked:
            new: dict[int, Choice] = {}
            for number in sorted(waiting):
                for instance in collected[number]:
                    if Support(evaluation, usable, instance.horizon).holds(instance.body):
                        new[number] = Choice(instance, usable, True)
                        break
            ranked |= new
            waiting = {r for number in new for r in readers.get(number, ())} - ranked.keys()
            usable |= sum(1 << number for number in new)
        return ranked

    def _bits_of(self, group: frozenset[Signature]) -> int:
        by_signature = self._evaluation.stream.universe.by_signature
        bits = 0
        for signature in group:
            for numbers in by_signature.get(signature, {}).values():
                bits |= sum(1 << number for number in numbers)
        return bits & self._evaluation.derived


def _recursive_groups(evaluation: Evaluation) -> Iterator[tuple[Signature, frozenset[Signature]]]:
    """The derived predicates that depend on themselves, with those they do so through."""
    checked = evaluation.checked
    direct = {edge.head for edge in checked.edges if edge.head == edge.body}
    for group in evaluation_order(checked.edges, checked.derived):
        for signature in group:
            if len(group) > 1 or signature in direct:
                yield signature, group
