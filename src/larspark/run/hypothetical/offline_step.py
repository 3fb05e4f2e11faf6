"""The offline step: from a program and a query to clauses."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from larspark.analysis.check import formula_problems
from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Problem, Severity
from larspark.base.terms import Variable
from larspark.language.tree import Formula, Rule, Truth
from larspark.logic.traversal import occurrences
from larspark.run.hypothetical.clause import Clause, compiled
from larspark.run.hypothetical.dataset import Background
from larspark.run.hypothetical.normal_goals import minimal, without_now
from larspark.run.hypothetical.patterns import ORIGIN, Pattern, Slot, Time, time_names
from larspark.run.hypothetical.resolve import RuleBase, UnboundedError, premises
from larspark.run.hypothetical.rule_dependencies import (
    Edge,
    cycle,
    edges,
    unbounded_problem,
    unconnected_problems,
    unstratified,
    unstratified_problem,
)
from larspark.run.hypothetical.temporal_rules import NOW, Conjunction, Occurrence, TemporalRule
from larspark.run.hypothetical.unfolding import query_variables, unfold_query, unfold_rule

# A query with more clauses, or a clause with more premises, is refused.
CLAUSE_LIMIT = 2_000
PREMISE_LIMIT = 300


@dataclass(frozen=True, slots=True)
class Prepared:
    """The compiled query, before the first fact."""

    variables: tuple[str, ...]
    background: Background
    clauses: tuple[Clause, ...]
    # The clauses of every derived predicate that is denied somewhere.
    queries: Mapping[Signature, Sequence[Clause]]
    # The rules that let answers wait without bound.
    warnings: tuple[Problem, ...]


def prepare(checked: Checked, query: Formula, background: Iterable[Atom], start: int) -> Prepared:
    """Resolve the query to its premises; raises the reasons if that is not possible."""
    problems = [p for p in checked.problems if p.severity is Severity.ERROR]
    problems += [p for p in formula_problems(query) if p.severity is Severity.ERROR]
    if problems:
        raise LarsparkError(problems)
    return _Preparation(checked, query, background, start).run()


class _Preparation:
    def __init__(
        self, checked: Checked, query: Formula, background: Iterable[Atom], start: int
    ) -> None:
        self._checked = checked
        self._query = query
        self._start = start
        atoms = (*checked.background, *background)
        declared = checked.program.inputs or frozenset()
        self._background = Background(
            atoms, checked.background_signatures, checked.derived | declared
        )

    def run(self) -> Prepared:
        rules = self._rules()
        base = RuleBase(rules, self._checked.program.remembered & self._checked.derived)
        every = [rule for group in rules.values() for rule in group]
        dependencies = edges(every, frozenset(rules))
        if wrong := unstratified(dependencies):
            raise LarsparkError(unstratified_problem(wrong))
        positive = [edge for edge in dependencies if not edge.negative]
        asked = unfold_query(self._query, self._background, self._start)
        depends = _dependent_on_now(every, dependencies, base.remembered)
        clauses = self._clauses(asked, base, positive, depends)
        queries: dict[Signature, Sequence[Clause]] = {}
        waiting: list[Sequence[Clause]] = [clauses]
        while waiting:
            for denied in _denied(waiting.pop()):
                if base.derives(denied) and denied not in queries:
                    auxiliary = [(_slots(denied), _body(denied))]
                    queries[denied] = self._clauses(auxiliary, base, positive, depends)
                    waiting.append(queries[denied])
        return Prepared(
            tuple(query_variables(self._query)),
            self._background,
            tuple(clauses),
            queries,
            tuple(unconnected_problems(every)),
        )

    def _rules(self) -> dict[Signature, list[TemporalRule]]:
        """The rules that the query depends on, unfolded."""
        reached = {o.formula.atom.signature for o in occurrences(self._query)}
        chosen: dict[Rule, None] = {}
        grown = True
        while grown:
            grown = False
            for rule in self._checked.rules:
                heads = {o.formula.atom.signature for o in occurrences(rule.head)}
                is_constraint = isinstance(rule.head, Truth)
                if rule not in chosen and (heads & reached or is_constraint):
                    chosen[rule] = None
                    grown = True
                    for part in rule.body:
                        reached |= {o.formula.atom.signature for o in occurrences(part)}
        derived: dict[Signature, list[TemporalRule]] = {
            signature: [] for signature in sorted(self._checked.derived & reached)
        }
        problems: list[Problem] = []
        for rule in chosen:
            try:
                for unfolded in unfold_rule(rule, self._background, self._start):
                    derived[unfolded.head.signature].append(unfolded)
            except LarsparkError as error:
                problems.extend(error.problems)
        if problems:
            raise LarsparkError(problems)
        return derived

    def _clauses(
        self,
        asked: list[tuple[tuple[Slot, ...], Conjunction]],
        base: RuleBase,
        positive: list[Edge],
        depends: frozenset[Signature],
    ) -> list[Clause]:
        loop = cycle(positive)
        try:
            goals = premises(asked, base, loop is not None, self._query.span)
        except UnboundedError as error:
            raise LarsparkError(unbounded_problem(loop) if loop else error.problems) from None
        if len(goals) > CLAUSE_LIMIT:
            raise LarsparkError(self._too_large(f"has more than {CLAUSE_LIMIT} sets of premises"))
        kept = minimal(without_now(goal, depends) for goal in goals)
        if any(len(goal.body.occurrences) > PREMISE_LIMIT for goal in kept):
            raise LarsparkError(self._too_large(f"needs more than {PREMISE_LIMIT} facts"))
        clauses = [compiled(goal) for goal in kept]
        for clause in clauses:
            self._refuse_undated_absence(clause)
        return clauses

    def _refuse_undated_absence(self, clause: Clause) -> None:
        """Raise denials without a definite time or evaluation time: they are never decided."""
        goal = clause.goal
        anchors = {ORIGIN, *time_names(goal.answer)}
        anchors.update(name for item in goal.body.occurrences for name in item.time_names())
        for denial in clause.denials:
            times = {denial.occurrence.variable}
            if denial.now is not None:
                times.add(denial.now.variable)
            loose = times - anchors
            if any(
                all(goal.body.bounds.upper(name, anchor) is None for anchor in anchors)
                for name in loose
            ):
                signature = denial.occurrence.pattern.signature
                raise LarsparkError(
                    Problem(
                        "L472",
                        f"whether `{signature}` is absent depends on the evaluation time, which "
                        "the query does not fix",
                        self._query.span,
                        hint="derive it for a time point, as in `@T p(X) :- @T q(X)`, or put "
                        "windows around the other atoms of the rule that denies it",
                    )
                )

    def _too_large(self, what: str) -> Problem:
        hint = "use a more specific query, smaller windows, or fewer alternatives under `always`"
        return Problem("L471", f"the query {what}", self._query.span, hint)


def _slots(signature: Signature) -> tuple[Slot, ...]:
    """The slots of an atom of the predicate, its time, and its evaluation time."""
    args = tuple(Variable(f"Arg{number}") for number in range(signature.arity))
    return (*args, Time("At"), Time(NOW))


def _body(signature: Signature) -> Conjunction:
    args = tuple(Variable(f"Arg{number}") for number in range(signature.arity))
    return Conjunction((Occurrence(Pattern(signature.predicate, args), "At", 0, 0),))


def _denied(clauses: Sequence[Clause]) -> set[Signature]:
    return {denial.occurrence.pattern.signature for clause in clauses for denial in clause.denials}


def _dependent_on_now(
    rules: Sequence[TemporalRule], dependencies: Sequence[Edge], remembered: frozenset[Signature]
) -> frozenset[Signature]:
    """The predicates whose atoms depend on the evaluation time."""
    found = {rule.head.signature for rule in rules if rule.depends_on_now} | remembered
    grown = True
    while grown:
        more = {edge.head for edge in dependencies if edge.body in found} - found
        found |= more
        grown = bool(more)
    return frozenset(found)
