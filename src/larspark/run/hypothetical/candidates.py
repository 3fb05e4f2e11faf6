"""The online step: candidates are partial matches of clauses, advanced fact by fact.

A candidate stands for all answers of one clause that rest on the same facts: its values are bound,
and each of its time variables lies between two ends. It does not change while time passes; it
waits in an index under what it expects next, and it is dropped when the last time point at which
that could have come is over. So a time point costs what its facts touch, and what expires.

Facts of a premise over a span form runs: one run is one match, however long it grows.
"""

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from math import inf
from typing import TypeAlias

from larspark.base.atoms import Atom, Signature
from larspark.base.terms import Constant
from larspark.run.hypothetical.clause import Clause, Ends, Premise, Values
from larspark.run.hypothetical.dataset import Background, Row
from larspark.run.hypothetical.solving import Undecided, matched, solutions

Key: TypeAlias = tuple[Constant | None, ...]


class Run:
    """The same premise met at every time point from `start` to `last`."""

    __slots__ = ("candidates", "key", "last", "rows", "start")

    def __init__(self, key: Row, start: int) -> None:
        self.key = key
        self.start = start
        self.last = start
        # Several facts may meet a premise at one time point, if it leaves something open.
        self.rows: dict[int, list[Row]] = {}
        self.candidates: dict[Candidate, None] = {}


# What met a premise: a fact with its time point, or a run.
Part: TypeAlias = tuple[int, Row] | Run | None


class Candidate:
    """A partial match of a clause."""

    __slots__ = ("clause", "expiry", "high", "key", "low", "mask", "parts", "places", "undecided", "values")

    def __init__(
        self,
        clause: Clause,
        mask: int,
        values: Values,
        low: Ends,
        high: Ends,
        parts: tuple[Part, ...],
        undecided: tuple[Undecided, ...],
    ) -> None:
        self.clause = clause
        self.mask = mask
        self.values = values
        self.low = low
        self.high = high
        self.parts = parts
        self.undecided = undecided
        self.key: Key = tuple([None if v is None else values[v] for v in clause.key])
        self.places: list[tuple[dict[Key, dict[Candidate, None]], Key]] = []
        self.expiry: float = inf


class _Waiting:
    """Candidates that wait for one premise, by the values of some of its variables."""

    __slots__ = ("positions", "table")

    def __init__(self, positions: tuple[int, ...]) -> None:
        self.positions = positions
        self.table: dict[Key, dict[Candidate, None]] = {}


class _Entry:
    """A premise of a clause, with the candidates that wait for it and its runs."""

    __slots__ = ("clause", "order", "premise", "runs", "waiting")

    def __init__(self, clause: Clause, premise: Premise, order: tuple[int, int]) -> None:
        self.clause = clause
        self.premise = premise
        self.order = order
        self.waiting: dict[tuple[int, ...], _Waiting] = {}
        self.runs: dict[Row, Run] = {}


class Candidates:
    """All candidates of a query, advanced time point by time point.

    `forget` says how long after the largest time of an answer a complete candidate is kept; with
    None it is kept for ever.
    """

    def __init__(
        self, clauses: Sequence[Clause], background: Background, forget: "Forget"
    ) -> None:
        self._background = background
        self._forget = forget
        self._entries: dict[Signature, list[_Entry]] = {}
        self._by_premise: dict[tuple[int, int], _Entry] = {}
        for number, clause in enumerate(clauses):
            for premise in clause.premises:
                entry = _Entry(clause, premise, (premise.rank, number))
                self._entries.setdefault(premise.signature, []).append(entry)
                self._by_premise[id(clause), premise.number] = entry
        for entries in self._entries.values():
            entries.sort(key=lambda entry: entry.order)
        self.groups: dict[Key, dict[Candidate, None]] = {}
        self.touched: set[Key] = set()
        self.size = 0
        self._expiring: dict[int, list[Candidate]] = {}
        self._expiries: list[int] = []
        self._growing: list[tuple[_Entry, Run]] = []
