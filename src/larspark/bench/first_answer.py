"""The time from starting `larspark run` to its first answer."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from larspark.bench.contest import Measurement, Progress
from larspark.bench.workload import Stopwatch

WINDOW = 3

_PROGRAM = f"""
hot(M)   :- [{WINDOW}] some temp(M,V), V >= 90.
alarm(M) :- hot(M), not [{WINDOW}] some visit(M).
"""
_STREAM = '{"t": 1, "atom": "temp(m1,95)"}\n{"t": 2, "atom": "visit(m1)"}\n'
_MAIN = "from larspark.cli import main; main()"


def start(bench: str, repetitions: int, progress: Progress) -> Iterator[Measurement]:
    """A small program and two facts, in a process of its own; a first run warms the caches."""
    with tempfile.TemporaryDirectory() as name:
        program, stream = Path(name, "program.lars"), Path(name, "stream.jsonl")
        program.write_text(_PROGRAM, encoding="utf-8")
        stream.write_text(_STREAM, encoding="utf-8")
        arguments = ["run", str(program), "--stream", str(stream), "--engine", "interval", "--json"]
        watches: list[Stopwatch] = []
        for turn in range(repetitions + 1):
            progress(f"{bench}: run {turn} of {repetitions}")
            watches.append(_until_first_answer([sys.executable, "-c", _MAIN, *arguments]))
    best = min(watch.seconds for watch in watches[1:])
    more = {"milliseconds": round(best * 1000, 1)}
    yield Measurement(bench, WINDOW, 1, "interval", best * 1e9 / 2, best * 1e6 / 2, None, more=more)


def _until_first_answer(command: list[str]) -> Stopwatch:
    watch = Stopwatch()
    watch.start()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603
        if process.stdout is None or not process.stdout.readline():
            raise RuntimeError("there was no answer")
        watch.stop()
    return watch
