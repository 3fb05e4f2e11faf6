"""Kernels are compiled in the background; users see why a run is slow, or Numba is missing."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

from larspark.run.interval.kernels import compile as kernels
from larspark.run.interval.kernels import compiled_cache
from larspark.run.interval.kernels.background_compiler import BackgroundCompiler
from larspark.run.interval.kernels.warm_up import PACKAGE, requests


class Recorder:
    """Keeps what it is informed of."""

    def __init__(self) -> None:
        self.compiled: list[tuple[int, int]] = []
        self.missing = 0
        self.reasons: list[str] = []

    def compiling(self, number: int, count: int) -> None:
        self.compiled.append((number, count))

    def numba_missing(self) -> None:
        self.missing += 1

    def cache_unusable(self, reason: str) -> None:
        self.reasons.append(reason)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    registry = kernels._Registry()
    registry.listener = recorder
    monkeypatch.setattr(kernels, "_registry", registry)
    return recorder


def total(numbers: np.ndarray) -> int:
    return int(numbers.sum())


def other_total(numbers: np.ndarray) -> int:
    return int(numbers.sum())


def test_plain_python_goes_on_until_a_kernel_is_compiled(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    ready: set[str] = set()
    asked: list[str] = []

    def request(_: BackgroundCompiler, module: str, name: str, types: tuple[Any, ...]) -> bool:
        asked.append(name)
        return True

    monkeypatch.setattr(BackgroundCompiler, "request", request)
    monkeypatch.setattr(kernels, "is_cached", lambda found, _: found.py_func.__name__ in ready)
    monkeypatch.setattr(kernels, "is_kept", lambda _: True)
    monkeypatch.setattr(kernels, "_LOOK_AGAIN", 0.0)
    monkeypatch.setattr(
        kernels._Registry, "dispatcher", lambda _, function, options: _Dispatcher(function)
    )
    kernel, other = kernels.kernel(total), kernels.kernel(other_total)
    assert kernel.run(np.arange(3)) == 3
    assert not asked
    kernels.compile_soon()
    assert [kernel.run(np.arange(4)), other.run(np.arange(4))] == [6, 6]
    assert asked == ["total", "other_total"]
    ready.add("total")
    assert [kernel.run(np.arange(4)), other.run(np.arange(4))] == [6, 6]
    assert isinstance(kernel.run, _Dispatcher)
    assert not isinstance(other.run, _Dispatcher)
    ready.add("other_total")
    assert other.run(np.arange(4)) == 6
    assert isinstance(other.run, _Dispatcher)
    assert recorder.compiled == [(0, 1), (0, 2), (1, 2), (2, 2)]


class _Dispatcher:
    """A compiled function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)


def test_what_is_damaged_is_removed_and_told_once(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    removed: list[str] = []

    def damaged(*_: object) -> bool:
        raise EOFError("Ran out of input")

    kernels._registry.background = None
    monkeypatch.setattr(kernels, "is_cached", damaged)
    monkeypatch.setattr(
        kernels, "discard_cached", lambda found: removed.append(found.py_func.__name__)
    )
    monkeypatch.setattr(
        kernels._Registry, "dispatcher", lambda _, function, options: _Dispatcher(function)
    )
    kernels.compile_soon()
    assert kernels.kernel(total).run(np.arange(4)) == 6
    assert kernels.kernel(other_total).run(np.arange(4)) == 6
    assert removed == ["total", "other_total"]
    assert len(recorder.reasons) == 1
    assert "Ran out of input" in recorder.reasons[0]


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


SCRIPT = dedent("""
    import sys
    from numba import types
    from larspark.run.interval.kernels import compile as kernels
    from larspark.run.interval.kernels.select import code_integers

    kernels.compile_soon()
    kernels._registry.has_numba
    numbers, rows = types.Array(types.int64, 1, "C"), types.Array(types.int64, 2, "C")
    kinds = (numbers, rows, types.int64, types.int64)
    dispatcher = kernels._registry.dispatcher(code_integers.plain, code_integers._options)
    print(kernels.is_cached(dispatcher, kinds))
    if sys.argv[1] == "request":
        code_integers._dispatcher = dispatcher
        background = kernels._registry.background
        print(background.request(code_integers.plain.__module__, "code_integers", kinds))
""")


def test_a_kernel_that_one_process_asks_for_is_there_for_the_next(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    # Another folder for compiled code: that of this installation stays as it is.
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    # Modules of the directory in which a program is run are not ours.
    here = tmp_path / "here"
    here.mkdir()
    for name in ("larspark", "numba", "types"):
        (here / f"{name}.py").write_text(f"open({str(here / 'executed')!r}, 'w').close()\n")

    def run(what: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-P", "-c", SCRIPT, what],
            env=environment,
            cwd=here,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    assert run("request") == ["False", "True"]
    deadline = monotonic() + 900
    while run("look") == ["False"]:
        assert monotonic() < deadline
        sleep(1)
    assert not (here / "executed").exists()
    [index] = tmp_path.rglob("*.code_integers-*.nbi")
    index.write_bytes(index.read_bytes()[:-9])
    with pytest.raises(subprocess.CalledProcessError):
        run("look")


def test_a_worker_whose_program_has_ended_does_not_wait_for_its_turn(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    pytest.importorskip("numba")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    nobody = str(2**31)
    with (tmp_path / "compiling.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            [sys.executable, "-P", "-m", f"{PACKAGE}.compile_worker", nobody],
            input=requests()[0],
            env=environment,
            text=True,
            check=False,
            timeout=600,
        )
    assert done.returncode == 0
    assert not list(tmp_path.rglob("*.nbi"))


def test_a_process_that_cannot_start_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    background = BackgroundCompiler()
    assert not background.request("module", "kernel", ())
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert not BackgroundCompiler().request("module", "kernel", ())


def test_a_function_without_a_cache_is_not_kept() -> None:
    numba = pytest.importorskip("numba")
    plain = numba.njit(lambda number: number)
    assert not compiled_cache.is_kept(plain)
    assert not compiled_cache.is_cached(plain, (numba.types.int64,))
