"""Long runs: does an engine become slower or larger over time?"""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from larspark.base.facts import Row, RowBatch
from larspark.bench.by_larspark import began, interval_answers
from larspark.bench.contest import Measurement, Progress
from larspark.bench.generated_streams import endless_retrieval, jobs
from larspark.bench.ticker_workloads import b1
from larspark.bench.workload import Stopwatch, checked_program, no_garbage_collection
from larspark.run.protocol import Settings
from larspark.run.session import Session

WINDOW = 80
RATE = 10

# Names that never repeat, a join, a negation, and a tuple window for each machine.
PROGRAM = f"""
busy(M)     :- [20] some job(M,J).
open(J)     :- [{WINDOW}] some job(M,J), not [{WINDOW}] some done(J).
latest(M,J) :- [#1 by M] some job(M,J).
rivals(J,K) :- [5] some job(M,J), [5] some job(M,K), J != K.
"""

# The run is measured in this many parts, so that differences show.
PARTS = 10
# Time points that are generated at once, outside the measured time.
_CHUNK = 1000


def soak(bench: str, time_points: int, progress: Progress) -> Iterator[Measurement]:
    """Ten facts and one evaluation at every time point, measured part by part."""
    session = Session(checked_program(PROGRAM), engine="interval")
    length = time_points // PARTS
    for part in range(PARTS):
        progress(f"{bench}: part {part + 1} of {PARTS}")
        watch = Stopwatch()
        found = 0
        for first in range(part * length + 1, (part + 1) * length + 1, _CHUNK):
            last = min(first + _CHUNK - 1, (part + 1) * length)
            batches = jobs(first, last).by_time_point()
            with no_garbage_collection(), watch.running():
                for t, batch in enumerate(batches, first):
                    session.append(batch)
                    found += began(interval_answers(session.advance(t)))
        done = session.engine.stats()
        facts = RATE * length
        yield Measurement(
            bench,
            WINDOW,
            RATE,
            "interval",
            watch.seconds / facts * 1e9,
            watch.seconds / length * 1e6,
            done["bytes"],
            more={
                "cpu_ns_per_fact": round(watch.cpu_seconds / facts * 1e9, 1),
                "part": part + 1,
                "facts": facts,
                "time_points": length,
                "intervals": found,
                "rows": done["rows"],
                "bytes_per_row": round(done["bytes"] / max(1, done["rows"]), 1),
                "resident_bytes": resident_bytes(),
            },
        )


def resident_bytes() -> int:
    """The resident memory of this process; 0 where the system does not report it."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return 0
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


TICKER_WINDOW = 60


def ticker_soak(bench: str, time_points: int, progress: Progress) -> Iterator[Measurement]:
    """Ticker's setup B1, one evaluation at every time point, measured part by part."""
    if find_spec("clingo") is None:
        return
    # Imported here because clingo is optional.
    from larspark.run.answer_sets.engines import AspEngine, TmsEngine

    setup = b1(TICKER_WINDOW, 0)
    checked = checked_program(setup.program, setup.background)
    length = time_points // PARTS
    for name, kind in (("asp, incremental", AspEngine), ("tms", TmsEngine)):
        engine = kind(checked, setup.background, Settings(incremental=True))
        signals = endless_retrieval(TICKER_WINDOW, busy=False)
        t = 0
        for part in range(PARTS):
            progress(f"{bench}: {name}, part {part + 1} of {PARTS}")
            watch = Stopwatch()
            slowest, rules, facts = 0.0, 0, 0
            for atoms in islice(signals, length):
                t += 1
                batch = RowBatch([Row(t, atom, 0) for atom in atoms], t)
                before = watch.seconds
                with watch.running():
                    engine.append(batch)
                    engine.advance(t)
                slowest = max(slowest, watch.seconds - before)
                rules = max(rules, engine.stats()["ground rules"])
                facts += len(atoms)
            yield Measurement(
                bench,
                TICKER_WINDOW,
                round(facts / length),
                name,
                watch.seconds / max(1, facts) * 1e9,
                watch.seconds / length * 1e6,
                resident_bytes(),
                more={
                    "cpu_ns_per_fact": round(watch.cpu_seconds / max(1, facts) * 1e9, 1),
                    "part": part + 1,
                    "facts": facts,
                    "time_points": length,
                    "slowest_milliseconds": round(slowest * 1e3, 2),
                    "ground_rules": rules,
                },
            )
