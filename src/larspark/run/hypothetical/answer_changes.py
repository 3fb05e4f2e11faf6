"""How answers change over time: new, strengthened, confirmed, refuted.

What a candidate stands for is worked out once. Then, as time passes, answers drop out of it when a
fact they wait for does not come. It is looked at again only where runs go on, where a fact arrives
that it denies, and when the last absence it hopes for is decided.
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
    """An instance as it was when it was made; since then, absences may have been decided."""

    __slots__ = ("_lacking", "_waits", "decided", "instance", "made", "missing")

    def __init__(self, instance: Instance, made: int) -> None:
        facts = [one.t for one in instance.hypotheses if not one.negated]
        # What is missing first decides; when no fact is missing, the last absence does.
        times = facts or [one.t for one in instance.hypotheses]
        known = [t for t in times if isinstance(t, int)]
        self.decided = (min(known) if facts else max(known)) if known else inf
        self.instance = instance
        self.made = made
        self.missing = len(facts)
        # Does it hope that something does not come? Then it changes by itself.
        self._waits = len(facts) < len(instance.hypotheses)
        self._lacking: Lacking | None = None

    def lacking(self, t: int) -> "Lacking":
        """In this order: what lacks least, rests on least, is decided soonest, and is newest."""
        if self._lacking is None or self._waits:
            self._lacking = lacking(self.now(t))
        return self._lacking

    def now(self, t: int) -> Instance:
        """The instance at t: what it hoped not to come and did not come is evidence."""
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
    """The instance of an answer that lacks least, and since when it is known."""

    t: int
    instance: Instance
    missing: int


class Following:
    """Compares the answers of a time point with those before, where anything can have changed."""

    def __init__(self, outlook: Outlook) -> None:
        self._outlook = outlook
        candidates = outlook.candidates
        candidates.journal = {one: None for group in candidates.groups.values() for one in group}
        # For each candidate its instances, those that are decided first at the end.
        self._entries: dict[Candidate, list[_Entry]] = {}
        self._pools: dict[_Answer, dict[_Entry, None]] = {}
        self._best: dict[_Answer, _Best] = {}
        self._alarms: list[int] = []
        self._alarmed: dict[int, dict[Candidate, None]] = {}
        # Who denies an atom, or some atom of a predicate, has to know when it arrives.
        self._deniers: dict[Pattern | Signature, dict[Candidate, None]] = {}

    def next_change(self, t: int) -> float:
        """The first time point after t at which something is decided."""
        return max(t + 1, self._alarms[0]) if self._alarms else inf

    def changes(self, t: int, facts: Mapping[Signature, Sequence[Row]]) -> list[Change]:
        """What happened at t; to be asked at every time point at which something can."""
        journal = self._outlook.candidates.journal or {}
        self._outlook.candidates.journal = {}
        looked_at = dict.fromkeys((*journal, *self._contradicted(facts)))
        changed: dict[_Answer, None] = {}
        while self._alarms and self._alarms[0] <= t:
            for candidate in self._alarmed.pop(heappop(self._alarms)):
                if candidate.alive and candidate not in looked_at:
                    changed.update(self._refreshed(candidate, t))
        for candidate in looked_at:
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
                # All facts had come, and now the last absence is decided: it is certain.
                entry.decided = inf
                left.insert(0, entry)
        if left:
            self._alarm(candidate, left[-1].decided)
        return changed

    def _replaced(self, candidate: Candidate, t: int) -> dict[_Answer, None]:
        """The answers that changed because the candidate came, changed or went."""
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
        """The best of the instances of an answer; what lacks least is minimal by itself."""
        entries = [*self._pools.get(answer, ())]
        if not entries:
            return None
        if general or self._outlook.contested:
            kept = self._outlook.minimal([entry.now(t) for entry in entries], general, t)
            ranked = [(lacking(instance), instance) for instance in kept]
            if not ranked:
                return None
        else:
            ranked = [(entry.lacking(t), entry.now(t)) for entry in entries]
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


Lacking: TypeAlias = tuple[int, int, int, float, float]


def lacking(instance: Instance) -> Lacking:
    """In this order: what lacks least, rests on least, is decided soonest, and is newest."""
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
