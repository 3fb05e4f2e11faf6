"""Streams in tables: CSV, Parquet, Arrow, pandas, polars."""

import gzip
import io
import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from random import Random

import duckdb
import pandas
import polars
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.base.atoms import fact
from larspark.base.facts import ARGUMENT_TYPES, ColumnBatch
from larspark.base.problems import LarsparkError, LarsparkWarning, Problem
from larspark.feeds import Stream
from larspark.feeds.conversions import plain_number
from larspark.feeds.formats.columns import Records
from larspark.feeds.mapping import ColumnName, Mapping, parse_mappings

EXAMPLES = int(os.environ.get("LARSPARK_EXAMPLES", "400"))
MAP = "time -> temp(sensor, value)"
READINGS = {"time": [1, 1, 4], "sensor": ["a", "b c", "a"], "value": [20.5, 21.0, -3.5]}
EXPECTED = [(1, "temp(a,20.5)", 0), (1, 'temp("b c",21)', 1), (4, "temp(a,-3.5)", 2)]


def csv_stream(text, **options):
    data = text.encode() if isinstance(text, str) else text
    return Stream.read(io.BytesIO(data), **{"format": "csv", "map": MAP, **options})


def shown(stream):
    return [(row.t, str(row.atom), row.seq) for row in stream.elements()]


def failure(stream):
    with pytest.raises(LarsparkError) as error:
        shown(stream)
    return str(error.value)


def write_csv(path):
    path.write_text("time,unused,sensor,value\n1,x,a,20.5\n1,,b c,21\n4,z,a,-3.5\n")


def write_tsv(path):
    path.write_text("time\tsensor\tvalue\r\n1\ta\t20.5\r\n1\tb c\t21\r\n4\ta\t-3.5\r\n")


def write_packed(path):
    path.write_bytes(gzip.compress(b'"sensor","time","value"\n"a",1,20.5\n"b c",1,21\na,4,-3.5'))


def write_parquet(path):
    pa.parquet.write_table(pa.table(READINGS), path, row_group_size=2)


def write_stream(path):
    with pa.ipc.new_stream(path, pa.table(READINGS).schema) as writer:
        writer.write_table(pa.table(READINGS), 2)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("r.csv", write_csv),
        ("r.tsv", write_tsv),
        ("r.csv.gz", write_packed),
        ("r.parquet", write_parquet),
        ("r.feather", lambda path: pyarrow.feather.write_feather(pa.table(READINGS), path)),
        ("r.arrow", write_stream),
    ],
)
def test_every_kind_of_table_file_gives_the_same_columns(tmp_path, name, write):
    path = tmp_path / name
    write(path)
    stream = Stream.read(path, map=MAP)
    assert shown(stream) == EXPECTED
    assert shown(stream) == EXPECTED
    assert all(isinstance(batch, ColumnBatch) for batch in stream.batches())
    assert (stream.facts, stream.first_t, stream.last_t) == (3, 1, 4)


@pytest.mark.parametrize(
    "table",
    [
        pa.table(READINGS),
        pa.RecordBatch.from_pydict(READINGS),
        pandas.DataFrame(READINGS),
        pandas.DataFrame(READINGS).astype({"sensor": "category"}),
        polars.DataFrame(READINGS),
        polars.LazyFrame(READINGS),
        duckdb.sql(
            "select unnest([1, 1, 4]) as time, unnest(['a', 'b c', 'a']) as sensor, "
            "unnest([20.5, 21, -3.5]) as value"
        ),
        polars.DataFrame(READINGS).with_columns(polars.col("sensor").cast(polars.Categorical)),
    ],
    ids=lambda table: type(table).__name__,
)
def test_tables_in_memory_are_read_again_and_again(table):
    stream = Stream.from_table(table, map=MAP)
    assert shown(stream) == shown(stream) == EXPECTED


def test_a_reader_of_batches_is_read_once():
    table = pa.table(READINGS)
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    stream = Stream.from_table(reader, map=MAP)
    assert not stream.lasting
    assert shown(stream) == EXPECTED
    assert failure(stream) == "error L317: <table> can be read only once, and was read already"


def test_segments_have_the_columns_that_engines_expect():
    (batch,) = Stream.from_table(pa.table(READINGS), map=MAP).batches()
    (segment,) = batch.segments()
    assert str(segment.signature) == "temp/2"
    assert segment.table.schema.names == ["t", "seq", "0", "1"]
    assert segment.table.schema.types == [pa.int64(), pa.int64(), pa.string(), pa.float64()]


def test_what_is_no_table_is_refused():
    with pytest.raises(LarsparkError) as error:
        shown(Stream.from_table([1, 2], map=MAP))
    assert str(error.value).startswith("error L302: a list cannot be read as a table: ")
    hint = "hint: give a pyarrow table, a pandas or polars data frame, or a DuckDB relation"
    assert str(error.value).endswith(hint)


def test_timestamps_become_time_points_with_a_tick():
    moments = [datetime(1970, 1, 1, 0, 1), datetime(1970, 1, 1, 0, 2, 30)]
    data = {"at": moments, "value": [1, 2]}
    for table in (pa.table(data), pandas.DataFrame(data), polars.DataFrame(data)):
        stream = Stream.from_table(table, map="at -> v(value)", tick=60_000_000)
        assert shown(stream) == [(1, "v(1)", 0), (2, "v(2)", 1)]
    text = "at,value\n1970-01-01T00:01:00,1\n1970-01-01T00:02:30Z,2\n3,3\n"
    stream = csv_stream(text, map="at -> v(value)", tick=60_000_000)
    assert shown(stream) == [(1, "v(1)", 0), (2, "v(2)", 1), (3, "v(3)", 2)]


def test_timestamps_without_a_tick_are_an_error():
    table = pa.table({"at": [datetime(2013, 1, 1)], "value": [1]})
    hint = "\n  hint: set it in the program, e.g. `#tick 1 s.`, or as `--tick 1s`, `tick=1_000_000`"
    stream = Stream.from_table(table, map="at -> v(value)")
    assert failure(stream) == (
        "error L311: column `at` holds timestamps, "
        f"but the length of a time point is not known{hint}"
    )
    assert shown(stream.with_tick(1_000_000)) == [(1356998400, "v(1)", 0)]
    assert failure(csv_stream("time,sensor,value\n2013-01-01,a,1\n")) == (
        '<file>:2:1: error L311: column `time`: the time "2013-01-01" is a timestamp, '
        f"but the length of a time point is not known{hint}"
    )


def test_several_mappings_give_several_facts_for_each_row():
    stream = csv_stream(
        "time,sensor,value\n1,a,2\n3,b,4\n",
        map='time -> temp(sensor,value); time -> seen(sensor, "a b", -1.50) ; time -> tick',
    )
    assert shown(stream) == [
        (1, "temp(a,2)", 0),
        (1, 'seen(a,"a b",-1.5)', 1),
        (1, "tick", 2),
        (3, "temp(b,4)", 3),
        (3, 'seen(b,"a b",-1.5)', 4),
        (3, "tick", 5),
    ]


def test_mappings_may_have_different_times():
    stream = csv_stream(
        "left,back,tail\n1,9,a\n2,4,b\n", map="left -> left(tail); back -> back(tail)", lateness=9
    )
    assert shown(stream) == [
        (1, "left(a)", 0),
        (2, "left(b)", 1),
        (4, "back(b)", 2),
        (9, "back(a)", 3),
    ]


def test_a_column_may_be_used_twice_and_have_an_odd_name():
    stream = csv_stream("t,Sensor ID\n1,a\n", map="t -> p(`Sensor ID`, t, `Sensor ID`)")
    assert shown(stream) == [(1, "p(a,1,a)", 0)]


def test_a_csv_column_of_numbers_and_texts_is_read_as_text_and_that_is_told():
    text = "time,sensor,value\n1,007,20.50\n2,112,1e-05\n3,9,x\n4,1e5,\n"
    with pytest.warns(LarsparkWarning) as told:
        assert shown(csv_stream(text, on_error="skip")) == [
            (1, 'temp("007","20.50")', 0),
            (2, 'temp("112","1e-05")', 1),
            (3, 'temp("9",x)', 2),
        ]
    hint = "`text({0})` says that it is meant, `number({0})` reports such cells"
    assert [str(warning.message) for warning in told] == [
        '<file>:2:1: warning L326: column `sensor` is read as text, because it holds "007"\n'
        f"  hint: {hint.format('sensor')}",
        '<file>:4:1: warning L326: column `value` is read as text, because it holds "x"\n'
        f"  hint: {hint.format('value')}",
    ]


def test_the_first_values_of_a_csv_column_decide_and_later_ones_must_fit():
    with_number = "time,sensor,value\n" + "1,a,5\n" * 200_000 + "2,b,007\n3,c,7\n"
    stream = csv_stream(with_number, on_error="skip")
    assert len(shown(stream)) == 200_001
    (problem,) = stream.problems
    assert problem.render() == (
        '<file>:200002:1: error L313: column `value`: "007" is not a number like the values '
        "before it\n  hint: say what the column holds: `text(...)` or `number(...)`"
    )
    typed = csv_stream(with_number, map="time -> temp(sensor, text(value))")
    assert [str(row.atom) for row in typed.elements()][-2:] == ['temp(b,"007")', 'temp(c,"7")']


def test_a_typed_column_of_several_types_gives_several_segments():
    table = pa.table(
        {"time": [1, 2, 3, 4], "sensor": ["a", "b", "c", "d"], "value": ["2", "2.5", "-3", "x"]}
    )
    stream = Stream.from_table(table, map="time -> temp(sensor, number(value))", on_error="skip")
    assert shown(stream) == [(1, "temp(a,2)", 0), (2, "temp(b,2.5)", 1), (3, "temp(c,-3)", 2)]
    (batch,) = stream.batches()
    assert len(batch.segments()) == 2
    for segment in batch.segments():
        assert all(kind in ARGUMENT_TYPES for kind in segment.table.schema.types)
        assert all(column.null_count == 0 for column in segment.table.columns)


BAD_CSV = (
    b"time,sensor,value\n"
    b"1,a,1\n"
    b"2,b\n"
    b"3,,3\n"
    b'4,"",4\n'
    b"5,c,NaN\n"
    b"\n"
    b"x,d,6\n"
    b"-7,e,7\n"
    b"8,\xff,8\n"
    b"2,f,9\n"
    b"10,g,h,10\n"
    b"11.5,i,11\n"
    b"12,j,99999999999999999999\n"
    b"13,k,13\n"
    b"14,l\n"
)


def test_bad_records_are_skipped_and_told_with_their_record():
    typed = "time -> temp(sensor, number(value))"
    stream = csv_stream(BAD_CSV, map=typed, on_error="skip")
    assert shown(stream) == [(1, "temp(a,1)", 0), (4, 'temp("",4)', 1), (13, "temp(k,13)", 2)]
    assert (stream.facts, stream.skipped, stream.late) == (3, 11, 1)
    assert [problem.render() for problem in stream.problems] == [
        "<file>:3:1: error L316: the record has 2 values, not 3\n  3 | 2,b\n    | ^",
        "<file>:4:1: error L313: column `sensor`: there is no value",
        "<file>:6:1: error L313: column `value`: there is no value",
        '<file>:7:1: error L310: column `time`: the time "x" is neither a number nor an ISO '
        "timestamp\n  hint: write 36 or 2013-01-01T05:00:00Z",
        "<file>:8:1: error L310: column `time`: the time -7 lies before 0\n"
        "  hint: time begins at 0",
        "<file>:9:1: error L307: column `sensor`: the text is not valid UTF-8",
        "<file>:10:1: error L314: the time 2 comes after 4, and time does not go back\n"
        "  hint: sort the stream, or allow a lateness of 2 time points",
        "<file>:11:1: error L316: the record has 4 values, not 3\n  11 | 10,g,h,10\n     | ^",
        "<file>:12:1: error L310: column `time`: the time 11.5 is not an integer",
        "<file>:13:1: error L313: column `value`: 99999999999999999999 does not fit a 64-bit "
        "integer",
        "<file>:15:1: error L316: the record has 2 values, not 3\n  15 | 14,l\n     | ^",
    ]


@given(
    st.lists(st.sampled_from(["{t},a,1", "{t},b", "{t},,1", "{t},c,2.5"]), max_size=12), st.data()
)
@settings(deadline=None, max_examples=150)
def test_a_strict_reading_delivers_all_before_the_first_bad_record(kinds, data):
    records = [kind.format(t=t) for t, kind in enumerate(kinds)]
    text = "time,sensor,value\n" + "\n".join(records)
    size = data.draw(st.integers(1, 5))
    good = [kind in ("{t},a,1", "{t},c,2.5") for kind in kinds]
    strict = csv_stream(text, batch_size=size)
    rows = []
    if all(good):
        assert len(shown(strict)) == len(kinds)
        return
    with pytest.raises(LarsparkError) as error:
        rows.extend(strict.elements())
    first = good.index(False)
    assert [row.t for row in rows] == list(range(first))
    (problem,) = error.value.problems
    assert problem.span is not None
    assert problem.span.line == first + 2
    lax = csv_stream(text, batch_size=size, on_error="skip")
    assert [row.t for row in lax.elements()] == [t for t, is_good in enumerate(good) if is_good]
    assert [p.span.line for p in lax.problems if p.span] == [
        t + 2 for t, is_good in enumerate(good) if not is_good
    ]


def test_any_number_of_bad_records_takes_little_memory():
    records = Records(first_line=2)
    for number in range(100_000):
        records.refuse(number, lambda line: Problem("L316", f"line {line} is broken"))
    assert records.line_of(0) == 100_002
    count, problems = records.pass_to(0)
    assert (count, len(problems), problems[99].message) == (100_000, 100, "line 101 is broken")
    text = "time,sensor,value\n" + "1,x\n" * 100_000 + "2,y,3\n" + "3,z\n" * 10
    stream = csv_stream(text, on_error="skip")
    assert shown(stream) == [(2, "temp(y,3)", 0)]
    assert (stream.skipped, len(stream.problems)) == (100_010, 100)


def test_missing_columns_are_told_all_at_once_with_the_ones_there_are():
    assert failure(
        csv_stream("time,sensor,value\n1,a,2\n", map="tme -> temp(sensr, value, x)")
    ) == (
        "error L304: <file> has no column `tme`; its columns are time, sensor, value\n"
        "  hint: did you mean `time`?\n"
        "error L304: <file> has no column `sensr`; its columns are time, sensor, value\n"
        "  hint: did you mean `sensor`?\n"
        "error L304: <file> has no column `x`; its columns are time, sensor, value"
    )


def test_a_column_that_is_there_twice_is_told():
    text = "time,a,a\n1,2,3\n"
    assert failure(csv_stream(text, map="time -> p(a)")) == "error L304: <file> has 2 columns `a`"
    assert shown(csv_stream(text, map="time -> p")) == [(1, "p", 0)]


def test_types_that_cannot_be_used_are_told_all_at_once():
    table = pa.table({"time": [[1]], "value": [{"a": 1}], "ok": [1]})
    assert failure(Stream.from_table(table, map="time -> p(value, ok)")) == (
        "error L305: column `time` has the type list<item: int64>, which cannot be a time\n"
        "error L305: column `value` has the type struct<a: int64>, which cannot be a constant"
    )


def test_empty_tables_are_empty_streams(tmp_path):
    assert shown(csv_stream("time,sensor,value\n")) == []
    assert shown(csv_stream("time,sensor,value")) == []
    empty = pa.table({name: pa.array([], pa.int64()) for name in ("time", "sensor", "value")})
    assert shown(Stream.from_table(empty, map=MAP)) == []
    pa.parquet.write_table(empty, tmp_path / "e.parquet")
    assert shown(Stream.read(tmp_path / "e.parquet", map=MAP)) == []


def test_a_csv_file_without_a_header_is_an_error():
    assert failure(csv_stream("")) == "<file>:1:1: error L304: there are no columns"
    assert failure(csv_stream(b"\xff\n")) == (
        "<file>:1:1: error L307: byte 1 of the line is not valid UTF-8"
    )


def test_quoted_cells_may_hold_line_breaks_and_a_header_a_byte_order_mark():
    text = b'\xef\xbb\xbftime,sensor,value\n1,"a\nb, c",2\n2,"say ""x""",3\n'
    assert shown(csv_stream(text)) == [
        (1, r'temp("a\nb, c",2)', 0),
        (2, r'temp("say \"x\"",3)', 1),
    ]


def test_a_record_over_the_limit_ends_the_reading():
    text = "time,sensor,value\n1,a,2\n" + f"2,{'x' * (3 << 20)},3\n"
    assert failure(csv_stream(text, on_error="skip")) == (
        "error L306: a record of <file> is longer than 1048576 bytes"
    )


def test_damaged_files_are_errors(tmp_path):
    for name in ("d.parquet", "d.arrow"):
        path = tmp_path / name
        path.write_bytes(b"ARROW1 and then nothing that makes sense" * 3)
        assert failure(Stream.read(path, map=MAP)).startswith(f"error L301: cannot read {path}: ")


def test_a_table_needs_a_mapping(tmp_path):
    path = tmp_path / "r.csv"
    write_csv(path)
    with pytest.raises(LarsparkError) as error:
        Stream.read(path)
    assert str(error.value) == (
        f"error L303: {path} is a table and needs a mapping from its columns to atoms\n"
        "  hint: map columns to atoms, e.g. `time -> temp(sensor, value)`"
    )


def test_mappings_are_read():
    assert parse_mappings('`my time`->p( a , `b c`, 2.0, "x y") ; t -> q') == (
        Mapping("my time", "p", (ColumnName("a"), ColumnName("b c"), 2, "x y")),
        Mapping("t", "q", ()),
    )


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "L303: the mapping ends where a time column is expected"),
        ("time", 5, "L303: the mapping ends where `->` is expected"),
        ("time -> Temp(a)", 9, "L303: found `T` where a predicate is expected"),
        ("time -> temp(a", 15, "L303: the mapping ends where `,` or `)` is expected"),
        ("time -> temp(a,)", 16, "L303: found `)` where a column or a constant is expected"),
        ("time -> temp(a) x", 17, "L303: found `x` where `;` or the end is expected"),
        ("time -> temp(a);", 17, "L303: the mapping ends where a time column is expected"),
        ("36 -> temp(a)", 1, "L303: found `3` where a time column is expected"),
        ("time -> temp(1e999)", 14, "L313: `1e999` does not fit a 64-bit float"),
    ],
)
def test_a_mapping_that_is_not_well_written_is_refused_with_its_place(text, column, message):
    with pytest.raises(LarsparkError) as error:
        Stream.from_table(pa.table(READINGS), map=text)
    hint = ["  hint: write `time -> temp(sensor, value)`"] if "L303" in message else []
    excerpt = [f"  1 | {text}", "    | " + " " * (column - 1) + "^"] if text else []
    lines = [f"<map>:1:{column}: error {message}", *excerpt, *hint]
    assert str(error.value) == "\n".join(lines)


VALUES = st.one_of(st.none(), st.integers(-9, 9), st.floats(), st.sampled_from(["a", "b c", "7"]))


@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from("ab"), VALUES), max_size=20),
    st.integers(1, 6),
    st.integers(0, 9),
)
@settings(deadline=None, max_examples=150)
def test_csv_and_rows_agree(readings, size, lateness):
    """What CSV gives is what the same rows give, one by one."""
    text = "time,sensor,value\n" + "".join(
        f"{t},{sensor},{'' if value is None else value}\n" for t, sensor, value in readings
    )
    stream = csv_stream(text, on_error="skip", batch_size=size, lateness=lateness)
    given_rows = [row for row in readings if row[2] is not None and row[2] == row[2]]
    numbers = [plain_number(str(value)) for _, _, value in given_rows]
    pairs = [
        (t, fact("temp", sensor, str(value) if None in numbers else number))
        for (t, sensor, value), number in zip(given_rows, numbers, strict=True)
    ]
    rows = Stream.of(pairs, on_error="skip", lateness=lateness)
    assert shown(stream) == shown(rows)
    assert stream.late == rows.late


@pytest.mark.parametrize("suffix", ["arrow", "feather"])
def test_no_changed_byte_of_an_arrow_file_does_more_than_change_values_or_end_the_reading(
    tmp_path: Path, suffix: str
) -> None:
    table = pa.table({"time": [1, 2, 3], "sensor": ["a", "bc", "def"], "value": [1.5, None, 2.0]})
    path = tmp_path / f"t.{suffix}"
    sink = pa.ipc.new_stream if suffix == "arrow" else pa.ipc.new_file
    with sink(str(path), table.schema) as out:
        out.write_table(table)
    data, rng = path.read_bytes(), Random(5)
    for _ in range(EXAMPLES):
        damaged = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(data))] = rng.choice((0, 1, 127, 255, rng.randrange(256)))
        path.write_bytes(damaged)
        stream = Stream.read(path, map="time -> temp(sensor, value)", on_error="skip")
        with suppress(LarsparkError):
            assert all(row.atom.predicate == "temp" for row in stream.elements())


def test_spaces_behind_the_delimiters_of_a_header_belong_to_no_cell(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("time, pump, bar\n1, P1, 7\n2, P2 ,8.5\n3, P3,\n")
    stream = Stream.read(path, map="time -> p(pump, bar)", on_error="skip")
    assert [str(row.atom) for row in stream.elements()] == ['p("P1",7)', 'p("P2",8.5)']
    assert stream.skipped == 1
    path.write_text("time,pump\n1, P1\n")
    assert [str(row.atom) for row in Stream.read(path, map="time -> p(pump)").elements()] == [
        'p(" P1")'
    ]
