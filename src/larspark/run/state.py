"""Saved states: one format for sessions with their engines, and for the shards of Spark streams.

    larspark state 3 | digest and length | header (JSON) | arrays | attached state, if any

The header names the kind of state, the program it belongs to, plain values, and the type and shape
of every array. Length, digest, version and kind are checked before anything is used, and nothing in
a state is ever executed.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import constant

# Engines add window sizes to time points and must stay within 64 bits.
FURTHEST = 2**59

Array: TypeAlias = NDArray[np.int64] | NDArray[np.uint8]

_FORMAT = "larspark state 3"
_MAGIC = f"{_FORMAT}\n".encode()
# Every format of earlier versions begins with such a line.
_EARLIER = re.compile(rb"(larspark [a-z, ]{1,40} [0-9]{1,6})\n")
_DIGEST = 2 * hashlib.sha256().digest_size
_TYPES: dict[str, np.dtype[Any]] = {"i8": np.dtype("<i8"), "u1": np.dtype("u1")}
# What reading a header that is not what it should be can raise.
MALFORMED = (ValueError, KeyError, TypeError, IndexError, AttributeError)


class EarlierFormatError(LarsparkError):
    """The saved state of an earlier version, which this one does not read."""


@dataclass(frozen=True, slots=True)
class State:
    """Plain values by name, and arrays by name."""

    values: dict[str, Any]
    arrays: dict[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SavedState:
    """A state with what it is a state of: `kind`, and the identity of the program.

    The digest of a state covers only the digest of the one attached to it, so that a state can be
    read without hashing the other again; the attached one is checked when it is read itself.
    """

    kind: str
    program: str
    state: State
    attached: bytes = b""

    def to_bytes(self) -> bytes:
        arrays = {name: [_type(array), *array.shape] for name, array in self.state.arrays.items()}
        header = {
            "kind": self.kind,
            "program": self.program,
            "values": self.state.values,
            "arrays": arrays,
            "attached": _attachment(self.attached),
        }
        parts = [json.dumps(header, separators=(",", ":")).encode(), b"\n"]
        for name, array in self.state.arrays.items():
            parts.append(np.ascontiguousarray(array, _TYPES[arrays[name][0]]).tobytes())
        front = b"%s %d\n" % (_digest(parts), sum(map(len, parts)))
        return b"".join((_MAGIC, front, *parts, self.attached))

    @classmethod
    def from_bytes(cls, data: bytes, kind: str) -> "SavedState":
        """Read a saved state of a kind; anything else is refused."""
        _check_format(data)
        front, _, rest = data[len(_MAGIC) :].partition(b"\n")
        digest, _, length = front.partition(b" ")
        size = int(length) if length.isdigit() else -1
        body, attached = rest[:size], rest[size:]
        if size < 0 or len(body) != size or _digest([body]) != digest:
            raise refused("the saved state is damaged")
        try:
            found = _read(body, attached)
        except MALFORMED as error:
            raise unreadable(error) from error
        if found.kind != kind:
            raise refused(f"this is the saved state of a {found.kind}, not of a {kind}")
        return found


def _check_format(data: bytes) -> None:
    if data.startswith(_MAGIC):
        return
    earlier = _EARLIER.match(data)
    if earlier is None:
        raise refused("this is no saved state of larspark")
    message = f"the saved state has the format `{earlier[1].decode()}`"
    hint = "restore it with the version that saved it, or run the program over the stream again"
    message = f"{message}; this version reads `{_FORMAT}`"
    raise EarlierFormatError(Problem("L407", message, hint=hint))


def _read(body: bytes, attached: bytes) -> SavedState:
    text, _, payload = body.partition(b"\n")
    header = json.loads(text)
    if header["attached"] != _attachment(attached):
        raise ValueError("the attached state is another one")
    arrays: dict[str, Array] = {}
    position = 0
    for name, (kind, *shape) in header["arrays"].items():
        if any(type(length) is not int or length < 0 for length in shape):
            raise ValueError(f"the array `{name}` has the shape {shape}")
        count = int(np.prod(shape, dtype=object))
        flat = np.frombuffer(payload, _TYPES[kind], count, position)
        # A copy, which is aligned and may be written to.
        arrays[name] = flat.astype(_TYPES[kind].newbyteorder("=")).reshape(shape)
        position += flat.nbytes
    if position != len(payload):
        raise ValueError("there is more than the header says")
    values: dict[str, Any] = dict(header["values"])
    return SavedState(
        str(header["kind"]), str(header["program"]), State(values, arrays), bytes(attached)
    )


def _type(array: Array) -> str:
    return "u1" if array.dtype == np.uint8 else "i8"


def _digest(parts: Iterable[bytes]) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest().encode()


def digest_of(saved: bytes) -> bytes:
    """The digest that a saved state carries; no other state has the same."""
    return saved[len(_MAGIC) : len(_MAGIC) + _DIGEST]


def _attachment(saved: bytes) -> list[Any]:
    return [len(saved), digest_of(saved).decode(errors="replace")]


def program_identity(program: str, background: Iterable[str]) -> str:
    """A digest of the normalized text of a program and of its background data."""
    text = "\n".join([program, *sorted(background)])
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def refused(message: str) -> LarsparkError:
    """The error for a saved state that is unusable."""
    return LarsparkError(Problem("L407", message))


def unreadable(error: Exception) -> LarsparkError:
    """The error for a saved state whose parts are not what they should be."""
    return refused(f"the saved state cannot be read: {error}")


def byte_array(data: bytes) -> NDArray[np.uint8]:
    """Bytes as an array of a state."""
    return np.frombuffer(data, np.uint8)


def nested(states: Mapping[str, Mapping[str, Array]]) -> dict[str, Array]:
    """The arrays of several parts, each name prefixed by its part."""
    return {f"{part}/{name}": a for part, arrays in states.items() for name, a in arrays.items()}


def of_part(arrays: Mapping[str, Array], part: str) -> dict[str, Any]:
    """The arrays of one part, by their own names."""
    prefix = f"{part}/"
    return {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}


def whole_number(value: object, least: int, most: int) -> int:
    """A whole number of a state within bounds; anything else is an error."""
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{value!r} is no whole number from {least} to {most}")
    return value


def time_of(value: object) -> int:
    """A time point of a state."""
    return whole_number(value, -FURTHEST, FURTHEST)


def optional_time(value: object) -> int | None:
    """A time point of a state, or None."""
    return None if value is None else time_of(value)


def atom_fields(atom: Atom) -> list[Any]:
    """An atom as a JSON list: its predicate, then its arguments."""
    return [atom.predicate, *atom.args]


def atom_of(fields: Iterable[Any]) -> Atom:
    """The atom of such a list."""
    predicate, *args = fields
    if not isinstance(predicate, str):
        raise ValueError(f"{predicate!r} is no predicate")
    for arg in args:
        # A loop, because states hold many atoms.
        if not isinstance(arg, (int, float, str)):
            raise ValueError(f"{arg!r} is no constant")
    return Atom(predicate, tuple(map(constant, args)))
