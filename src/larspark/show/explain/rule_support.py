"""The rule instances that derive an element in an answer stream."""

from collections.abc import Iterator
from dataclasses import dataclass

from larspark.base.atoms import Atom
from larspark.base.terms import Constant, Term, Variable, Wildcard
from larspark.language import window_text
from larspark.language.nodes import variables, walk
from larspark.language.tree import At, AtomFormula, Comparison, Formula, Rule, Windowed
from larspark.language.windows import Window
from larspark.logic.binding import linear
from larspark.logic.matching import Binding, Matcher
from larspark.logic.traversal import formulas, occurrences
from larspark.logic.values import NoValueError
from larspark.meaning.grounding import Ground, GroundAnd, ground, ground_window, pins_in_timeline
from larspark.meaning.open_timeline import Horizon, find_horizon
from larspark.meaning.stream_matching import ground_literal, stream_matcher
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
