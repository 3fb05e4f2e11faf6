"""How fast facts are read, for each form of a stream: facts per second of one core's time,
the best of three readings.

Run with `python bench/feeds.py [FACTS]`.
"""

import gzip
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from larspark.feeds import Stream

MAP = "time -> temp(sensor, value)"


def table(facts: int) -> pa.Table:
    """Readings of a hundred sensors, ten in every time point."""
    chance = random.Random(1)  # noqa: S311 - no secret
    return pa.table(
        {
            "time": [number // 10 for number in range(facts)],
            "sensor": [f"s{chance.randrange(100)}" for _ in range(facts)],
            "value": [round(chance.uniform(-20, 40), 2) for _ in range(facts)],
        }
    )


def write_files(folder: Path, facts: int) -> None:
    """The same readings in every form."""
    readings = table(facts)
    rows = list(zip(*(column.to_pylist() for column in readings.columns), strict=True))
    texts = {
        "atom": (f'{{"t": {t}, "atom": "temp({s},{v})"}}\n' for t, s, v in rows),
        "repeated": (f'{{"t": {t}, "atom": "temp({s},{int(v)})"}}\n' for t, s, v in rows),
        "args": (f'{{"t": {t}, "predicate": "temp", "args": ["{s}", {v}]}}\n' for t, s, v in rows),
        "atoms": (
            f'{{"t": {number}, "atoms": ["a({s})", "b({s},{t})", "temp({s},{v})"]}}\n'
            for number, (t, s, v) in enumerate(rows[::3])
        ),
    }
    for name, lines in texts.items():
        (folder / f"{name}.jsonl").write_text("".join(lines))
    (folder / "facts.lars").write_text("".join(f"@{t} temp({s},{v}).\n" for t, s, v in rows))
    packed = gzip.compress((folder / "atom.jsonl").read_bytes(), 1)
    (folder / "atom.jsonl.gz").write_bytes(packed)
    moments = pa.compute.cast(pa.compute.multiply(readings["time"], 1_000_000), pa.timestamp("us"))
    stamped = readings.set_column(0, "time", moments)
    pyarrow.csv.write_csv(readings, folder / "numbers.csv")
    pyarrow.csv.write_csv(stamped, folder / "stamped.csv")
    pyarrow.parquet.write_table(readings, folder / "numbers.parquet")
    pyarrow.parquet.write_table(stamped, folder / "stamped.parquet")
    pyarrow.feather.write_feather(readings, folder / "numbers.arrow")


def measure(name: str, make: Callable[[], Stream]) -> None:
    seconds = []
    for _ in range(3):
        stream = make()
        start = time.process_time()
        for _ in stream.batches():
            pass
        seconds.append(time.process_time() - start)
    sys.stdout.write(f"{name:<28}{stream.facts / min(seconds):>14,.0f} facts/s\n")


def main() -> None:
    facts = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    pa.set_cpu_count(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, facts)
        for path in sorted(folder.iterdir()):
            mapping = MAP if path.suffix in (".csv", ".parquet", ".arrow") else None
            for lateness in (0, 5):
                label = path.name if lateness == 0 else f"{path.name}, lateness 5"
                options = {"map": mapping, "lateness": lateness, "tick": 1_000_000}
                measure(label, lambda path=path, options=options: Stream.read(path, **options))
        measure("table in memory", lambda: Stream.from_table(table(facts), map=MAP))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    sys.stdout.write(f"peak memory with the tables that were written: {peak} MiB\n")


if __name__ == "__main__":
    main()
