"""Files arrive day by day, the query is killed and restarted, and the answers stay exact.

python examples/pipeline/run.py [--days N] [--folder FOLDER]
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "flights"))

import pipeline
from deltalake import DeltaTable
from flights import flights_stream, raw_data
from rich.console import Console

import larspark as lp
from larspark.run.replay import intervals, replay

Found = list[tuple[lp.Atom, int, int]]

# The watermark of the query, in minutes.
WATERMARK = 24 * 60
_POLL = 0.5
_PATIENCE = 600


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="A Spark stream with a crash in the middle.")
    parser.add_argument("--days", type=int, default=6, help="how many days arrive")
    parser.add_argument("--folder", type=Path, default=HERE / "output", help="folder for all files")
    options = parser.parse_args(arguments)
    console = Console()
    console.print(
        f"{options.days} days of flights and weather arrive as files. A Spark stream reads\n"
        "them as they arrive and writes tables of Delta Lake; it is killed in the middle\n"
        "and started again with the same checkpoint. This takes one to two minutes on two\n"
        "cores.\n"
    )
    shutil.rmtree(options.folder, ignore_errors=True)
    _deliver_and_crash(console, options.folder, options.days)
    found, expected = _answers(options.folder), _expected(options.folder, options.days)
    if Counter(found) != Counter(expected):
        raise SystemExit("the answers of the stream differ from those of one local engine")
    console.print(f"{len(found):,} answers, exactly those of one local engine.")
    console.print(f"The tables are in {options.folder / 'answers'}.")


def _deliver_and_crash(console: Console, folder: Path, days: int) -> None:
    data = raw_data()
    arriving = data.days[:days]
    half = max(1, days // 2)
    with _query(folder) as query:
        for day in arriving[:half]:
            data.write_day(day, folder / "arriving")
            console.print(f"  {day.day} arrived")
        _await_batches(query, folder, 1)
        console.print("  the query has committed a micro-batch: kill -9")
    for day in arriving[half:]:
        data.write_day(day, folder / "arriving")
        console.print(f"  {day.day} arrived")
    console.print("  restart with the same checkpoint")
    with _query(folder, "--until-empty") as query:
        if query.wait() != 0:
            raise SystemExit("the restarted query failed")


@contextmanager
def _query(folder: Path, *options: str) -> "Iterator[subprocess.Popen[bytes]]":
    """Run the query in a process group of its own, which is killed at the end."""
    # Spark lists the folders of a file source when the query starts.
    for name in ("flights", "weather"):
        (folder / "arriving" / name).mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(HERE / "query.py"), str(folder), *options]
    query = subprocess.Popen(command, start_new_session=True)  # noqa: S603 - the script beside this
    try:
        yield query
    finally:
        # The group includes Java and the Python workers.
        with suppress(ProcessLookupError):
            os.killpg(query.pid, signal.SIGKILL)
        query.wait()


def _await_batches(query: "subprocess.Popen[bytes]", folder: Path, count: int) -> None:
    """Wait until the query has committed micro-batches."""
    deadline = time.monotonic() + _PATIENCE
    commits = folder / "checkpoint" / "commits"
    while len([path for path in commits.glob("*") if path.name.isdigit()]) < count:
        if query.poll() is not None:
            raise SystemExit("the query ended by itself")
        if time.monotonic() > deadline:
            raise SystemExit("the query has written nothing")
        time.sleep(_POLL)


def _answers(folder: Path) -> Found:
    """The answers in the tables, each of which has been made by the first answer in it."""
    found = []
    for name in (each.partition("/")[0] for each in pipeline.TABLES):
        place = str(folder / "answers" / name)
        if DeltaTable.is_deltatable(place):
            columns = [*pipeline.arguments(name), "from", "to"]
            for row in DeltaTable(place).to_pyarrow_table(columns=columns).to_pylist():
                *arguments, begin, end = (row[column] for column in columns)
                found.append((lp.fact(name, *arguments), begin, end))
    return found


def _expected(folder: Path, days: int) -> Found:
    """The answers of one local engine that the stream has emitted by now.

    A time point is answered once every source is more than the watermark past it, and an interval
    is emitted when it has ended.
    """
    raw_data().write(folder / "raw", days)
    latest: dict[str, int] = {}
    batches = list(flights_stream(folder / "raw").batches())
    for batch in batches:
        for row in batch.rows():
            latest[row.atom.predicate] = max(row.t, latest.get(row.atom.predicate, 0))
    answered = min(latest.values()) - WATERMARK - 1
    session = lp.Reasoner(lp.Program.load(pipeline.PROGRAM)).session
    found = intervals(replay(session, batches, to=answered))
    return [(atom, begin, end) for atom, begin, end in found if end < answered]


if __name__ == "__main__":
    main()
