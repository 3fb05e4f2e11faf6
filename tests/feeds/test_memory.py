"""Reading takes no more memory for a long file than for a short one."""

import subprocess
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest

SCRIPT = """
import resource, sys
from larspark.feeds import Stream

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

path, mapping = sys.argv[1], sys.argv[2] or None
stream = Stream.read(path, map=mapping, lateness=int(sys.argv[3]), on_error="skip")
batches = stream.batches()
for _ in range(3):
    next(batches)
before = peak()
for _ in batches:
    pass
print(stream.facts, stream.skipped, peak() - before)
"""
FACTS = 1_000_000


def write_jsonl(path):
    lines = [f'{{"t": 1, "atom": "temp(s{n % 97},{n / 7:.3f})"}}\n' for n in range(1000)]
    path.write_text("".join(lines) * (FACTS // 1000))


def write_csv(path):
    numbers = pa.array(range(FACTS))
    table = {"time": pc.divide(numbers, 10), "sensor": numbers, "value": pc.divide(numbers, 7.0)}
    pyarrow.csv.write_csv(pa.table(table), path)


@pytest.mark.parametrize(
    ("name", "write", "mapping", "lateness", "facts"),
    [
        ("s.jsonl", write_jsonl, "", 0, FACTS),
        ("s.csv", write_csv, "time -> temp(sensor, value)", 5, FACTS),
    ],
)
def test_memory_does_not_grow_with_the_file(tmp_path, name, write, mapping, lateness, facts):
    path = tmp_path / name
    write(path)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, path, mapping, str(lateness)],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    delivered, skipped, growth = map(int, done.stdout.split())
    assert (delivered, skipped) == (facts, 0)
    # The files have about 40 MB, and as objects several times that.
    assert growth < 25
