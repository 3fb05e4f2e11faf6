"""The rule instances that derive elements, and acyclic derivations made of them.

For a predicate that is not recursive, any rule instance will do. For recursive ones, all instances
below the goal are collected top-down and then ranked bottom-up: an element may depend only on
elements of a lower rank.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from larspark.analysis.dependencies import evaluation_order
from larspark.base.atoms import Atom, Signature
from larspark.base.terms import Constant, Term, Variable, Wildcard
from larspark.language import window_text
from larspark.language.nodes import variables, walk
from larspark.language.tree import At, AtomFormula, Comparison, Formula, Rule, Windowed
from larspark.language.windows import Window
from larspark.logic.binding import linear
from larspark.logic.matching import Binding, Matcher
from larspark.logic.traversal import formulas, occurrences
from larspark.logic.values import NoValueError, ground_atom
from larspark.meaning.grounding import Ground, GroundAnd, ground, ground_window, pins_in_timeline
from larspark.meaning.open_timeline import Horizon, find_horizon
from larspark.meaning.queries import ground_literal, stream_matcher
from larspark.meaning.streams import Stream
from larspark.show.explain.knowledge import Evaluation
from larspark.show.explain.support import Support


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A ground rule whose body holds in the answer stream."""

    rule: Rule
    substitution: tuple[tuple[str, Constant], ...]
    head: Ground
    body: GroundAnd
    horizon: Horizon

    def window_texts(self) -> dict[Window, str]:
        """How the windows of the body are written in the rule."""
        binding = dict(self.substitution)
        return {
            ground_window(part.window, part.body, binding): f"[{window_text(part.window)}]"
            for formula in self.rule.body
            for part in walk(formula)
            if isinstance(part, Windowed)
        }


class Instances:
    """Finds the rule instances of one evaluation."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        background = frozenset[Atom]().union(*evaluation.background.values())
        self.matcher = stream_matcher(evaluation.stream, background)

    def supporting(self, goal: int) -> Iterator[Instance]:
        """The instances that support an element: without it their heads would be false."""
        evaluation = self.evaluation
        without = evaluation.stream.bits & ~(1 << goal)
        for instance in self.naming(goal):
            if is_definite(instance.rule.head) or not Support(
                evaluation, without, instance.horizon
            ).holds(instance.head):
                yield instance

    def naming(self, goal: int) -> Iterator[Instance]:
        """The instances whose body holds and whose head names the atom of an element."""
        evaluation = self.evaluation
        t, atom = evaluation.element(goal)
        for rule in evaluation.checked.rules:
            for conditions in head_conditions(rule, atom, t, evaluation.at):
                for binding in self.matcher.bindings((*conditions, *rule.body), evaluation.at):
                    instance = ground_instance(rule, binding, evaluation, self.matcher)
                    if instance is not None and _holds(instance, evaluation):
                        yield instance


def is_definite(head: Formula) -> bool:
    """Is the head one atom, at the evaluation time or at a time point that it names?"""
    match head:
        case AtomFormula() | At(_, AtomFormula()):
            return True
        case _:
            return False


def head_conditions(
    rule: Rule, goal: Atom, t: int | None, at: int
) -> Iterator[tuple[Formula, ...]]:
    """The conditions under which a head gives an atom at t; none when it cannot.

    Where the atom has wildcards, any value will do; and any time point when t is None.
    """
    match rule.head:
        case AtomFormula(atom):
            if t in (at, None) and atom.signature == goal.signature:
                yield _same_arguments(atom, goal)
        case At(time, AtomFormula(atom)):
            if atom.signature == goal.signature:
                yield (*_same_time(time, t), *_same_arguments(atom, goal))
        case _:
            for occurrence in occurrences(rule.head):
                atom = occurrence.formula.atom
                if occurrence.positive and atom.signature == goal.signature:
                    yield _same_arguments(atom, goal)


def ground_instance(
    rule: Rule, binding: Binding, evaluation: Evaluation, matcher: Matcher[Stream]
) -> Instance | None:
    """The rule under a substitution; None when there is no such instance."""
    names = dict.fromkeys(v.name for formula in formulas(rule) for v in variables(formula))
    if not names.keys() <= binding.keys():
        return None
    if not pins_in_timeline(formulas(rule), binding, evaluation.stream):
        return None
    try:
        stream, at = evaluation.stream, evaluation.at
        parts = (ground_literal(part, binding, matcher, stream, at) for part in rule.body)
        body = GroundAnd(tuple(parts))
        head = ground(rule.head, binding)
    except NoValueError:
        return None
    horizon = find_horizon(evaluation.stream, evaluation.at, GroundAnd((body, head)))
    substitution = tuple((name, binding[name]) for name in names)
    return Instance(rule, substitution, head, body, horizon)


def _holds(instance: Instance, evaluation: Evaluation) -> bool:
    support = Support(evaluation, evaluation.stream.bits, instance.horizon)
    return support.holds(instance.body)


def _same_time(time: Term, t: int | None) -> tuple[Formula, ...]:
    if t is None:
        return ()
    # `T+3 = 17` binds nothing, `T = 14` does.
    pin = linear(time)
    if pin is None:
        return (Comparison("=", time, t),)
    return (Comparison("=", Variable(pin[0]), t - pin[1]),)


def _same_arguments(atom: Atom, goal: Atom) -> tuple[Formula, ...]:
    return tuple(
        Comparison("=", term, wanted)
        for term, wanted in zip(atom.args, goal.args, strict=True)
        if not isinstance(wanted, Wildcard)
    )


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
