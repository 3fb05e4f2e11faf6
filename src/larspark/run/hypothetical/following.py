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
from larspark.run.hypothetical.answers import Change, ChangeKind, rank
from larspark.run.hypothetical.candidates import Candidate
from larspark.run.hypothetical.dataset import Row
from larspark.run.hypothetical.literals import Instance
from larspark.run.hypothetical.outlook import Outlook
from larspark.run.hypothetical.patterns import Pattern, Slot

_Answer: TypeAlias = tuple[Slot, ...]


class _Entry:
    """An instance as it was when it was made; since then, absences may have been decided."""

    __slots__ = ("decided", "instance", "made", "missing")

    def __init__(self, instance: Instance, made: int) -> None:
        facts = [one.t for one in instance.hypotheses if not one.negated]
        # What is missing first decides; when no fact is missing, the last absence does.
        times = facts or [one.t for one in instance.hypotheses]
        known = [t for t in times if isinstance(t, int)]
        self.decided = (min(known) if facts else max(known)) if known else inf
        self.instance = instance
        self.made = made
        self.missing = len(facts)

    def now(self, t: int) -> Instance:
        """The instance at t: what it hoped not to come and did not come is evidence."""
        instance = self.instance
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
        if any(map(_is_general, changed)):
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
        if left:
            self._alarm(candidate, left[-1].decided)
        return changed

    def _replaced(self, candidate: Candidate, t: int) -> dict[_Answer, None]:
        """The answers that changed because the candidate came, changed or went."""
        changed: dict[_Answer, None] = {}
