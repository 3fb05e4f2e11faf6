"""A long run of Ticker's scenario B: do engines get slower or larger with what they have seen?"""

from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice

from larspark.base.facts import Row, RowBatch
from larspark.bench.contest import Measurement, Tell
from larspark.bench.soak import PARTS, resident_bytes
from larspark.bench.stopwatch import Stopwatch
from larspark.bench.ticker_streams import endless_retrieval
from larspark.bench.ticker_workloads import b1
from larspark.bench.workload import checked_program
from larspark.run.protocol import Settings

WINDOW = 60


def soak(bench: str, time_points: int, tell: Tell) -> Iterator[Measurement]:
    """Setup B1, an evaluation at every time point, told part by part."""
    if find_spec("clingo") is None:
        return
    # Imported when they are needed: clingo takes its time to load, and may be missing.
    from larspark.run.answer_sets.engines import AspEngine, TmsEngine

    setup = b1(WINDOW, 0)
    checked = checked_program(setup.program, setup.background)
    length = time_points // PARTS
    for name, kind in (("asp, incremental", AspEngine), ("tms", TmsEngine)):
        engine = kind(checked, setup.background, Settings(incremental=True))
        signals = endless_retrieval(WINDOW, busy=False)
        t = 0
        for part in range(PARTS):
            tell(f"{bench}: {name}, part {part + 1} of {PARTS}")
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
                WINDOW,
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
