"""The state of a query and its answers at a time point; deadlines and retention times."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from math import inf

from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant
from larspark.run.hypothetical.answer_instances import collapsed
from larspark.run.hypothetical.candidate import Candidate
from larspark.run.hypothetical.clause import Clause, Moments, distance
from larspark.run.hypothetical.dataset import History, Row
from larspark.run.hypothetical.minimality import Rivals, minimal_answers
from larspark.run.hypothetical.offline_step import Prepared
from larspark.run.hypothetical.online_step import Candidates
from larspark.run.hypothetical.patterns import (
    ORIGIN,
    Instance,
    Pattern,
    Slot,
    Time,
    substitute_pattern,
)
from larspark.run.hypothetical.preconditions import (
    Precondition,
    Unsupported,
    after,
    minimal,
    precondition,
)
from larspark.run.hypothetical.prospects import Prospects
from larspark.run.hypothetical.ranked_answers import HypotheticalAnswer, rank, shown, values
from larspark.run.hypothetical.supported_answers import Grounding
from larspark.run.hypothetical.temporal_rules import Denial


def decision_delays(queries: Mapping[Signature, Sequence[Clause]]) -> dict[Signature, float]:
    """For each denied predicate, the longest delay after which it is decided whether an atom holds.

    Denials may be cyclic, but only into the past, so the largest delay is found after as many
    rounds as there are predicates.
    """
    delays: dict[Signature, float] = dict.fromkeys(queries, 0)
    for _ in range(len(delays) + 1):
        changed = False
        for signature, clauses in queries.items():
            position = signature.arity
            delay = max((_after(c, c.goal.answer[position], delays) for c in clauses), default=0)
            if delay > delays[signature]:
                delays[signature] = delay
                changed = True
        if not changed:
            return delays
    return dict.fromkeys(delays, inf)


def _after(clause: Clause, slot: object, delays: Mapping[Signature, float]) -> float:
    """The longest delay after a time of the answer at which a premise of a clause can be met."""
    at = Time(ORIGIN, slot) if isinstance(slot, int) else slot
    if not isinstance(at, Time):
        return inf
    latest: float = 0
    for premise in clause.premises:
        last = Time(clause.times[premise.time], premise.last)
        latest = max(latest, distance(clause, last, at))
    for denial in clause.denials:
        last = Time(denial.occurrence.variable, denial.occurrence.last)
        delay = delays.get(denial.occurrence.pattern.signature, 0)
        latest = max(latest, distance(clause, last, at) + delay)
    return latest


def answer_delays(prepared: Prepared) -> list[float]:
    """For each variable of the query, how long after its value the answer can stay undecided."""
    delays = decision_delays(prepared.queries)
    return [
        max((_after(c, c.goal.answer[i], delays) for c in prepared.clauses), default=0)
        for i in range(len(prepared.variables))
    ]


def set_retention(prepared: Prepared) -> None:
    """Set how long complete matches, and the facts of their runs, are kept."""
    delays = answer_delays(prepared)
    for clause in prepared.clauses:
        clause.kept = tuple(
            (clause.times.index(slot.variable), slot.offset + delay)
            for slot, delay in zip(clause.goal.answer, delays, strict=True)
            if isinstance(slot, Time) and delay < inf
        )
        for premise in clause.premises:
            first = Time(clause.times[premise.time], premise.first)
            premise.kept = _age(clause, first)


def _age(clause: Clause, point: Time) -> float:
    """How long after a time point a match that involves it can be needed."""
    lasts = [Time(clause.times[premise.time], premise.last) for premise in clause.premises]
    lasts += [Time(d.occurrence.variable, d.occurrence.last) for d in clause.denials]
    oldest = max((distance(clause, last, point) for last in lasts), default=0)
    forgotten = [
        distance(clause, Time(clause.times[t], 0), point) + more for t, more in clause.kept
    ]
    return max(oldest, min(map(float, forgotten), default=inf)) + 1


def history_kept(prepared: Prepared, forgets: bool) -> dict[Signature, int | None]:
    """How long the facts of each input predicate are kept to decide denials."""
    kept: dict[Signature, float] = {}

    def needed(clauses: Sequence[Clause], older: float, path: tuple[Signature, ...]) -> None:
        """Add the denials of clauses whose facts are needed for `older` time points more."""
        for clause in clauses:
            for denial in clause.denials:
                deny(clause, denial, older, path)

    def deny(clause: Clause, denial: Denial, older: float, path: tuple[Signature, ...]) -> None:
        signature = denial.occurrence.pattern.signature
        first = Time(denial.occurrence.variable, denial.occurrence.first)
        at = clause.goal.answer[path[-1].arity] if path else None
        if path:
            age = older + distance(clause, at, first) if isinstance(at, Time) else inf
        else:
            age = _age(clause, first) if forgets else inf
        if signature not in prepared.queries:
            kept[signature] = max(age, kept.get(signature, 0))
            return
        if signature in path:
            age = inf
            if kept.get(signature) == inf:
                return
            kept[signature] = inf
        for auxiliary in prepared.queries[signature]:
            when = auxiliary.goal.answer[signature.arity]
            for premise in auxiliary.premises:
                begin = Time(auxiliary.times[premise.time], premise.first)
                lag = distance(auxiliary, when, begin) if isinstance(when, Time) else inf
                kept[premise.signature] = max(age + lag, kept.get(premise.signature, 0))
        needed(prepared.queries[signature], age, (*path, signature))

    needed(prepared.clauses, 0, ())
    return {
        signature: None if age == inf else max(0, int(age))
        for signature, age in kept.items()
        if signature not in prepared.queries
    }


# Answers that miss more facts than this in total are not listed.
MISSING_LIMIT = 1_000_000


class Outlook:
    """The state of a query: candidates, the facts that denials need, and the answers."""

    def __init__(self, prepared: Prepared, keep_certain: bool) -> None:
        if not keep_certain:
            set_retention(prepared)
        self._prepared = prepared
        self._delays = decision_delays(prepared.queries)
        self._history = History(history_kept(prepared, forgets=not keep_certain))
        self._prospects = Prospects(prepared.queries, prepared.background, self._history)
        self._rivals = Rivals(prepared.clauses, prepared.background, self._prospects)
        self.candidates = Candidates(prepared.clauses, prepared.background)

    def step(self, t: int, facts: Mapping[Signature, Sequence[Row]]) -> None:
        """Process the facts of a time point."""
        self._history.add(t, facts)
        self.candidates.step(t, facts)
        self._prospects.forget(t)

    def answers(self, t: int, limit: int | None, certain: bool = True) -> list[HypotheticalAnswer]:
        """The supported answers at t, ranked; with a limit only the best.

        Certain answers are left out if `certain` is false.
        """
        groundings = [
            self._grounding(candidate, t)
            for group in self.candidates.groups.values()
            for candidate in group
        ]
        choices = [
            (missing, number, moments)
            for number, grounding in enumerate(groundings)
            for missing, moments in grounding.choices()
        ]
        choices.sort(key=_missing)
        pool: list[Instance] = []
        kept: list[Instance] = []
        done = 0
        while done < len(choices) and (limit is None or len(kept) < limit):
            # An answer never beats one that misses fewer facts: so start with the fewest.
            end = len(choices) if limit is None else min(len(choices), 2 * done + 4 * limit)
            while end < len(choices) and choices[end][0] == choices[end - 1][0]:
                end += 1
            _refuse_too_many(sum(missing for missing, _, _ in choices[:end]), t)
            for _, number, moments in choices[done:end]:
                pool += self._at(groundings[number], moments)
            done = end
            general = [instance for instance in pool if is_general(instance.answer)]
            next_size = choices[done][0] if done < len(choices) else inf
            minimal = self.minimal(pool, general, t)
            kept = [
                instance
                for instance in minimal
                if len(instance.hypotheses) < next_size and (certain or instance.hypotheses)
            ]
        found = [self.shown(instance, t) for instance in kept]
        return sorted(found, key=rank) if limit is None else nsmallest(limit, found, key=rank)

    def unsupported(self, t: int) -> list[Unsupported]:
        """The answers at t that need facts to come alone."""
        found = [
            Unsupported(instance, clause)
            for clause in self._prepared.clauses
            if clause.premises
            for candidate in self.candidates.unmet(clause)
            for instance in self._unmet(candidate, t)
        ]
        alone = Rivals((), self._prepared.background, self._prospects)
        kept = minimal(found, alone)
        return [Unsupported(after(one, t), one.clause) for one in kept]

    def _unmet(self, candidate: Candidate, t: int) -> Iterator[Instance]:
        grounding = self._grounding(candidate, t)
        for moments in grounding.open_choices():
            yield from self._at(grounding, moments)

    def instances(self, candidate: Candidate, t: int) -> Iterator[Instance]:
        """All instances of a candidate, minimal or not."""
        grounding = self._grounding(candidate, t)
        choices = [*grounding.choices()]
        _refuse_too_many(sum(missing for missing, _ in choices), t)
        for _, moments in choices:
            yield from self._at(grounding, moments)

    def _at(self, grounding: Grounding, moments: Moments) -> Iterator[Instance]:
        if not grounding.is_general:
            return grounding.at(moments)
        return self._with_collapsed(grounding.at(moments))

    def _with_collapsed(self, instances: Iterable[Instance]) -> Iterator[Instance]:
        """The instances, and those whose hypotheses coincide for some values of the answer."""
        for instance in instances:
            yield instance
            for special in collapsed(instance, self._prepared.background):
                if special.answer != instance.answer:
                    yield special

    def _grounding(self, candidate: Candidate, t: int) -> Grounding:
        return Grounding(candidate, t, self._prepared.background, self._prospects)

    def is_steady(self, candidate: Candidate, t: int) -> bool:
        """Do its answers change after t only by the arrival or absence of facts?"""
        if any(run.last >= t for _, run in candidate.runs()):
            return False
        denials = candidate.clause.denials
        return all(self._prospects.is_input(d.occurrence.pattern.signature) for d in denials)

    def denied_by(self, candidate: Candidate) -> list[Pattern | Signature]:
        """The input atoms whose arrival can affect the denials of a candidate."""
        clause = candidate.clause
        if not clause.denials:
            return []
        known: dict[str, Slot] = {
            name: value
            for name, value in zip(clause.names, candidate.values, strict=True)
            if value is not None
        }
        patterns = [substitute_pattern(d.occurrence.pattern, known) for d in clause.denials]
        return [
            pattern
            if all(isinstance(arg, int | float | str) for arg in pattern.args)
            else pattern.signature
            for pattern in patterns
        ]

    @property
    def contested(self) -> bool:
        """Can an answer without evidence beat another one?"""
        return self._rivals.exist

    def minimal(
        self, group: Sequence[Instance], general: Sequence[Instance], t: int
    ) -> list[Instance]:
        """The instances that no other one beats, including general ones."""
        self._rivals.t = t
        return minimal_answers(group, general, self._rivals)

    def preconditions(self, t: int) -> list[Precondition]:
        """The sets of facts after t that would give an answer."""
        return [precondition(one, self._prepared.variables) for one in self.unsupported(t)]

    def shown(self, instance: Instance, t: int) -> HypotheticalAnswer:
        return shown(instance, self._prepared.variables, t, self._delays)

    def values(self, instance: Instance) -> dict[str, Constant | None]:
        return values(instance, self._prepared.variables)


def is_general(answer: tuple[Slot, ...]) -> bool:
    """Does an answer have variables?"""
    return not all(isinstance(slot, int | float | str) for slot in answer)


def _missing(choice: tuple[int, int, Moments]) -> int:
    return choice[0]


def _refuse_too_many(missing: int, t: int) -> None:
    if missing > MISSING_LIMIT:
        message = f"the answers at {t} miss more than {MISSING_LIMIT} facts in total"
        hint = "request the best ones with a limit, do not follow changes, or use smaller windows"
        raise LarsparkError(Problem("L471", message, hint=hint))
