"""Hypothetical answers on a plant: time per fact over the run, and how much is pending.

A thousand machines send readings; ten rules with windows up to 20 derive alarms. The mode `state`
only maintains the candidates, `answers` also lists the ten best answers at every hundredth time
point, `changes` reports at every time point which answers are new, strengthened, confirmed or
refuted.
"""

import tracemalloc
from collections.abc import Iterator
from itertools import groupby
from typing import Literal, TypeAlias

import numpy as np

from larspark.base.atoms import Atom, fact
from larspark.base.problems import LarsparkError
from larspark.bench.contest import Measurement, Progress
from larspark.bench.workload import Stopwatch, checked_program, no_garbage_collection
from larspark.language import parse_formula
from larspark.run.hypothetical import Hypotheses

PROGRAM = """
@T hot(M)            :- @T temp(M, V), V >= 90.
@T shaking(M)        :- @T vib(M, V), V >= 7.
alarm(M, overheated) :- [3] always hot(M).
alarm(M, bearing)    :- hot(M), [20] some shaking(M).
alarm(M, leak)       :- [20] some oil(M, low), [10] some pressure(M, low).
alarm(M, restarting) :- start(M), [5] some stop(M).
alarm(M, imbalance)  :- [15] @T shaking(M), @T+3 shaking(M).
alarm(M, unattended) :- [20] some door(M, open), hot(M), not [20] some visit(M).
alarm(M, overload)   :- [2] always load(M, high), [12] some hot(M).
alarm(M, dry)        :- oil(M, empty), [8] always load(M, high).
"""
QUERY = "@T alarm(M, K)"
WINDOW = 20
MACHINES = 1_000
RATE = 100

Mode = Literal["state", "answers", "changes"]
MODES: tuple[Mode, ...] = ("state", "answers", "changes")

# The kinds of readings, with their values; a kind that is listed twice is twice as frequent.
_KINDS: tuple[tuple[str, tuple[int | str, ...]], ...] = (
    *[("temp", tuple(range(70, 100)))] * 3,
    *[("vib", tuple(range(10)))] * 2,
    *[("load", ("low", "high"))] * 2,
    ("oil", ("full", "low", "empty")),
    ("pressure", ("low", "high")),
    ("door", ("open", "closed")),
)
_EVENTS = ("start", "stop", "visit")
_PARTS = 10

# Consecutive time points with their readings.
Part: TypeAlias = list[tuple[int, list[Atom]]]


def readings(facts: int) -> Part:
    """The readings of all machines by time point."""
    random = np.random.default_rng(1)
    machines = random.integers(0, MACHINES, facts).tolist()
    kinds = random.integers(0, len(_KINDS) + 1, facts).tolist()
    draws = random.random(facts).tolist()
    rows = [
        (number // RATE, _sent(f"m{machine}", kind, draw))
        for number, (machine, kind, draw) in enumerate(zip(machines, kinds, draws, strict=True))
    ]
    return [(t, [atom for _, atom in group]) for t, group in groupby(rows, lambda row: row[0])]


def _sent(machine: str, kind: int, draw: float) -> Atom:
    if kind == len(_KINDS):
        return fact(_EVENTS[int(draw * len(_EVENTS))], machine)
    predicate, values = _KINDS[kind]
    return fact(predicate, machine, values[int(draw * len(values))])


def hypothetical(bench: str, facts: int, progress: Progress) -> Iterator[Measurement]:
    """Measure each mode in tenths of the run, so that differences show."""
    stream = readings(facts)
    length = max(1, len(stream) // _PARTS)
    parts = [stream[first : first + length] for first in range(0, len(stream), length)]
    progress(f"{bench}: memory")
    held = _held(parts)
    for mode in MODES:
        progress(f"{bench}: {mode}")
        yield from _run(f"{bench}/{mode}", parts, mode, held if mode == "state" else None)


def _session(mode: Mode) -> Hypotheses:
    parsed = parse_formula(QUERY)
    if parsed.formula is None:
        raise LarsparkError(parsed.problems)
    return Hypotheses(checked_program(PROGRAM), parsed.formula, start=0, follow=mode == "changes")


def _held(parts: list[Part]) -> list[int]:
    """The bytes held after each part, from a separate run, because counting them is slow."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    session = _session("state")
    held = []
    for part in parts:
        for t, atoms in part:
            session.append(t, atoms)
            session.advance(t)
        held.append(tracemalloc.get_traced_memory()[0] - before)
    tracemalloc.stop()
    return held


def _run(
    bench: str, parts: list[Part], mode: Mode, held: list[int] | None
) -> Iterator[Measurement]:
    session = _session(mode)
    for number, part in enumerate(parts, 1):
        watch = Stopwatch()
        changes = 0
        with no_garbage_collection(), watch.running():
            for t, atoms in part:
                session.append(t, atoms)
                changes += len(session.advance(t).changes)
                if mode == "answers" and t % 100 == 0:
                    session.answers(limit=10)
        count = sum(len(atoms) for _, atoms in part)
        yield Measurement(
            bench,
            WINDOW,
            RATE,
            "hypothetical",
            watch.seconds / count * 1e9,
            watch.seconds / len(part) * 1e6,
            None if held is None else held[number - 1],
            more={
                "cpu_ns_per_fact": round(watch.cpu_seconds / count * 1e9, 1),
                "part": number,
                "facts": count,
                "time_points": len(part),
                "pending": session.pending,
                "changes": changes,
            },
        )
