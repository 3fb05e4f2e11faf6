"""The answers that all candidates together stand for at a time point, and how they change."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from math import inf

from larspark.base.atoms import Signature
from larspark.run.hypothetical.answers import Change, ChangeKind, HypotheticalAnswer, rank, shown
from larspark.run.hypothetical.candidates import Candidates, Key
from larspark.run.hypothetical.dataset import History, Row
from larspark.run.hypothetical.dominance import Rivals, minimal_answers
from larspark.run.hypothetical.horizon import decision_delays, forget_the_past, history_kept
from larspark.run.hypothetical.instances import instances
from larspark.run.hypothetical.literals import Instance
from larspark.run.hypothetical.prepare import Prepared
from larspark.run.hypothetical.prospects import Prospects


class Outlook:
    """The state of a query: candidates, the facts that denials need, and what follows."""

    def __init__(self, prepared: Prepared, keep_certain: bool) -> None:
        if not keep_certain:
            forget_the_past(prepared)
        self._prepared = prepared
        self._delays = decision_delays(prepared.queries)
        self._history = History(history_kept(prepared, forgets=not keep_certain))
        self._prospects = Prospects(prepared.queries, prepared.background, self._history)
        self.candidates = Candidates(prepared.clauses, prepared.background)

    def step(self, t: int, facts: Mapping[Signature, Sequence[Row]]) -> None:
        """Take in the facts of a time point."""
        self._history.add(t, facts)
        self.candidates.step(t, facts)
        self._prospects.forget(t)

    def answers(self, t: int, keys: Iterable[Key] | None = None) -> Iterator[HypotheticalAnswer]:
        """The supported answers at t, in no order; only those of some groups if keys are given."""
        groups = self.candidates.groups
        general: list[Instance] = []
        for key in self.candidates.general:
            general += self._instances(key, t)
        rivals = Rivals(self._prepared.clauses, self._prepared.background, self._prospects, t)
        for key in groups if keys is None else keys:
            for instance in minimal_answers(self._instances(key, t), general, rivals):
                yield shown(instance, self._prepared.variables, t, self._delays)

    def _instances(self, key: Key, t: int) -> list[Instance]:
        background = self._prepared.background
        return [
            instance
            for candidate in self.candidates.groups.get(key, ())
            for instance in instances(candidate, t, background, self._prospects)
        ]

    def wakes(self, key: Key, t: int) -> float:
        """When, after t, the answers of a group change without a fact that touches it."""
        group = self.candidates.groups.get(key, ())
        return min((candidate.wakes(t) for candidate in group), default=inf)


class Following:
    """Compares the answers of a time point with those before, where anything can have changed."""

    def __init__(self, outlook: Outlook) -> None:
        self._outlook = outlook
        self._best: dict[Key, dict[str, HypotheticalAnswer]] = {}
        self._alarm: dict[int, set[Key]] = {}
        self._alarms: list[int] = []
        # Groups without facts are there from the start.
        self._outlook.candidates.touched.update(outlook.candidates.groups)

    def next_change(self, t: int) -> float:
        return max(t + 1, self._alarms[0]) if self._alarms else inf

    def changes(self, t: int) -> list[Change]:
        """What happened at t, to be asked at every time point at which something can."""
        candidates = self._outlook.candidates
        keys = set(candidates.touched)
        candidates.touched.clear()
        while self._alarms and self._alarms[0] <= t:
            keys |= self._alarm.pop(heappop(self._alarms))
        if keys & candidates.general:
            keys |= candidates.groups.keys() | self._best.keys()
        found: list[Change] = []
        for key in keys:
            found += self._compared(key, t)
            self._set_alarm(key, self._outlook.wakes(key, t))
        return sorted(found, key=lambda change: (change.kind, rank(change.answer)))

    def _compared(self, key: Key, t: int) -> Iterator[Change]:
        before = self._best.pop(key, {})
        now: dict[str, HypotheticalAnswer] = {}
        for answer in sorted(self._outlook.answers(t, (key,)), key=rank):
            now.setdefault(str(answer.answer), answer)
        if now:
            self._best[key] = now
        for name, answer in now.items():
            old = before.get(name)
            if answer.certain:
                if old is None or not old.certain:
                    yield Change(t, ChangeKind.CONFIRMED, answer)
            elif old is None:
                yield Change(t, ChangeKind.NEW, answer)
            elif len(answer.hypotheses) < len(old.hypotheses):
                yield Change(t, ChangeKind.STRENGTHENED, answer)
        for name, old in before.items():
            if name not in now and not old.certain:
                yield Change(t, ChangeKind.REFUTED, old)

    def _set_alarm(self, key: Key, t: float) -> None:
        if t < inf:
            moment = int(t)
            if moment not in self._alarm:
                self._alarm[moment] = set()
                heappush(self._alarms, moment)
            self._alarm[moment].add(key)
