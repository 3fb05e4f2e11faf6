"""A stream that one process reads, laid down in Parquet files for many to work on.

The feed reads it as for a local run: with the same order, the same lateness, and the same problems
at the same lines. Each fact keeps the number of its arrival.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from larspark.base.atoms import Signature
from larspark.base.facts import AnyBatch, Segment
from larspark.feeds.mapping import ColumnName, Mapping
from larspark.run.replay import up_to
from larspark.scale.facts import Shape
from larspark.scale.files import SPLIT, FileSource, file_sources

_ROW_GROUP = SPLIT // 4


@dataclass(frozen=True, slots=True)
class Spooled:
    """Where the facts of a stream lie, and the time points that were heard of."""

    sources: tuple[FileSource, ...]
    heard: tuple[int, ...]


def spool(batches: Iterable[AnyBatch], folder: Path, to: int | None, hindsight: bool) -> Spooled:
    """Lay a stream down, up to a time point unless hindsight knows all."""
    written: dict[tuple[Signature, tuple[str, ...]], _File] = {}
    heard: list[int] = []
    with ExitStack() as stack:
        for batch in batches:
            kept = batch if hindsight or to is None else up_to(batch, to)
            if kept.last_t is not None:
                heard.append(kept.last_t)
            for segment in kept.segments():
                kinds = tuple(map(str, segment.table.schema.types))
                key = (segment.signature, kinds)
                if key not in written:
                    path = folder / f"{len(written)}.parquet"
                    written[key] = stack.enter_context(_File(path, segment))
                written[key].write(segment.table)
            if not hindsight and to is not None and batch.last_t is not None and batch.last_t > to:
                break
    return Spooled(tuple(_sources(written.values())), tuple(heard))


class _File:
    """A file of facts of one predicate with arguments of the same types."""

    def __init__(self, path: Path, first: Segment) -> None:
        self.path = path
        self.signature = first.signature
        self._writer = parquet.ParquetWriter(path, first.table.schema, compression="lz4")
        self._waiting: list[Any] = []
        self._rows = 0

    def write(self, table: pa.Table) -> None:
        self._waiting.append(table)
        self._rows += table.num_rows
        if self._rows >= _ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting), _ROW_GROUP)
        self._waiting, self._rows = [], 0

    def __enter__(self) -> "_File":
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        self._writer.close()


def _sources(files: Iterable[_File]) -> Iterator[FileSource]:
    for file in files:
        predicate, arity = file.signature
        mapping = Mapping("t", predicate, tuple(ColumnName(str(n)) for n in range(arity)))
        # All facts are numbered together, so that the place of a file means nothing.
        yield from file_sources(file.path, [Shape(0, mapping, "seq")])
