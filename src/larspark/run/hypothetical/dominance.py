"""Minimality: which answers need no more than necessary (Definitions 1 and 2).

Hypotheses are minimal if no smaller set of facts makes the same answer true, be it supported by
evidence or not; evidence is minimal among that for the same hypotheses.
"""

from collections.abc import Iterator, Sequence

from larspark.run.hypothetical.dataset import Background
from larspark.run.hypothetical.literals import Instance, Literal
from larspark.run.hypothetical.patterns import Slot
from larspark.run.hypothetical.rivals import Rivals
from larspark.run.hypothetical.specialise import (
    answer_kept,
    collapsed,
    condensed,
    images,
    is_open,
    places,
    put_literal,
    restricted,
    specialised,
)


def minimal_answers(
    group: Sequence[Instance], general: Sequence[Instance], rival: Rivals
) -> list[Instance]:
    """Those of the instances that nothing beats.

    `general` are instances with variables in their answers, whose instances may beat others.
    """
    by_answer: dict[tuple[Slot, ...], dict[Instance, None]] = {}
    for instance in group:
        instance = condensed(instance, rival.background)
        by_answer.setdefault(instance.answer, {})[instance] = None
    kept: list[Instance] = []
    for answer, own in by_answer.items():
        special = (specialised(other, answer, rival.background) for other in general)
        others = [other for other in special if other is not None]
        kept += _best([*own], [*own, *others], rival)
    return kept


def _best(own: Sequence[Instance], pool: Sequence[Instance], rival: Rivals) -> Iterator[Instance]:
    by_hypotheses: dict[frozenset[Literal], list[Instance]] = {}
    for instance in pool:
        by_hypotheses.setdefault(instance.hypotheses, []).append(instance)
    sets = sorted(by_hypotheses, key=len)
    patterns = []
    if len(pool) > 1:
        patterns = [other for other in pool if any(map(is_open, other.hypotheses))]

    def is_beaten(instance: Instance) -> bool:
        smaller = (
            other
            for hypotheses in sets
            if len(hypotheses) < len(instance.hypotheses) and hypotheses < instance.hypotheses
            for other in by_hypotheses[hypotheses]
        )
        return (
            any(_beats(other, instance, rival.t) for other in smaller)
            or any(
                other.evidence < instance.evidence and other.where <= instance.where
                for other in by_hypotheses.get(instance.hypotheses, ())
            )
            or any(
                other is not instance and _covers(other, instance, rival.background, rival.t)
                for other in patterns
            )
            or rival.beats(instance)
        )

    waiting = dict.fromkeys(own)
    while waiting:
        instance, _ = waiting.popitem()
        if not is_beaten(instance):
            yield instance
        else:
            special = [
                one
                for one in collapsed(instance, rival.background)
                if one.answer == instance.answer
            ]
            waiting.update(dict.fromkeys(condensed(one, rival.background) for one in special))


def _beats(other: Instance, instance: Instance, t: int) -> bool:
    """Does an answer with fewer hypotheses beat another one, whatever values variables get?

    Absence in the past is a hypothesis only as long as it is not known of which atom. With a value
    it is evidence or false, so that the other answer may not need more after all.
    """
    if not other.where <= instance.where:
        return False
    unknown = frozenset(
        one
        for one in instance.hypotheses
        if one.negated and isinstance(one.t, int) and one.t <= t and is_open(one)
    )
    if not unknown:
        return True
    few, many = other.hypotheses - unknown, instance.hypotheses - unknown
    if few < many:
        return True
    return other.evidence | (other.hypotheses & unknown) < instance.evidence | unknown


def _covers(general: Instance, instance: Instance, background: Background, t: int) -> bool:
    """Does a choice of values make the one need less than the other?"""
    if not places(general) <= places(instance):
        return False
    for image, bindings in images([*general.hypotheses], instance.hypotheses, answer_kept(general)):
        where = restricted(general, bindings, background)
        if where is None or not where <= instance.where:
            continue
        evidence = frozenset(put_literal(one, bindings) for one in general.evidence)
        special = Instance(instance.answer, evidence, image, where)
        if image == instance.hypotheses:
            if evidence < instance.evidence:
                return True
        elif _beats(special, instance, t):
            return True
    return False
