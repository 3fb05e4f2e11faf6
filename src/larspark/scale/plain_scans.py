"""DataFrames that are nothing but Parquet files, which executors read without the JVM.

Rows of a DataFrame cross from the JVM to Python, are packed and shuffled, and cross again. Those of
a DataFrame that only selects columns of local Parquet files need not: the files hold the same rows.
"""

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from larspark.base.problems import LarsparkError
from larspark.scale.dataframe_facts import Source
from larspark.scale.parquet_files import FileSource, file_sources
from larspark.scale.spark_session import is_remote

# Types of columns that Spark reads as Arrow does.
_SAME = {
    "bigint": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}


def as_files(source: Source) -> Source | FileSource:
    """The files of a source that is nothing but Parquet files; the source itself if it is not."""
    frame: Any = source.frame
    if is_remote(frame.sparkSession) or frame.storageLevel.useMemory or frame.storageLevel.useDisk:
        return source
    relation = _relation(frame._jdf.queryExecution().analyzed())
    if relation is None:
        return source
    paths = list(_local_paths(relation.location().inputFiles()))
    if not paths or None in paths:
        return source
    try:
        [found] = file_sources([path for path in paths if path is not None], [source.shape])
    except LarsparkError:
        # Files with different columns, for example, are the business of Spark.
        return source
    kinds: dict[str, str] = dict(frame.dtypes)
    types = {field.name: field.type for field in found.schema}
    same = all(types.get(name) == _SAME.get(kinds.get(name, "")) for name in source.shape.columns)
    # A column that is missing on both sides is refused with the others, by the frame.
    return found if same and types.keys() >= set(source.shape.columns) else source


def _relation(plan: Any) -> Any:
    """The Parquet files that a plan of Spark scans; None if it does more than choose columns."""
    kind = plan.getClass().getSimpleName()
    if kind == "Project":
        columns = plan.projectList()
        chosen = (columns.apply(number) for number in range(columns.size()))
        names = {column.getClass().getSimpleName() for column in chosen}
        return _relation(plan.child()) if names <= {"AttributeReference"} else None
    if kind == "SubqueryAlias":
        return _relation(plan.child())
    if kind != "LogicalRelation":
        return None
    relation = plan.relation()
    if relation.getClass().getSimpleName() != "HadoopFsRelation":
        return None
    of_parquet = relation.fileFormat().getClass().getSimpleName() == "ParquetFileFormat"
    is_partitioned = len(relation.partitionSchema().fields()) > 0
    return relation if of_parquet and not is_partitioned else None


def _local_paths(addresses: Iterable[str]) -> Iterator[str | None]:
    """The paths of files; None for one elsewhere.

    >>> list(_local_paths(["file:///data/a%20b.parquet", "s3a://bucket/c.parquet"]))
    ['/data/a b.parquet', None]
    """
    for address in sorted(addresses):
        parts = urlsplit(address)
        yield unquote(parts.path) if parts.scheme == "file" and not parts.netloc else None
