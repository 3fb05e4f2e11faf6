"""A state as bytes: versioned, checked, and nothing in it that could run.

    magic line | length | checksum | length of the header | header (JSON) | arrays of integers

The arrays hold rows, never the links between them: whoever reads them builds those anew, so a
state that was tampered with can be wrong but not harmful.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem
from larspark.language.tree import Program
from larspark.run.interval.kernels.layout import Ints
from larspark.run.protocol import Settings

_MAGIC = b"larspark interval engine, state 2\n"
_LENGTH = 8
_CHECKSUM = 4


class State(NamedTuple):
    """What is saved: plain values by name, and arrays by name."""

    values: dict[str, Any]
    arrays: dict[str, Ints]


def identity(program: Program, background: Iterable[Atom], settings: Settings) -> str:
    """Tells programs apart, with their background and the way they are run."""
    parts = [
        repr(program.rules),
        repr(program.tick),
        *(
            "any" if names is None else " ".join(sorted(map(str, names)))
            for names in (program.inputs, program.shows, program.remembered)
        ),
        *sorted(map(str, background)),
        repr(settings),
    ]
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


def pack(state: State) -> bytes:
    """The state as bytes."""
    arrays = {name: list(array.shape) for name, array in state.arrays.items()}
    header = json.dumps({"values": state.values, "arrays": arrays}).encode()
    bodies = [array.astype("<i8").tobytes() for array in state.arrays.values()]
    payload = b"".join([len(header).to_bytes(_LENGTH, "big"), header, *bodies])
    return b"".join([_MAGIC, len(payload).to_bytes(_LENGTH, "big"), _checksum(payload), payload])


def unpack(data: bytes) -> State:
    """The state of bytes that `pack` made; anything else is an error."""
    if not data.startswith(_MAGIC):
        raise refused("this is no state that this version of the interval engine has saved")
    start = len(_MAGIC)
    length = int.from_bytes(data[start : start + _LENGTH], "big")
    start += _LENGTH
    checksum, payload = data[start : start + _CHECKSUM], data[start + _CHECKSUM :]
    if len(payload) != length or _checksum(payload) != checksum:
        raise refused("the saved state is damaged")
    try:
        return _read(payload)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise refused(f"the saved state cannot be read: {error}") from error


def refused(message: str) -> LarsparkError:
    """The error about a state that cannot be gone on from."""
    return LarsparkError(Problem("L407", message))


def nested(states: Mapping[str, Mapping[str, Ints]]) -> dict[str, Ints]:
    """Arrays of several parts under one name each."""
    return {f"{part}/{name}": a for part, arrays in states.items() for name, a in arrays.items()}


def of_part(arrays: Mapping[str, Ints], part: str) -> dict[str, Ints]:
    """The arrays of one part."""
    prefix = f"{part}/"
    return {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}


def _read(payload: bytes) -> State:
    size = int.from_bytes(payload[:_LENGTH], "big")
    header = json.loads(payload[_LENGTH : _LENGTH + size])
    position = _LENGTH + size
    arrays: dict[str, Ints] = {}
    for name, shape in header["arrays"].items():
        count = int(np.prod(shape, dtype=np.int64))
        flat = np.frombuffer(payload, "<i8", count, position)
        arrays[name] = flat.astype(np.int64).reshape(shape)
        position += 8 * count
    return State(header["values"], arrays)


def _checksum(payload: bytes) -> bytes:
    # Against accidents; whoever saves a session adds a digest of all of it.
    return crc32(payload).to_bytes(_CHECKSUM, "big")
