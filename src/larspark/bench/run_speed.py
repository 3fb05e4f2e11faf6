"""The time of `larspark run` in a process of its own: to its first answer, and over a file.

Over a file it is start, reading, reasoning, writing, for each format. DuckDB answers the same rule
over the tables and the JSON objects, in a process of its own, too.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from larspark.base.problems import LarsparkError, Problem
from larspark.bench.contest import Measurement, Progress
from larspark.bench.feed_speed import (
    MAP,
    RATE,
    is_mapped,
    readings_table,
    write_tables,
    write_texts,
)
from larspark.bench.workload import Stopwatch

WINDOW = 3

_MAIN = "from larspark.cli import start; start()"

_ALARM = f"""
hot(M)   :- [{WINDOW}] some temp(M,V), V >= 90.
alarm(M) :- hot(M), not [{WINDOW}] some visit(M).
"""
_TWO_FACTS = '{"t": 1, "atom": "temp(m1,95)"}\n{"t": 2, "atom": "visit(m1)"}\n'
_HOT = "hot(S) :- temp(S, V), V > 39.5.\n"
_FILES = ("atom.jsonl", "args.jsonl", "objects.jsonl", "numbers.csv", "numbers.parquet")
# The intervals in which a sensor is hot, as JSON Lines.
_DUCKDB = """
import sys
import duckdb
place, out = sys.argv[1:]
duckdb.sql(f'''
COPY (
  SELECT sensor, min(time) AS "from", max(time) AS "to"
  FROM (
    SELECT *, time - dense_rank() OVER (PARTITION BY sensor ORDER BY time) AS island
    FROM '{place}' WHERE value > 39.5
  )
  GROUP BY sensor, island ORDER BY "from", sensor
) TO '{out}' (FORMAT json)
''')
"""


def start(bench: str, repetitions: int, progress: Progress) -> Iterator[Measurement]:
    """A small program and two facts, in a process of its own; a first run warms the caches."""
    with tempfile.TemporaryDirectory() as name:
        program, stream = Path(name, "program.lars"), Path(name, "stream.jsonl")
        program.write_text(_ALARM, encoding="utf-8")
        stream.write_text(_TWO_FACTS, encoding="utf-8")
        arguments = ["run", str(program), "--stream", str(stream), "--engine", "interval", "--json"]
        watches: list[Stopwatch] = []
        for turn in range(repetitions + 1):
            progress(f"{bench}: run {turn} of {repetitions}")
            watches.append(_until_first_answer([sys.executable, "-c", _MAIN, *arguments], {}))
    best = min(watch.seconds for watch in watches[1:])
    more = {"milliseconds": round(best * 1000, 1)}
    yield Measurement(bench, WINDOW, 1, "interval", best * 1e9 / 2, best * 1e6 / 2, None, more=more)


def cold(bench: str, facts: int, repetitions: int, progress: Progress) -> Iterator[Measurement]:
    """The first run of a new installation: no kernel is compiled, every time anew.

    What the process in the background still compiles after a run disturbs the next one.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        progress(f"{bench}: writing {facts:,} facts")
        write_texts(folder, readings_table(facts))
        program = folder / "hot.lars"
        program.write_text(_HOT, encoding="utf-8")
        words = ["run", str(program), "--stream", str(folder / "atom.jsonl"), "--json"]
        first, whole = [], []
        for turn in range(1, repetitions + 1):
            progress(f"{bench}: run {turn} of {repetitions}")
            begun = Stopwatch()
            kernels = folder / f"kernels-{turn}"
            with begun.running():
                command = [sys.executable, "-c", _MAIN, *words]
                first.append(_until_first_answer(command, {"NUMBA_CACHE_DIR": str(kernels)}))
            whole.append(begun)
    for label, watches in (("first answer", first), ("all answers", whole)):
        best = min(watch.seconds for watch in watches)
        more = {"milliseconds": round(best * 1000), "facts": facts}
        per_point = best / (facts / RATE) * 1e6
        yield Measurement(bench, 0, RATE, label, best / facts * 1e9, per_point, None, more=more)


def _until_first_answer(command: list[str], environment: Mapping[str, str]) -> Stopwatch:
    """The time until a command writes its first line; all the others are read, too."""
    watch = Stopwatch()
    watch.start()
    given = {**os.environ, **environment}
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=given
    ) as process:
        if process.stdout is None or not process.stdout.readline():
            raise RuntimeError("there was no answer")
        watch.stop()
        for _ in process.stdout:
            pass
    return watch


def files(bench: str, facts: int, repetitions: int, progress: Progress) -> Iterator[Measurement]:
    """The same readings in every format; a first run of each warms the caches."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        progress(f"{bench}: writing {facts:,} facts in every form")
        readings = readings_table(facts)
        write_texts(folder, readings)
        write_tables(folder, readings)
        program, out = folder / "hot.lars", folder / "answers.jsonl"
        program.write_text(_HOT, encoding="utf-8")
        for file in _FILES:
            path = folder / file
            for form in ("intervals", "points") if file == _FILES[-1] else ("intervals",):
                words = ["run", str(program), "--stream", str(path), "--as", form, "--json"]
                words += ["--map", MAP] if is_mapped(path) else []
                words += ["--output", str(out), "--overwrite"]
                command = [sys.executable, "-c", _MAIN, *words]
                label = f"larspark, {file}" + ("" if form == "intervals" else ", points")
                progress(f"{bench}: {label}")
                yield _measured(bench, label, facts, command, repetitions)
                if form == "intervals":
                    answers = _count(out)
            if is_mapped(path):
                progress(f"{bench}: DuckDB, {file}")
                command = [sys.executable, "-c", _DUCKDB, str(path), str(out)]
                yield _measured(bench, f"DuckDB, {file}", facts, command, repetitions)
                if _count(out) != answers:
                    message = f"DuckDB gave {_count(out):,} intervals, larspark {answers:,}"
                    raise LarsparkError(Problem("L552", message))


def _count(path: Path) -> int:
    return len(path.read_bytes().splitlines())


def _measured(
    bench: str, label: str, facts: int, command: Sequence[str], repetitions: int
) -> Measurement:
    watches = [Stopwatch() for _ in range(repetitions + 1)]
    for watch in watches:
        with watch.running():
            subprocess.run(command, check=True, stderr=subprocess.PIPE)  # noqa: S603
    best = min(watch.seconds for watch in watches[1:])
    more = {"milliseconds": round(best * 1000), "facts": facts}
    per_point = best / (facts / RATE) * 1e6
    return Measurement(bench, 0, RATE, label, best / facts * 1e9, per_point, None, more=more)
