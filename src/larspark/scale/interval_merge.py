"""Intervals that several pieces have parts of, made one.

Only answers that touch the border of a slice can be continued, and only those of predicates that
shards derive in parts can overlap. Pieces pack them by atom, and all others as they are, so that
few large rows are shuffled and most answers are looked at no more.
"""

from collections.abc import Iterable, Iterator
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from larspark.scale.grid import Grid
from larspark.scale.pack import to_bytes

SCHEMA = pa.schema([("bucket", pa.int32()), ("complete", pa.bool_()), ("payload", pa.binary())])
SPARK_SCHEMA = "bucket int, complete boolean, payload binary"

# Answers in one payload: large enough to be cheap, small enough to be a row.
_CHUNK = 1 << 17


def packed_answers(
    answers: pa.Table, piece: int, grid: Grid, buckets: int, parts: pa.Table | None = None
) -> pa.Table:
    """The answers of a piece, packed: those that are complete, and those that may go on.

    `parts` are answers that other pieces may have for the same time.
    """
    first, last = grid.slice(piece)
    begun_before = pc.and_(pc.equal(answers["from"], first), first > grid.starts[0])
    goes_on = pc.and_(pc.equal(answers["to"], last), last < grid.last)
    touching = pc.or_(begun_before, goes_on)
    complete = answers.filter(pc.invert(touching))
    rows = [
        (piece % buckets, True, to_bytes(complete.slice(start, _CHUNK)))
        for start in range(0, max(1, complete.num_rows), _CHUNK)
    ]
    unfinished = answers.filter(touching)
    if parts is not None:
        unfinished = pa.concat_tables([unfinished, parts])
    texts = unfinished["atom"].to_pylist()
    homes = np.array([crc32((text or "").encode()) % buckets for text in texts], dtype=np.int64)
    for bucket in np.unique(homes).tolist():
        part = unfinished.filter(pa.array(homes == bucket))
        rows.append((bucket, False, to_bytes(part)))
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], SCHEMA)


def join_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The answers of a bucket: what is complete at once, then what was put together."""
    unfinished: list[pa.Table] = []
    for batch in batches:
        for complete, payload in zip(*(c.to_pylist() for c in batch.columns[1:]), strict=True):
            table = pa.ipc.open_stream(payload).read_all()
            if complete:
                yield from table.to_batches()
            else:
                unfinished.append(table)
    if unfinished:
        yield from joined(pa.concat_tables(unfinished)).to_batches()


def joined(answers: pa.Table) -> pa.Table:
    """Intervals of an atom that overlap or follow one another, as one.

    >>> rows = {"atom": ["p", "q", "p", "p"], "from": [4, 1, 1, 9], "to": [6, 2, 3, 9]}
    >>> joined(pa.table(rows)).to_pydict()
    {'atom': ['p', 'p', 'q'], 'from': [1, 9, 1], 'to': [6, 9, 2]}
    >>> joined(pa.table({"atom": ["p"] * 3, "from": [1, 2, 7], "to": [9, 4, 8]})).to_pydict()
    {'atom': ['p'], 'from': [1], 'to': [9]}
    """
    table = answers.sort_by([("atom", "ascending"), ("from", "ascending")]).combine_chunks()
    begin, end = table["from"].to_numpy(), table["to"].to_numpy()
    # Where there is no answer stream there is no atom; that too goes on from slice to slice.
    codes = pc.fill_null(_codes(table["atom"]), -1).to_numpy()
    new = np.ones(len(begin), dtype=np.bool_)
    new[1:] = codes[1:] != codes[:-1]
    end = _latest(end, np.cumsum(new))
    new[1:] |= begin[1:] > end[:-1] + 1
    heads = np.flatnonzero(new)
    tails = np.append(heads[1:], len(begin)) - 1
    kept = table.take(pa.array(heads))
    return kept.set_column(2, "to", pa.array(end[tails]))


def _latest(ends: npt.NDArray[np.int64], groups: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The latest end so far within each group, as groups follow one another.

    >>> _latest(np.array([5, 3, 8, 2, 1]), np.array([1, 1, 1, 2, 2])).tolist()
    [5, 5, 8, 2, 2]
    """
    values, ranks = np.unique(ends, return_inverse=True)
    # Among ranks there is room for a group above all earlier ones, among times there may not be.
    highest = np.maximum.accumulate(groups * len(values) + ranks)
    latest: npt.NDArray[np.int64] = values[highest - groups * len(values)]
    return latest


def _codes(atoms: pa.ChunkedArray) -> pa.Array:
    """Equal numbers for equal atoms."""
    encoded = pc.dictionary_encode(pa.concat_arrays([pa.array([], atoms.type), *atoms.chunks]))
    return encoded.indices
