"""Saved states: one format, checked before use, bound to a program, of this version only."""

import hashlib
import json
import zlib
from collections.abc import Iterable
from random import Random

import numpy as np
import pytest

from larspark.analysis.check import check
from larspark.base.atoms import Atom, fact
from larspark.base.facts import Row, RowBatch
from larspark.base.problems import LarsparkError
from larspark.language import parse_program
from larspark.run.protocol import Settings
from larspark.run.session import Session
from larspark.run.state import SavedState, State, byte_array, digest_of
from larspark.scale.streaming.shard_state import read_state

ENGINES = ("interval", "asp", "tms", "oracle")
PROGRAM = "#input p/1. q(X) :- [3] some p(X), not r(X). r(X) :- [#2] some p(X), X > 2."


def session(
    engine: str,
    program: str = PROGRAM,
    background: Iterable[Atom] = (),
    settings: Settings = Settings(),  # noqa: B008 - a named tuple cannot change
) -> Session:
    parsed = parse_program(program)
    assert parsed.program is not None
    return Session(check(parsed.program, ()), background, engine, settings)


def filled(engine: str) -> Session:
    running = session(engine)
    rows = [Row(t, fact("p", number), 0) for t in (1, 2, 4, 6) for number in (t, "text")]
    running.append(RowBatch(rows, 6))
    running.advance(5)
    return running


def outputs(running: Session, to: int) -> list[tuple[int, list[str]]]:
    points = running.advance(to).points()
    return [(point.t, sorted(map(str, point.atoms or ()))) for point in points]


def refusal(running: Session, state: bytes) -> str:
    with pytest.raises(LarsparkError) as refused:
        running.restore(state)
    [problem] = refused.value.problems
    assert problem.code == "L407"
    return problem.message


@pytest.mark.parametrize("engine", ENGINES)
def test_a_restored_session_continues_where_the_saved_one_stopped(engine: str) -> None:
    running, restored = filled(engine), session(engine)
    restored.restore(running.save())
    assert restored.save() == running.save()
    assert outputs(restored, 12) == outputs(running, 12)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_state_that_is_cut_or_changed_anywhere_is_refused_and_changes_nothing(
    engine: str,
) -> None:
    running, twin = filled(engine), filled(engine)
    state = running.save()
    rng = Random(3)
    for place in [0, 40, len(state) - 1, *(rng.randrange(len(state)) for _ in range(40))]:
        damaged = bytearray(state)
        damaged[place] ^= 1 << rng.randrange(8)
        for broken in (bytes(damaged), state[:place], state + b"x"):
            refusal(running, broken)
    assert outputs(running, 12) == outputs(twin, 12)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_state_of_another_program_background_engine_or_setting_is_refused(engine: str) -> None:
    state = filled(engine).save()
    another = "the saved state belongs to another program or other background data"
    assert refusal(session(engine, PROGRAM + " more :- q(_)."), state) == another
    assert refusal(session(engine, background=[fact("known", 1)]), state) == another
    pushing = session(engine, settings=Settings(push=True))
    assert refusal(pushing, state) == "the saved state was made with other settings"
    other = session("oracle" if engine != "oracle" else "asp")
    assert refusal(other, state) == f"the saved state belongs to the engine `{engine}`"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_state_whose_parts_are_not_what_they_should_be_is_refused_and_changes_nothing(
    engine: str,
) -> None:
    """With a digest that is right: such a state was made on purpose, or by a defect."""
    running, twin = filled(engine), filled(engine)
    saved = SavedState.from_bytes(running.save(), "session")
    values = saved.state.values
    wrong: list[object] = [None, "text", [["x"]]]
    for name in values["engine"]:
        changed = [values["engine"] | {name: value} for value in wrong]
        lacking = {key: value for key, value in values["engine"].items() if key != name}
        refused = 0
        for engine_values in (*changed, lacking):
            state = State(values | {"engine": engine_values}, saved.state.arrays)
            try:
                session(engine).restore(SavedState("session", saved.program, state).to_bytes())
            except LarsparkError as error:
                assert error.problems[0].code == "L407"
                refused += 1
        assert refused
    for part in ("session", "engine"):
        state = State({key: value for key, value in values.items() if key != part})
        message = refusal(running, SavedState("session", saved.program, state).to_bytes())
        assert message.startswith("the saved state cannot be read")
    assert outputs(running, 12) == outputs(twin, 12)


def test_arrays_and_values_come_back_as_they_were() -> None:
    arrays = {
        "rows": np.arange(6, dtype=np.int64).reshape(2, 3),
        "none": np.empty((0, 4), np.int64),
        "bytes": byte_array(b"\n{}"),
    }
    inner = SavedState("session", "p", State({}))
    saved = SavedState("shard", "p", State({"text": "ü\n", "none": None}, arrays), inner.to_bytes())
    found = SavedState.from_bytes(saved.to_bytes(), "shard")
    assert found.state.values == saved.state.values
    assert {name: (a.tolist(), a.shape, a.dtype) for name, a in found.state.arrays.items()} == {
        name: (a.tolist(), a.shape, a.dtype) for name, a in arrays.items()
    }
    assert SavedState.from_bytes(found.attached, "session") == inner
    assert digest_of(inner.to_bytes()) in saved.to_bytes()


def test_a_state_of_another_kind_is_refused() -> None:
    shard = SavedState("shard", "p", State({})).to_bytes()
    message = "this is the saved state of a shard, not of a session"
    assert refusal(session("oracle"), shard) == message
    assert refusal(session("oracle"), b"something") == "this is no saved state of larspark"


# The first bytes of a state in every format there was before this one.
EARLIER = {
    "larspark state 1": b'{"program": "0", "engine": "interval", "settings": [null], "length": 0}',
    "larspark interval engine, state 2": b'{"values": {"identity": "0"}, "arrays": {}}',
    "larspark points 1": b'{"program":"0","settings":[],"kept":[],"arrived":0,"waiting":[]}',
    "larspark oracle 1": b'{"program":"0","settings":[],"elements":[],"latest":null}',
    "larspark shard 2": b'{"identity": {"program": "p :- q.", "shards": 1}, "lengths": []}',
}


def earlier(name: str) -> bytes:
    """A state as that version began it: magic line, checksum and length in its own way, header."""
    header, magic = EARLIER[name], f"{name}\n".encode()
    crc, size = zlib.crc32(header).to_bytes(4, "big"), len(header).to_bytes(8, "big")
    digest = hashlib.sha256(header).hexdigest().encode()
    assert json.loads(header)
    return (
        magic
        + {
            "larspark state 1": digest + b"\n" + header + b"\n",
            "larspark interval engine, state 2": size + crc + size + header,
            "larspark points 1": size + crc + header,
            "larspark oracle 1": crc + header,
            "larspark shard 2": digest + b" 0\n" + header + b"\n",
        }[name]
    )


@pytest.mark.parametrize("name", EARLIER)
def test_a_state_in_a_format_of_an_earlier_version_is_refused_by_its_name(name: str) -> None:
    message = f"the saved state has the format `{name}`; this version reads `larspark state 3`"
    assert refusal(session("interval"), earlier(name)) == message
    with pytest.raises(LarsparkError, match="error L492") as refused:
        read_state(earlier(name))
    [problem] = refused.value.problems
    assert problem.message == f"the state of a shard cannot be read: {message}"
