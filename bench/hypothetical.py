"""Hypothetical answers on a plant: time per fact over the run, and what is kept.

A thousand machines send readings; ten rules with windows up to 20 derive alarms. Each tenth of the
run is timed by itself. Three ways to listen: `state` keeps the candidates only, `changes` also
tells at every time point which answers are new, strengthened, confirmed or refuted, `answers` also
lists the ten answers that lack least at every hundredth time point.

    python bench/hypothetical.py [--facts 100000] [--machines 1000] [--rate 100] [--mode state ...]
"""

import argparse
import json
import random
import sys
import time
import tracemalloc
from collections.abc import Iterator
from itertools import groupby

from larspark.base.atoms import Atom, fact
from larspark.language import parse_formula, parse_program
from larspark.language.tree import Formula
from larspark.meaning.check import check
from larspark.meaning.checked import Checked
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
KINDS = ("temp", "temp", "temp", "vib", "vib", "load", "load", "oil", "pressure", "door", "other")


def plant() -> tuple[Checked, Formula]:
    checked = check(parse_program(PROGRAM).program)
    query = parse_formula(QUERY).formula
    assert query is not None
    return checked, query


def readings(facts: int, machines: int, rate: int) -> Iterator[tuple[int, Atom]]:
    """What the machines send: `rate` facts in each time point."""
    chance = random.Random(1)  # noqa: S311 - no secret
    for number in range(facts):
        machine = f"m{chance.randrange(machines)}"
        match chance.choice(KINDS):
            case "temp":
                atom = fact("temp", machine, chance.randrange(70, 100))
            case "vib":
                atom = fact("vib", machine, chance.randrange(10))
            case "load":
                atom = fact("load", machine, chance.choice(("low", "high")))
            case "oil":
                atom = fact("oil", machine, chance.choice(("full", "low", "empty")))
            case "pressure":
                atom = fact("pressure", machine, chance.choice(("low", "high")))
            case "door":
                atom = fact("door", machine, chance.choice(("open", "closed")))
            case _:
                atom = fact(chance.choice(("start", "stop", "visit")), machine)
        yield number // rate, atom


def run(stream: list[tuple[int, list[Atom]]], mode: str) -> dict[str, object]:
    """Time per fact in each tenth of the run, and how much is pending."""
    checked, query = plant()
    session = Hypotheses(checked, query, start=0, follow=mode != "state")
    tenths: list[float] = []
    counts: dict[str, int] = {}
    pending = 0
    size = max(1, len(stream) // 10)
    for first in range(0, len(stream), size):
        part = stream[first : first + size]
        begun = time.process_time()
        for t, atoms in part:
            session.append(t, atoms)
            now = session.advance(t)
            for change in now.changes:
                counts[change.kind] = counts.get(change.kind, 0) + 1
            if mode == "answers" and t % 100 == 0:
                session.answers(limit=10)
        spent = time.process_time() - begun
        tenths.append(1e6 * spent / sum(len(atoms) for _, atoms in part))
        pending = max(pending, session.pending)
    return {
        "bench": "hypothetical",
        "mode": mode,
        "us_per_fact": round(sum(tenths) / len(tenths), 2),
        "tenths": [round(tenth, 2) for tenth in tenths],
        "pending": pending,
        "changes": counts,
    }


def memory(stream: list[tuple[int, list[Atom]]]) -> dict[str, object]:
    """Bytes held at the end of each tenth of the run."""
    checked, query = plant()
    tracemalloc.start()
    session = Hypotheses(checked, query, start=0, follow=False)
    size = max(1, len(stream) // 10)
    held = []
    for first in range(0, len(stream), size):
        for t, atoms in stream[first : first + size]:
            session.append(t, atoms)
            session.advance(t)
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    return {
        "bench": "hypothetical",
        "mode": "memory",
        "bytes": held,
        "bytes_per_candidate": round(held[-1] / max(1, session.pending)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--machines", type=int, default=1_000)
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("--mode", choices=("state", "changes", "answers", "memory"), nargs="*")
    arguments = parser.parse_args()
    rows = readings(arguments.facts, arguments.machines, arguments.rate)
    stream = [(t, [atom for _, atom in group]) for t, group in groupby(rows, lambda row: row[0])]
    for mode in arguments.mode or ("state", "changes", "answers", "memory"):
        result = memory(stream) if mode == "memory" else run(stream, mode)
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
