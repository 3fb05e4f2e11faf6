"""Runs on kernels that check the bounds of every access; `test_checked_kernels.py` starts it."""

import os
import sys
from contextlib import suppress
from random import Random

import numpy as np
from numba import njit
from numba.core import config
from tests.run.test_tampered_states import PROGRAMS, feed, saved, session, tampered

from larspark.base.problems import LarsparkError
from larspark.run.interval.kernels import compile as kernels

MORE = {
    "numbers": "n(X, N) :- N = count of [4] p(X, _) by X. s(S) :- S = sum of V in [#5] p(_, V).",
    "largest": "m(X, M) :- M = max of V in [3] p(X, V) by X. l(M) :- M = min of X in [#4] p(X).",
}


@njit
def _beyond(array):
    return array[len(array)]


def main() -> None:
    assert config.BOUNDSCHECK
    try:
        _beyond(np.zeros(3))
    except IndexError:
        pass
    else:
        sys.exit("bounds are not checked")
    kernels.compile_at_once()
    PROGRAMS.update(MORE)
    examples = int(os.environ.get("LARSPARK_EXAMPLES", "20"))
    for name in PROGRAMS:
        run_long(name)
        state = saved(name, "interval")
        rng = Random(f"{name} checked")
        for _ in range(examples):
            data = tampered(state, rng)
            running = session(name, "interval")
            with suppress(LarsparkError):
                running.restore(data)
                start = 13 if running.answered is None else max(13, running.answered + 1)
                if start < 100:
                    feed(running, start, start + 6)
                    list(running.advance(start + 6).points())
    compiled = [each for each in kernels._registry.kernels if each._dispatcher is not None]
    sys.stdout.write(f"{len(compiled)} of {len(kernels._registry.kernels)} kernels ran compiled")


def run_long(name: str) -> None:
    """Time points one by one, and all at once, so that all stores grow and expire."""
    one_by_one, at_once = session(name, "interval"), session(name, "interval")
    points = []
    for t in range(1, 121):
        feed(one_by_one, t, t)
        feed(at_once, t, t)
        points += one_by_one.advance(t).points()
    assert points == list(at_once.advance(120).points()), name


if __name__ == "__main__":
    main()
