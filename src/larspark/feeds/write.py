"""Answers as JSON Lines."""

import json
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.arrow_numpy import arrow_array, numpy_array
from larspark.base.atoms import Atom
from larspark.base.terms import Term
from larspark.feeds.time_format import POINTS, TimeFormat

# So many lines are made at once.
_BLOCK = 50_000
# What JSON escapes.
_ESCAPED = r'["\\\x00-\x1f]'

_encode = json.JSONEncoder(ensure_ascii=False).encode


def point_line(
    t: int, atoms: Iterable[Atom | str] | None, c: int | None = None, times: TimeFormat = POINTS
) -> str:
    """The output at a time point; with `c`, at the tick of that tuple count.

    >>> point_line(38, [Atom("q", ("x2",)), Atom("q", ("x1",))])
    '{"t": 38, "atoms": ["q(x1)", "q(x2)"]}'
    >>> point_line(42, None)
    '{"t": 42, "atoms": null, "inconsistent": true}'
    """
    tick = "" if c is None else f', "c": {c}'
    if atoms is None:
        return f'{{"t": {times.json(t)}{tick}, "atoms": null, "inconsistent": true}}'
    return f'{{"t": {times.json(t)}{tick}, "atoms": {_texts(atoms)}}}'


def fact_line(t: int, atom: Atom, times: TimeFormat = POINTS) -> str:
    """A fact as a line of a stream.

    >>> fact_line(36, Atom("tram", ("a1", "b")))
    '{"t": 36, "atom": "tram(a1,b)"}'
    """
    return f'{{"t": {times.json(t)}, "atom": {_encode(str(atom))}}}'


def change_line(
    t: int,
    added: Iterable[Atom | str],
    removed: Iterable[Atom | str],
    times: TimeFormat = POINTS,
) -> str:
    """The atoms that begin and cease to hold at a time point.

    >>> change_line(38, [Atom("q")], [])
    '{"t": 38, "add": ["q"], "del": []}'
    """
    return f'{{"t": {times.json(t)}, "add": {_texts(added)}, "del": {_texts(removed)}}}'


def interval_line(atom: Atom | str, first: int, last: int, times: TimeFormat = POINTS) -> str:
    """A maximal interval in which an atom holds.

    >>> interval_line(Atom("q", ("New York",)), 38, 39)
    '{"atom": "q(\\\\"New York\\\\")", "from": 38, "to": 39}'
    """
    span = f'"from": {times.json(first)}, "to": {times.json(last)}'
    return f'{{"atom": {_encode(str(atom))}, {span}}}'


def interval_texts(intervals: pa.Table, times: TimeFormat = POINTS) -> Iterator[str]:
    """The lines of maximal intervals (atom, from, to), many in each text.

    >>> rows = pa.table({"atom": ["p", 'q("New York")'], "from": [1, 3], "to": [2, 3]})
    >>> print(*interval_texts(rows))
    {"atom": "p", "from": 1, "to": 2}
    {"atom": "q(\\"New York\\")", "from": 3, "to": 3}
    """
    for batch in intervals.combine_chunks().to_batches(max_chunksize=_BLOCK):
        atoms, begins, ends = batch.columns
        parts = ['{"atom": ', _texts_column(atoms), ', "from": ', _times_column(begins, times)]
        parts += [', "to": ', _times_column(ends, times), "}"]
        lines = pc.binary_join_element_wise(*parts, "")
        yield from pc.binary_join(
            pa.ListArray.from_arrays([0, len(lines)], lines), "\n"
        ).to_pylist()


def bindings_line(t: int, rows: Iterable[Mapping[str, Term]], times: TimeFormat = POINTS) -> str:
    """The answers of a query at a report, as the values of its variables.

    >>> bindings_line(5, [{"c": "<http://example.org/a>", "n": 3}])
    '{"t": 5, "bindings": [{"c": "<http://example.org/a>", "n": 3}]}'
    """
    return f'{{"t": {times.json(t)}, "bindings": {_encode(list(rows))}}}'


def _texts(atoms: Iterable[Atom | str]) -> str:
    return f"[{', '.join(map(_encode, sorted(map(str, atoms))))}]"


def _texts_column(atoms: pa.Array) -> pa.Array:
    """Texts as JSON values."""
    quoted = pc.binary_join_element_wise('"', atoms, '"', "")
    is_escaped = pc.match_substring_regex(atoms, _ESCAPED)
    if not pc.any(is_escaped, min_count=0).as_py():
        return quoted
    texts = [_encode(text) for text in atoms.filter(is_escaped).to_pylist()]
    return pc.replace_with_mask(quoted, is_escaped, pa.array(texts, pa.string()))


def _times_column(column: pa.Array, times: TimeFormat) -> pa.Array:
    """Time points as JSON values."""
    if not times.stamps:
        return pc.cast(column, pa.string())
    values, places = np.unique(numpy_array(column), return_inverse=True)
    texts = pa.array([times.json(t) for t in values.tolist()], pa.string())
    return texts.take(arrow_array(places))
