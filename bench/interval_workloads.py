"""Laser's workloads on the interval engine: time per fact, tick by tick and all at once.

python bench/interval_workloads.py [--window 80] [--rate 800] [--ticks 400] [--text]
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from larspark.base.atoms import Signature
from larspark.base.facts import ColumnBatch, Segment
from larspark.language.parser import parse_program
from larspark.meaning.check import check
from larspark.meaning.checked import Checked
from larspark.run.interval.engine import IntervalEngine
from larspark.run.protocol import Settings

COOLING = """
@T steam(V) :- [{n}] @T temp(V), V >= 100.
@T liquid(V) :- [{n}] @T temp(V), V >= 1, V < 100.
@T isSteam :- [{n}] @T steam(V).
@T isLiquid :- [{n}] @T liquid(V).
alarm :- [{n}] always isSteam.
normal :- [{n}] always isLiquid.
freeze :- not alarm, not normal.
veryHot(T) :- [{n}] @T steam(V), V >= 150.
veryCold(T) :- [{n}] @T liquid(V), V = 1.
"""

PROGRAMS = {
    "diamond": "q(A,B) :- [{n}] some p(A,B).",
    "box": "q(A,B) :- [{n}] always p(A,B).",
    "join": "q(A,C) :- [{n}] some p(A,B), [{n}] some p(B,C).",
    "cooling": COOLING,
    "negation": "q(A,B) :- [{n}] some p(A,B), not [{n}] some p(B,A).",
    "tuples": "q(A,B) :- [#{m}] some p(A,B).",
}

Columns = list[np.ndarray]


def unique(random: np.random.Generator, tick: int, rate: int, window: int) -> Columns:
    """Pairs that never come again."""
    first = np.arange(tick * rate, (tick + 1) * rate)
    return [first, first + 1_000_000_000]


def constant(random: np.random.Generator, tick: int, rate: int, window: int) -> Columns:
    """The same pairs at every time point."""
    return [np.arange(rate), np.arange(rate)]


def linked(random: np.random.Generator, tick: int, rate: int, window: int) -> Columns:
    """Pairs of which each meets about two others in the window, whatever its size."""
    nodes = rate * (window + 1)
    return [random.integers(0, nodes, rate), random.integers(0, nodes, rate)]


def readings(random: np.random.Generator, tick: int, rate: int, window: int) -> Columns:
    """Temperatures."""
    return [random.integers(0, 200, rate)]


DATA: dict[str, Callable[[np.random.Generator, int, int, int], Columns]] = {
    "diamond": unique,
    "box": constant,
    "join": linked,
    "cooling": readings,
    "negation": linked,
    "tuples": unique,
}


def batches(name: str, window: int, rate: int, ticks: int, text: bool) -> Iterator[ColumnBatch]:
    random = np.random.default_rng(1)
    predicate = "temp" if name == "cooling" else "p"
    for tick in range(ticks):
        columns = DATA[name](random, tick, rate, window)
        arrays = [pa.array([f"a{v}" for v in c.tolist()] if text else c) for c in columns]
        times = pa.array(np.full(rate, tick + 1))
        order = pa.array(np.arange(tick * rate, (tick + 1) * rate))
        names = ["t", "seq", *map(str, range(len(arrays)))]
        table = pa.table([times, order, *arrays], names=names)
        yield ColumnBatch([Segment(Signature(predicate, len(arrays)), table)])


def joined(parts: list[ColumnBatch]) -> ColumnBatch:
    segments = [segment for part in parts for segment in part.segments()]
    table = pa.concat_tables([segment.table for segment in segments]).combine_chunks()
    return ColumnBatch([Segment(segments[0].signature, table)])


def program(name: str, window: int, rate: int) -> Checked:
    parsed = parse_program(PROGRAMS[name].format(n=window, m=rate * (window + 1)))
    if parsed.program is None:
        raise SystemExit("\n".join(problem.render() for problem in parsed.problems))
    return check(parsed.program)


def tick_by_tick(checked: Checked, parts: list[ColumnBatch], warm: int) -> tuple[float, int, int]:
    engine = IntervalEngine(checked, (), Settings())
    changes = 0
    spent = 0.0
    for number, part in enumerate(parts):
        begin = time.process_time()
        engine.append(part)
        for began, ended in engine.advance(number + 1).news().values():
            changes += len(began) + len(ended)
        if number >= warm:
            spent += time.process_time() - begin
    rows, size = engine.stats().rows, engine.stats().bytes
    return spent / (len(parts) - warm), changes, size // max(rows, 1)


def all_at_once(checked: Checked, parts: list[ColumnBatch]) -> tuple[float, int]:
    whole = joined(parts)
    begin = time.process_time()
    engine = IntervalEngine(checked, (), Settings())
    engine.append(whole)
    rows = engine.advance(len(parts)).rows()
    return time.process_time() - begin, sum(map(len, rows.values()))


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("names", nargs="*", default=list(PROGRAMS))
    arguments.add_argument("--window", type=int, nargs="+", default=[1, 80])
    arguments.add_argument("--rate", type=int, default=800)
    arguments.add_argument("--ticks", type=int, default=400)
    arguments.add_argument("--text", action="store_true")
    options = arguments.parse_args()
    for name in options.names:
        for window in options.window:
            checked = program(name, window, options.rate)
            text = options.text and name != "cooling"
            parts = list(batches(name, window, options.rate, options.ticks, text))
            each, changes, size = tick_by_tick(checked, parts, min(window + 10, options.ticks // 2))
            once, rows = all_at_once(checked, parts)
            facts = options.rate * options.ticks
            sys.stdout.write(
                f"{name:10} window {window:4} rate {options.rate:5}: tick by tick "
                f"{each / options.rate * 1e9:7.0f} ns/fact {each * 1e6:8.1f} us/time point "
                f"{changes} changes, {size} bytes/row; at once {once / facts * 1e9:7.0f} ns/fact, "
                f"{rows} rows\n"
            )


if __name__ == "__main__":
    main()
