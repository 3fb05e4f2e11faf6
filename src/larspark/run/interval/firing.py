"""Rules as they are fired: what is new in one formula meets what the others hold."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from larspark.base.terms import Term, Variable
from larspark.plan.operators import (
    Derive,
    Let,
    Seen,
    Where,
    Within,
    steps,
    term_variables,
)
from larspark.run.interval.clock import Clock
from larspark.run.interval.constants import Constants
from larspark.run.interval.kernels.layout import KEYS, TO, Ints
from larspark.run.interval.nodes import Distinct
from larspark.run.interval.steps import (
    HeadStep,
    JoinStep,
    LetStep,
    Step,
    SubtractStep,
    WhereStep,
    WithinStep,
)


@dataclass(slots=True)
class Tally:
    """What was done, for those who want to know."""

    time_points: int = 0
    elements: int = 0
    fired: int = 0
    joined: int = 0
    derived: int = 0


class Head:
    """What a predicate gets derived, until it is looked at."""

    __slots__ = ("distinct", "pending")

    def __init__(self, distinct: Distinct) -> None:
        self.distinct = distinct
        self.pending: list[tuple[int, Ints]] = []

    def flush(self) -> bool:
        """Let what is pending take effect; was there anything?"""
        if not self.pending:
            return False
        pending, self.pending = self.pending, []
        start = 0
        # Changes of one sign can be taken together; their order matters only across signs.
        while start < len(pending):
            sign = pending[start][0]
            end = start + 1
            while end < len(pending) and pending[end][0] == sign:
                end += 1
            batches = [batch for _, batch in pending[start:end]]
            batch = batches[0] if len(batches) == 1 else np.concatenate(batches)
            self.distinct.receive(sign, batch)
            start = end
        return True


@dataclass(frozen=True, slots=True)
class Firing:
    """One rule, fired by one of its formulas; fired by a negated one, it takes back."""

    steps: tuple[Step, ...]
    sign: int
    head: Head
    tally: Tally

    def receive(self, sign: int, batch: Ints) -> None:
        self.tally.fired += 1
        rows = batch
        for step in self.steps:
            rows = step(rows)
            if not len(rows):
                return
            if isinstance(step, JoinStep):
                self.tally.joined += len(rows)
        self.tally.derived += len(rows)
        self.head.pending.append((sign * self.sign, rows))


@dataclass(frozen=True, slots=True)
class Stored:
    """A formula of a rule, and the store of its bindings (None when nobody looks them up)."""

    seen: Seen
    negated: bool
    distinct: Distinct | None


@dataclass(slots=True)
class _Compiler:
    """Compiles the steps of one firing."""

    clock: Clock
    constants: Constants
    columns: dict[Variable, int]
    conditions: list[Where | Let | Within]
    steps: list[Step] = field(default_factory=list)

    def join(self, stored: Stored) -> None:
        """Look up one more formula."""
        seen, distinct = stored.seen, stored.distinct
        if distinct is None:
            raise ValueError("a formula that is looked up needs a store")
        variables = seen.variables
        shared = [place for place, variable in enumerate(variables) if variable in self.columns]
        index = distinct.store.index(shared)
        keys = np.array([self.columns[variables[place]] for place in shared], np.int64)
        if stored.negated:
            self.steps.append(SubtractStep(index, keys))
            return
        new = [place for place, variable in enumerate(variables) if variable not in self.columns]
        taken = np.array([KEYS + place for place in new], np.int64)
        self.steps.append(JoinStep(index, keys, taken))
        for place in new:
            self._bind(variables[place])
        self.apply_conditions()

    def apply_conditions(self) -> None:
        """Apply the conditions whose variables are bound, until no more are."""
        progress = True
        while progress:
            ready = [condition for condition in self.conditions if self._is_ready(condition)]
            progress = bool(ready)
            for condition in ready:
                self.conditions.remove(condition)
                self._apply(condition)

    def _is_ready(self, condition: Where | Let | Within) -> bool:
        match condition:
            case Where(_, comparison):
                return self._is_bound(comparison.left) and self._is_bound(comparison.right)
            case Let(_, _, term):
                return self._is_bound(term)
            case Within(_, variable):
                return variable in self.columns

    def _apply(self, condition: Where | Let | Within) -> None:
        columns = dict(self.columns)
        match condition:
            case Where(_, comparison, negated):
                self.steps.append(
                    WhereStep(
                        comparison.operator,
                        comparison.left,
                        comparison.right,
                        negated,
                        columns,
                        self.constants,
                    )
                )
            case Let(_, variable, term) if variable in self.columns:
                self.steps.append(WhereStep("=", variable, term, False, columns, self.constants))
            case Let(_, variable, term):
                self.steps.append(LetStep(term, columns, self.constants))
                self._bind(variable)
            case Within(_, variable):
                self.steps.append(WithinStep(self.columns[variable], self.clock))

    def _is_bound(self, term: Term) -> bool:
        return all(variable in self.columns for variable in term_variables(term))

    def _bind(self, variable: Variable) -> None:
        self.columns[variable] = TO + 1 + len(self.columns)


def compile_firing(
    rule: Derive,
    parts: Sequence[Stored],
    trigger: int | None,
    clock: Clock,
    constants: Constants,
) -> tuple[Step, ...]:
    """The steps of a rule that is fired by its formula number `trigger`, or by nothing at all."""
    conditions = [o for o in steps(rule.source) if isinstance(o, Where | Let | Within)]
    first = () if trigger is None else parts[trigger].seen.variables
    columns = {variable: TO + 1 + place for place, variable in enumerate(first)}
    compiler = _Compiler(clock, constants, columns, conditions)
    compiler.apply_conditions()
    others = [part for number, part in enumerate(parts) if number != trigger]
    positive = [part for part in others if not part.negated]
    while positive:
        chosen = max(positive, key=lambda part: sum(v in columns for v in part.seen.variables))
        positive.remove(chosen)
        compiler.join(chosen)
    for part in others:
        if part.negated:
            compiler.join(part)
    compiler.steps.append(HeadStep(rule.atom.args, rule.time, columns, clock, constants))
    return tuple(compiler.steps)
