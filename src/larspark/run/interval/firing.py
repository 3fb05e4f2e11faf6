"""Firing rules: new rows of one formula are joined with what the other formulas hold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Protocol, TypeAlias

import numpy as np

from larspark.base.atoms import term_text
from larspark.base.terms import Term, Variable
from larspark.language.tree import NOWHERE
from larspark.plan.operators import (
    Derive,
    Each,
    Ever,
    Let,
    Reach,
    Seen,
    Where,
    Within,
    steps,
    term_variables,
)
from larspark.run.interval.body_steps import (
    EachStep,
    JoinStep,
    LetStep,
    ReachStep,
    SubtractStep,
    WhereStep,
    where_step,
)
from larspark.run.interval.interning import Constants
from larspark.run.interval.kernels.layout import KEYS, Ints
from larspark.run.interval.network_nodes import Distinct
from larspark.run.interval.row_programs import (
    RowProgram,
    Step,
    fused,
    projection,
    within_timeline,
)
from larspark.run.interval.run_clock import Clock
from larspark.run.interval.store import Store


@dataclass(slots=True)
class Tally:
    """Counters of the work done, for statistics."""

    time_points: int = 0
    elements: int = 0
    fired: int = 0
    joined: int = 0


# A pending change: its sign, a batch, and the row program to run over it.
Pending: TypeAlias = tuple[int, Ints, RowProgram]


class Target(Protocol):
    """Keeps what rules derive until its stage runs."""

    pending: list[Pending]


class Head:
    """Derived rows of a predicate, pending until its stage runs."""

    __slots__ = ("distinct", "pending")

    def __init__(self, distinct: Distinct) -> None:
        self.distinct = distinct
        self.pending: list[Pending] = []

    def run(self) -> None:
        """Apply the pending changes."""
        pending = self.pending
        if not pending:
            return
        self.pending = []
        if len(pending) == 1 or not self.distinct.consumers:
            for change in pending:
                self.distinct.take(*change)
            return
        # Changes of one sign can be merged; their order matters only across signs.
        for sign, changes in groupby(pending, itemgetter(0)):
            batch = np.concatenate([program(batch) for _, batch, program in changes])
            if len(batch):
                self.distinct.receive(sign, batch)


@dataclass(frozen=True, slots=True, eq=False)
class Firing:
    """One rule, fired by one of its formulas; fired by a negated formula, it retracts.

    If another formula holds nowhere from now on, nothing can follow, and the rule is skipped. The
    stores say so, so this is sound whatever arrives later.
    """

    steps: tuple[Step, ...]
    # The last step, run by the store of the head when it adds the rows.
    program: RowProgram
    sign: int
    head: Target
    tally: Tally
    clock: Clock
    needs: tuple[Store, ...]
    # The rule, for the printed network.
    label: str

    def receive(self, sign: int, batch: Ints) -> None:
        for store in self.needs:
            if store.is_over(self.clock.floor):
                return
        self.tally.fired += 1
        rows = batch
        for step in self.steps:
            rows = step(rows)
            if not len(rows):
                return
            if isinstance(step, JoinStep):
                self.tally.joined += len(rows)
        self.head.pending.append((sign * self.sign, rows, self.program))

    def after(self, program: RowProgram) -> "Firing":
        """The same rule, fired by batches over which this row program has to be run first."""
        steps, last = fused([program, *self.steps], self.program)
        return replace(self, steps=steps, program=last)


@dataclass(frozen=True, slots=True)
class Stored:
    """A formula of a rule, and the store of its bindings (None if they are not looked up)."""

    seen: Seen
    negated: bool
    distinct: Distinct | None


class _Compiler:
    """Compiles the steps of one firing, from the formula that fires to the head.

    The head is a list of variables: those of its arguments, after that of its time point.
    """

    def __init__(
        self,
        rule: Derive,
        first: Sequence[Variable],
        old: Sequence[Stored],
        clock: Clock,
        constants: Constants,
    ) -> None:
        self._clock = clock
        self._constants = constants
        self._columns = {variable: KEYS + place for place, variable in enumerate(first)}
        self._conditions = [
            o for o in steps(rule.source) if isinstance(o, Where | Let | Each | Within)
        ]
        head = [rule.time] if rule.time is not None else []
        self._head = [self._named(term) for term in (*head, *rule.atom.args)]
        self._waiting: list[Stored] = []
        self._old = old
        self._pinned = rule.time is not None
        self._steps: list[Step] = []

    def _named(self, term: Term) -> Variable:
        """A variable for every term of the head; a constant gets one of its own."""
        if isinstance(term, Variable):
            return term
        variable = Variable(f"={term_text(term)}")
        if not any(isinstance(c, Let) and c.variable == variable for c in self._conditions):
            self._conditions.append(Let(Ever(NOWHERE), variable, term, NOWHERE))
        return variable

    def compile(self, others: Sequence[Stored]) -> tuple[tuple[Step, ...], RowProgram]:
        """The steps through all other formulas of the rule, and the row program of its head."""
        positive = [part for part in others if not part.negated]
        self._waiting = list(others)
        self._apply_conditions()
        while positive:
            chosen = max(positive, key=self._bound_variables)
            positive.remove(chosen)
            self._look_up(chosen)
            self._apply_conditions()
        for part in others:
            if part.negated:
                self._look_up(part)
        last = projection([self._columns[variable] for variable in self._head])
        if self._pinned:
            last = last.then(within_timeline(KEYS, len(self._head), self._clock, pins=True))
        return fused(self._steps, last)

    def _bound_variables(self, part: Stored) -> int:
        return sum(variable in self._columns for variable in part.seen.variables)

    def _look_up(self, part: Stored) -> None:
        if part.distinct is None:
            raise ValueError("a formula that is looked up needs a store")
        self._waiting.remove(part)
        variables = part.seen.variables
        shared = [place for place, variable in enumerate(variables) if variable in self._columns]
        index = part.distinct.store.index(shared)
        keys = [self._columns[variables[place]] for place in shared]
        if part.negated:
            self._steps.append(SubtractStep(index, index.subtract(keys)))
            return
        new = {v: ~(KEYS + place) for place, v in enumerate(variables) if v not in self._columns}
        known = {**self._columns, **new}
        needed = self._needed()
        # The last step before the head brings the columns into its order.
        if not self._waiting and not self._conditions and len(set(needed)) == len(needed):
            kept = needed
        else:
            kept = [variable for variable in known if variable in needed]
        old = any(part is other for other in self._old)
        lookup = index.join(keys, [known[variable] for variable in kept], old=old)
        self._steps.append(JoinStep(index, lookup))
        self._columns = {variable: KEYS + place for place, variable in enumerate(kept)}

    def _needed(self) -> list[Variable]:
        """The variables that later steps need, those of the head first."""
        needed = list(self._head)
        for part in self._waiting:
            needed.extend(part.seen.variables)
        for condition in self._conditions:
            needed.extend(_variables_of(condition))
        return needed

    def _apply_conditions(self) -> None:
        """Apply the conditions whose variables are bound, until no more are."""
        progress = True
        while progress:
            ready = [condition for condition in self._conditions if self._is_ready(condition)]
            progress = bool(ready)
            for condition in ready:
                self._conditions.remove(condition)
                self._apply(condition)

    def _is_ready(self, condition: Where | Let | Each | Within) -> bool:
        match condition:
            case Where(_, comparison):
                return self._is_bound(comparison.left) and self._is_bound(comparison.right)
            case Let(_, _, term):
                return self._is_bound(term)
            case Each(_, _, low, high):
                return self._is_bound(low) and self._is_bound(high)
            case Within(_, variable):
                return variable in self._columns

    def _apply(self, condition: Where | Let | Each | Within) -> None:
        columns = dict(self._columns)
        step: Step
        match condition:
            case Where(_, comparison, negated, without_value, origin):
                where = WhereStep(
                    comparison.operator,
                    comparison.left,
                    comparison.right,
                    negated,
                    columns,
                    self._constants,
                    without_value,
                    origin,
                )
                step = where_step(where)
            case Let(_, variable, term, origin) if variable in self._columns:
                where = WhereStep(
                    "=", variable, term, False, columns, self._constants, origin=origin
                )
                step = where_step(where)
            case Each(_, variable, low, high):
                step = EachStep(self._columns.get(variable), low, high, columns, self._constants)
                self._columns.setdefault(variable, KEYS + len(self._columns))
            case Let(_, variable, term, origin):
                step = LetStep(term, columns, self._constants, origin)
                self._columns[variable] = KEYS + len(self._columns)
            case Within(_, variable, reach):
                place, width = self._columns[variable], len(self._columns)
                step = within_timeline(place, width, self._clock, pins=False)
                if reach != Reach():
                    self._steps.append(step)
                    step = ReachStep(place, reach)
        self._steps.append(step)

    def _is_bound(self, term: Term) -> bool:
        return all(variable in self._columns for variable in term_variables(term))


def compile_firing(
    rule: Derive,
    parts: Sequence[Stored],
    trigger: int | None,
    clock: Clock,
    constants: Constants,
) -> tuple[tuple[Step, ...], RowProgram]:
    """The steps of a rule fired by formula number `trigger`, or by none of them."""
    if trigger is None:
        return _Compiler(rule, (), (), clock, constants).compile(parts)
    fired = parts[trigger]
    others = [part for number, part in enumerate(parts) if number != trigger]
    # Rows that are new in two formulas are found by the firing of the first of them.
    old = [part for part in parts[:trigger] if part.distinct is fired.distinct]
    return _Compiler(rule, fired.seen.variables, old, clock, constants).compile(others)


def _variables_of(condition: Where | Let | Each | Within) -> tuple[Variable, ...]:
    match condition:
        case Where(_, comparison):
            return (*term_variables(comparison.left), *term_variables(comparison.right))
        case Let(_, variable, term):
            return (variable, *term_variables(term))
        case Each(_, variable, low, high):
            return (variable, *term_variables(low), *term_variables(high))
        case Within(_, variable):
            return (variable,)
