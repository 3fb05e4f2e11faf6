"""JSON Lines: one JSON object per line.

`{"t": 36, "atom": "tram(a1,b)"}`, `{"t": 36, "atoms": ["tram(a1,b)", "bus(b1,b)"]}`,
`{"t": 36, "predicate": "tram", "args": ["a1", "b"]}`; `{"t": 50}` only moves time.
"""

import json
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from itertools import count
from typing import Any, BinaryIO, NoReturn

import orjson

from larspark.base.atoms import Atom
from larspark.base.problems import Problem
from larspark.base.terms import INTEGER_MAX
from larspark.feeds.ground import GroundAtoms, predicate, shortened, value_constant
from larspark.feeds.lines import line_blocks, text_of
from larspark.feeds.refusal import Refused
from larspark.feeds.rows import Arrival
from larspark.feeds.times import time_point

_SHAPES = ("atom", "atoms", "predicate")
_KEYS = ("t", *_SHAPES, "args")
# orjson reads integers beyond 64 bits as floats.
_ROUNDED = float(2**63)


def stream_blocks(
    file: BinaryIO, source: str, tick: int | None
) -> Iterator[Iterator[Arrival | Problem]]:
    """The arrivals of each block of lines."""
    atoms = GroundAtoms()
    number = 1
    for lines in line_blocks(file):
        yield _arrivals(lines, number, source, tick, atoms)
        number += len(lines)


def _arrivals(
    lines: Iterable[bytes | None], first: int, source: str, tick: int | None, atoms: GroundAtoms
) -> Iterator[Arrival | Problem]:
    loads = orjson.loads
    for number, line in zip(count(first), lines, strict=False):
        if not line and line is not None:
            continue
        try:
            record = loads(line or b"")
            t = record["t"]
            text = record["atom"]
            if len(record) == 2 and type(t) is int and type(text) is str and 0 <= t <= INTEGER_MAX:
                yield t, (atoms[text],), number
                continue
        except (orjson.JSONDecodeError, LookupError, TypeError, Refused):
            # The careful way reads the other shapes, and says what is wrong.
            pass
        try:
            text = text_of(line)
            if text.strip():
                record = json_object(text)
                t = time_point(record.get("t"), tick) if "t" in record else _no_time(record)
                yield t, record_atoms(record, text, atoms), number
        except Refused as refused:
            shown = "" if line is None else line.decode(errors="replace")
            yield refused.at(source, number, shown)


def json_object(text: str) -> dict[str, Any]:
    """The object that a line holds, with known keys only."""
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Refused("L308", f"this is not JSON: {error.msg}", offset=error.pos) from None
    if not isinstance(record, dict):
        kind = _JSON_NAMES[type(record)]
        raise Refused("L308", f"the line holds {kind}, not an object", f"write {_EXAMPLE}")
    for key in record:
        if key not in _KEYS:
            close = get_close_matches(key, _KEYS, 1)
            hint = f"did you mean `{close[0]}`?" if close else f"the keys are {', '.join(_KEYS)}"
            place = max(text.find(f'"{key}"'), 0)
            raise Refused("L309", f"unknown key `{shortened(key)}`", hint, place)
    return record


def record_atoms(record: dict[str, Any], text: str, atoms: GroundAtoms) -> tuple[Atom, ...]:
    """The atoms of an object in any of the shapes."""
    shapes = [key for key in _SHAPES if key in record]
    if len(shapes) > 1:
        raise Refused("L309", f"`{shapes[0]}` and `{shapes[1]}` exclude each other")
    if "args" in record and shapes != ["predicate"]:
        raise Refused("L309", "`args` needs a `predicate`")
    match shapes:
        case ["atom"]:
            return (_atom(record["atom"], text, atoms),)
        case ["atoms"]:
            if not isinstance(record["atoms"], list):
                raise Refused("L309", "`atoms` is not a list")
            return tuple([_atom(value, text, atoms) for value in record["atoms"]])
        case ["predicate"]:
            return (_predicate_atom(record, text),)
        case _:
            return ()


def _atom(value: object, text: str, atoms: GroundAtoms) -> Atom:
    if not isinstance(value, str):
        raise Refused("L309", f"an atom is a text, not {_JSON_NAMES[type(value)]}")
    try:
        return atoms[value]
    except Refused as refused:
        # With escapes in it the atom is not found; then the whole line is the place.
        place = text.find(f'"{value}"')
        raise refused.moved(place + 1 if place >= 0 else -refused.offset) from None


def _predicate_atom(record: dict[str, Any], text: str) -> Atom:
    args = record.get("args", [])
    if not isinstance(args, list):
        raise Refused("L309", "`args` is not a list")
    for number, value in enumerate(args, 1):
        if type(value) is float and abs(value) >= _ROUNDED:
            value = json.loads(text)["args"][number - 1]
        try:
            value_constant(value)
        except Refused as refused:
            message = f"argument {number}: {refused.message}"
            raise Refused(refused.code, message, refused.hint) from None
    return Atom(predicate(record["predicate"]), tuple([value_constant(value) for value in args]))


def _no_time(record: dict[str, Any]) -> NoReturn:
    raise Refused("L309", "the key `t` is missing", f"write {_EXAMPLE}")


_EXAMPLE = '{"t": 36, "atom": "tram(a1,b)"}'
_JSON_NAMES = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}
