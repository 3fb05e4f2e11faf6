"""Substitution in answers with variables: their instances and the restrictions that remain."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from larspark.base.atoms import Signature
from larspark.base.terms import Variable, Wildcard
from larspark.run.hypothetical.dataset import Background, solutions
from larspark.run.hypothetical.patterns import (
    ORIGIN,
    Bindings,
    Instance,
    Literal,
    Pattern,
    Restriction,
    Slot,
    Time,
    object_names,
    substitute,
    substitute_condition,
    substitute_pattern,
    substitute_time,
    time_names,
    unify,
)


def substitute_instance(
    instance: Instance, bindings: Bindings, background: Background
) -> Instance | None:
    """The instance with values for some of its variables; None if they are not allowed."""
    where = restricted(instance, bindings, background)
    if where is None:
        return None
    return Instance(
        tuple(substitute(slot, bindings) for slot in instance.answer),
        frozenset(substitute_literal(literal, bindings) for literal in instance.evidence),
        frozenset(substitute_literal(literal, bindings) for literal in instance.hypotheses),
        where,
    )


def restricted(
    instance: Instance, bindings: Bindings, background: Background
) -> frozenset[Restriction] | None:
    """The restrictions on the remaining variables; None if the bindings violate one."""
    left = set()
    for condition, negated in instance.where:
        if isinstance(condition, Pattern):
            restricted = Restriction(substitute_pattern(condition, bindings), negated)
        else:
            restricted = Restriction(substitute_condition(condition, bindings), negated)
        allowed = _allowed(restricted, background)
        if allowed is False:
            return None
        if allowed is None:
            left.add(restricted)
    return frozenset(left)


def _allowed(restriction: Restriction, background: Background) -> bool | None:
    """Is the restriction satisfied? None while that depends on variables."""
    condition, negated = restriction
    if isinstance(condition, Pattern):
        if any(isinstance(arg, Variable | Time) for arg in condition.args):
            return None
        given = any(solutions((condition,), (), {}, background))
        return given != negated
    sides = condition[1:]
    if any(object_names(sides)) or any(name != ORIGIN for name in time_names(sides)):
        return None
    return any(solutions((), (condition,), {}, background))


def substitute_literal(literal: Literal, bindings: Bindings) -> Literal:
    t = literal.t
    if isinstance(t, Time):
        t = substitute_time(t, bindings)
        t = t.offset if t.variable == ORIGIN else t
    return Literal(t, substitute_pattern(literal.pattern, bindings), literal.negated)


def specialised(
    general: Instance, answer: tuple[Slot, ...], background: Background
) -> Instance | None:
    """The instance of a general answer that gives this answer; None if there is none."""
    bindings: dict[str, Slot] = {}
    for slot, wanted in zip(general.answer, answer, strict=True):
        if isinstance(slot, Variable) and bindings.setdefault(slot.name, wanted) == wanted:
            continue
        if isinstance(slot, Time):
            known = Time(ORIGIN, wanted) if isinstance(wanted, int) else wanted
            if isinstance(known, Time):
                moved = known.shifted(-slot.offset)
                if bindings.setdefault(slot.variable, moved) == moved:
                    continue
        if slot != wanted:
            return None
    special = substitute_instance(general, bindings, background)
    return None if special is None else special._replace(answer=answer)


def condensed(instance: Instance, background: Background) -> Instance:
    """Without hypotheses that others imply: `p(a)` implies `p(_)`."""
    if len(places(instance)) == len(instance.hypotheses):
        return instance
    if not any(map(is_open, instance.hypotheses)):
        return instance
    for image, bindings in images(
        [*instance.hypotheses], instance.hypotheses, answer_variables(instance)
    ):
        if image < instance.hypotheses:
            where = restricted(instance, bindings, background)
            if where is not None and where <= instance.where:
                evidence = frozenset(substitute_literal(one, bindings) for one in instance.evidence)
                smaller = Instance(instance.answer, evidence, image, where)
                return condensed(smaller, background)
    return instance


def collapsed(instance: Instance, background: Background) -> Iterator[Instance]:
    """The instances in which two hypotheses are the same fact.

    These need fewer facts, so an answer that beats the general instance need not beat them.
    """
    if len(places(instance)) == len(instance.hypotheses):
        return
    facts = [one for one in instance.hypotheses if not one.negated]
    denied = {
        name
        for one in instance.hypotheses
        if one.negated
        for name in object_names(one.pattern.args)
    }
    # The variables of the answer keep their names.
    names = {*object_names(instance.answer)}
    for one, two in combinations(facts, 2):
        if one.t != two.t or one.pattern.signature != two.pattern.signature:
            continue
        if Wildcard() in one.pattern.args + two.pattern.args:
            continue
        first, second = one.pattern.args, two.pattern.args
        if not names.isdisjoint(object_names(second)):
            first, second = second, first
        bindings = unify(first, second)
        # The effect of a value on denied atoms is not known here.
        if bindings and denied.isdisjoint(bindings):
            special = substitute_instance(instance, bindings, background)
            if special is not None:
                yield special


def answer_variables(instance: Instance) -> dict[str, Slot]:
    """The variables of the answer, bound to themselves: other values give another answer."""
    return {name: Variable(name) for name in object_names(instance.answer)}


def images(
    general: Sequence[Literal], special: frozenset[Literal], bindings: dict[str, Slot]
) -> Iterator[tuple[frozenset[Literal], dict[str, Slot]]]:
    """The subsets of the special literals that the general ones become by binding variables."""
    if not general:
        yield frozenset(), bindings
        return
    for literal in special:
        matched = _bound(general[0], literal, bindings)
        if matched is not None:
            for image, found in images(general[1:], special, matched):
                yield image | {literal}, found


def _bound(general: Literal, special: Literal, bindings: dict[str, Slot]) -> dict[str, Slot] | None:
    pattern, other = general.pattern, special.pattern
    if general.t != special.t or pattern.predicate != other.predicate:
        return None
    if general.negated != special.negated or len(pattern.args) != len(other.args):
        return None
    found = dict(bindings)
    for slot, arg in zip(pattern.args, other.args, strict=True):
        if isinstance(slot, Variable):
            if found.setdefault(slot.name, arg) != arg:
                return None
        elif slot != arg and (general.negated or not isinstance(slot, Wildcard)):
            return None
    return found


def places(instance: Instance) -> set[tuple[int | Time, Signature]]:
    """The times and predicates of its hypotheses."""
    return {(one.t, one.pattern.signature) for one in instance.hypotheses}


def is_open(literal: Literal) -> bool:
    """Does it depend on values? A wildcard in an absence does not: it denies all values."""
    kinds = (Variable,) if literal.negated else (Variable, Wildcard)
    return any(isinstance(arg, kinds) for arg in literal.pattern.args)
