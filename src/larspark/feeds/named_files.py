"""Files for the streams and relations that a query names: `--stream s=S.csv`."""

from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path

import orjson

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.byte_source import Source, line_blocks
from larspark.feeds.formats.tables import open_table
from larspark.feeds.reading import BATCH_SIZE

# Names of a column that holds the time.
_TIMES = ("t", "time", "timestamp", "ts")
# Addresses, which can hold `=`; other IRIs are names.
_LIVE = ("tcp:", "mqtt:", "mqtts:", "kafka:")
# Keys of JSON objects that hold atoms, and how many lines are looked at for them.
_ATOMS = frozenset(("atom", "atoms", "predicate"))
_LOOKED_AT = 100


def split_name(text: str) -> tuple[str | None, str]:
    """The name and the file of `NAME=FILE`; a text that is a file or an address has no name.

    >>> split_name("s=data/S.csv"), split_name("-"), split_name("tcp://:7=x")
    (('s', 'data/S.csv'), (None, '-'), (None, 'tcp://:7=x'))
    """
    if "=" not in text or text.startswith(_LIVE) or Path(text).exists():
        return None, text
    places = [place for place, character in enumerate(text) if character == "="]
    # A name that is an IRI can hold `=`, and so can a file.
    place = next((p for p in places if Path(text[p + 1 :]).exists()), places[0])
    return text[:place], text[place + 1 :]


def column_mapping(
    place: str, predicate: str, columns: Sequence[str], kinds: Sequence[str]
) -> str | None:
    """The mapping from columns or keys to atoms by their names; None for a file of atoms.

    Names compare without case. The time is the column that is no argument; if there are several or
    none, the one that is called `t`, `time`, `timestamp` or `ts`. `kinds` are those of the columns.
    """
    names = _columns(place)
    if names is None:
        return None
    by_name = {name.lower(): name for name in reversed(names)}
    missing = [column for column in columns if column not in by_name]
    if missing:
        listed, wanted = ", ".join(names), ", ".join(f"`{name}`" for name in missing)
        message = f"{place} has no column {wanted}; its columns are {listed}"
        raise LarsparkError(Problem("L304", message, hint=_hint(predicate, columns)))
    others = [name for name in names if name.lower() not in columns]
    times = others if len(others) == 1 else [n for n in others if n.lower() in _TIMES]
    times = times or [by_name[name] for name in _TIMES if name in by_name]
    if not times:
        message = f"{place} has no column for the time of `{predicate}`"
        raise LarsparkError(Problem("L304", message, hint=_hint(predicate, columns)))
    read = [
        f"{kind}({_quoted(by_name[column])})" for column, kind in zip(columns, kinds, strict=True)
    ]
    arguments = ", ".join(read)
    return f"{_quoted(times[0])} -> {predicate}({arguments})"


def _columns(place: str) -> list[str] | None:
    """The columns of a table, or the keys of the first JSON object; None for a file of atoms."""
    source = Source(place)
    form = source.format(None)
    if form == "lars":
        return None
    with source.open() as file:
        if form != "jsonl":
            names: list[str] = open_table(file, source.name, form, BATCH_SIZE).schema.names
            return names
        for line in islice(chain.from_iterable(line_blocks(file)), _LOOKED_AT):
            try:
                record = orjson.loads(line or b"")
            except orjson.JSONDecodeError:
                continue
            # A line that only advances time has no columns.
            if isinstance(record, dict) and len(record) > 1:
                return None if _ATOMS & record.keys() else list(record)
    return None


def relation_columns(place: str, columns: Sequence[str]) -> tuple[str, ...]:
    """The names that the columns have in a table; none if its first line does not name them all.

    Names compare without case.
    """
    source = Source(place)
    form = source.format(None)
    if form in ("jsonl", "lars"):
        return ()
    with source.open() as file:
        names: list[str] = open_table(file, source.name, form, BATCH_SIZE).schema.names
    by_name = {name.strip().lower(): name for name in reversed(names)}
    return tuple(by_name[c] for c in columns) if by_name.keys() >= set(columns) else ()


def _quoted(name: str) -> str:
    return f"`{name}`"


def _hint(predicate: str, columns: Sequence[str]) -> str:
    listed = ", ".join(columns)
    return (
        f"name the columns in its first line, or say which: --map 'time -> {predicate}({listed})'"
    )
