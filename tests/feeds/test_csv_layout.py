"""CSV from anywhere: delimiters and headers that are detected or given, and lines as they come."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds import Stream
from larspark.feeds.formats.csv_layout import CsvLayout
from larspark.feeds.formats.csv_lines import CsvLines
from larspark.feeds.mapping import parse_mappings
from larspark.feeds.reading import Options

MAP = "time -> temp(sensor, value)"
EXPECTED = [(1, "temp(a,20.5)"), (2, 'temp("b,c",21)')]


def read(text, **options):
    return Stream.read(io.BytesIO(text.encode()), **{"format": "csv", "map": MAP, **options})


def shown(stream):
    return [(row.t, str(row.atom)) for row in stream.elements()]


@pytest.mark.parametrize(
    "text",
    [
        'time,sensor,value\n1,a,20.5\n2,"b,c",21\n',
        "time;sensor;value\n1;a;20.5\n2;b,c;21\n",
        "time\tsensor\tvalue\r\n1\ta\t20.5\r\n2\tb,c\t21\r\n",
        "time|sensor|value\n1|a|20.5\n2|b,c|21\n",
        '\ufeff"time";"a,b,c,d";sensor;value\n1;x;a;20.5\n2;x;b,c;21\n',
    ],
)
def test_the_delimiter_is_found_by_the_columns_of_the_mapping(text):
    assert shown(read(text)) == EXPECTED


def test_a_delimiter_may_be_given():
    assert shown(read("time:sensor:value\n1:a:2\n", delimiter=":")) == [(1, "temp(a,2)")]
    assert shown(read("time\tsensor\tvalue\n1\ta\t2\n", delimiter="tab")) == [(1, "temp(a,2)")]
    with pytest.raises(LarsparkError, match="L318: delimiter cannot be '::'"):
        read("", delimiter="::")


@pytest.mark.parametrize("columns", ["time, sensor,value", ["time", "sensor", "value"]])
@pytest.mark.parametrize("header", ["", "time;sensor;value\n"])
def test_columns_may_be_given_for_files_with_and_without_a_header(columns, header):
    text = header + "1;a;20.5\n2;b,c;21\n"
    assert shown(read(text, columns=columns)) == EXPECTED
    assert shown(read(header, columns=columns)) == []
    bad = read(text + "x;d;4\n", columns=columns, on_error="skip")
    assert shown(bad) == EXPECTED
    assert bad.problems[0].span.line == text.count("\n") + 1


def test_a_file_without_a_header_is_told_how_to_name_its_columns():
    with pytest.raises(LarsparkError) as error:
        shown(read("1,a,20.5\n2,b,21\n"))
    assert "has no column `time`; its columns are 1, a, 20.5" in str(error.value)
    assert "hint: if the first line is no header, name the columns" in str(error.value)


@pytest.mark.parametrize(("written", "named"), [(";", ";"), ("\t", "tab")])
def test_a_wrong_delimiter_is_told_with_the_one_that_fits(written, named):
    with pytest.raises(LarsparkError) as error:
        shown(read(written.join(("time", "sensor", "value")) + "\n", delimiter=","))
    assert f"hint: the delimiter seems to be `{named}`" in str(error.value)
    assert "did you mean" not in str(error.value)


def lines(text, mapping=MAP, tick=None, layout=CsvLayout(), source="here"):  # noqa: B008
    reader = CsvLines(parse_mappings(mapping, optional_time=True), Options(tick), layout)
    found = reader.arrivals([line.encode() for line in text.split("\n")], 1, source, stamp=7)
    return [
        item.render() if isinstance(item, Problem) else (item[0], str(item[1][0])) for item in found
    ]


def test_lines_give_what_a_file_gives():
    text = "time;sensor;value\n1;a;20.5\n2;b,c;21\n"
    assert lines(text) == EXPECTED
    layout = CsvLayout.given(None, "time,sensor,value")
    assert lines("1;a;20.5\r\n2;b,c;21\r\n", layout=layout) == EXPECTED
    assert lines("sensor,value\na,2\n", "temp(sensor, value)") == [(7, "temp(a,2)")]


def test_without_types_each_cell_of_a_live_line_is_a_plain_number_or_text():
    text = "time,sensor,value\n1,007,1e5\n2,112,2.50\n"
    assert lines(text) == [(1, 'temp("007","1e5")'), (2, "temp(112,2.5)")]
    assert lines(text, "time -> temp(text(sensor), number(value))") == [
        (1, 'temp("007",100000)'),
        (2, 'temp("112",2.5)'),
    ]


def test_bad_lines_are_problems_in_their_place():
    assert lines("time,sensor,value\n1,a\n2,,3\nx,a,3\n5,b,6") == [
        "here:2:1: error L316: the record has 2 values, not 3\n  2 | 1,a\n    | ^",
        "here:3:1: error L313: column `sensor`: there is no value\n  3 | 2,,3\n    | ^",
        'here:4:1: error L310: column `time`: the time "x" is neither a number nor an ISO '
        "timestamp\n  4 | x,a,3\n    | ^\n  hint: write 36 or 2013-01-01T05:00:00Z",
        (5, "temp(b,6)"),
    ]
    (problem,) = lines("1,a,2")
    assert "no header has named the columns `time`, `sensor`, `value`" in problem
    assert "hint: begin with a header, or name the columns: `--columns time,sensor,v" in problem


def test_each_source_has_a_header_of_its_own():
    reader = CsvLines(parse_mappings("time -> p(x)"), Options(), CsvLayout())
    one = list(reader.arrivals([b"time,x", b"1,a"], 1, "one"))
    two = list(reader.arrivals([b"x;time", b"b;2"], 1, "two"))
    more = list(reader.arrivals([b"3,c"], 3, "one"))
    assert [(t, str(atoms[0])) for t, atoms, _ in one + two + more] == [
        (1, "p(a)"),
        (2, "p(b)"),
        (3, "p(c)"),
    ]


CELL = st.sampled_from(["1", "2.5", "a", "b c", '"x, y"', '"say ""hi"""', "", "007", "-3", "1e5"])


@given(st.lists(st.lists(CELL, min_size=2, max_size=4), max_size=10))
@settings(deadline=None, max_examples=200)
def test_typed_lines_and_files_agree(rows):
    text = "time,sensor,value\n" + "".join(f"1,{','.join(row)}\n" for row in rows)
    mapping = "time -> p(text(sensor), number(value)); time -> q(text(value))"
    stream = read(text, map=mapping, on_error="skip")
    found = lines(text, mapping)
    assert shown(stream) == [item for item in found if not isinstance(item, str)]
    assert stream.skipped == sum(isinstance(item, str) for item in found)
