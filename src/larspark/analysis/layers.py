"""Rules in layers, so that aggregates look at what is decided, as far as that is possible.

The answer streams of a program are those of its lower layers, each extended by those of the rules
above it (splitting): no lower rule reads what an upper one derives. Only an aggregate that takes
part in a recursion is evaluated together with what it looks at.
"""

from collections.abc import Sequence

from larspark.analysis.checked import Checked
from larspark.analysis.dependencies import dependency_edges, strata
from larspark.analysis.fragment import is_choice
from larspark.analysis.signatures import head_predicates
from larspark.base.atoms import Signature
from larspark.language.tree import Aggregate, Rule
from larspark.logic.graph import component_numbers
from larspark.logic.traversal import occurrences


def layers(checked: Checked) -> list[tuple[Rule, ...]]:
    """The rules from the lowest layer to the highest; one layer if no aggregate asks for more."""
    aggregated = [_aggregated(rule) & checked.derived for rule in checked.rules]
    if not any(aggregated):
        return [checked.rules]
    home = _components(checked)
    level: dict[int, int] = {}
    # Components have larger numbers than those that they depend on.
    for number in range(max(home.values()) + 1):
        below = [
            level[home[edge.body]] + (edge.body in aggregated[edge.rule])
            for edge in checked.edges
            if home[edge.head] == number and home.get(edge.body, number) != number
        ]
        level[number] = max(below, default=0)
    top = max(level.values())
    found: list[list[Rule]] = [[] for _ in range(top + 2)]
    for rule in checked.rules:
        heads = head_predicates(rule.head)
        # A rule that derives nothing, and may look at anything, comes last.
        found[level[home[min(heads)]] if heads else top + 1].append(rule)
    return [tuple(rules) for rules in found if rules]


def _aggregated(rule: Rule) -> frozenset[Signature]:
    return frozenset(
        atom.formula.atom.signature
        for part in rule.body
        if isinstance(part, Aggregate)
        for atom in occurrences(part)
    )


def _components(checked: Checked) -> dict[Signature, int]:
    """The number of the component of every derived predicate; a rule derives into one."""
    successors: dict[Signature, dict[Signature, None]] = {p: {} for p in sorted(checked.derived)}
    for edge in checked.edges:
        if edge.body in checked.derived:
            successors[edge.head].setdefault(edge.body)
    for rule in checked.rules:
        heads = sorted(head_predicates(rule.head))
        for one, other in zip(heads, heads[1:] + heads[:1], strict=True):
            successors[one].setdefault(other)
    return component_numbers(successors)


def decided(rules: Sequence[Rule]) -> bool:
    """Have rules exactly one answer stream, whatever they read?"""
    heads = frozenset(p for rule in rules for p in head_predicates(rule.head))
    return strata(dependency_edges(rules), heads) is not None and all(
        head_predicates(rule.head) and not is_choice(rule.head) for rule in rules
    )
