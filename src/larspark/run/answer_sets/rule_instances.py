"""The rule instances of any program at one evaluation, as conditions on derivable elements.

An element can only be derived when the head of an instance asks for it and the body of that
instance can hold. Following that from the data, without regard to negation, leaves finitely many
elements and instances; nothing else of the ground program can matter (Theorem 2 of the LARS paper).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.language.nodes import walk
from larspark.language.tree import At, Formula, Rule, Windowed
from larspark.logic.circuit import FALSE, TRUE, Circuit
from larspark.logic.matching import Matcher
from larspark.logic.traversal import occurrences
from larspark.logic.values import Substitution, time_value
from larspark.run.answer_sets.conditions import Conditions, has_instance
from larspark.run.answer_sets.evaluation_context import EvaluationContext
from larspark.run.answer_sets.stream_views import View, apply

# Rule instances, and ways to match one rule.
SIZE_LIMIT = 100_000


class Instance(NamedTuple):
    """`head :- body`, as conditions."""

    head: int
    body: int


class Instances(NamedTuple):
    """The instances that matter, and the elements that rules may derive, in a fixed order."""

    circuit: Circuit[Element]
    instances: list[Instance]
    possible: list[Element]


def instances(checked: Checked, context: EvaluationContext) -> Instances:
    """Instantiate a program in a context."""
    source = MatchSource(context, checked.derived)
    bindings: list[list[Substitution]] = [[] for _ in checked.rules]
    readers = _readers(checked.rules)
    waiting = dict.fromkeys(range(len(checked.rules)))
    while waiting:
        number = next(iter(waiting))
        del waiting[number]
        rule = checked.rules[number]
        # More elements are derivable than before, so a new matcher is needed.
        found = Matcher(source).bindings(rule.body, context.t)
        bindings[number] = [b for b in found if _exists(rule, b, context)]
        _refuse_size(sum(map(len, bindings)))
        # The conditions of heads do not depend on which elements are derivable.
        conditions = Conditions(context, checked.derived)
        changed: set[Signature] = set()
        for binding in bindings[number]:
            head = conditions.of_head(rule.head, binding)
            for variable in sorted(conditions.circuit.polarity(head)[0]):
                element = conditions.circuit.names[variable]
                if context.add_possible(element):
                    changed.add(element.atom.signature)
        for signature in sorted(changed):
            waiting.update(dict.fromkeys(readers.get(signature, ())))
    conditions = Conditions(context, checked.derived, Matcher(source))
    unique = {
        instance: None
        for rule, candidates in zip(checked.rules, bindings, strict=True)
        for instance in _conditions(rule, candidates, conditions)
    }
    possible = [
        Element(t, atom)
        for moments in context.possible.values()
        for t, atoms in moments.items()
        for atom in atoms
    ]
    possible.sort(key=lambda element: (element.t, str(element.atom)))
    return Instances(conditions.circuit, list(unique), possible)


class MatchSource:
    """Answers the matcher's questions about the stream, the background and derivable elements."""

    def __init__(self, context: EvaluationContext, derived: frozenset[Signature]) -> None:
        self._context = context
        self._derived = derived
        self.whole = context.whole

    def atoms(self, signature: Signature, view: View, t: int) -> Iterable[Atom]:
        context = self._context
        found = dict.fromkeys(context.background.get(signature, ()))
        found.update((arrival.atom, None) for arrival in context.seen(signature, view, t))
        found.update((atom, None) for atom in context.derivable(signature, view, t))
        return found

    def times(self, signature: Signature, view: View) -> Sequence[int] | None:
        if signature in self._context.background:
            return None
        return self._context.moments(signature, view)

    def time_points(self, view: View, _body: Formula) -> range:
        return self._context.time_points(view)

    def last_point(self, view: View, _body: Formula) -> int:
        return self._context.time_points(view)[-1]

    def through(self, part: Windowed, view: View, t: int, known: Substitution) -> View:
        window = self._context.window(part, known)
        return apply(window, view, t, self._context.elements)

    def certainty(self, conditions: Sequence[Formula], known: Substitution, _t: int) -> bool | None:
        if not has_instance(conditions, known, self.whole):
            return False
        condition = Conditions(self._context, self._derived).of_all(conditions, known)
        return None if condition not in (TRUE, FALSE) else condition == TRUE

    def check_size(self, count: int, part: Formula) -> None:
        self._context.check_time()
        if count > SIZE_LIMIT:
            message = f"there are more than {SIZE_LIMIT} ways to match a rule"
            raise LarsparkError(Problem("L410", message, part.span))

    def refuse_open_variable(self, name: str, point: int, body: Formula) -> None:
        message = f"the time variable `{name}` can be any time point from {point} on"
        hint = "say where time ends with `until`"
        raise LarsparkError(Problem("L403", message, body.span, hint))


def _conditions(
    rule: Rule, candidates: Sequence[Substitution], conditions: Conditions
) -> Iterator[Instance]:
    for binding in candidates:
        body = conditions.circuit.conjunction(
            conditions.of_body(formula, binding) for formula in rule.body
        )
        head = conditions.of_head(rule.head, binding) if body != FALSE else TRUE
        if head != TRUE:
            yield Instance(head, body)


def _exists(rule: Rule, binding: Substitution, context: EvaluationContext) -> bool:
    """Is there an instance of the rule, with its head in the timeline?"""
    whole = context.whole
    if not has_instance((rule.head, *rule.body), binding, whole):
        return False
    points = [time_value(p.time, binding) for p in walk(rule.head) if isinstance(p, At)]
    return all(point is not None and whole.has_time(point) for point in points)


def _readers(rules: Sequence[Rule]) -> dict[Signature, list[int]]:
    """The rules in whose bodies a predicate stands."""
    readers: dict[Signature, list[int]] = {}
    for number, rule in enumerate(rules):
        signatures = {
            occurrence.formula.atom.signature: None
            for formula in rule.body
            for occurrence in occurrences(formula)
        }
        for signature in signatures:
            readers.setdefault(signature, []).append(number)
    return readers


def _refuse_size(size: int) -> None:
    if size > SIZE_LIMIT:
        message = f"the rules have more than {SIZE_LIMIT} instances"
        hint = "use smaller windows, or say more in the bodies of the rules"
        raise LarsparkError(Problem("L410", message, hint=hint))
