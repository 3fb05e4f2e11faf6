"""A stream survives what happens to it: killed at any moment, or with a damaged checkpoint."""

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.scale.piecewise import Interval, arrivals
from tests.scale.streaming import killed
from tests.scale.streaming.on_spark import put_files, read_files, run_to_end
from tests.scale.streaming.simulated import final_intervals, out_of_order

from larspark.base.atoms import Element, fact
from larspark.base.problems import LarsparkError
from larspark.run.protocol import Settings
from larspark.scale.grid import RequestedCuts
from larspark.scale.job import prepare

pytest.importorskip("pyspark")
from larspark.scale.streaming.stream_query import stream

pytestmark = pytest.mark.xdist_group("spark")

ROOT = Path(__file__).parents[3]
# Ten kills take minutes: LARSPARK_KILLS=10.
KILLS = int(os.environ.get("LARSPARK_KILLS", "2"))
SINKS = ["lines", "parquet"] if KILLS > 2 else ["lines"]


@contextlib.contextmanager
def running(folder: Path, sink: str) -> Iterator[subprocess.Popen[bytes]]:
    """A driver with all its processes, none of which is left behind."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.scale.streaming.killed", folder, sink],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def begun(folder: Path) -> int:
    """How many micro-batches have begun."""
    return len(list((folder / "checkpoint" / "offsets").glob("[0-9]*")))


def all_answers(folder: Path, sink: str, request: pytest.FixtureRequest) -> list[Interval]:
    if sink == "lines":
        files = sorted((folder / "answers").glob("*.jsonl"))
        rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    else:
        # After a crash there may be files that do not count; Spark knows which ones do.
        spark = request.getfixturevalue("spark")
        rows = [row.asDict() for row in spark.read.parquet(str(folder / "answers")).collect()]
    return sorted((row["atom"], row["from"], row["to"]) for row in rows)


@pytest.mark.parametrize("sink", SINKS)
def test_killed_at_random_moments_nothing_is_lost_and_nothing_doubled(
    sink: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    random = Random(KILLS)
    elements = [
        Element(t, fact("temp", f"s{random.randrange(5)}", random.randrange(40)))
        for t in range(400)
        for _ in range(random.randint(0, 3))
    ]
    coming = [element for _, element in out_of_order(elements, killed.DELAY, random)]
    files = 2 * KILLS + 4
    size = -(-len(coming) // files)
    columns = ("sensor", "v")
    put_files(
        tmp_path / "facts",
        [
            [{"ts": e.t, **dict(zip(columns, e.atom.args, strict=True))} for e in coming[n:][:size]]
            for n in range(0, len(coming), size)
        ],
    )
    kills = 0
    for _ in range(KILLS):
        with running(tmp_path, sink) as process:
            # At any moment of any micro-batch but those before it has done anything at all.
            before, patience = begun(tmp_path), time.monotonic() + 300
            while begun(tmp_path) == before and process.poll() is None:
                assert time.monotonic() < patience
                time.sleep(0.02)
            time.sleep(random.uniform(0, 1.5))
            kills += process.poll() is None
    assert kills == KILLS
    with running(tmp_path, sink) as process:
        assert process.wait(timeout=200) == 0
    prepared = prepare(killed.PROGRAM, (), "auto", Settings(), RequestedCuts())
    closed = max(element.t for element in coming) - killed.DELAY - 1
    expected = final_intervals(prepared, arrivals(elements, ordered=False), closed)
    assert len(expected) > 50
    assert all_answers(tmp_path, sink, request) == expected


def digests(folder: Path) -> dict[Path, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def halved(content: bytes) -> bytes:
    return content[: len(content) // 2]


def emptied(content: bytes) -> bytes:
    return content[:0]


DAMAGES = [
    ("metadata", halved),
    ("metadata", emptied),
    ("offsets/[0-9]*", halved),
    ("commits/[0-9]*", halved),
    ("sources/0/[0-9]*", halved),
    ("state/0/0/*.changelog", halved),
    ("state/0/_metadata/v2/*", halved),
    ("state", emptied),
]


def test_a_damaged_checkpoint_is_told_and_left_as_it_is(spark: Any, tmp_path: Path) -> None:
    def run(folder: Path) -> None:
        facts = read_files(spark, tmp_path / "facts")
        run_to_end(stream("p(X) :- [2] some a(X).", facts, time="t", shards=2), folder)

    rows = [[{"t": t, "atom": f"a(x{t % 3})", "n": t}] for t in range(3)]
    put_files(tmp_path / "facts", rows[:2])
    run(tmp_path / "run")
    put_files(tmp_path / "facts", rows[2:], first=2)
    for number, (pattern, damage) in enumerate(DAMAGES):
        # Spark keeps the state of the first run open; a copy is as a new process finds it.
        folder = tmp_path / f"copy-{number}"
        shutil.copytree(tmp_path / "run", folder)
        files = "state/0/_metadata/v2/*" if pattern == "state" else pattern
        newest = max((folder / "checkpoint").glob(files))
        newest.write_bytes(damage(newest.read_bytes()))
        before = digests(folder)
        with pytest.raises(LarsparkError) as caught:
            run(folder)
        [problem] = caught.value.problems
        assert problem.code == "L492"
        named = str(newest) if damage is halved else f"a file of its `{pattern}`"
        assert problem.message.startswith(f"the checkpoint cannot be read: {named} is damaged: ")
        assert "nothing in it was overwritten" in problem.hint
        after = digests(folder)
        assert {path: after.get(path) for path in before} == before, pattern
