"""JSON objects of any form, one per line: their fields become atoms by mappings."""

import json
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any

import orjson

from larspark.base.atoms import Atom
from larspark.base.problems import Problem
from larspark.base.terms import Constant
from larspark.feeds.byte_source import text_of
from larspark.feeds.conversions import argument
from larspark.feeds.formats.jsonl import ROUNDED, json_name, not_json
from larspark.feeds.ground_atoms import shortened
from larspark.feeds.mapping import ColumnName, Mapping
from larspark.feeds.ordering import Arrival
from larspark.feeds.reading import Options, Refused
from larspark.feeds.times import LARGE_TIME, time_point, warn_of_unit

_SHOWN_FIELDS = 10
_ONE_LINE = "write one object on each line"
_UNROLLED = "; `jq -c '.[]'` does that with a list"


class MappedObjects:
    """A reader of lines with JSON objects."""

    def __init__(self, mappings: tuple[Mapping, ...], options: Options) -> None:
        self.timestamps = False
        self._mappings = mappings
        self._options = options
        self._warned = False

    def arrivals(
        self, lines: Iterable[bytes | None], first: int, source: str, stamp: int = 0
    ) -> Iterator[Arrival | Problem]:
        """The arrivals of lines, numbered from `first`; `stamp` is the time of objects without one.

        An invalid line gives a problem in its place, an invalid field one for each mapping.
        """
        for number, line in enumerate(lines, first):
            try:
                record = _object(line)
            except Refused as refused:
                yield refused.at(source, number, (line or b"").decode(errors="replace"))
                continue
            if record is None:
                continue
            for mapping in self._mappings:
                try:
                    t = self._time(record, mapping) if mapping.time else stamp
                    args = [
                        self._argument(record, arg, line or b"")
                        if isinstance(arg, ColumnName)
                        else arg
                        for arg in mapping.args
                    ]
                    yield t, (Atom(mapping.predicate, tuple(args)),), number
                except Refused as refused:
                    yield refused.at(source, number, (line or b"").decode(errors="replace"))

    @property
    def holding(self) -> bool:
        """False: every line has all of its facts."""
        return False

    def rest(self) -> tuple[()]:
        """Nothing: every line has all of its facts."""
        return ()

    def _time(self, record: dict[str, Any], mapping: Mapping) -> int:
        name = mapping.time
        value = _field(record, name, mapping.time_path)
        try:
            t = time_point(value, self._options.tick, mapping.unit, self._options.local)
        except Refused as refused:
            raise _in_field(refused, name, mapping.time_path) from None
        if mapping.unit is not None or isinstance(value, str):
            self.timestamps = True
        if t > LARGE_TIME and mapping.unit is None and type(value) is int and not self._warned:
            self._warned = warn_of_unit(t, self._options.tick)
        return t

    def _argument(self, record: dict[str, Any], column: ColumnName, line: bytes) -> Constant:
        value = _field(record, column.name, column.path)
        if type(value) is float and abs(value) >= ROUNDED:
            value = _field(json.loads(line), column.name, column.path)
        try:
            return argument(value, column.kind)
        except Refused as refused:
            raise _in_field(refused, column.name, column.path) from None


def _field(record: dict[str, Any], name: str, path: tuple[str, ...]) -> Any:
    """The value of a field; a key with the whole name comes before a path."""
    if name in record:
        return record[name]
    value: Any = record
    for place, key in enumerate(path or (name,)):
        if not isinstance(value, dict):
            outer = ".".join(path[:place])
            raise Refused("L313", f"field `{outer}` is {json_name(value)}, not an object")
        if key not in value:
            raise _no_field(name, key, list(value))
        value = value[key]
    return value


def _no_field(name: str, key: str, keys: list[str]) -> Refused:
    close = get_close_matches(key, keys, 1)
    listed = ", ".join(f"`{shortened(each)}`" for each in keys[:_SHOWN_FIELDS])
    meant = name.replace(key, close[0], 1) if close else ""
    hint = f"did you mean `{meant}`?" if close else f"the fields are {listed}" if keys else ""
    return Refused("L313", f"there is no field `{name}`", hint)


def _in_field(refused: Refused, name: str, path: tuple[str, ...]) -> Refused:
    message = f"field `{name}`: {refused.message}"
    return Refused(refused.code, message, refused.hint, quoted=path[-1] if path else name)


def _object(line: bytes | None) -> dict[str, Any] | None:
    """The object on a line; None for an empty line."""
    try:
        record = orjson.loads(line or b"")
    except orjson.JSONDecodeError as error:
        text = text_of(line).strip()
        if not text:
            return None
        # A list or an object may go on in the next line.
        hint = ""
        if text.startswith("["):
            hint = _ONE_LINE + _UNROLLED
        elif text == "{":
            hint = f"{_ONE_LINE}; `jq -c .` does that"
        raise not_json(text, error, hint) from None
    if isinstance(record, dict):
        return record
    hint = _ONE_LINE + (_UNROLLED if isinstance(record, list) else "")
    raise Refused("L308", f"{json_name(record)} is not an object", hint)
