"""`lp.Reasoner` as a contestant: the path that the documentation shows, from facts to changes."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from larspark.api import Reasoner
from larspark.base.atoms import Atom
from larspark.bench.checksums import Answer, of_atoms
from larspark.bench.workload import Run, Stopwatch, Workload

# What happens at one time point, and how a reasoner takes it in.
Point = Callable[[Reasoner, int], None]


class _ByReasoner:
    """One `append` and one `advance` for every time point; all changes are read.

    Measured are the time points after the windows have filled, at least half of all.
    """

    name = "Reasoner"
    times = None

    def __init__(self, workload: Workload) -> None:
        self._program = workload.program
        self._last = workload.facts.last
        settling = workload.window + 1 if workload.settling is None else workload.settling
        self._full = min(settling, self._last // 2)
        self._points = self._made(workload)
        facts = workload.facts
        times = np.concatenate([table["t"].to_numpy() for _, table in facts.segments])
        self._facts = int((times > self._full).sum())

    def _made(self, workload: Workload) -> Sequence[Point]:
        """What happens at every time point, from 1 on."""
        raise NotImplementedError

    def answer(self) -> Answer:
        reasoner = Reasoner(self._program, engine="interval", start=1)
        begun: dict[Atom, int] = {}
        found: list[tuple[Atom, int, int]] = []
        for t, append in enumerate(self._points, 1):
            append(reasoner, t)
            for answer in reasoner.advance(t):
                found.extend((atom, begun.pop(atom), t - 1) for atom in answer.removed)
                begun.update(dict.fromkeys(answer.added, t))
        found += [(atom, begin, self._last) for atom, begin in begun.items()]
        return of_atoms(found)

    def run(self) -> Run:
        reasoner = Reasoner(self._program, engine="interval", start=1)
        found = self._advance(reasoner, 1, self._full)
        watch = Stopwatch()
        with watch.running():
            found += self._advance(reasoner, self._full + 1, self._last)
        size = reasoner.stats()["bytes"]
        time_points = self._last - self._full
        return Run(watch.seconds, watch.cpu_seconds, self._facts, time_points, found, size)

    def _advance(self, reasoner: Reasoner, first: int, last: int) -> int:
        """Work off time points; returns how many intervals began."""
        found = 0
        for t in range(first, last + 1):
            self._points[t - 1](reasoner, t)
            for answer in reasoner.advance(t):
                for _ in answer.added:
                    found += 1
                for _ in answer.removed:
                    pass
        return found


class ReasonerWithAtoms(_ByReasoner):
    """Facts as atoms."""

    name = "Reasoner, atoms in, changes out"

    def _made(self, workload: Workload) -> Sequence[Point]:
        atoms: list[list[Atom]] = [[] for _ in range(workload.facts.last)]
        for row in workload.facts.whole().rows():
            atoms[row.t - 1].append(row.atom)

        def point(here: list[Atom]) -> Point:
            return lambda reasoner, t: reasoner.append(t, here)

        return [point(here) for here in atoms]


class ReasonerWithTables(_ByReasoner):
    """Facts as Arrow tables, one for each predicate."""

    name = "Reasoner, Arrow in, changes out"

    def _made(self, workload: Workload) -> Sequence[Point]:
        tables: list[list[tuple[pa.Table, str]]] = [[] for _ in range(workload.facts.last)]
        for signature, table in workload.facts.segments:
            names = [f"a{number}" for number in range(signature.arity)]
            head = signature.predicate + (f"({', '.join(names)})" if names else "")
            points = np.arange(1, workload.facts.last + 2)
            bounds = np.searchsorted(table["t"].to_numpy(), points).tolist()
            columns = pa.table(table.columns[2:], names=names)
            for number, (start, end) in enumerate(pairwise(bounds)):
                if start < end:
                    tables[number].append((columns.slice(start, end - start), head))

        def point(here: list[tuple[pa.Table, str]]) -> Point:
            def append(reasoner: Reasoner, t: int) -> None:
                for table, head in here:
                    reasoner.append(t, table, map=head)

            return append

        return [point(here) for here in tables]
