"""A stream that one process reads, laid down in Parquet files for many to work on.

The feed reads it as for a local run: with the same order, the same lateness, and the same problems
at the same lines. Each fact keeps the number of its arrival.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from larspark.base.atoms import Atom, Signature
from larspark.base.facts import AnyBatch, Segment
from larspark.feeds import Stream
from larspark.feeds.mapping import ColumnName, Mapping
from larspark.language import tree
from larspark.run.protocol import Settings
from larspark.run.replay import up_to
from larspark.scale.batch import run_prepared
from larspark.scale.collected_answers import GatheredAnswers
from larspark.scale.failures import collect
from larspark.scale.grid import Wish
from larspark.scale.job_plan import prepare
from larspark.scale.parquet_files import SPLIT, FileSource, file_sources
from larspark.scale.spark_session import find_java, local_session
from larspark.scale.table_facts import Shape

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


def _nobody(text: str) -> None:
    """Nobody wants to know."""


def _shown(
    batches: Iterable[AnyBatch], observers: Sequence[Callable[[AnyBatch], None]]
) -> Iterator[AnyBatch]:
    for batch in batches:
        for observe in observers:
            observe(batch)
        yield batch


def replay(
    program: str | tree.Program,
    stream: Stream,
    *,
    background: Iterable[Atom | str] = (),
    engine: str = "auto",
    settings: Settings = Settings(),  # noqa: B008 - a named tuple cannot change
    to: int | None = None,
    tell: Callable[[str], None] = _nobody,
    seen: Iterable[Callable[[AnyBatch], None]] = (),
) -> GatheredAnswers | None:
    """The answers for the whole timeline; None when there is no time point.

    `tell` hears how far the work is, and every batch of the stream is shown to `seen`.
    What is wrong with Java, the program or the stream is said before a session is started.
    """
    find_java()
    prepared = prepare(program, background, engine, settings, Wish(), in_stages=True)
    with TemporaryDirectory(prefix="larspark-") as folder:
        tell("reading the stream")
        ticked = stream.with_tick(prepared.tick)
        batches = _shown(ticked.batches(), tuple(seen))
        spooled = spool(batches, Path(folder), to, settings.hindsight)
        tell("starting Spark")
        local_session(quiet=True)
        tell("working on Spark")
        found = run_prepared(prepared, spooled.sources, to=to, heard=spooled.heard)
        if found.timeline is None:
            return None
        return GatheredAnswers(*found.timeline, collect(found.answers))
