"""Users see why the first run of a version waits, and that Numba is missing."""

import sys

import numpy as np
import pytest

from larspark.run.interval.kernels import compile as kernels


class Recorder:
    """Keeps what it is informed of."""

    def __init__(self) -> None:
        self.compiled: list[tuple[int, int]] = []
        self.missing = 0

    def compiling(self, number: int, count: int) -> None:
        self.compiled.append((number, count))

    def numba_missing(self) -> None:
        self.missing += 1


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    registry = kernels._Registry()
    registry.listener = recorder
    monkeypatch.setattr(kernels, "_registry", registry)
    return recorder


def total(numbers: np.ndarray) -> int:
    return int(numbers.sum())


def test_a_kernel_that_is_not_in_the_cache_is_announced(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    kernels._registry._load()
    # Compiled without a cache: the file of a test is not the place for one.
    monkeypatch.setattr(kernels._registry, "_njit", lambda **_: lambda function: function)
    kernel, other = kernels.kernel(total), kernels.kernel(total)
    assert kernel.run(np.arange(3)) == 3
    assert recorder.compiled == []
    kernels.compile_soon()
    assert kernel.run(np.arange(4)) == 6
    assert other.run(np.arange(4)) == 6
    assert kernel.run(np.arange(4)) == 6
    assert recorder.compiled == [(1, 2), (2, 2)]


def test_missing_numba_is_announced_once_there_is_work(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    kernel = kernels.kernel(total)
    assert kernel.run(np.arange(3)) == 3
    assert recorder.missing == 0
    kernels.compile_soon()
    assert kernel.run(np.arange(4)) == 6
    assert kernel.run(np.arange(4)) == 6
    assert (recorder.missing, recorder.compiled) == (1, [])
