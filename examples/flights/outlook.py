"""Warnings ahead of time: hypothetical answers, and how many came true."""

from collections import Counter
from collections.abc import Iterable

import larspark as lp
from larspark.base.facts import Row
from larspark.language.tree import Formula
from larspark.run.hypothetical import ChangeKind, Hypotheses


class Outlook:
    """Counts hypothetical answers, and how many of them came true."""

    def __init__(self, program: lp.Program, question: Formula) -> None:
        self._hypotheses = Hypotheses(program.check().checked, question)
        self._announced: Counter[int] = Counter()
        self._came_true: Counter[int] = Counter()
        self._lead: dict[int, int] = {}
        # For each answer: when it was announced, by the number of facts that were missing then.
        self._pending: dict[tuple[object, ...], dict[int, int]] = {}
        self._t: int | None = None

    def read(self, rows: Iterable[Row]) -> None:
        for row in rows:
            if self._t is not None and row.t > self._t:
                self._advance(self._t)
            self._t = row.t
            self._hypotheses.append(row.t, [row.atom])

    def record(self) -> dict[int, tuple[int, int, int]]:
        """By the number of missing facts: announced, came true, and lead time."""
        return {
            missing: (announced, self._came_true[missing], self._lead.get(missing, 0))
            for missing, announced in self._announced.items()
        }

    def _advance(self, t: int) -> None:
        for change in self._hypotheses.advance(t).changes:
            key = tuple(change.values.values())
            if change.kind in (ChangeKind.NEW, ChangeKind.STRENGTHENED):
                missing = len(change.answer.hypotheses)
                self._pending.setdefault(key, {})[missing] = t
                self._announced[missing] += 1
            elif change.kind is ChangeKind.CONFIRMED:
                for missing, announced_at in self._pending.pop(key, {}).items():
                    self._came_true[missing] += 1
                    self._lead[missing] = t - announced_at
            else:
                self._pending.pop(key, None)
