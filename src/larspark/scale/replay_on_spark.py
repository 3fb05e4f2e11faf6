"""Replay on Spark: a stream read by one process, written to Parquet, evaluated by many.

The feed reads the stream as for a local run: same order, same lateness, same problems at the same
lines. Each fact keeps its arrival number. The answers are collected on the driver.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from larspark.base.atoms import Atom, Signature
from larspark.base.batch_cuts import up_to
from larspark.base.facts import AnyBatch, Segment
from larspark.feeds import Stream, parse_ground_atom
from larspark.feeds.mapping import ColumnName, Mapping
from larspark.language import tree
from larspark.run.answers import PointAnswers
from larspark.run.protocol import Change, Point, Settings
from larspark.scale.batch import run_prepared
from larspark.scale.grid import RequestedCuts
from larspark.scale.job import prepare
from larspark.scale.parquet_files import SPLIT, FileSource, file_sources
from larspark.scale.problem_transport import collect
from larspark.scale.spark_session import find_java, local_session
from larspark.scale.table_facts import Shape

_ROW_GROUP = SPLIT // 4


class CollectedAnswers:
    """The answers of a run on Spark, collected on the driver: the output over [first, last].

    Made from a table of intervals. A row without an atom marks time points without an answer
    stream. A row with an empty interval is a note for the user.

    >>> rows = {"atom": ["p", None], "from": [1, 3], "to": [2, 3]}
    >>> answers = CollectedAnswers(0, 3, pa.table(rows))
    >>> [point.atoms and sorted(map(str, point.atoms)) for point in answers.points()]
    [frozenset(), ['p'], ['p'], None]
    >>> [(str(atom), begin, end) for atom, begin, end in answers.intervals()]
    [('p', 1, 2)]
    >>> CollectedAnswers(0, 3, pa.table({"atom": ["one"], "from": [5], "to": [4]})).notes
    ('one',)
    """

    def __init__(self, first: int, last: int, table: pa.Table) -> None:
        self.first = first
        self.last = last
        holds = pc.less_equal(table["from"], table["to"])
        self._table = table.filter(holds)
        notes = table.filter(pc.invert(holds))["atom"].to_pylist()
        self.notes: tuple[str, ...] = tuple(dict.fromkeys(notes))

    @cached_property
    def _rows(self) -> list[tuple[Atom | None, int, int]]:
        table = self._table.sort_by([("from", "ascending"), ("atom", "ascending")])
        encoded = table["atom"].combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        atoms = [parse_ground_atom(text) for text in encoded.dictionary.to_pylist()]
        codes = encoded.indices.to_pylist()
        return [
            (None if code is None else atoms[code], begin, end)
            for code, begin, end in zip(
                codes, table["from"].to_pylist(), table["to"].to_pylist(), strict=True
            )
        ]

    def intervals(self) -> Sequence[tuple[Atom, int, int]]:
        return [(atom, begin, end) for atom, begin, end in self._rows if atom is not None]

    def inconsistent(self) -> Iterable[int]:
        for atom, begin, end in self._rows:
            if atom is None:
                yield from range(begin, end + 1)

    def points(self) -> Iterator[Point]:
        begins = iter([*self._rows, (None, self.last + 1, self.last + 1)])
        holding: dict[Atom | None, int] = {}
        atom, begin, end = next(begins)
        for t in range(self.first, self.last + 1):
            ended = [each for each, until in holding.items() if until < t]
            for each in ended:
                del holding[each]
            while begin == t:
                holding[atom] = end
                atom, begin, end = next(begins)
            yield Point(t, None if None in holding else frozenset(a for a in holding if a))

    def changes(self) -> Iterator[Change]:
        return PointAnswers(self.first, self.last, list(self.points())).changes()

    def table(self) -> pa.Table:
        return self._table.drop_null()


@dataclass(frozen=True, slots=True)
class Spooled:
    """The files of a spooled stream, and the time points that the stream announced."""

    sources: tuple[FileSource, ...]
    announced: tuple[int, ...]


def spool(batches: Iterable[AnyBatch], folder: Path, to: int | None, hindsight: bool) -> Spooled:
    """Write a stream to Parquet files, up to a time point; with hindsight all of it."""
    written: dict[tuple[Signature, tuple[str, ...]], _File] = {}
    announced: list[int] = []
    with ExitStack() as stack:
        for batch in batches:
            kept = batch if hindsight or to is None else up_to(batch, to)
            if kept.last_t is not None:
                announced.append(kept.last_t)
            for segment in kept.segments():
                kinds = tuple(map(str, segment.table.schema.types))
                key = (segment.signature, kinds)
                if key not in written:
                    path = folder / f"{len(written)}.parquet"
                    written[key] = stack.enter_context(_File(path, segment))
                written[key].write(segment.table)
            if not hindsight and to is not None and batch.last_t is not None and batch.last_t > to:
                break
    return Spooled(tuple(_sources(written.values())), tuple(announced))


class _File:
    """A Parquet file of facts of one predicate with the same argument types."""

    def __init__(self, path: Path, first: Segment) -> None:
        self.path = path
        self.signature = first.signature
        self._writer = parquet.ParquetWriter(path, first.table.schema, compression="lz4")
        self._buffered: list[Any] = []
        self._rows = 0

    def write(self, table: pa.Table) -> None:
        self._buffered.append(table)
        self._rows += table.num_rows
        if self._rows >= _ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._buffered:
            self._writer.write_table(pa.concat_tables(self._buffered), _ROW_GROUP)
        self._buffered, self._rows = [], 0

    def __enter__(self) -> "_File":
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        self._writer.close()


def _sources(files: Iterable[_File]) -> Iterator[FileSource]:
    for file in files:
        predicate, arity = file.signature
        mapping = Mapping("t", predicate, tuple(ColumnName(str(n)) for n in range(arity)))
        # Arrival numbers run across all files, so the order of the files does not matter.
        yield from file_sources(file.path, [Shape(0, mapping, "seq")])


def _no_progress(text: str) -> None:
    """Ignore progress messages."""


def _observed(
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
    progress: Callable[[str], None] = _no_progress,
    observers: Iterable[Callable[[AnyBatch], None]] = (),
) -> CollectedAnswers | None:
    """The answers over the whole timeline; None when there is no time point.

    `progress` is called with the name of each step, each of the `observers` with each batch of the
    stream. Problems with Java, the program or the stream are raised before a session starts.
    """
    find_java()
    prepared = prepare(program, background, engine, settings, RequestedCuts(), in_stages=True)
    with TemporaryDirectory(prefix="larspark-") as folder:
        progress("reading the stream")
        ticked = stream.with_tick(prepared.tick)
        batches = _observed(ticked.batches(), tuple(observers))
        spooled = spool(batches, Path(folder), to, settings.hindsight)
        progress("starting Spark")
        local_session(quiet=True)
        progress("evaluating on Spark")
        pending = run_prepared(prepared, spooled.sources, to=to, announced=spooled.announced)
        if pending.timeline is None:
            return None
        return CollectedAnswers(*pending.timeline, collect(pending.answers))
