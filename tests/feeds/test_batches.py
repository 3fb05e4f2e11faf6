"""Rows become segments and segments rows, without loss."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.base.atoms import Atom, Signature
from larspark.base.facts import ARGUMENT_TYPES, ColumnBatch, Row, RowBatch, Segment
from larspark.base.terms import constant

CONSTANTS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False).map(constant),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
)
ATOMS = st.builds(Atom, st.sampled_from(["p", "q"]), st.lists(CONSTANTS, max_size=3).map(tuple))
ROWS = st.lists(st.tuples(st.integers(0, 2**63 - 1), ATOMS), max_size=12).map(
    lambda pairs: [
        Row(t, atom, seq) for seq, (t, atom) in enumerate(sorted(pairs, key=lambda pair: pair[0]))
    ]
)


def exact(rows):
    return [(row.t, row.atom, row.seq, tuple(map(type, row.atom.args))) for row in rows]


@given(ROWS, st.one_of(st.none(), st.integers(0, 50)))
@settings(deadline=None)
def test_rows_survive_the_way_through_segments(rows, last_t):
    batch = RowBatch(rows, last_t)
    columns = ColumnBatch(batch.segments(), batch.last_t)
    assert exact(columns.rows()) == exact(rows)
    assert (len(columns), columns.last_t) == (len(batch), batch.last_t)
    again = RowBatch(list(columns.rows()), columns.last_t)
    assert again.segments() == batch.segments()


@given(ROWS)
@settings(deadline=None)
def test_segments_are_of_one_signature_typed_and_in_arrival_order(rows):
    for segment in RowBatch(rows).segments():
        names = ["t", "seq", *map(str, range(segment.signature.arity))]
        assert segment.table.schema.names == names
        assert segment.table["seq"].to_pylist() == sorted(segment.table["seq"].to_pylist())
        assert all(kind in ARGUMENT_TYPES for kind in segment.table.schema.types)
        assert all(column.null_count == 0 for column in segment.table.columns)


def test_whole_floats_in_a_column_mean_the_integer():
    table = pa.table({"t": [1, 1], "seq": [0, 1], "0": pa.array([2.0, 2.5])})
    batch = ColumnBatch([Segment(Signature("p", 1), table)])
    assert exact(batch.rows()) == [
        (1, Atom("p", (2,)), 0, (int,)),
        (1, Atom("p", (2.5,)), 1, (float,)),
    ]
    assert [len(segment.table) for segment in RowBatch(list(batch.rows())).segments()] == [1, 1]


def test_an_empty_batch_may_move_time():
    assert RowBatch([], 5).last_t == ColumnBatch([], 5).last_t == 5
    assert RowBatch([]).last_t is ColumnBatch([]).last_t is None


@given(ROWS, st.integers(0, 99))
@settings(deadline=None)
def test_arrivals_can_be_numbered_anew(rows, start):
    batch = RowBatch(rows)
    columns = ColumnBatch(batch.segments())
    expected = [(row.t, row.atom, row.seq + start) for row in rows]
    assert [tuple(row) for row in batch.numbered_from(start).rows()] == expected
    assert [tuple(row) for row in columns.numbered_from(start).rows()] == expected
