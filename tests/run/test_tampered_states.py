"""Saved states changed on purpose, with a right digest: refused, or run; never a crash or hang."""

import faulthandler
import os
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np
import pytest

from larspark.analysis.check import check
from larspark.base.atoms import fact
from larspark.base.facts import Row, RowBatch
from larspark.base.problems import LarsparkError
from larspark.language import parse_program
from larspark.run.interval.kernels.compile import compile_soon
from larspark.run.session import Session
from larspark.run.state import SavedState, State

EXAMPLES = int(os.environ.get("LARSPARK_EXAMPLES", "60"))
PROGRAMS = {
    "windows": "q(X) :- [3] some p(X), not r(X). r(X) :- [2] always p(X). s(T) :- [4] @T p(_).",
    "tuples": "q(X) :- [#2] some p(X), X > 2. r(X) :- [#3] @T p(X), [2] some p(X).",
    "groups": "q(X) :- [#2 by X] some p(X, _). r(X, Y) :- [#3 by Y] some p(X, Y), not q(Y).",
    "sessions": "q(X) :- [session 2] some p(X). r(X, Y) :- [session 3 by X] some p(X, Y).",
    "recursion": "q(X, Y) :- [4] some p(X, Y). q(X, Z) :- q(X, Y), q(Y, Z). r :- not q(1, 2).",
    "remembered": "#remember q/1. q(X) :- p(X), [5] some q(Y), Y < X. q(X) :- p(X), X > 3.",
    "future": "@T+3 q(X) :- [2] @T p(X). r(X) :- [9] always q(X).",
}
EXTREMES = (0, 1, -1, 2, 5, 7, 255, 1 << 20, 1 << 31, 1 << 40, 1 << 59, 1 << 60, 1 << 62)
VALUES: tuple[Any, ...] = (None, True, -1, 3, 2.5, "x", [], {}, [1], 1 << 61, 1 << 70, [[1, "p"]])


def session(name: str, engine: str) -> Session:
    parsed = parse_program(PROGRAMS[name])
    assert parsed.program is not None
    return Session(check(parsed.program, ()), (), engine)


def feed(running: Session, first: int, last: int) -> None:
    rng = Random(first)
    rows = []
    for t in range(first, last + 1):
        for _ in range(rng.randrange(4)):
            values = rng.choices([1, 2, 3, 4, "a", "b b", 2.5], k=2)
            rows += [Row(t, fact("p", values[0]), 0), Row(t, fact("p", *values), 0)]
    running.append(RowBatch(rows, last))


def saved(name: str, engine: str) -> SavedState:
    running = session(name, engine)
    feed(running, 1, 12)
    running.advance(10)
    return SavedState.from_bytes(running.save(), "session")


def tampered_arrays(arrays: dict[str, Any], rng: Random) -> dict[str, Any]:
    """The arrays with one of them changed: a number, the order, the length, the shape, the type."""
    name = rng.choice(sorted(arrays))
    array = arrays[name].copy()
    how = rng.randrange(8)
    if how < 4 and array.size:
        for _ in range(rng.randrange(1, 4)):
            number = rng.choice(EXTREMES) * rng.choice((1, -1))
            array.flat[rng.randrange(array.size)] = number & (-1 if array.itemsize > 1 else 255)
    elif how == 4:
        array = array[::-1].copy()
    elif how == 5:
        array = array[: rng.randrange(len(array) + 1)]
    elif how == 6:
        array = np.concatenate([array, array])
    else:
        array = rng.choice(
            (array.ravel(), array[..., np.newaxis], array.astype(np.uint8), np.zeros((5, 0), int))
        )
    return {**arrays, name: array}


def tampered_values(value: Any, rng: Random) -> Any:
    """A plain value with something in it replaced."""
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = rng.randrange(len(value))
        changed = [tampered_values(value[place], rng)] if rng.random() < 0.8 else []
        return [*value[:place], *changed, *value[place + 1 :]]
    if isinstance(value, dict) and value and rng.random() < 0.9:
        name = rng.choice(sorted(value))
        return {**value, name: tampered_values(value[name], rng)}
    return rng.choice(VALUES)


def tampered(state: SavedState, rng: Random) -> bytes:
    values, arrays = state.state.values, state.state.arrays
    for _ in range(rng.randrange(1, 3)):
        if arrays and rng.random() < 0.7:
            arrays = tampered_arrays(arrays, rng)
        else:
            values = tampered_values(values, rng)
    return SavedState("session", state.program, State(values, arrays)).to_bytes()


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    faulthandler.dump_traceback_later(900, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("engine", ["interval", "asp", "tms", "oracle"])
def test_a_tampered_state_is_refused_or_runs(name: str, engine: str) -> None:
    compile_soon()
    rng = Random(f"{name} {engine}")
    state = saved(name, engine)
    refused = 0
    count = EXAMPLES if engine == "interval" else EXAMPLES // 6
    for _ in range(count):
        data = tampered(state, rng)
        running = session(name, engine)
        try:
            running.restore(data)
        except LarsparkError as error:
            assert error.problems[0].code == "L407"
            refused += 1
            continue
        with suppress(LarsparkError):
            start = 13 if running.answered is None else max(13, running.answered + 1)
            if start < 100:
                feed(running, start, start + 6)
                for answers in (running.advance(start + 3), running.advance(start + 6)):
                    assert len(list(answers.points())) < 1000
                running.save()
    assert refused
