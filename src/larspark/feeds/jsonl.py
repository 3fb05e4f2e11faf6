"""JSON Lines: one JSON object per line.

`{"t": 36, "atom": "tram(a1,b)"}`, `{"t": 36, "atoms": ["tram(a1,b)", "bus(b1,b)"]}`,
`{"t": 36, "predicate": "tram", "args": ["a1", "b"]}`; `{"t": 50}` only moves time.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from typing import Any, BinaryIO

import orjson

from larspark.base.atoms import Atom
from larspark.base.problems import Problem
from larspark.base.terms import INTEGER_MAX, Constant
from larspark.feeds.ground import GroundAtoms, predicate, shortened, value_constant
from larspark.feeds.lines import line_blocks, text_of
from larspark.feeds.refusal import Refused
from larspark.feeds.rows import Arrival, Blocks
from larspark.feeds.times import time_point

_SHAPES = ("atom", "atoms", "predicate")
_KEYS = dict.fromkeys(("t", *_SHAPES, "args")).keys()
# orjson reads integers beyond 64 bits as floats.
_ROUNDED = float(2**63)


def stream_blocks(file: BinaryIO, source: str, tick: int | None) -> Blocks:
    """The arrivals of each block of lines."""
    return _blocks(file, source, lambda record: _time(record, tick), timed=True)


def background_blocks(file: BinaryIO, source: str) -> Blocks:
    """The same for background data, which has no times: every `t` is 0."""
    return _blocks(file, source, _no_time, timed=False)


def _blocks(
    file: BinaryIO, source: str, time_of: Callable[[dict[str, Any]], int], timed: bool
) -> Blocks:
    atoms = GroundAtoms()
    number = 1
    for lines in line_blocks(file):
        yield _arrivals(lines, number, source, atoms, time_of, timed)
        number += len(lines)


def _arrivals(
    lines: Iterable[bytes | None],
    first: int,
    source: str,
    atoms: GroundAtoms,
    time_of: Callable[[dict[str, Any]], int],
    timed: bool,
) -> Iterator[Arrival | Problem]:
    loads = orjson.loads
    for number, line in enumerate(lines, first):
        try:
            try:
                record = loads(line or b"")
            except orjson.JSONDecodeError as error:
                if text_of(line).strip():
                    raise Refused("L308", f"not JSON: {error.msg}", offset=error.pos) from None
                continue
            if timed and type(record) is dict and len(record) == 2:
                t, text = record.get("t"), record.get("atom")
                if type(t) is int and type(text) is str and 0 <= t <= INTEGER_MAX:
                    yield t, (atoms[text],), number
                    continue
            _know_keys(record)
            yield time_of(record), _atoms(record, line or b"", atoms), number
        except Refused as refused:
            yield refused.at(source, number, (line or b"").decode(errors="replace"))


def _time(record: dict[str, Any], tick: int | None) -> int:
    if "t" not in record:
        raise Refused("L309", "the key `t` is missing", f"write {_EXAMPLE}")
    try:
        return time_point(record["t"], tick)
    except Refused as refused:
        raise refused.inside("t") from None


def _no_time(record: dict[str, Any]) -> int:
    if "t" in record:
        raise Refused("L309", "background data has no time", "leave `t` out", quoted="t")
    return 0


def _know_keys(record: object) -> None:
    """Refuse what is not an object, and keys that have no meaning."""
    if not isinstance(record, dict):
        raise Refused("L308", f"{_name(record)} is not an object", f"write {_EXAMPLE}")
    if record.keys() <= _KEYS:
        return
    key = next(key for key in record if key not in _KEYS)
    close = get_close_matches(key, _KEYS, 1)
    hint = f"did you mean `{close[0]}`?" if close else f"the keys are {', '.join(_KEYS)}"
    raise Refused("L309", f"unknown key `{shortened(key)}`", hint, quoted=key)


def _atoms(record: dict[str, Any], line: bytes, atoms: GroundAtoms) -> tuple[Atom, ...]:
    """The atoms of an object in any of the shapes."""
    shapes = [key for key in _SHAPES if key in record]
    if len(shapes) > 1:
        raise Refused(
            "L309", f"`{shapes[0]}` and `{shapes[1]}` exclude each other", quoted=shapes[1]
        )
    if "args" in record and shapes != ["predicate"]:
        raise Refused("L309", "`args` needs a `predicate`", quoted="args")
    match shapes:
        case ["predicate"]:
            return (_predicate_atom(record, line),)
        case ["atom"]:
            return (_atom(record["atom"], atoms),)
        case ["atoms"]:
            if not isinstance(record["atoms"], list):
                raise Refused(
                    "L309", f"`atoms` is {_name(record['atoms'])}, not a list", quoted="atoms"
                )
            return tuple([_atom(value, atoms) for value in record["atoms"]])
        case _:
            return ()


def _atom(value: object, atoms: GroundAtoms) -> Atom:
    if not isinstance(value, str):
        raise Refused("L309", f"an atom is a text, not {_name(value)}")
    return atoms[value]


def _predicate_atom(record: dict[str, Any], line: bytes) -> Atom:
    args = record.get("args", [])
    if not isinstance(args, list):
        raise Refused("L309", f"`args` is {_name(args)}, not a list", quoted="args")
    try:
        head = predicate(record["predicate"])
    except Refused as refused:
        raise refused.inside("predicate") from None
    try:
        return Atom(head, tuple([_argument(value) for value in args]))
    except Refused:
        # What orjson rounded is read again as it was written.
        exact = json.loads(line)["args"] if all(map(_is_scalar, args)) else args
    return Atom(
        head, tuple([_placed_argument(value, place) for place, value in enumerate(exact, 1)])
    )


def _argument(value: object) -> Constant:
    # Texts and fractions first, because they are many and need no change.
    if type(value) is str or (type(value) is float and not value.is_integer()):
        return value
    if type(value) is float and abs(value) >= _ROUNDED:
        raise Refused("L313", "perhaps an integer that was rounded")
    return value_constant(value)


def _placed_argument(value: object, place: int) -> Constant:
    try:
        return value_constant(value)
    except Refused as refused:
        message = f"argument {place}: {refused.message}"
        raise Refused(refused.code, message, quoted="args") from None


def _is_scalar(value: object) -> bool:
    return not isinstance(value, dict | list)


_EXAMPLE = '{"t": 36, "atom": "tram(a1,b)"}'
_NAMES = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def _name(value: object) -> str:
    return _NAMES[type(value)]
