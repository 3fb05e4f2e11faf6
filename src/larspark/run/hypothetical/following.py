"""How answers change over time: new, strengthened, confirmed, refuted.

What a candidate stands for is worked out once. Then, as time passes, answers drop out of it when a
hypothesis does not come true; only where runs go on or absence is asked for, it is looked at again.
"""

from collections.abc import Iterator
from functools import partial
from heapq import heappop, heappush
from math import inf
from typing import NamedTuple, TypeAlias

from larspark.run.hypothetical.answers import Change, ChangeKind, rank
from larspark.run.hypothetical.candidates import Candidate
from larspark.run.hypothetical.literals import Instance
from larspark.run.hypothetical.outlook import Outlook
from larspark.run.hypothetical.patterns import Slot

_Answer: TypeAlias = tuple[Slot, ...]


class _Best(NamedTuple):
    """The instance of an answer that lacks least, and since when it is known."""

    t: int
    instance: Instance


class Following:
    """Compares the answers of a time point with those before, where anything can have changed."""

    def __init__(self, outlook: Outlook) -> None:
        self._outlook = outlook
        candidates = outlook.candidates
        candidates.journal = {one: None for group in candidates.groups.values() for one in group}
        # For each candidate its instances, those that are decided first at the end.
        self._instances: dict[Candidate, list[tuple[float, Instance]]] = {}
        self._pools: dict[_Answer, dict[Instance, int]] = {}
        self._best: dict[_Answer, _Best] = {}
        self._alarms: list[int] = []
        self._alarmed: dict[int, dict[Candidate, None]] = {}

    def next_change(self, t: int) -> float:
        """The first time point after t at which a hypothesis may fail."""
        return max(t + 1, self._alarms[0]) if self._alarms else inf

    def changes(self, t: int) -> list[Change]:
        """What happened at t; to be asked at every time point at which something can."""
        looked_at = self._outlook.candidates.journal or {}
        self._outlook.candidates.journal = {}
        changed: dict[_Answer, None] = {}
        while self._alarms and self._alarms[0] <= t:
            for candidate in self._alarmed.pop(heappop(self._alarms)):
                if candidate not in looked_at:
                    changed.update(self._refreshed(candidate, t))
        for candidate in looked_at:
            changed.update(self._replaced(candidate, t))
        general = self._general()
        if any(map(_is_general, changed)):
            changed.update(dict.fromkeys(self._pools))
        found = [change for answer in changed for change in self._compared(answer, general, t)]
        return sorted(found, key=_in_order)

    def _refreshed(self, candidate: Candidate, t: int) -> dict[_Answer, None]:
        """The answers that changed because time passed."""
        if not candidate.is_steady(t):
            return self._replaced(candidate, t)
        left = self._instances[candidate]
        gone: dict[_Answer, None] = {}
        while left and left[-1][0] <= t:
            instance = left.pop()[1]
            self._remove(instance)
            gone[instance.answer] = None
        if left:
            self._alarm(candidate, left[-1][0])
        else:
            del self._instances[candidate]
        return gone

    def _replaced(self, candidate: Candidate, t: int) -> dict[_Answer, None]:
        """The answers that changed because the candidate came, changed or went."""
        changed: dict[_Answer, None] = {}
        for _, instance in self._instances.pop(candidate, ()):
            self._remove(instance)
            changed[instance.answer] = None
        if not candidate.alive:
            return changed
        found = [(_first(one), one) for one in self._outlook.instances(candidate, t)]
        found.sort(key=_by_time, reverse=True)
        for _, instance in found:
            pool = self._pools.setdefault(instance.answer, {})
            pool[instance] = pool.get(instance, 0) + 1
            changed[instance.answer] = None
        if found:
            self._instances[candidate] = found
        steady = candidate.is_steady(t)
        self._alarm(candidate, (found[-1][0] if found else inf) if steady else t + 1)
        return changed

    def _remove(self, instance: Instance) -> None:
        pool = self._pools[instance.answer]
        pool[instance] -= 1
        if not pool[instance]:
            del pool[instance]
            if not pool:
                del self._pools[instance.answer]

    def _alarm(self, candidate: Candidate, t: float) -> None:
        if t < inf:
            moment = int(t)
            if moment not in self._alarmed:
                self._alarmed[moment] = {}
                heappush(self._alarms, moment)
            self._alarmed[moment][candidate] = None

    def _general(self) -> list[Instance]:
        if not self._outlook.candidates.general:
            return []
        pools = (pool for answer, pool in self._pools.items() if _is_general(answer))
        return [instance for pool in pools for instance in pool]

    def _compared(self, answer: _Answer, general: list[Instance], t: int) -> Iterator[Change]:
        before = self._best.pop(answer, None)
        kept = self._outlook.minimal([*self._pools.get(answer, ())], general, t)
        if not kept:
            if before is not None and before.instance.hypotheses:
                yield self._change(t, ChangeKind.REFUTED, before)
            return
        best = min(kept, key=_lacking)
        least = [one for one in kept if _lacking(one) == _lacking(best)]
        if len(least) > 1:
            best = min(least, key=lambda one: rank(self._outlook.shown(one, t)))
        self._best[answer] = now = _Best(t, best)
        missing = len(best.hypotheses)
        known = None if before is None else len(before.instance.hypotheses)
        if known is None:
            kind = ChangeKind.NEW if missing else ChangeKind.CONFIRMED
        elif missing < known:
            kind = ChangeKind.STRENGTHENED if missing else ChangeKind.CONFIRMED
        else:
            return
        yield self._change(t, kind, now)

    def _change(self, t: int, kind: ChangeKind, best: _Best) -> Change:
        make = partial(self._outlook.shown, best.instance, best.t)
        return Change(t, kind, self._outlook.values(best.instance), make)


def _in_order(change: Change) -> tuple[str, str]:
    return (change.kind, str(change.values))


def _first(instance: Instance) -> float:
    """When the first hypothesis is decided, if that is known."""
    return min((one.t for one in instance.hypotheses if isinstance(one.t, int)), default=inf)


def _by_time(item: tuple[float, Instance]) -> float:
    return item[0]


def _lacking(instance: Instance) -> tuple[int, float]:
    latest = max((one.t for one in instance.hypotheses if isinstance(one.t, int)), default=inf)
    return len(instance.hypotheses), latest


def _is_general(answer: _Answer) -> bool:
    return not all(isinstance(slot, int | float | str) for slot in answer)
