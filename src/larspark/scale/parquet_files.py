"""Facts in Parquet files, read by the Python workers of the executors without the JVM.

The survey gives the time span of each split. Then each piece reads the splits of its time span and
keeps the facts of its keys, without a shuffle. With many shards each split would be read too often;
then splits are read once, packed, and shuffled.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from larspark.analysis.partition import Key
from larspark.base.facts import ARGUMENT_TYPES
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.mapping import ColumnName
from larspark.scale.buckets import bucket_column
from larspark.scale.job import Loaded, load
from larspark.scale.piece_step import Facts, answer, merged
from larspark.scale.problem_transport import reports_problems
from larspark.scale.shuffle_payloads import pack_partition, shards_of
from larspark.scale.survey import RowGroup, row_group_statistics, survey_partition
from larspark.scale.table_facts import Shape, find_facts

# Facts of one split; a task holds a split in memory.
SPLIT = 500_000
# With more shards, reading each split once for each shard costs more than a shuffle.
READ_BY_EACH = 4
_BATCH = 1 << 17


# Converts the answers of a piece, given its number, to rows for Spark.
Finish: TypeAlias = Callable[[Any, int], Any]


class Split(NamedTuple):
    """Row groups of one file that are read together."""

    path: str
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FileSource:
    """Parquet files, how their rows become facts, and the footer statistics of each split."""

    splits: tuple[Split, ...]
    footers: tuple[tuple[RowGroup, ...], ...]
    schema: Any
    shape: Shape


class Extent(NamedTuple):
    """A split with the first and the last time point of its facts."""

    split: Split
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Part:
    """The splits of one source with their time spans."""

    shape: Shape
    extents: tuple[Extent, ...]


def file_sources(places: str | Path | Sequence[str | Path], shapes: Iterable[Shape]) -> list[Any]:
    """The sources of a run over Parquet files: files, folders of them, or patterns."""
    listed = [places] if isinstance(places, str | Path) else list(places)
    paths = [path for place in listed for path in _parquet_files(str(place))]
    shapes = list(shapes)
    columns = {name for shape in shapes for name in shape.columns}
    splits: list[tuple[Split, tuple[RowGroup, ...]]] = []
    schema: Any = None
    for path in paths:
        try:
            metadata = parquet.read_metadata(path)
        except (OSError, pa.ArrowException) as error:
            message = f"{path} is not a Parquet file: {error}"
            raise LarsparkError(Problem("L487", message)) from None
        found = metadata.schema.to_arrow_schema()
        if schema is None:
            schema = found
        elif not found.equals(schema):
            message = f"the columns or types of {path} differ from those of {paths[0]}"
            raise LarsparkError(Problem("L487", message, hint="read them as DataFrames"))
        splits += _splits(path, metadata, columns)
    found, footers = zip(*splits, strict=True) if splits else ((), ())
    return [FileSource(found, footers, schema, shape) for shape in shapes]


@reports_problems
def survey_splits(
    numbers: Iterable[pa.RecordBatch],
    splits: Sequence[tuple[Split, Shape]],
    tick: int | None,
    key: Key,
) -> Iterator[pa.RecordBatch]:
    """The survey row of each numbered split."""
    for number in _numbers(numbers):
        split, shape = splits[number]
        yield from survey_partition(_read(split, shape).to_batches(_BATCH), shape, tick, key)


@reports_problems
def pack_splits(
    numbers: Iterable[pa.RecordBatch], splits: Sequence[Split], shape: Shape, job_text: str
) -> Iterator[pa.RecordBatch]:
    """The packed facts of each numbered split."""
    for number in _numbers(numbers):
        yield from pack_partition(_read(splits[number], shape).to_batches(_BATCH), shape, job_text)


@reports_problems
def answer_from_files(
    numbers: Iterable[pa.RecordBatch], parts: Sequence[Part], job_text: str, finish: Finish
) -> Iterator[pa.RecordBatch]:
    """The answers of each numbered piece."""
    loaded = load(job_text)
    for piece in _numbers(numbers):
        answers = answer(piece, facts_of(piece, parts, loaded), loaded)
        yield from finish(answers, piece).to_batches()


def facts_of(piece: int, parts: Sequence[Part], loaded: Loaded) -> list[Facts]:
    """The facts of a piece."""
    return merged(fact for part in parts for fact in _facts_of(piece, part, loaded))


def _facts_of(piece: int, part: Part, loaded: Loaded) -> Iterator[Facts]:
    job = loaded.job
    first, last = job.grid.timeline_start(piece), job.grid.slice(piece)[1]
    if job.hindsight:
        last = max(last, job.end)
    shard = job.grid.shard(piece)
    for extent in part.extents:
        if extent.first > last or extent.last < first:
            continue
        rows = _read(extent.split, part.shape)
        keys = _keys(rows, part.shape, loaded)
        if keys is not None:
            # Drop the rows of other shards before any other work.
            rows = rows.filter(pa.array(bucket_column(keys) % job.grid.shards == shard))
        for segment in find_facts(rows, part.shape, job.tick).segments:
            table = segment.table.drop_columns(["seq"])
            low, high = np.searchsorted(table["t"].to_numpy(), [first, last + 1]).tolist()
            kept = table.slice(low, high - low)
            shards = shards_of(segment, loaded) if keys is None else None
            if shards is not None:
                kept = kept.filter(pa.array(shards[low:high] == shard))
            if kept.num_rows:
                yield Facts(part.shape.place, segment.signature.predicate, kept)


def _keys(rows: Any, shape: Shape, loaded: Loaded) -> Any:
    """The key column of the rows; None where keys are only known once rows are facts."""
    signature = shape.signature
    if loaded.job.grid.shards == 1 or signature is None or signature in loaded.everywhere:
        return None
    if signature not in loaded.key:
        return None
    argument = shape.mapping.args[loaded.key[signature]]
    keys = rows[argument.name] if isinstance(argument, ColumnName) else None
    whole = keys is not None and keys.type in ARGUMENT_TYPES and not keys.null_count
    return keys if whole else None


def first_rows(split: Split, shape: Shape, count: int) -> Any:
    """The first rows of a split as one batch; None when it is empty."""
    with _opened(split) as file:
        groups = list(split.groups[:1])
        batches = file.iter_batches(count, groups, shape.columns, use_threads=False)
        return next(batches, None)


def _read(split: Split, shape: Shape) -> Any:
    with _opened(split) as file:
        # One thread: every core has a task of its own.
        groups = list(split.groups)
        return file.read_row_groups(groups, columns=shape.columns, use_threads=False)


@contextmanager
def _opened(split: Split) -> Iterator[Any]:
    try:
        with parquet.ParquetFile(split.path) as file:
            yield file
    except (OSError, IndexError, pa.ArrowException) as error:
        message = f"{split.path} cannot be read: {error}"
        hint = "all executors must see the same files, and files must not change during a run"
        raise LarsparkError(Problem("L487", message, hint=hint)) from None


def _numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _splits(
    path: str, metadata: Any, columns: Collection[str]
) -> Iterator[tuple[Split, tuple[RowGroup, ...]]]:
    groups: dict[int, RowGroup] = {}
    rows = 0
    for number in range(metadata.num_row_groups):
        group = row_group_statistics(metadata.row_group(number), columns)
        if groups and rows + group.rows > SPLIT:
            yield Split(path, tuple(groups)), tuple(groups.values())
            groups, rows = {}, 0
        groups[number] = group
        rows += group.rows
    if groups:
        yield Split(path, tuple(groups)), tuple(groups.values())


def _parquet_files(place: str) -> list[str]:
    path = Path(place).expanduser().absolute()
    if path.is_file():
        return [str(path)]
    if path.is_dir():
        found = sorted(path.rglob("*.parquet"))
    else:
        found = sorted(path.parent.glob(path.name)) if "*" in path.name else []
    # Files that begin with `.` or `_` are metadata of the writer.
    names = [str(each) for each in found if each.name[0] not in "._"]
    if not names:
        message = f"there are no Parquet files at {place}"
        hint = "executors read them by their path; for data elsewhere pass a DataFrame"
        raise LarsparkError(Problem("L487", message, hint=hint))
    return names
