"""Hypothetical answers on a plant: time per fact over the run, and how much is pending.

A thousand machines send readings; ten rules with windows up to 20 derive alarms. `state` keeps the
candidates only, `changes` also tells at every time point which answers are new, strengthened,
confirmed or refuted, `answers` also lists the ten answers that lack least at every hundredth.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Literal

import numpy as np

from larspark.base.atoms import Atom, fact
from larspark.base.problems import LarsparkError
from larspark.bench.clock import Stopwatch, no_garbage_collection
from larspark.bench.contest import Measurement, Tell
from larspark.bench.workload import checked_program
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

Mode = Literal["state", "changes", "answers"]
MODES: tuple[Mode, ...] = ("state", "changes", "answers")

# What a machine sends, as often as it stands here, and the values it can have.
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


def readings(facts: int) -> list[tuple[int, list[Atom]]]:
    """What the machines send, time point by time point."""
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


def hypothetical(bench: str, facts: int, tell: Tell) -> Iterator[Measurement]:
    """Every way to listen, told in tenths of the run, so that one sees whether they differ."""
    stream = readings(facts)
    for mode in MODES:
        tell(f"{bench}: {mode}")
        yield from _run(f"{bench}/{mode}", stream, mode)


def _run(bench: str, stream: list[tuple[int, list[Atom]]], mode: Mode) -> Iterator[Measurement]:
    parsed = parse_formula(QUERY)
    if parsed.formula is None:
        raise LarsparkError(parsed.problems)
    session = Hypotheses(checked_program(PROGRAM), parsed.formula, start=0, follow=mode != "state")
    length = max(1, len(stream) // _PARTS)
    for number, first in enumerate(range(0, len(stream), length), 1):
        part = stream[first : first + length]
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
            None,
            more={
                "cpu_ns_per_fact": round(watch.cpu_seconds / count * 1e9, 1),
                "part": number,
                "facts": count,
                "time_points": len(part),
                "pending": session.pending,
                "changes": changes,
            },
        )
