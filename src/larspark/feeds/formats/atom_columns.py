"""Texts of ground atoms as columns, parsed all at once where they are plain.

Plain are atoms of names and numbers without spaces, such as `temp(s1,21.5)`. `ground_atoms` defines
what an atom is; the functions here give None for everything that is not plain.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.arrow_numpy import arrow_array, numpy_array
from larspark.feeds.formats.cells import EXACT_FLOAT, text_bytes
from larspark.feeds.ground_atoms import NAME, NUMBER

_Places: TypeAlias = npt.NDArray[np.intp]


def _among(characters: bytes) -> npt.NDArray[np.bool_]:
    """For each byte whether it is one of these characters."""
    found = np.zeros(256, np.bool_)
    found[list(characters)] = True
    return found


_LETTERS = b"abcdefghijklmnopqrstuvwxyz"
_WORD = _LETTERS + _LETTERS.upper() + b"0123456789_"
_BEGINS_NAME, _IN_NAME = _among(_LETTERS), _among(_WORD)
_DIGIT, _IN_DECIMAL = _among(b"0123456789"), _among(b"0123456789-.")
_DELIMITER, _PLAIN = _among(b"(,)"), _among(_WORD + b"-.+(,)")
_OPENING, _COMMA, _CLOSING, _DOT, _MINUS = b"(,).-"
_NUMBER = f"^{NUMBER.pattern.replace('++', '+').replace('?+', '?')}$"


class AtomColumns(NamedTuple):
    """Atoms of one predicate: their positions, ascending (None for all), and their arguments."""

    predicate: str
    rows: _Places | None
    arguments: list[pa.Array]


def atom_columns(texts: pa.Array) -> list[AtomColumns] | None:
    """The atoms by predicate and number of arguments; None unless all of them are plain.

    >>> [found] = atom_columns(pa.array(["temp(s1,21.5)", "temp(s2,7)"]))
    >>> found.predicate, [column.to_pylist() for column in found.arguments]
    ('temp', [['s1', 's2'], [21.5, 7.0]])
    """
    if texts.null_count or not len(texts):
        return None
    offsets, data = text_bytes(texts)
    data = data[:-1]
    if not _PLAIN[data].all() or (offsets[1:] == offsets[:-1]).any():
        return None
    delimits = _DELIMITER[data]
    delimiters = np.flatnonzero(delimits)
    bounds = np.searchsorted(delimiters, offsets)
    counts = np.diff(bounds)
    if not counts.all():
        return _with_bare_ones(texts, counts == 0)
    symbols = data[delimiters]
    first, last = bounds[:-1], bounds[1:] - 1
    if (
        (symbols[first] != _OPENING).any()
        or (symbols[last] != _CLOSING).any()
        or (delimiters[last] != offsets[1:] - 1).any()
        or np.count_nonzero(symbols == _COMMA) != len(symbols) - 2 * len(texts)
    ):
        return None
    # Without delimiters the predicates and arguments lie side by side: each ends at a delimiter.
    lengths = np.diff(delimiters, prepend=-1) - 1
    if not lengths.all():
        return None
    ends = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=ends[1:])
    inner = data[~delimits]
    tokens = pa.StringArray.from_buffers(len(lengths), pa.py_buffer(ends), pa.py_buffer(inner))
    predicates = tokens.take(arrow_array(first)).dictionary_encode()
    names = predicates.dictionary.to_pylist()
    if not all(map(NAME.fullmatch, names)):
        return None
    keys = numpy_array(predicates.indices).astype(np.int64) << 32 | (counts - 1)
    alike = len(names) == 1 and (counts == counts[0]).all()
    kinds = keys[:1].tolist() if alike else np.unique(keys).tolist()
    found: list[AtomColumns] = []
    for key in kinds:
        rows = None if len(kinds) == 1 else np.flatnonzero(keys == key)
        places = first if rows is None else first[rows]
        arguments: list[pa.Array] = []
        for place in range(1, (key & 0xFFFFFFFF) + 1):
            column = _argument_column(tokens.take(arrow_array(places + place)))
            if column is None:
                return None
            arguments.append(column)
        found.append(AtomColumns(names[key >> 32], rows, arguments))
    return found


def _with_bare_ones(texts: pa.Array, bare: npt.NDArray[np.bool_]) -> list[AtomColumns] | None:
    """The atoms of texts among which are some without arguments."""
    rows = np.flatnonzero(bare)
    encoded = texts.take(arrow_array(rows)).dictionary_encode()
    names = encoded.dictionary.to_pylist()
    if not all(map(NAME.fullmatch, names)):
        return None
    codes = numpy_array(encoded.indices)
    found = [AtomColumns(name, rows[codes == code], []) for code, name in enumerate(names)]
    rest = np.flatnonzero(~bare)
    if not len(rest):
        return found
    others = atom_columns(texts.take(arrow_array(rest)))
    if others is None:
        return None
    for name, places, arguments in others:
        found.append(AtomColumns(name, rest if places is None else rest[places], arguments))
    return found


def _argument_column(tokens: pa.Array) -> pa.Array | None:
    """Arguments that are all names, all integers, or all numbers; else None."""
    offsets, data = text_bytes(tokens)
    data = data[:-1]
    begins = data[offsets[:-1]]
    if _BEGINS_NAME[begins].all():
        return tokens if _IN_NAME[data].all() else None
    if not (_DIGIT[begins] | (begins == _MINUS)).all():
        return None
    if not _IN_DECIMAL[data].all():
        if not pc.all(pc.match_substring_regex(tokens, _NUMBER)).as_py():
            return None
    elif (data == _DOT).any():
        # Arrow would read `5.` and `-.5`, too. No text begins with a dot.
        dots = np.flatnonzero(data == _DOT)
        if (data[offsets[1:] - 1] == _DOT).any() or not _DIGIT[data[dots - 1]].all():
            return None
    else:
        try:
            return pc.cast(tokens, pa.int64())
        except pa.ArrowInvalid:
            return None
    try:
        floats = pc.cast(tokens, pa.float64())
    except pa.ArrowInvalid:
        return None
    # Beyond this an integer loses digits as a float.
    values = numpy_array(floats)
    return floats if (np.abs(values) < EXACT_FLOAT).all() else None
