"""Dependencies between rules over time: recursion, stratification, connectedness, delays."""

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import NamedTuple

from larspark.analysis.checked import Checked
from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError, Problem, Severity
from larspark.language.tree import Rule
from larspark.run.hypothetical.dataset import Background
from larspark.run.hypothetical.patterns import ORIGIN
from larspark.run.hypothetical.temporal_rules import NOW, Occurrence, TemporalRule
from larspark.run.hypothetical.unfolding import unfold_rule


class Edge(NamedTuple):
    """`head` depends on `body`, which lies between `least` and `most` time points before it."""

    head: Signature
    body: Signature
    negative: bool
    least: float
    most: float
    rule: Rule


def edges(rules: Iterable[TemporalRule], derived: frozenset[Signature]) -> list[Edge]:
    """All dependencies between derived predicates."""
    found: dict[Edge, None] = {}
    for rule in rules:
        asked = [(occurrence, False) for occurrence in rule.body.occurrences]
        asked += [(denial.occurrence, True) for denial in rule.body.denials]
        for occurrence, negative in asked:
            if occurrence.pattern.signature in derived:
                least, most = _before(rule, occurrence)
                head, body = rule.head.signature, occurrence.pattern.signature
                found[Edge(head, body, negative, least, most, rule.source)] = None
    return list(found)


def _before(rule: TemporalRule, occurrence: Occurrence) -> tuple[float, float]:
    """The least and greatest number of time points by which a body atom precedes the head."""
    bounds = rule.body.bounds
    nearest = bounds.upper(occurrence.variable, rule.time.variable)
    farthest = bounds.upper(rule.time.variable, occurrence.variable)
    offset = rule.time.offset
    return (
        -inf if nearest is None else offset - occurrence.last - nearest,
        inf if farthest is None else offset - occurrence.first + farthest,
    )


def cycle(dependencies: Sequence[Edge]) -> list[Edge] | None:
    """A cycle of dependencies as a path of edges; None when there is none."""
    following: dict[Signature, list[Edge]] = {}
    for dependency in dependencies:
        following.setdefault(dependency.head, []).append(dependency)
    finished: set[Signature] = set()
    for start in following:
        path: list[Edge] = []
        on_path = {start}
        waiting = [iter(following[start])]
        if start in finished:
            continue
        while waiting:
            edge: Edge | None = next(waiting[-1], None)
            if edge is None:
                waiting.pop()
                left = path.pop().body if path else start
                on_path.discard(left)
                finished.add(left)
            elif edge.body in on_path:
                path.append(edge)
                first = next(i for i, step in enumerate(path) if step.head == edge.body)
                return path[first:]
            elif edge.body not in finished:
                path.append(edge)
                on_path.add(edge.body)
                waiting.append(iter(following.get(edge.body, ())))
    return None


def unstratified(edges: Sequence[Edge]) -> list[Edge] | None:
    """A cycle of recursion through negation; None if negation is T-stratified.

    At each time point a predicate is a symbol of its own, and there are infinitely many. But a
    dependency is the same at all time points, so only the time distance of a cycle counts: a cycle
    through a denial has to lead into the past, and no cycle may lead into the future. Otherwise an
    atom depends on its own absence, or on ever later atoms. With weights that count time first and
    denials second, such a cycle has a negative sum (Proposition 14).
    """
    inner = [edge for edge in edges if _reaches(edge.body, edge.head, edges)]
    if not any(edge.negative for edge in inner):
        return None
    involved = {
        edge
        for edge in inner
        for denial in inner
        if denial.negative
        and _reaches(edge.body, denial.head, edges)
        and _reaches(denial.body, edge.head, edges)
    }
    weights = {edge: edge.least * (len(involved) + 1) - edge.negative for edge in involved}
    distance: dict[Signature, float] = {edge.head: 0 for edge in involved}
    reached_by: dict[Signature, Edge] = {}
    last: Signature | None = None
    for _ in range(len(distance) + 1):
        last = None
        for edge, weight in weights.items():
            if distance[edge.head] + weight < distance[edge.body]:
                distance[edge.body] = distance[edge.head] + weight
                reached_by[edge.body] = edge
                last = edge.body
    if last is None:
        return None
    for _ in distance:
        last = reached_by[last].head
    path = [reached_by[last]]
    while path[0].head != last:
        path.insert(0, reached_by[path[0].head])
    return path


def _reaches(start: Signature, goal: Signature, edges: Sequence[Edge]) -> bool:
    found = {start}
    waiting = [start]
    while waiting:
        current = waiting.pop()
        if current == goal:
            return True
        for edge in edges:
            if edge.head == current and edge.body not in found:
                found.add(edge.body)
                waiting.append(edge.body)
    return False


def unbounded_problem(path: Sequence[Edge]) -> Problem:
    """The problem that names the rules that make the set of premises infinite."""
    names = " -> ".join([*(str(edge.head) for edge in path), str(path[-1].body)])
    lines = list(dict.fromkeys(str(edge.rule.span.line) for edge in path))
    where = f"line{'s' * (len(lines) > 1)} {', '.join(lines)}"
    least = sum(edge.least for edge in path)
    most = sum(edge.most for edge in path)
    if least == most and most != 0:
        direction = "earlier" if most > 0 else "later"
        why = f"each round needs facts {_count(abs(most))} {direction}"
    else:
        why = "each round needs more facts"
    return Problem(
        "L470",
        f"`{path[0].head}` depends on itself ({names}, {where}): {why}, so the "
        "facts that make the query true cannot be listed",
        path[0].rule.span,
        hint="bound the recursion by a window, such as `[10] @T p(X)` in the body",
    )


def _count(number: float) -> str:
    return "one time point" if number == 1 else f"{number:g} time points"


def unstratified_problem(path: Sequence[Edge]) -> Problem:
    names = " -> ".join(
        [str(path[0].head), *(("not " if edge.negative else "") + str(edge.body) for edge in path)]
    )
    return Problem(
        "L475",
        f"whether `{path[0].head}` holds depends on its own absence ({names}) at the same time "
        "point or at later ones",
        next(edge for edge in path if edge.negative).rule.span,
        hint="let the denied atom lie in the past, such as `not @T-1 p(X)` for `@T p(X)`",
    )


def unconnected_problems(rules: Iterable[TemporalRule]) -> Iterator[Problem]:
    """Warnings for rules whose premises can be arbitrarily far from their head."""
    seen: set[Rule] = set()
    for rule in rules:
        loose = {
            occurrence.variable.partition(".")[0]
            for occurrence in rule.body.occurrences
            if inf in map(abs, _before(rule, occurrence))
            and occurrence.variable not in (ORIGIN, NOW)
        }
        if loose and rule.source not in seen:
            seen.add(rule.source)
            names = ", ".join(f"`{name}`" for name in sorted(loose))
            yield Problem(
                "L476",
                f"{names} can be arbitrarily far from the head of the rule, so its answers may "
                "wait without bound",
                rule.source.span,
                hint="put a window around the atoms that have to hold in time",
                severity=Severity.WARNING,
            )


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
