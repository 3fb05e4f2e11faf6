"""The kernels, compiled so that every access is checked, over runs and tampered states.

Otherwise compiled code reads and writes beyond the ends of arrays without a word.
"""

import os
import subprocess
import sys
from pathlib import Path

from larspark.run.interval.kernels import compiled_cache

ROOT = Path(__file__).parents[3]
_CACHE = Path(os.environ.get("LARSPARK_TEST_CACHE", ROOT / ".cache"))


def test_no_kernel_reaches_beyond_its_arrays() -> None:
    sources = Path(compiled_cache.__file__).parent
    folder = _CACHE / f"checked-kernels-{compiled_cache.fingerprint(sources)[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "tests.run.interval.checked_kernels"],
        cwd=ROOT,
        env={**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) > 25
