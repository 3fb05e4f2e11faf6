"""Rows as facts, and what is said about rows that are none."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from larspark.base.facts import ColumnBatch
from larspark.base.problems import LarsparkError
from larspark.feeds.answer_columns import typed_answers
from larspark.feeds.mapping import parse_mappings
from larspark.run.protocol import Settings
from larspark.scale.grid import RequestedCuts
from larspark.scale.job import prepare
from larspark.scale.survey import combine_surveys, survey_partition
from larspark.scale.table_facts import Found, Shape, atom_shape, find_facts, order_type


def rows(found: Found) -> list[tuple[int, str]]:
    batches = (ColumnBatch([segment]).rows() for segment in found.segments)
    return sorted((row.t, str(row.atom)) for batch in batches for row in batch)


def shape(text: str, order: str | None = None) -> Shape:
    return Shape(0, parse_mappings(text)[0], order)


def test_timestamps_become_time_points_by_the_tick() -> None:
    moments = [datetime(1970, 1, 1, 0, minute, 30, tzinfo=UTC) for minute in (2, 0)]
    table = pa.table({"ts": pa.array(moments, pa.timestamp("us", "UTC")), "s": ["a", "b"]})
    found = find_facts(table, shape("ts -> on(s)"), 60_000_000)
    assert rows(found) == [(0, "on(b)"), (2, "on(a)")]


def test_rows_with_atoms_as_text_are_read_and_bad_ones_told() -> None:
    table = pa.table({"t": [3, 1, 2, 1], "atom": ["p(a,1)", "p(2.0,b)", "p(X)", "q"]})
    found = find_facts(table, atom_shape(0, "t", "atom", None), None)
    assert rows(found) == [(1, "p(2,b)"), (1, "q"), (3, "p(a,1)")]
    assert found.skipped == 1
    assert found.problems[0].code == "L312"


def test_columns_that_are_missing_are_an_error_before_anything_runs() -> None:
    with pytest.raises(LarsparkError, match="has no column `v`"):
        find_facts(pa.table({"ts": [1]}), shape("ts -> temp(v)"), None)


def test_an_order_is_carried_beside_the_atom() -> None:
    table = pa.table({"t": [2, 1], "s": ["a", "b"], "n": pa.array([7, 8], pa.int32())})
    [segment] = find_facts(table, shape("t -> on(s)", "n"), None).segments
    assert segment.signature == ("on", 1)
    assert segment.table["order"].to_pylist() == [8, 7]


def test_orders_are_numbers_texts_and_moments() -> None:
    kinds = [pa.int16(), pa.float32(), pa.string(), pa.timestamp("us"), pa.bool_()]
    schema = pa.schema([(str(n), kind) for n, kind in enumerate(kinds)])
    found = [order_type(schema, str(n)) for n in range(len(kinds))]
    assert found == [pa.int64(), pa.float64(), pa.string(), pa.string(), None]


def test_a_survey_adds_up_over_partitions() -> None:
    parts = [{"t": [5, 9], "s": ["a", "b"]}, {"t": [2, 3], "s": ["a", None]}]
    found = [
        row
        for part in parts
        for batch in survey_partition(
            [pa.RecordBatch.from_pydict(part)], shape("t -> on(s)"), None, {}
        )
        for row in batch.to_pylist()
    ]
    seen = combine_surveys(found)
    assert (seen.facts, seen.skipped, seen.first, seen.last) == (3, 1, 2, 9)
    assert [problem.message for problem in seen.problems] == ["column `s`: there is no value"]


def test_cuts_that_the_program_does_not_allow_are_refused_with_the_reason() -> None:
    with pytest.raises(LarsparkError) as caught:
        prepare("p :- [#2] some a(_).", (), "auto", Settings(), RequestedCuts(2, 3))
    first, second = caught.value.problems
    assert (first.code, second.code) == ("L482", "L482")
    assert first.message == "the program cannot be cut into shards"
    assert "counts the tuples of all values together" in first.hint
    assert "which may be arbitrarily old" in second.hint


def test_windows_of_this_process_are_refused() -> None:
    with pytest.raises(
        LarsparkError, match="L486: the window `mine` is registered in this process"
    ):
        prepare("p :- [mine] some a.", (), "auto", Settings(), RequestedCuts())


def test_an_argument_that_does_not_fit_its_column_is_named() -> None:
    batch = pa.RecordBatch.from_pydict({"atom": ["p(a)"], "from": [1], "to": [2]})
    with pytest.raises(LarsparkError, match="`a` in `p\\(a\\)` is not a long"):
        list(typed_answers([batch], "p", (("n", "long"),)))
