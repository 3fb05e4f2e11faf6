"""What can be taken back.

Rows promise what holds in the future if nothing more arrives. Most promises are kept; those that
rest on a negation or on a tuple window can be broken by what arrives.
"""

from larspark.base.atoms import Signature
from larspark.plan.operators import Group, Plan, formulas


def retracting_rules(plan: Plan, *, hindsight: bool, push: bool) -> tuple[tuple[bool, ...], ...]:
    """For every rule of every group: can what it derives be taken back?

    A recursion over such promises makes none itself, so what it derives is final; in push mode
    only when the time point is over.
    """
    retracting: set[Signature] = set()
    answers: list[tuple[bool, ...]] = []
    for group in plan.groups:
        rules = tuple(
            any(
                negated
                or (seen.tuples is not None and not hindsight)
                or seen.atom.signature in retracting
                for seen, negated in formulas(rule.source)
            )
            for rule in group.rules
        )
        answers.append(rules)
        if any(rules) and (push or not group.recursive):
            retracting.update(
                rule.atom.signature
                for rule, can in zip(group.rules, rules, strict=True)
                if can or group.recursive
            )
    return tuple(answers)


def is_recomputed(group: Group, rules: tuple[bool, ...]) -> bool:
    """Is this a recursion over promises that can be broken?"""
    return group.recursive and any(rules)
