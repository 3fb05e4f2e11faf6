"""How far an aggregate is from its bounds."""

from collections.abc import Iterator
from dataclasses import replace

from larspark.base.atoms import Atom
from larspark.base.terms import Constant, constant_text
from larspark.language.tree import Aggregate, Guard
from larspark.logic.matching import Binding
from larspark.logic.values import compare, value
from larspark.meaning.grounding import GroundAggregate
from larspark.meaning.queries import ground_literal, stream_matcher
from larspark.show.explain.knowledge import Evaluation
from larspark.show.explain.proof import Collected
from larspark.show.explain.support import Support

_WORDS = {">": "more than ", ">=": "", "<": "less than ", "<=": "at most "}


def nearest_group(
    aggregate: Aggregate, binding: Binding, evaluation: Evaluation, support: Support
) -> tuple[tuple[int, float], str]:
    """How close the group that comes closest is to the bounds: a rank, and the same in words."""
    found = [
        _distance(aggregate, group, collected)
        for group, collected in _groups(aggregate, binding, evaluation, support)
    ]
    return min(found, default=((3, 0), "no group has a tuple"))


def _groups(
    aggregate: Aggregate, binding: Binding, evaluation: Evaluation, support: Support
) -> Iterator[tuple[Binding, Collected]]:
    background = frozenset[Atom]().union(*evaluation.background.values())
    stream, at = evaluation.stream, evaluation.at
    matcher = stream_matcher(stream, background)
    bare = replace(aggregate, guards=())
    for group in matcher.bindings((bare,), at, binding):
        if any(variable.name not in group for variable in aggregate.shared):
            continue
        formula = ground_literal(bare, group, matcher, stream, at)
        if isinstance(formula, GroundAggregate):
            yield group, Collected.of(aggregate.function, support.tuples(formula))


def _distance(
    aggregate: Aggregate, group: Binding, collected: Collected
) -> tuple[tuple[int, float], str]:
    name, number = f"#{aggregate.function}", collected.value
    if aggregate.by and not collected.tuples:
        return (2, 0), f"{name} has no tuple for this group"
    if number is None:
        return (2, 0), f"{name} has no value"
    text = constant_text(number)
    for guard in aggregate.guards:
        bound = _bound(guard, group)
        if bound is None:
            return (2, 0), f"{name} is {text}, and its bound has no value"
        if not compare(guard.operator, number, bound):
            far = _far(number, bound)
            return far, f"{name} is {text}{_against(guard.operator, bound)}{_from(collected)}"
    return (2, 0), f"{name} is {text}"


def _bound(guard: Guard, group: Binding) -> Constant | None:
    try:
        return value(guard.term, group)
    except KeyError:
        return None


def _far(number: Constant, bound: Constant) -> tuple[int, float]:
    if isinstance(number, str) or isinstance(bound, str):
        return (1, 0)
    try:
        return (0, abs(float(number) - float(bound)))
    except OverflowError:
        return (1, 0)


def _against(operator: str, bound: Constant) -> str:
    text = constant_text(bound)
    if operator in (">", ">="):
        return f" of {_WORDS[operator]}{text}"
    if operator in ("<", "<="):
        return f", not {_WORDS[operator]}{text}"
    return f", not {text}" if operator == "=" else ", which it must not be"


def _from(collected: Collected) -> str:
    listed = str(collected).split(", from ", 1)[1]
    return f": {listed}" if collected.tuples else ""
