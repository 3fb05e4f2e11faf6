"""A long run: does the engine get slower or larger with what it has seen?"""

import os
from collections.abc import Iterator
from pathlib import Path

from larspark.bench.contest import Measurement, Tell
from larspark.bench.generated_streams import jobs
from larspark.bench.interval_contestant import began, interval_answers, stats
from larspark.bench.stopwatch import Stopwatch, no_garbage_collection
from larspark.bench.workload import checked_program
from larspark.run.session import Session

WINDOW = 80
RATE = 10

# Names that never come again, a join, a negation, and a tuple window for each machine.
PROGRAM = f"""
busy(M)     :- [20] some job(M,J).
open(J)     :- [{WINDOW}] some job(M,J), not [{WINDOW}] some done(J).
latest(M,J) :- [#1 by M] some job(M,J).
rivals(J,K) :- [5] some job(M,J), [5] some job(M,K), J != K.
"""

# The run is told in so many parts, so that one sees whether they differ.
PARTS = 10
# So many time points are generated at once, off the clock.
_CHUNK = 1000


def soak(bench: str, time_points: int, tell: Tell) -> Iterator[Measurement]:
    """Ten facts at every time point and an evaluation after each, told part by part."""
    session = Session(checked_program(PROGRAM), engine="interval")
    length = time_points // PARTS
    for part in range(PARTS):
        tell(f"{bench}: part {part + 1} of {PARTS}")
        watch = Stopwatch()
        found = 0
        for first in range(part * length + 1, (part + 1) * length + 1, _CHUNK):
            last = min(first + _CHUNK - 1, (part + 1) * length)
            batches = jobs(first, last).by_time_point()
            with no_garbage_collection(), watch.running():
                for t, batch in enumerate(batches, first):
                    session.append(batch)
                    found += began(interval_answers(session.advance(t)))
        done = stats(session)
        facts = RATE * length
        yield Measurement(
            bench,
            WINDOW,
            RATE,
            "interval",
            watch.seconds / facts * 1e9,
            watch.seconds / length * 1e6,
            done.bytes,
            more={
                "cpu_ns_per_fact": round(watch.cpu_seconds / facts * 1e9, 1),
                "part": part + 1,
                "facts": facts,
                "time_points": length,
                "intervals": found,
                "rows": done.rows,
                "bytes_per_row": round(done.bytes / max(1, done.rows), 1),
                "resident_bytes": resident_bytes(),
            },
        )


def resident_bytes() -> int:
    """The memory of this process; 0 where the system does not tell."""
    told = Path("/proc/self/statm")
    if not told.exists():
        return 0
    return int(told.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
