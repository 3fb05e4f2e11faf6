"""Rules as they are fired: what is new in one formula meets what the others hold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import TypeAlias

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
from larspark.run.interval.nodes import Distinct
from larspark.run.interval.row_programs import (
    Reading,
    Step,
    joined_readings,
    picking,
    within_timeline,
)
from larspark.run.interval.run_clock import Clock
from larspark.run.interval.store import Store


@dataclass(slots=True)
class Tally:
    """What was done, for those who want to know."""

    time_points: int = 0
    elements: int = 0
    fired: int = 0
    joined: int = 0


# A change that waits: its sign, a batch, and what is to be read off it.
Pending: TypeAlias = tuple[int, Ints, Reading]


class Head:
    """What a predicate gets derived, until it is looked at."""

    __slots__ = ("distinct", "pending")

    def __init__(self, distinct: Distinct) -> None:
        self.distinct = distinct
        self.pending: list[Pending] = []

    def run(self) -> None:
        """Let what is pending take effect."""
        pending = self.pending
        if not pending:
            return
        self.pending = []
        if len(pending) == 1 or not self.distinct.consumers:
            for change in pending:
                self.distinct.take(*change)
            return
        # Changes of one sign can be taken together; their order matters only across signs.
        for sign, changes in groupby(pending, itemgetter(0)):
            batch = np.concatenate([reading(batch) for _, batch, reading in changes])
            if len(batch):
                self.distinct.receive(sign, batch)


@dataclass(frozen=True, slots=True, eq=False)
class Firing:
    """One rule, fired by one of its formulas; fired by a negated one, it takes back.

    Where one of the other formulas holds nowhere from now on, nothing can follow: the rule is not
    even tried. That is read off what the stores hold, so it is sound whatever is still to come.
    """

    steps: tuple[Step, ...]
    # The last step is left to the head, which reads the rows when it takes them.
    reading: Reading
    sign: int
    head: Head
    tally: Tally
    clock: Clock
    needs: tuple[Store, ...]

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
        self.head.pending.append((sign * self.sign, rows, self.reading))

    def after(self, reading: Reading) -> "Firing":
        """The same rule, fired by a batch of which it reads its formula itself."""
        steps, last = joined_readings([reading, *self.steps], self.reading)
        return replace(self, steps=steps, reading=last)


@dataclass(frozen=True, slots=True)
class Stored:
    """A formula of a rule, and the store of its bindings (None when nobody looks them up)."""

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
        """A variable for every part of the head: constants get one of their own."""
        if isinstance(term, Variable):
            return term
        variable = Variable(f"={term_text(term)}")
        if not any(isinstance(c, Let) and c.variable == variable for c in self._conditions):
            self._conditions.append(Let(Ever(NOWHERE), variable, term, NOWHERE))
        return variable

    def compile(self, others: Sequence[Stored]) -> tuple[tuple[Step, ...], Reading]:
        """The steps through all other formulas of the rule, and what its head reads then."""
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
        last = picking([self._columns[variable] for variable in self._head])
        if self._pinned:
            last = last.then(within_timeline(KEYS, len(self._head), self._clock, pins=True))
        return joined_readings(self._steps, last)

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
            self._steps.append(SubtractStep(index, index.lookup(keys)))
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
        how = index.lookup(keys, [known[variable] for variable in kept], old=old)
        self._steps.append(JoinStep(index, how))
        self._columns = {variable: KEYS + place for place, variable in enumerate(kept)}

    def _needed(self) -> list[Variable]:
        """The variables that the steps to come need, those of the head first."""
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
            case Where(_, comparison, negated, without_value):
                left, right, operator = comparison.left, comparison.right, comparison.operator
                constants = self._constants
                where = WhereStep(operator, left, right, negated, columns, constants, without_value)
                step = where_step(where)
            case Let(_, variable, term) if variable in self._columns:
                where = WhereStep("=", variable, term, False, columns, self._constants)
                step = where_step(where)
            case Each(_, variable, low, high):
                step = EachStep(self._columns.get(variable), low, high, columns, self._constants)
                self._columns.setdefault(variable, KEYS + len(self._columns))
            case Let(_, variable, term):
                step = LetStep(term, columns, self._constants)
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
) -> tuple[tuple[Step, ...], Reading]:
    """The steps of a rule that is fired by its formula number `trigger`, or by nothing at all."""
    if trigger is None:
        return _Compiler(rule, (), (), clock, constants).compile(parts)
    fired = parts[trigger]
    others = [part for number, part in enumerate(parts) if number != trigger]
    # What is new in two places is found by the firing of the first of them.
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
