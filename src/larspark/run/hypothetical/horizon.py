"""How long things matter: when answers are decided, and how long facts are kept for them."""

from collections.abc import Mapping, Sequence
from math import inf

from larspark.base.atoms import Signature
from larspark.run.hypothetical.clause import Clause
from larspark.run.hypothetical.patterns import ORIGIN, Time
from larspark.run.hypothetical.prepare import Prepared
from larspark.run.hypothetical.rules import Denial


def decision_delays(queries: Mapping[Signature, Sequence[Clause]]) -> dict[Signature, float]:
    """How long after its time point it is decided at the latest whether a denied atom holds.

    Denials may go round in circles, but only into the past, so the largest delay is found after as
    many rounds as there are predicates.
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
    """How long after a time of the answer the last premise of a clause may come."""
    at = Time(ORIGIN, slot) if isinstance(slot, int) else slot
    if not isinstance(at, Time):
        return inf
    latest: float = 0
    for premise in clause.premises:
        last = Time(clause.times[premise.time], premise.last)
        latest = max(latest, _distance(clause, last, at))
    for denial in clause.denials:
        last = Time(denial.occurrence.variable, denial.occurrence.last)
        delay = delays.get(denial.occurrence.pattern.signature, 0)
        latest = max(latest, _distance(clause, last, at) + delay)
    return latest


def _distance(clause: Clause, later: Time, earlier: Time) -> float:
    """The most by which one time point can be later than another."""
    offset = later.offset - earlier.offset
    if ORIGIN == earlier.variable != later.variable:
        return clause.high[clause.times.index(later.variable)] + offset
    if ORIGIN == later.variable != earlier.variable:
        return offset - clause.low[clause.times.index(earlier.variable)]
    if later.variable == earlier.variable:
        return offset
    one, other = clause.times.index(later.variable), clause.times.index(earlier.variable)
    return clause.distance[one][other] + offset


def answer_delays(prepared: Prepared) -> list[float]:
    """For each variable of the query: how long after its value the answer may be undecided."""
    delays = decision_delays(prepared.queries)
    return [
        max((_after(c, c.goal.answer[i], delays) for c in prepared.clauses), default=0)
        for i in range(len(prepared.variables))
    ]


def forget_the_past(prepared: Prepared) -> None:
    """Let complete matches, and the facts of their runs, go when nothing can concern them."""
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
    """How long after a time point a match that has to do with it can still be asked about."""
    lasts = [Time(clause.times[premise.time], premise.last) for premise in clause.premises]
    lasts += [Time(d.occurrence.variable, d.occurrence.last) for d in clause.denials]
    oldest = max((_distance(clause, last, point) for last in lasts), default=0)
    forgotten = [
        _distance(clause, Time(clause.times[t], 0), point) + more for t, more in clause.kept
    ]
    return max(oldest, min(map(float, forgotten), default=inf)) + 1


def history_kept(prepared: Prepared, forgets: bool) -> dict[Signature, int | None]:
    """How long the facts of each input predicate are kept so that denials can be decided."""
    kept: dict[Signature, float] = {}

    def needed(clauses: Sequence[Clause], older: float, path: tuple[Signature, ...]) -> None:
        """Facts are needed so much longer than the clauses themselves say."""
        for clause in clauses:
            for denial in clause.denials:
                deny(clause, denial, older, path)

    def deny(clause: Clause, denial: Denial, older: float, path: tuple[Signature, ...]) -> None:
        signature = denial.occurrence.pattern.signature
        first = Time(denial.occurrence.variable, denial.occurrence.first)
        at = clause.goal.answer[path[-1].arity] if path else None
        if path:
            age = older + _distance(clause, at, first) if isinstance(at, Time) else inf
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
                lag = _distance(auxiliary, when, begin) if isinstance(when, Time) else inf
                kept[premise.signature] = max(age + lag, kept.get(premise.signature, 0))
        needed(prepared.queries[signature], age, (*path, signature))

    needed(prepared.clauses, 0, ())
    return {
        signature: None if age == inf else max(0, int(age))
        for signature, age in kept.items()
        if signature not in prepared.queries
    }
