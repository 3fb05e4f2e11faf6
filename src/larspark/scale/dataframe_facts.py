"""The sources of a run: DataFrames and Parquet files, and how their rows become facts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.mapping import ColumnName, parse_mappings
from larspark.feeds.mapping import Mapping as FactMapping
from larspark.scale.parquet_files import FileSource, file_sources
from larspark.scale.spark_session import DataFrame
from larspark.scale.table_facts import Shape, atom_shape, find_facts, order_type

_ATOM = "atom"

# The facts of a run: one DataFrame, one for each predicate, or Parquet files.
FactInput: TypeAlias = DataFrame | Mapping[str, DataFrame] | str | Path | Sequence[str | Path]


class Source(NamedTuple):
    """A DataFrame and how its rows become facts."""

    frame: DataFrame
    shape: Shape

    @property
    def schema(self) -> Any:
        """The columns and their types as an Arrow schema."""
        return self.frame.limit(0).toArrow().schema

    @property
    def rows(self) -> DataFrame:
        """The columns that are read."""
        return self.frame.select(*[f"`{name.replace('`', '``')}`" for name in self.shape.columns])


def find_sources(
    facts: DataFrame | Mapping[str, DataFrame],
    time: str | None,
    mapping: str | None,
    order: str | None,
) -> tuple[Source, ...]:
    """The sources of a run, in the arrival order of their facts at one time point."""
    if isinstance(facts, DataFrame):
        return tuple(_of_one_frame(facts, time, mapping, order))
    if mapping is not None:
        _refuse("a mapping needs a single DataFrame, but there is one for each predicate")
    if time is None:
        _refuse("the time column is not named", 'name it, e.g. `time="ts"`')
    if not facts:
        _refuse("there is no DataFrame")
    return tuple(
        Source(frame, Shape(place, _by_columns(predicate, frame.columns, time, order), order))
        for place, (predicate, frame) in enumerate(facts.items())
    )


def find_file_sources(
    places: str | Path | Sequence[str | Path],
    time: str | None,
    mapping: str | None,
    order: str | None,
) -> tuple[FileSource, ...]:
    """The sources of a run over Parquet files."""
    if mapping is None:
        message = "the rows of the files have no mapping to facts"
        _refuse(message, 'map columns to atoms, e.g. `map="ts -> temp(sensor, value)"`')
    shapes = [Shape(n, each, order) for n, each in enumerate(_mappings(mapping, time))]
    return tuple(file_sources(places, shapes))


def check_sources(sources: Iterable[Source | FileSource], tick: int | None) -> None:
    """Raise all problems of the columns at once."""
    problems: list[Problem] = []
    orders: dict[Any, str] = {}
    for source in sources:
        schema, shape = source.schema, source.shape
        if shape.order is not None and shape.order in schema.names:
            kind = order_type(schema, shape.order)
            orders[kind] = str(schema.field(shape.order).type)
            if kind is None:
                message = f"the column `{shape.order}` has the type {orders.pop(kind)}"
                hint = "facts are ordered by integers, floats, text, dates or timestamps"
                problems.append(Problem("L484", message, hint=hint))
        try:
            find_facts(schema.empty_table(), shape, tick)
        except LarsparkError as error:
            problems += error.problems
    if len(orders) > 1:
        kinds = " and ".join(orders.values())
        hint = "give all DataFrames one type of order"
        problems.append(Problem("L484", f"the orders {kinds} cannot be compared", hint=hint))
    if problems:
        raise LarsparkError(dict.fromkeys(problems))


def _of_one_frame(
    frame: DataFrame, time: str | None, mapping: str | None, order: str | None
) -> Iterator[Source]:
    if mapping is not None:
        for place, each in enumerate(_mappings(mapping, time)):
            yield Source(frame, Shape(place, each, order))
        return
    if _ATOM not in frame.columns:
        message = "the rows have no mapping to facts, and there is no column `atom`"
        _refuse(message, 'map columns to atoms, e.g. `map="ts -> temp(sensor, value)"`')
    if time is None:
        _refuse("the time column is not named", 'name it, e.g. `time="ts"`')
    yield Source(frame, atom_shape(0, time, _ATOM, order))


def _mappings(text: str, time: str | None) -> tuple[FactMapping, ...]:
    mappings = parse_mappings(text)
    if not all(each.plain for each in mappings):
        hint = "give the DataFrame such columns, e.g. by `selectExpr`"
        _refuse("units, types and fields of objects are not for mappings on Spark", hint)
    if time is not None and any(each.time != time for each in mappings):
        _refuse(f"the time is `{time}`, but the mapping names another column", "name only one")
    return mappings


def _by_columns(predicate: str, columns: list[str], time: str, order: str | None) -> FactMapping:
    """Every column except the time and the order is an argument."""
    arguments = [ColumnName(name) for name in columns if name not in (time, order)]
    return FactMapping(time, predicate, tuple(arguments))


def _refuse(message: str, hint: str = "") -> NoReturn:
    raise LarsparkError(Problem("L483", message, hint=hint))
