"""`larspark warm` compiles what runs call."""

import inspect
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import larspark as lp
from larspark.base.problems import LarsparkError
from larspark.cli import app
from larspark.run.interval.kernels import compile as kernels
from larspark.run.interval.kernels import warm_up
from larspark.run.interval.kernels.background_compiler import type_text

PROGRAMS = """
near(X) :- [3] some a(X, V), V > 2, not [2] some b(X).
held(X) :- [4] always near(X).
last(X) :- [#2] some a(X, _).
each(X, V) :- [#1 by X] @T a(X, V).
open(X) :- [session 3 by X] some b(X).
sum(X) :- #sum{ V, T : [5] @T a(X, V) } > 10 by X.
high(X, V) :- a(X, V), V = max of W in [5] a(_, W).
#remember near/1.
"""


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The kernels that are called, with the types of their arguments."""
    numba = pytest.importorskip("numba")
    found: set[str] = set()

    def run(kernel: kernels.Kernel, *args: object) -> object:  # type: ignore[type-arg]
        types = (type_text(numba.typeof(arg)) for arg in args)
        found.add(" ".join([kernel.plain.__module__, kernel.plain.__name__, *types]))
        return kernel.interpret(*args)

    for kernel in kernels._registry.kernels:
        monkeypatch.setattr(kernel, "run", lambda *args, kernel=kernel: run(kernel, *args))
    return found


def test_every_kernel_is_listed_with_the_types_it_is_called_with(called: set[str]) -> None:
    folder = Path(warm_up.__file__).parent
    for path in folder.glob("*.py"):
        if path.stem not in ("__init__", "native"):
            import_module(f"{warm_up.PACKAGE}.{path.stem}")
    ours = [k for k in kernels._registry.kernels if k.plain.__module__.startswith(warm_up.PACKAGE)]
    listed = {tuple(line.split()[:2]): line.split()[2:] for line in warm_up.requests()}
    assert {(k.plain.__module__, k.plain.__name__) for k in ours} == listed.keys()
    for kernel in ours:
        types = listed[kernel.plain.__module__, kernel.plain.__name__]
        assert len(inspect.signature(kernel.plain).parameters) == len(types)
    random = np.random.default_rng(1)
    events = [
        (int(t), lp.fact("a", f"x{random.integers(4)}", int(random.integers(9))))
        if random.integers(3)
        else (int(t), lp.fact("b", f"x{random.integers(4)}"))
        for t in range(120)
    ]
    program = lp.Program.parse(PROGRAMS)
    assert lp.run(program, lp.Stream.of(events)).num_rows > 100
    reasoner = lp.Reasoner(program, start=0)
    for t, atom in events:
        reasoner.append(t, [atom])
        list(reasoner.advance(t))
    assert len(called) > 15
    assert called <= set(warm_up.requests())


def test_without_numba_there_is_nothing_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("larspark.cli.warm_command.numba_is_there", lambda: False)
    with pytest.raises(LarsparkError, match="kernels are compiled with numba"):
        CliRunner().invoke(app, ["warm"], catch_exceptions=False)


def test_helpers_of_modules_that_are_imported_late_are_compiled_too() -> None:
    numba = pytest.importorskip("numba")
    assert kernels.numba_is_there()

    @kernels.helper
    def twice(number: int) -> int:
        return 2 * number

    def run(number: int) -> int:
        return twice(number) + 1

    assert numba.njit(run)(20) == 41
