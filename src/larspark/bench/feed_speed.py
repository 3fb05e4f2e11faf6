"""The reading speed of feeds, for each format of a stream, on one core."""

import gzip
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, feather, parquet

from larspark.bench.contest import Measurement, Progress
from larspark.bench.workload import Stopwatch, no_garbage_collection
from larspark.feeds import Stream

RATE = 10

MAP = "time -> temp(sensor, value)"
_TICK = 1_000_000
_LATENESS = 5
_REPETITIONS = 3


def reading(bench: str, facts: int, progress: Progress) -> Iterator[Measurement]:
    """The same readings in every format, in order and with lateness."""
    readings = readings_table(facts)
    with tempfile.TemporaryDirectory() as name, _one_core(), no_garbage_collection():
        yield _measured(bench, "table in memory", partial(Stream.from_table, readings, map=MAP))
        folder = Path(name)
        progress(f"{bench}: writing {facts:,} facts in every form")
        write_texts(folder, readings)
        write_tables(folder, readings)
        for path in sorted(folder.iterdir()):
            for lateness in (0, _LATENESS):
                label = path.name if not lateness else f"{path.name}, lateness {lateness}"
                progress(f"{bench}: {label}")
                yield _measured(bench, label, partial(_open, path, lateness))


def _measured(bench: str, label: str, make: Callable[[], Stream]) -> Measurement:
    watches = [Stopwatch() for _ in range(_REPETITIONS)]
    for watch in watches:
        stream = make()
        with watch.running():
            for _ in stream.batches():
                pass
    best = min(watches, key=lambda watch: watch.seconds)
    cpu = min(watch.cpu_seconds for watch in watches)
    return Measurement(
        bench,
        0,
        RATE,
        label,
        best.seconds / stream.facts * 1e9,
        best.seconds / (stream.facts / RATE) * 1e6,
        None,
        more={
            "cpu_ns_per_fact": round(cpu / stream.facts * 1e9, 1),
            "facts": stream.facts,
            "facts_per_second": round(stream.facts / cpu),
        },
    )


def _open(path: Path, lateness: int) -> Stream:
    mapping = MAP if is_mapped(path) else None
    return Stream.read(path, map=mapping, tick=_TICK, lateness=lateness)


def is_mapped(path: Path) -> bool:
    """Whether a file has columns or fields, and needs a mapping."""
    return path.suffix in (".csv", ".parquet", ".arrow") or path.stem == "objects"


def readings_table(facts: int) -> pa.Table:
    """Readings of a hundred sensors, ten at every time point."""
    random = np.random.default_rng(1)
    numbers = random.integers(0, 100, facts).tolist()
    return pa.table(
        {
            "time": np.arange(facts) // RATE,
            "sensor": [f"s{number}" for number in numbers],
            "value": random.uniform(-20, 40, facts).round(2),
        }
    )


def write_texts(folder: Path, readings: pa.Table) -> None:
    """Write the readings in every form of JSON Lines, and as facts."""
    rows = list(zip(*(column.to_pylist() for column in readings.columns), strict=True))
    texts = {
        "atom.jsonl": (f'{{"t": {t}, "atom": "temp({s},{v})"}}\n' for t, s, v in rows),
        "repeated.jsonl": (f'{{"t": {t}, "atom": "temp({s},{int(v)})"}}\n' for t, s, v in rows),
        "objects.jsonl": (f'{{"time": {t}, "sensor": "{s}", "value": {v}}}\n' for t, s, v in rows),
        "args.jsonl": (
            f'{{"t": {t}, "predicate": "temp", "args": ["{s}", {v}]}}\n' for t, s, v in rows
        ),
        "atoms.jsonl": (
            f'{{"t": {number}, "atoms": ["a({s})", "b({s},{t})", "temp({s},{v})"]}}\n'
            for number, (t, s, v) in enumerate(rows[::3])
        ),
        "facts.lars": (f"@{t} temp({s},{v}).\n" for t, s, v in rows),
    }
    for name, lines in texts.items():
        (folder / name).write_text("".join(lines), encoding="utf-8")
    packed = gzip.compress((folder / "atom.jsonl").read_bytes(), 1)
    (folder / "atom.jsonl.gz").write_bytes(packed)


def write_tables(folder: Path, readings: pa.Table) -> None:
    """Write the readings in every form of tables."""
    moments = pc.cast(pc.multiply(readings["time"], _TICK), pa.timestamp("us"))
    stamped = readings.set_column(0, "time", moments)
    csv.write_csv(readings, folder / "numbers.csv")
    csv.write_csv(stamped, folder / "stamped.csv")
    parquet.write_table(readings, folder / "numbers.parquet")
    parquet.write_table(stamped, folder / "stamped.parquet")
    feather.write_feather(readings, folder / "numbers.arrow")


@contextmanager
def _one_core() -> Iterator[None]:
    count = pa.cpu_count()
    pa.set_cpu_count(1)
    try:
        yield
    finally:
        pa.set_cpu_count(count)
