"""What can be told from the rules of a core program about the relations they define."""

from collections import Counter

from larspark.base.atoms import Signature
from larspark.run.asp.components import components
from larspark.run.asp.core import Core, EveryRule


def recursive(core: Core) -> frozenset[int]:
    """The relations that can depend on themselves through positive literals."""
    successors = _successors(core, negative=False)
    home = components(successors)
    size = Counter(home.values())
    return frozenset(n for n, needed in successors.items() if size[home[n]] > 1 or n in needed)


def undetermined(core: Core) -> frozenset[int]:
    """The relations whose rows can differ from answer stream to answer stream.

    Choices come from disjunctions and from circles through negation; what depends on a choice is
    undetermined too.
    """
    successors = _successors(core, negative=True)
    home = components(successors)
    choosing: set[int] = set()
    for rule in core.rules:
        if isinstance(rule, EveryRule):
            continue
        for head in rule.heads:
            circle = any(home[atom.relation] == home[head.relation] for atom in rule.negative)
            if circle or len(rule.heads) > 1:
                choosing.add(home[head.relation])
    # A component's number is above the numbers of all components that it depends on.
    for number in sorted(successors, key=lambda n: home[n]):
        if any(home[other] in choosing for other in successors[number]):
            choosing.add(home[number])
    return frozenset(n for n in successors if home[n] in choosing)


def comparable(core: Core, shown: frozenset[Signature]) -> bool:
    """Can the output of one answer stream be a part of the output of another?

    Answer streams are not; but an output can leave out what makes the difference.
    """
    choices = undetermined(core)
    chosen = {p: pinned for p, (number, pinned) in core.predicates.items() if number in choices}
    return any(pinned or p not in shown for p, pinned in chosen.items())


def _successors(core: Core, *, negative: bool) -> dict[int, dict[int, None]]:
    """The relations that each relation is defined by."""
    successors: dict[int, dict[int, None]] = {number: {} for number in range(len(core.arities))}
    for rule in core.rules:
        if isinstance(rule, EveryRule):
            successors[rule.head][rule.moments] = None
            continue
        body = (*rule.positive, *rule.negative) if negative else rule.positive
        for head in rule.heads:
            successors[head.relation].update((atom.relation, None) for atom in body)
    return successors
