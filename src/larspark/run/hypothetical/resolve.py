"""The offline step: resolve a query with the rules until only premises are left.

Resolution is SLD-resolution over future premises: derived atoms are replaced by the bodies of the
rules that derive them, input atoms are kept. The remaining premises say which facts make the query
true, independent of the facts so far. The result is finite if the rules are not recursive
(Proposition 9). With recursion it may still be finite (Proposition 10): goals that an earlier one
subsumes are dropped, and if no other ones appear, the set is complete.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError, Problem, Span
from larspark.base.terms import Variable
from larspark.run.hypothetical.goals import Goal, fresh, renamed, simplified, subsumes
from larspark.run.hypothetical.patterns import ORIGIN, Slot, Time, time_names, unify
from larspark.run.hypothetical.temporal_rules import NOW, Conjunction, Occurrence, TemporalRule

# A query that needs more goals is refused.
GOAL_LIMIT = 5_000
# The longest span at which a derived atom is expanded time point by time point.
SPAN_LIMIT = 200
# With recursion, termination is not known in advance: the limits are lower.
RECURSIVE_GOAL_LIMIT = 300
RECURSIVE_SIZE_LIMIT = 20


@dataclass(frozen=True, slots=True)
class RuleBase:
    """The rules over time points by the predicate they derive."""

    rules: Mapping[Signature, Sequence[TemporalRule]]
    # Predicates whose output at a time point is visible to all later evaluations.
    remembered: frozenset[Signature]

    def derives(self, signature: Signature) -> bool:
        return signature in self.rules


def premises(
    answers: Iterable[tuple[tuple[Slot, ...], Conjunction]],
    base: RuleBase,
    recursive: bool,
    span: Span | None,
) -> list[Goal]:
    """All goals without derived atoms that resolution reaches from the query."""
    return _Resolution(base, recursive, span).run(answers)


class UnboundedError(LarsparkError):
    """Resolution of a recursive query did not terminate within the limits."""


class _Resolution:
    def __init__(self, base: RuleBase, recursive: bool, span: Span | None) -> None:
        self._base = base
        self._recursive = recursive
        self._span = span
        self._numbers = count(1)

    def run(self, answers: Iterable[tuple[tuple[Slot, ...], Conjunction]]) -> list[Goal]:
        waiting: deque[Goal] = deque()
        for answer, body in answers:
            goal = Goal(answer, Time(NOW), (), replace(body, occurrences=()))
            waiting.extend(self._added(goal, body.occurrences))
        seen: list[Goal] = []
        finished: list[Goal] = []
        limit = RECURSIVE_GOAL_LIMIT if self._recursive else GOAL_LIMIT
        for number in count(1):
            if not waiting:
                return finished
            goal = waiting.popleft()
            too_long = self._recursive and len(goal.body.occurrences) > RECURSIVE_SIZE_LIMIT
            if number > limit or too_long:
                raise UnboundedError(self._too_many(limit))
            if self._recursive:
                if any(subsumes(earlier, goal) for earlier in seen):
                    continue
                seen.append(goal)
            if goal.open:
                waiting.extend(self._resolved(goal))
            else:
                finished.append(goal)
        return finished

    def _too_many(self, limit: int) -> Problem:
        return Problem(
            "L471",
            f"the query has more than {limit} sets of premises",
            self._span,
            hint="use a more specific query, smaller windows, or fewer alternatives under `always`",
        )

    def _added(self, goal: Goal, occurrences: Iterable[Occurrence]) -> Iterator[Goal]:
        """The goal with further atoms, divided into premises and derived atoms."""
        every = tuple(occurrences)
        derived = tuple(o for o in every if self._base.derives(o.pattern.signature))
        inputs = tuple(o for o in every if not self._base.derives(o.pattern.signature))
        body = replace(goal.body, occurrences=goal.body.occurrences + inputs)
        simple = simplified(replace(goal, open=derived + goal.open, body=body))
        if simple is not None:
            yield simple

    def _resolved(self, goal: Goal) -> Iterator[Goal]:
        occurrence = goal.open[0]
        rest = replace(goal, open=goal.open[1:])
        if occurrence.is_point:
            yield from self._resolved_at(rest, occurrence)
            return
        moved = self._moved(rest, occurrence)
        if moved is None:
            yield from self._expanded(rest, occurrence)
        else:
            yield from moved

    def _resolved_at(self, goal: Goal, occurrence: Occurrence) -> Iterator[Goal]:
        signature = occurrence.pattern.signature
        views: list[tuple[Goal, Time]] = [(goal, goal.now)]
        if signature in self._base.remembered:
            # Derived and output at its own time point, it is visible ever after.
            before = goal.at_most(occurrence.time.shifted(1), goal.now)
            if before is not None:
                views.append((before, occurrence.time))
        for view, now in views:
            for original in self._base.rules[signature]:
                rule = renamed(original, now, next(self._numbers))
                if rule is not None:
                    yield from self._applied(view, occurrence, rule)

    def _applied(self, goal: Goal, occurrence: Occurrence, rule: TemporalRule) -> Iterator[Goal]:
        joined = goal.joined(replace(rule.body, occurrences=()))
        if joined is None:
            return
        # Resolve the atom and the body together, so that they get the same bindings.
        together = replace(joined, open=(*rule.body.occurrences, _pin(rule), *joined.open))
        size = len(rule.body.occurrences)
        bindings = unify(occurrence.pattern.args, rule.head.args)
        if bindings is None:
            return
        moved = together.substitute(bindings)
        at = occurrence.substitute(bindings).time
        moved = moved and moved.equal(at, moved.open[size].time)
        if moved is not None:
            body, rest = moved.open[:size], moved.open[size + 1 :]
            yield from self._added(replace(moved, open=rest), body)

    def _moved(self, goal: Goal, occurrence: Occurrence) -> list[Goal] | None:
        """Replace a derived atom over a span by the one premise it has at each time point.

        With `@T high(X) :- @T temp(X,V), V > 80` the atom `high(X)` at N-2..N becomes `temp(X,V)`
        at N-2..N with `V > 80`, where `V` may differ from time point to time point. None when the
        rules are not of that kind.
        """
        signature = occurrence.pattern.signature
        rules = self._base.rules[signature]
        if len(rules) != 1 or signature in self._base.remembered:
            return None
        number = next(self._numbers)
        rule = renamed(rules[0], goal.now, number)
        if rule is None or not _one_premise(rule, goal.now):
            return None
        bindings = unify(occurrence.pattern.args, rule.head.args)
        if bindings is None:
            return []
        own = {name for name in rule.body.object_names() if name not in bindings}
        local = frozenset(own | occurrence.local)
        if any(
            isinstance(slot, Variable) and slot.name in local
            for name, slot in bindings.items()
            if name not in local and not name.endswith(f".{number}")
        ):
            return None
        premise = rule.body.occurrences[0]
        shift = premise.first - rule.time.offset
        bounded = _bounded(goal, occurrence, rule)
        if bounded is None:
            return None
        moved: list[Goal] = []
        for case, clipped in bounded:
            over = Occurrence(
                premise.pattern,
                occurrence.variable,
                occurrence.first + shift,
                occurrence.last + shift,
                occurrence.floor + shift if clipped and occurrence.floor is not None else None,
                local,
                occurrence.rigid + rule.body.rigid,
                occurrence.conditions + rule.body.conditions,
            ).substitute(bindings)
            bound = case.substitute(bindings)
            if bound is not None:
                moved.extend(self._added(bound, (over,)))
        return moved

    def _expanded(self, goal: Goal, occurrence: Occurrence) -> Iterator[Goal]:
        """The atom at each time point of the span separately, for every possible clipping."""
        length = occurrence.last - occurrence.first + 1
        self._refuse_too_many_ways(occurrence, length)
        cuts = length if occurrence.floor is not None else 1
        for cut in range(cuts):
            case: Goal | None = goal
            oldest = Time(occurrence.variable, occurrence.first + cut)
            points = [self._point(occurrence, offset) for offset in range(cut, length)]
            if occurrence.floor is not None:
                floor = Time(ORIGIN, occurrence.floor)
                case = goal.at_most(floor, oldest)
                case = case and (case.at_most(oldest, floor) if cut else case)
            if case is None:
                continue
            for _, extra in points:
                case = case and case.joined(extra)
            if case is not None:
                yield from self._added(case, [point for point, _ in points])

    def _refuse_too_many_ways(self, occurrence: Occurrence, length: int) -> None:
        """Raise when the combinations of rules over the time points of a span are too many."""
        rules = self._base.rules[occurrence.pattern.signature]
        ways = sum(all(isinstance(arg, Variable) for arg in rule.head.args) for rule in rules)
        if length > SPAN_LIMIT or max(ways, 1) ** length > GOAL_LIMIT:
            message = (
                f"`{occurrence.pattern.signature}` has to hold at {length} time points, and has "
                f"{len(rules)} rules at each of them: too many combinations"
            )
            hint = "use a smaller window, or one rule with one atom in its body"
            raise LarsparkError(Problem("L471", message, self._span, hint))

    def _point(self, occurrence: Occurrence, offset: int) -> tuple[Occurrence, Conjunction]:
        number = next(self._numbers)
        own = {name: Variable(fresh(name, number)) for name in occurrence.local}
        point = occurrence.at(occurrence.first + offset).substitute(own)
        extra = Conjunction(rigid=point.rigid, conditions=point.conditions)
        return Occurrence(point.pattern, point.variable, point.first, point.last), extra


def _pin(rule: TemporalRule) -> Occurrence:
    """The head as an occurrence, to carry its time through a substitution."""
    return Occurrence(rule.head, rule.time.variable, rule.time.offset, rule.time.offset)


def _one_premise(rule: TemporalRule, now: Time) -> bool:
    """Is the body one atom at a fixed distance from the head, plus background and comparisons?"""
    body = rule.body
    if len(body.occurrences) != 1 or body.denials or body.missing:
        return False
    premise = body.occurrences[0]
    variables = {*body.time_names(), *body.bounds.variables} - {ORIGIN}
    return (
        premise.is_point
        and premise.variable == rule.time.variable
        and premise.variable not in (ORIGIN, now.variable)
        and variables <= {premise.variable, now.variable}
        and not any(time_names(rule.head.args))
        and not any(time_names(premise.pattern.args))
        and not any(time_names(slot for c in body.conditions for slot in (c.left, c.right)))
    )


def _bounded(
    goal: Goal, occurrence: Occurrence, rule: TemporalRule
) -> list[tuple[Goal, bool]] | None:
    """The goal with the rule's bounds at every time point of the span, and whether it is clipped.

    Upper bounds of the head's time have to hold at the last time point, lower bounds at the first
    one that counts; None when that one is not known.
    """
    variable, shift = rule.time.variable, -rule.time.offset
    first = Time(occurrence.variable, occurrence.first + shift)
    last = Time(occurrence.variable, occurrence.last + shift)
    case: Goal | None = goal
    clipped = occurrence.floor is not None
    for left, right, slack in rule.body.bounds.entries():
        if case is None:
            return []
        if left == variable:
            case = case.at_most(last, Time(right, slack))
        elif right == variable:
            lower = Time(left, -slack)
            if occurrence.floor is None or case.body.bounds.implies(lower, first):
                case = case.at_most(lower, first)
            elif left != ORIGIN:
                return None
            elif lower.offset > occurrence.floor + shift:
                # The rule derives nothing at the start: a clipped window cannot be filled.
                case, clipped = case.at_most(lower, first), False
        else:
            case = case.at_most(Time(left), Time(right, slack))
    return [] if case is None else [(case, clipped)]
