"""Changes of answers over time: new, strengthened, confirmed, refuted.

The answers of a candidate are computed once. As time passes, answers are removed when a fact that
they need does not arrive. A candidate is recomputed only while its runs continue, when a fact
arrives that it denies, and when the last absence that it assumes is decided.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from heapq import heappop, heappush
from math import inf
from typing import NamedTuple, TypeAlias

from larspark.base.atoms import Signature
from larspark.run.hypothetical.candidate import Candidate
from larspark.run.hypothetical.dataset import Row
from larspark.run.hypothetical.outlook import Outlook, is_general
from larspark.run.hypothetical.patterns import Instance, Pattern, Slot
from larspark.run.hypothetical.ranked_answers import Change, ChangeKind, rank

_Answer: TypeAlias = tuple[Slot, ...]


class _Entry:
    """An instance as of its creation; absences may have been decided since."""

    __slots__ = ("_missing_rank", "_waits", "decided", "instance", "made", "missing")

    def __init__(self, instance: Instance, made: int) -> None:
        facts = [one.t for one in instance.hypotheses if not one.negated]
        # Decided by the first missing fact; if no fact is missing, by the last absence.
        times = facts or [one.t for one in instance.hypotheses]
        known = [t for t in times if isinstance(t, int)]
        self.decided = (min(known) if facts else max(known)) if known else inf
        self.instance = instance
        self.made = made
        self.missing = len(facts)
        # Does it assume absences? Then it changes as time passes.
        self._waits = len(facts) < len(instance.hypotheses)
        self._missing_rank: MissingRank | None = None

    def missing_rank(self, t: int) -> "MissingRank":
        """The rank of the instance at t (see `missing_rank`)."""
        if self._missing_rank is None or self._waits:
            self._missing_rank = missing_rank(self.now(t))
        return self._missing_rank

    def now(self, t: int) -> Instance:
        """The instance at t: assumed absences up to t have become evidence."""
        instance = self.instance
        if not self._waits:
            return instance
        absent = [
            one
            for one in instance.hypotheses
            if one.negated and isinstance(one.t, int) and self.made < one.t <= t
        ]
        if not absent:
            return instance
        evidence = instance.evidence.union(absent)
        return instance._replace(evidence=evidence, hypotheses=instance.hypotheses - {*absent})


class _Best(NamedTuple):
    """The best instance of an answer, and the time point since which it is known."""

    t: int
    instance: Instance
    missing: int


class ChangeTracker:
    """Compares the answers of a time point with the earlier ones, where they can have changed."""

    def __init__(self, outlook: Outlook) -> None:
        self._outlook = outlook
        candidates = outlook.candidates
        candidates.journal = {one: None for group in candidates.groups.values() for one in group}
        # The instances of each candidate; those decided first are at the end.
        self._entries: dict[Candidate, list[_Entry]] = {}
        self._pools: dict[_Answer, dict[_Entry, None]] = {}
        self._best: dict[_Answer, _Best] = {}
        self._alarms: list[int] = []
        self._alarmed: dict[int, dict[Candidate, None]] = {}
        # The candidates to recompute when a denied atom, or any atom of a predicate, arrives.
        self._deniers: dict[Pattern | Signature, dict[Candidate, None]] = {}

    def next_change(self, t: int) -> float:
        """The first time point after t at which something is decided."""
        return max(t + 1, self._alarms[0]) if self._alarms else inf

    def changes(self, t: int, facts: Mapping[Signature, Sequence[Row]]) -> list[Change]:
        """The changes at t; must be called at every time point at which something can change."""
        journal = self._outlook.candidates.journal or {}
        self._outlook.candidates.journal = {}
        recomputed = dict.fromkeys((*journal, *self._contradicted(facts)))
        changed: dict[_Answer, None] = {}
        while self._alarms and self._alarms[0] <= t:
            for candidate in self._alarmed.pop(heappop(self._alarms)):
                if candidate.alive and candidate not in recomputed:
                    changed.update(self._refreshed(candidate, t))
        for candidate in recomputed:
            changed.update(self._replaced(candidate, t))
        if any(map(is_general, changed)):
            changed.update(dict.fromkeys((*self._pools, *self._best)))
        general = self._general(t)
        found = [change for answer in changed for change in self._compared(answer, general, t)]
        return sorted(found, key=_in_order)

    def _contradicted(self, facts: Mapping[Signature, Sequence[Row]]) -> Iterator[Candidate]:
        if self._deniers:
            for signature, rows in facts.items():
                yield from self._deniers.get(signature, ())
                for row in rows:
                    yield from self._deniers.get(Pattern(signature.predicate, row), ())

    def _refreshed(self, candidate: Candidate, t: int) -> dict[_Answer, None]:
        """The answers that changed because time passed."""
        if not self._outlook.is_steady(candidate, t):
            return self._replaced(candidate, t)
        left = self._entries[candidate]
        changed: dict[_Answer, None] = {}
        while left and left[-1].decided <= t:
            entry = left.pop()
            changed[entry.instance.answer] = None
            if entry.missing:
                self._remove(entry)
            else:
                # All facts have arrived, and the last absence is decided: it is certain.
                entry.decided = inf
                left.insert(0, entry)
        if left:
            self._alarm(candidate, left[-1].decided)
        return changed

    def _replaced(self, candidate: Candidate, t: int) -> dict[_Answer, None]:
        """The answers that changed because the candidate was added, changed or removed."""
        changed: dict[_Answer, None] = {}
        for entry in self._entries.pop(candidate, ()):
            self._remove(entry)
            changed[entry.instance.answer] = None
        atoms = self._outlook.denied_by(candidate)
        if not candidate.alive:
            for atom in atoms:
                self._deniers.get(atom, {}).pop(candidate, None)
            return changed
        entries = [_Entry(one, t) for one in self._outlook.instances(candidate, t)]
        entries.sort(key=_by_decision, reverse=True)
        for entry in entries:
            self._pools.setdefault(entry.instance.answer, {})[entry] = None
            changed[entry.instance.answer] = None
        self._entries[candidate] = entries
        for atom in atoms:
            self._deniers.setdefault(atom, {})[candidate] = None
        if not self._outlook.is_steady(candidate, t):
            self._alarm(candidate, t + 1)
        elif entries:
            self._alarm(candidate, entries[-1].decided)
        return changed

    def _remove(self, entry: _Entry) -> None:
        pool = self._pools[entry.instance.answer]
        del pool[entry]
        if not pool:
            del self._pools[entry.instance.answer]

    def _alarm(self, candidate: Candidate, t: float) -> None:
        if t < inf:
            moment = int(t)
            if moment not in self._alarmed:
                self._alarmed[moment] = {}
                heappush(self._alarms, moment)
            self._alarmed[moment][candidate] = None

    def _general(self, t: int) -> list[Instance]:
        if not self._outlook.candidates.general:
            return []
        pools = (pool for answer, pool in self._pools.items() if is_general(answer))
        return [entry.now(t) for pool in pools for entry in pool]

    def _compared(self, answer: _Answer, general: list[Instance], t: int) -> Iterator[Change]:
        before = self._best.pop(answer, None)
        now = self._least(answer, general, t)
        if now is None:
            if before is not None and before.instance.hypotheses:
                yield self._change(t, ChangeKind.REFUTED, before)
            return
        self._best[answer] = now
        certain = not now.instance.hypotheses
        if before is None:
            yield self._change(t, ChangeKind.CONFIRMED if certain else ChangeKind.NEW, now)
        elif certain:
            if before.instance.hypotheses:
                yield self._change(t, ChangeKind.CONFIRMED, now)
        elif now.missing < before.missing:
            yield self._change(t, ChangeKind.STRENGTHENED, now)

    def _least(self, answer: _Answer, general: list[Instance], t: int) -> _Best | None:
        """The best instance of an answer; the one with the lowest rank is always minimal."""
        entries = [*self._pools.get(answer, ())]
        if not entries:
            return None
        if general or self._outlook.contested:
            kept = self._outlook.minimal([entry.now(t) for entry in entries], general, t)
            ranked = [(missing_rank(instance), instance) for instance in kept]
            if not ranked:
                return None
        else:
            ranked = [(entry.missing_rank(t), entry.now(t)) for entry in entries]
        least = min(how for how, _ in ranked)
        equal = [instance for how, instance in ranked if how == least]
        best = equal[0]
        if len(equal) > 1:
            best = min(equal, key=lambda one: rank(self._outlook.shown(one, t)))
        return _Best(t, best, least[0])

    def _change(self, t: int, kind: ChangeKind, best: _Best) -> Change:
        make = partial(self._outlook.shown, best.instance, best.t)
        return Change(t, kind, self._outlook.values(best.instance), make)


def _in_order(change: Change) -> tuple[str, str]:
    return (change.kind, str(change.values))


def _by_decision(entry: _Entry) -> float:
    return entry.decided


MissingRank: TypeAlias = tuple[int, int, int, float, float]


def missing_rank(instance: Instance) -> MissingRank:
    """Sort key: fewest missing facts, hypotheses and evidence, earliest decision, newest."""
    hypotheses, evidence = instance.hypotheses, instance.evidence
    facts = 0
    decided: float = -inf
    oldest: float = inf
    for one in hypotheses:
        facts += not one.negated
        if isinstance(one.t, int) and one.t > decided:
            decided = one.t
    for one in evidence:
        if isinstance(one.t, int) and one.t < oldest:
            oldest = one.t
    return facts, len(hypotheses), len(evidence), decided if decided > -inf else inf, -oldest
