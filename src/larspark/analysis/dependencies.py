"""The dependency graph of predicates, strata, and cycles through negation.

An edge is negative when more of the body's predicate can mean less of the head's: under an odd
number of negations, or under a window of the user's own, about which nothing is known. Time
windows and filters are monotone, tuple windows count input only; so a cycle through them, or
through `always`, is an ordinary recursion.
"""

from collections.abc import Iterable, Mapping, Sequence

from larspark.analysis.checked import Checked, Edge, EdgeKind
from larspark.analysis.fragment import is_choice
from larspark.analysis.signatures import head_predicates
from larspark.base.atoms import Signature
from larspark.language.tree import Aggregate, Rule
from larspark.logic.graph import component_numbers, strongly_connected
from larspark.logic.traversal import Occurrence, occurrences


def dependency_edges(rules: Sequence[Rule]) -> tuple[Edge, ...]:
    """The edges of the dependency graph, rule by rule, each once.

    The atoms of a head that offers a choice depend on each other: in `a or b`, on whether the
    others were chosen.
    """
    edges: dict[Edge, None] = {}
    for number, rule in enumerate(rules):
        in_head = list(occurrences(rule.head))
        heads = list(dict.fromkeys(a.formula.atom.signature for a in in_head if a.positive))
        # `a -> b` in a head gives `b` where `a` holds: what is negative in a head acts as a body.
        asked = [a._replace(positive=True) for a in in_head if not a.positive]
        asked.extend(atom for formula in rule.body for atom in occurrences(formula))
        for head in heads:
            for atom in asked:
                edges.setdefault(Edge(head, atom.formula.atom.signature, _kind(atom), number))
        if len(heads) > 1 and is_choice(rule.head):
            for one, other in zip(heads, heads[1:] + heads[:1], strict=True):
                edges.setdefault(Edge(one, other, EdgeKind.POSITIVE, number))
    return tuple(edges)


def _kind(atom: Occurrence) -> EdgeKind:
    if not atom.positive or not all(window.is_known for window in atom.windows):
        return EdgeKind.NEGATIVE
    return EdgeKind.WINDOW if atom.windows else EdgeKind.POSITIVE


def strata(
    edges: Iterable[Edge], derived: frozenset[Signature]
) -> tuple[frozenset[Signature], ...] | None:
    """The fewest strata such that every negative edge leads to a lower one; None if not stratified.

    >>> a, b = Signature("a", 0), Signature("b", 0)
    >>> layers = strata([Edge(b, a, EdgeKind.NEGATIVE, 0)], frozenset({a, b}))
    >>> [list(map(str, layer)) for layer in layers]
    [['a/0'], ['b/0']]
    """
    edges = [edge for edge in edges if edge.body in derived]
    components = evaluation_order(edges, derived)
    home = {signature: n for n, part in enumerate(components) for signature in part}
    layer = [0] * len(components)
    below: dict[int, set[tuple[int, int]]] = {}
    for edge in edges:
        step = int(edge.kind is EdgeKind.NEGATIVE)
        head, body = home[edge.head], home[edge.body]
        if head == body and step:
            return None
        if head != body:
            below.setdefault(head, set()).add((body, step))
    for number in range(len(components)):
        layer[number] = max((layer[body] + step for body, step in below.get(number, ())), default=0)
    layers: list[set[Signature]] = [set() for _ in range(max(layer, default=-1) + 1)]
    for number, part in enumerate(components):
        layers[layer[number]] |= part
    return tuple(map(frozenset, layers))


def evaluation_order(
    edges: Iterable[Edge], derived: frozenset[Signature]
) -> tuple[frozenset[Signature], ...]:
    """The derived predicates in groups that depend on each other, each after what it needs."""
    successors: dict[Signature, dict[Signature, None]] = {p: {} for p in sorted(derived)}
    for edge in edges:
        if edge.body in derived:
            successors[edge.head].setdefault(edge.body)
    return tuple(strongly_connected(successors))


def negative_cycle(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """A shortest cycle through a negative edge, starting with it; empty when there is none."""
    edges = sorted(edges, key=lambda edge: (edge.head, edge.body, edge.kind, edge.rule))
    successors: dict[Signature, list[Edge]] = {}
    for edge in edges:
        successors.setdefault(edge.head, []).append(edge)
    component = component_numbers(
        {head: [edge.body for edge in out] for head, out in successors.items()}
    )
    shortest: tuple[Edge, ...] = ()
    tried: set[tuple[Signature, Signature]] = set()
    for edge in edges:
        ends = (edge.body, edge.head)
        if edge.kind is not EdgeKind.NEGATIVE or ends in tried:
            continue
        if component.get(edge.head) != component.get(edge.body, -1):
            continue
        tried.add(ends)
        cycle = (edge, *_path(successors, *ends))
        if not shortest or len(cycle) < len(shortest):
            shortest = cycle
        # A long search for a shorter cycle is not worth it: any cycle explains.
        if len(shortest) == 1 or len(tried) >= 100:
            break
    return shortest


def _path(
    successors: Mapping[Signature, list[Edge]], start: Signature, goal: Signature
) -> tuple[Edge, ...]:
    """A shortest path, which must exist."""
    came_by: dict[Signature, Edge] = {}
    level = [start]
    while goal != start and goal not in came_by:
        following: list[Signature] = []
        for node in level:
            for edge in successors.get(node, ()):
                if edge.body not in came_by and edge.body != start:
                    came_by[edge.body] = edge
                    following.append(edge.body)
        level = following
    path: list[Edge] = []
    while goal != start:
        path.append(came_by[goal])
        goal = came_by[goal].head
    return tuple(reversed(path))


def layers(checked: Checked) -> list[tuple[Rule, ...]]:
    """The rules from the lowest layer to the highest; one layer if no aggregate asks for more.

    Aggregates look at what is decided, as far as that is possible. The answer streams of a program
    are those of its lower layers, each extended by those of the rules above it (splitting): no
    lower rule reads what an upper one derives. Only an aggregate that takes part in a recursion is
    evaluated together with what it looks at.
    """
    aggregated = [_aggregated(rule) & checked.derived for rule in checked.rules]
    if not any(aggregated):
        return [checked.rules]
    home = component_numbers(dependency_graph(checked))
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


def dependency_graph(checked: Checked) -> dict[Signature, dict[Signature, None]]:
    """The derived predicates that each one depends on; those of one head depend on each other."""
    successors: dict[Signature, dict[Signature, None]] = {p: {} for p in sorted(checked.derived)}
    for edge in checked.edges:
        if edge.body in checked.derived:
            successors[edge.head].setdefault(edge.body)
    for rule in checked.rules:
        heads = sorted(head_predicates(rule.head))
        for one, other in zip(heads, heads[1:] + heads[:1], strict=True):
            successors[one].setdefault(other)
    return successors


def decided(rules: Sequence[Rule]) -> bool:
    """Have rules exactly one answer stream, whatever they read?"""
    heads = frozenset(p for rule in rules for p in head_predicates(rule.head))
    return strata(dependency_edges(rules), heads) is not None and all(
        head_predicates(rule.head) and not is_choice(rule.head) for rule in rules
    )
