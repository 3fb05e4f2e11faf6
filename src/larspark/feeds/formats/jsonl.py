"""JSON Lines: one JSON object per line.

`{"t": 36, "atom": "tram(a1,b)"}`, `{"t": 36, "atoms": ["tram(a1,b)", "bus(b1,b)"]}`,
`{"t": 36, "predicate": "tram", "args": ["a1", "b"]}`; `{"t": 50}` only advances time. A file may
also hold intervals, `{"atom": "hot(m1)", "from": 36, "to": 40}`: a fact at each time point.
"""

import json
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from enum import Enum, auto
from heapq import heappop, heappush, heapreplace
from itertools import islice
from typing import Any, BinaryIO, Protocol, TypeAlias

import orjson

from larspark.base.atoms import Atom
from larspark.base.problems import Problem
from larspark.base.terms import INTEGER_MAX, Constant
from larspark.feeds.byte_source import line_blocks, text_of
from larspark.feeds.ground_atoms import GroundAtoms, predicate, shortened, value_constant
from larspark.feeds.ordering import Arrival, Blocks
from larspark.feeds.reading import Options, Refused
from larspark.feeds.times import LARGE_TIME, time_point, warn_of_unit

_Record: TypeAlias = dict[str, Any]

_SHAPES = ("atom", "atoms", "predicate")
_KEYS = ("t", *_SHAPES, "args")
_LISTED_KEYS = ", ".join(_KEYS)
_INTERVAL = frozenset(("atom", "from", "to"))
# The keys of changes, and of intervals where these cannot be read.
_OF_ANSWERS = ("add", "del", "from", "to")
# Arrivals that are put in order together.
_BLOCK = 1 << 16
_OTHER_KEYS = (
    f"the keys are {_LISTED_KEYS}; a mapping reads others: `--map 'time -> temp(sensor, value)'`"
)
_TRIPLE = (
    "triples are read from files; in a live run write "
    '{"t": 1, "predicate": "i", "args": [subject, predicate, object, stream]}'
)
# orjson parses integers beyond 64 bits as floats.
ROUNDED = float(2**63)


class Times(Enum):
    """Whether a line must, may or must not have the key `t`."""

    REQUIRED = auto()
    OPTIONAL = auto()
    FORBIDDEN = auto()


class LineReader(Protocol):
    """Turns lines into arrivals; an invalid line is a problem in its place.

    `timestamps` says whether times were timestamps so far, and not integers.
    """

    timestamps: bool

    @property
    def holding(self) -> bool:
        """Whether intervals have begun that reach beyond the lines that were read."""

    def arrivals(
        self, lines: Iterable[bytes | None], first: int, source: str, stamp: int = 0
    ) -> Iterator[Arrival | Problem]:
        """The arrivals of lines, numbered from `first`; lines without a time have time `stamp`."""

    def rest(self) -> Iterable[Arrival]:
        """The arrivals after the last line."""


def stream_blocks(file: BinaryIO, source: str, options: Options) -> Blocks:
    """The arrivals of each block of lines."""
    return arrival_blocks(file, source, JsonLines(options, Times.REQUIRED))


def background_blocks(file: BinaryIO, source: str) -> Blocks:
    """The facts of background data, which has no times: every `t` is 0."""
    return arrival_blocks(file, source, JsonLines(Options(), Times.FORBIDDEN))


def arrival_blocks(file: BinaryIO, source: str, reader: LineReader) -> Blocks:
    """The arrivals of each block of lines in a file."""
    number = 1
    for lines in line_blocks(file):
        yield reader.arrivals(lines, number, source)
        number += len(lines)
    # An interval may have any number of time points, so blocks are cut.
    rest = iter(reader.rest())
    while block := list(islice(rest, _BLOCK)):
        yield block


class JsonLines:
    """A parser of lines, which caches key sets and atoms.

    With `intervals`, lines may hold intervals, which are split into their time points.
    """

    def __init__(self, options: Options, times: Times, intervals: bool = False) -> None:
        self.timestamps = False
        self._options = options
        # Atoms that hold on: the next time point, the last one, a number, the atom, its line.
        self._holding: list[tuple[int, int, int, Atom, int]] = []
        self._intervals = 0
        # Larger integer times are looked at.
        self._largest = INTEGER_MAX if options.tick is None else LARGE_TIME
        self._shapes = _Shapes(times, intervals)
        self._atoms = GroundAtoms()

    def arrivals(
        self, lines: Iterable[bytes | None], first: int, source: str, stamp: int = 0
    ) -> Iterator[Arrival | Problem]:
        """The arrivals of lines, numbered from `first`; `stamp` is the time of lines without `t`.

        An invalid line gives a problem in its place and does not affect other lines.
        """
        loads = orjson.loads
        shapes, atoms = self._shapes, self._atoms
        for number, line in enumerate(lines, first):
            try:
                try:
                    record = loads(line or b"")
                except orjson.JSONDecodeError as error:
                    if text_of(line).strip():
                        raise not_json(text_of(line), error) from None
                    continue
                if type(record) is not dict:
                    raise Refused(
                        "L308", f"{json_name(record)} is not an object", f"write {_EXAMPLE}"
                    )
                shape = shapes[tuple(record)]
                if shape == "interval":
                    begin, atom = self._begin(record, number)
                    yield from self._until(begin)
                    yield begin, (atom,), number
                    continue
                t = record.get("t")
                if type(t) is not int or not 0 <= t <= self._largest:
                    t = self._time(record, "t") if "t" in record else stamp
                if self._holding:
                    yield from self._until(t)
                yield t, _atoms(shape, record, line or b"", atoms), number
            except Refused as refused:
                yield refused.at(source, number, (line or b"").decode(errors="replace"))

    @property
    def holding(self) -> bool:
        """Whether intervals have begun that reach beyond the lines that were read."""
        return bool(self._holding)

    def rest(self) -> Iterator[Arrival]:
        """The time points of intervals that reach beyond the last line."""
        yield from self._until(INTEGER_MAX)

    def _begin(self, record: _Record, number: int) -> tuple[int, Atom]:
        """The first time point of an interval and its atom; the others are kept for later."""
        first, last = self._time(record, "from"), self._time(record, "to")
        if last < first:
            raise Refused("L310", "the interval ends before it begins", quoted="to")
        atom = _atoms("atom", record, b"", self._atoms)[0]
        if first < last:
            self._intervals += 1
            heappush(self._holding, (first + 1, last, self._intervals, atom, number))
        return first, atom

    def _until(self, t: int) -> Iterator[Arrival]:
        """The time points before t of the intervals that have begun, in order."""
        while self._holding and self._holding[0][0] < t:
            now, last, order, atom, number = self._holding[0]
            if now < last:
                heapreplace(self._holding, (now + 1, last, order, atom, number))
            else:
                heappop(self._holding)
            yield now, (atom,), number

    def _time(self, record: _Record, key: str) -> int:
        value = record[key]
        try:
            t = time_point(value, self._options.tick, zone=self._options.local)
        except Refused as refused:
            raise refused.inside(key) from None
        if isinstance(value, str):
            self.timestamps = True
        if type(value) is int and t > self._largest and warn_of_unit(t, self._options.tick):
            self._largest = INTEGER_MAX
        return t


def not_json(text: str, error: orjson.JSONDecodeError, hint: str = "") -> Refused:
    """Why a line is refused; one that looks like a record of a table has a hint of its own."""
    if text[:1] not in '{["' and any(delimiter in text for delimiter in ",;|\t"):
        hint = 'lines of CSV need `--format csv` (in Python `format="csv"`)'
    return Refused("L308", f"not JSON: {error.msg}", hint, error.pos)


class _Shapes(dict[tuple[str, ...], str]):
    """The key that holds the atoms of an object, by the keys of the object."""

    def __init__(self, times: Times, intervals: bool) -> None:
        self._times = times
        self._intervals = intervals

    def __missing__(self, keys: tuple[str, ...]) -> str:
        if self._intervals and frozenset(keys) == _INTERVAL:
            self[keys] = "interval"
            return self[keys]
        for key in keys:
            if key in _OF_ANSWERS and ("atom" in keys or "add" in keys):
                hint = "write them with `--as points`"
                raise Refused("L309", f"`{key}` is of answers that are not facts", hint, quoted=key)
            if key not in _KEYS:
                close = get_close_matches(key, _KEYS, 1)
                hint = f"did you mean `{close[0]}`?" if close else _OTHER_KEYS
                if key == "triple":
                    hint = _TRIPLE
                raise Refused("L309", f"unknown key `{shortened(key)}`", hint, quoted=key)
        shapes = [key for key in keys if key in _SHAPES]
        if len(shapes) > 1:
            first, second = shapes[:2]
            raise Refused("L309", f"`{first}` and `{second}` exclude each other", quoted=second)
        if "args" in keys and shapes != ["predicate"]:
            raise Refused("L309", "`args` needs a `predicate`", quoted="args")
        if self._times is Times.REQUIRED and "t" not in keys:
            hint = f"write {_EXAMPLE}; in a live run, `--clock 1s` takes the time of arrival"
            raise Refused("L309", "the key `t` is missing", hint)
        if self._times is Times.FORBIDDEN:
            if "t" in keys:
                raise Refused("L309", "background data has no time", "leave `t` out", quoted="t")
            if not shapes:
                raise Refused("L309", "there is no atom on this line")
        self[keys] = shapes[0] if shapes else ""
        return self[keys]


def _atoms(shape: str, record: _Record, line: bytes, atoms: GroundAtoms) -> tuple[Atom, ...]:
    value = record.get(shape)
    if shape == "atom":
        if type(value) is str:
            return (atoms[value],)
        raise Refused("L309", f"an atom is a text, not {json_name(value)}", quoted="atom")
    if shape == "predicate":
        return (_predicate_atom(record, line),)
    if shape == "atoms":
        if type(value) is not list:
            raise Refused("L309", f"`atoms` is {json_name(value)}, not a list", quoted="atoms")
        for atom in value:
            if type(atom) is not str:
                raise Refused("L309", f"an atom is a text, not {json_name(atom)}", quoted="atoms")
        return tuple([atoms[text] for text in value])
    return ()


def _predicate_atom(record: _Record, line: bytes) -> Atom:
    args = record.get("args", [])
    if not isinstance(args, list):
        raise Refused("L309", f"`args` is {json_name(args)}, not a list", quoted="args")
    try:
        head = predicate(record["predicate"])
    except Refused as refused:
        raise refused.inside("predicate") from None
    try:
        # Most arguments are texts, which need no conversion.
        return Atom(head, tuple([a if type(a) is str else _argument(a) for a in args]))
    except Refused:
        # Integers that orjson has rounded are parsed again exactly.
        exact = json.loads(line)["args"] if all(map(_is_scalar, args)) else args
    return Atom(
        head, tuple([_placed_argument(value, place) for place, value in enumerate(exact, 1)])
    )


def _argument(value: object) -> Constant:
    if type(value) is float:
        if not value.is_integer():
            return value
        if abs(value) >= ROUNDED:
            raise Refused("L313", "possibly a rounded integer")
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


def json_name(value: object) -> str:
    """What a JSON value is, in words."""
    return _NAMES[type(value)]
