"""What was freed is kept, so that the next time point need not fetch it again."""

import os
import platform
import subprocess
import sys

import pytest

# Frees eight megabytes again and again, and tells how many pages had to be fetched for that.
_SCRIPT = """
import resource
import numpy as np
from larspark.cli.allocator import keep_freed_memory

keep_freed_memory()
for turn in range(60):
    if turn == 10:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    arrays = [np.ones(4000) for _ in range(250)]
    del arrays
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told to keep memory")
def test_freed_memory_is_kept_unless_the_environment_says_otherwise() -> None:
    assert pages_fetched({}) < 2000
    assert pages_fetched({"MALLOC_TRIM_THRESHOLD_": "131072"}) > 20_000


def pages_fetched(chosen: dict[str, str]) -> int:
    environment = {name: value for name, value in os.environ.items() if "MALLOC" not in name}
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        env={**environment, **chosen},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)
