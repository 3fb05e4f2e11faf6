"""What rules over time points say about a program: stratification in time, and its delays."""

from typing import NamedTuple

from larspark.analysis.checked import Checked
from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError
from larspark.run.hypothetical.dataset import Background
from larspark.run.hypothetical.rule_dependencies import Edge, edges, unstratified
from larspark.run.hypothetical.unfolding import unfold_rule


class TimeProperties(NamedTuple):
    """Both are None where rules cannot be unfolded over time points, such as tuple windows.

    `delays` says for each derived predicate how many time points after an atom's own one the facts
    that decide it can lie at most (Definition 5 of the paper on hypothetical answers); None is
    without bound.
    """

    stratified: bool | None
    delays: dict[Signature, int | None] | None


def time_properties(checked: Checked) -> TimeProperties:
    """The properties of the rules, on a timeline that begins with 0."""
    declared = checked.program.inputs or frozenset()
    background = Background(
        checked.background, checked.background_signatures, checked.derived | declared
    )
    stratified = True if checked.strata is not None else None
    try:
        rules = [r for rule in checked.rules for r in unfold_rule(rule, background, 0)]
    except LarsparkError:
        return TimeProperties(stratified, None)
    derived = frozenset(rule.head.signature for rule in rules)
    dependencies = edges(rules, derived | checked.inputs)
    if stratified is None:
        inner = [edge for edge in dependencies if edge.body in derived]
        stratified = unstratified(inner) is None
    return TimeProperties(stratified, _delays(checked.derived, dependencies))


def _delays(derived: frozenset[Signature], found: list[Edge]) -> dict[Signature, int | None]:
    """How far ahead the facts lie that an atom is derived from, through all rules."""
    ahead: dict[Signature, float] = dict.fromkeys(derived, 0)
    endless = float("inf")
    for round_ in range(2 * len(derived) + 1):
        before = dict(ahead)
        for edge in found:
            needed = max(0.0, ahead.get(edge.body, 0) - edge.least)
            if needed > ahead[edge.head]:
                # What still grows after a round for every predicate depends on itself.
                ahead[edge.head] = endless if round_ > len(derived) else needed
        if ahead == before:
            break
    return {p: None if far == endless else int(far) for p, far in sorted(ahead.items())}
