"""Segments that arrive out of order, brought into time order."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from larspark.base.atoms import Signature
from larspark.base.facts import ColumnBatch, Segment
from larspark.feeds.reading import Reading

_Key: TypeAlias = tuple[Signature, tuple[Any, ...]]


class ColumnOrder:
    """The order of `rows.row_batches` for columns: by time, then by arrival, numbered anew.

    An element is settled when its time and the lateness have passed. Settling looks at all that
    waits, so it happens when as much again has arrived: the cost stays in proportion.
    """

    def __init__(self, lateness: int, reading: Reading) -> None:
        self._lateness = lateness
        self._reading = reading
        self._waiting: dict[_Key, list[pa.Table]] = {}
        self._size = 0
        self._settle_at = 0

    def release(self, segments: Sequence[Segment], newest: int) -> Iterator[ColumnBatch]:
        """Take segments in, and give out what nothing can come before any more."""
        if self._lateness == 0:
            yield from self._batch(segments)
            return
        for segment in segments:
            key = (segment.signature, tuple(segment.table.schema.types))
            self._waiting.setdefault(key, []).append(segment.table)
            self._size += segment.table.num_rows
        if self._size >= self._settle_at:
            yield from self._batch(self._settled(newest - self._lateness))
            self._settle_at = 2 * self._size

    def flush(self) -> Iterator[ColumnBatch]:
        """Give out all that still waits."""
        yield from self._batch(self._settled(None))

    def _settled(self, last: int | None) -> list[Segment]:
        """The elements up to a time, or all, sorted and numbered; they wait no longer."""
        settled: list[tuple[Signature, pa.Table]] = []
        for key, tables in self._waiting.items():
            table = pa.concat_tables(tables).combine_chunks()
            ready = table["t"].to_numpy() <= (np.inf if last is None else last)
            settled.append((key[0], table.filter(pa.array(ready))))
            self._waiting[key] = [table.filter(pa.array(~ready))]
        self._size -= sum(table.num_rows for _, table in settled)
        if not settled:
            return []
        times = np.concatenate([table["t"].to_numpy() for _, table in settled])
        arrivals = np.concatenate([table["seq"].to_numpy() for _, table in settled])
        numbers = np.empty(len(times), np.int64)
        numbers[np.lexsort((arrivals, times))] = np.arange(len(times)) + self._reading.facts
        segments, start = [], 0
        for signature, table in settled:
            seq = numbers[start : start + table.num_rows]
            start += table.num_rows
            order = np.argsort(seq)
            renumbered = table.take(pa.array(order)).set_column(1, "seq", pa.array(seq[order]))
            segments.append(Segment(signature, renumbered))
        return segments

    def _batch(self, segments: Sequence[Segment]) -> Iterator[ColumnBatch]:
        segments = [segment for segment in segments if segment.table.num_rows]
        if not segments:
            return
        batch = ColumnBatch(segments)
        if self._reading.first_t is None:
            self._reading.first_t = min(table["t"][0].as_py() for _, table in segments)
        self._reading.facts += len(batch)
        self._reading.last_t = batch.last_t
        yield batch
