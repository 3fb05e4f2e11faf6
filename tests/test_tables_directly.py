"""Tables of any library instead of a stream: every door gives what it gives for the stream."""

import duckdb
import pandas
import polars
import pyarrow as pa
import pytest

import larspark as lp
from larspark.base.problems import LarsparkWarning

MAP = "time -> temp(sensor, value)"
PROGRAM = """#tick 1 min.
hot(M) :- [3 min] some temp(M, V), V > 90.
alarm(M) :- [2 min] always hot(M).
#remember hot/1.
"""
ROWS = {
    "time": ["2026-03-01T12:00:00", "2026-03-01T12:01:30", "2026-03-01T12:04:00"],
    "sensor": ["m1", "m2", "m1"],
    "value": [95.5, 91.0, 20.0],
}
AT = 29539441


def frames():
    table = pa.table(ROWS)
    table = table.set_column(0, "time", table["time"].cast(pa.timestamp("us")))
    yield "pyarrow", table
    yield "pandas", table.to_pandas()
    yield "polars", polars.from_arrow(table)
    yield "lazy", polars.from_arrow(table).lazy()
    yield "duckdb", duckdb.from_arrow(table)


@pytest.fixture
def stream():
    pairs = zip(ROWS["time"], ROWS["sensor"], ROWS["value"], strict=True)
    return lp.Stream.of([(t, lp.fact("temp", s, v)) for t, s, v in pairs], tick=60_000_000)


@pytest.mark.parametrize("path", ["hot.lars", "rules/hot.lars"])
def test_the_path_of_a_program_instead_of_its_text_is_told(stream, path):
    with pytest.raises(
        lp.LarsparkError, match=r"`lp\.Program\.load` reads one from a file"
    ) as error:
        lp.run(path, stream)
    assert len(error.value.problems) == 1


@pytest.mark.parametrize("frame", [pytest.param(f, id=name) for name, f in frames()])
def test_every_door_takes_a_table(frame, stream):
    assert lp.run(PROGRAM, frame, map=MAP) == lp.run(PROGRAM, stream)
    question = "[3] some temp(M, V)"
    tick = lp.Program.parse(PROGRAM).syntax.tick
    asked = lp.query(question, frame, map=MAP, at=AT, tick=tick)
    assert asked == lp.query(question, stream, at=AT) != []
    assert asked == lp.query(question, frame, map=MAP, at=AT, tick="1 min")
    assert asked == lp.query(question, frame, map=MAP, at=AT, tick=60_000_000)
    why = lp.explain(PROGRAM, "hot(m1)", frame, map=MAP, at=AT)
    assert why.holds
    assert why.to_json() == lp.explain(PROGRAM, "hot(m1)", stream, at=AT).to_json()
    assert str(lp.show(PROGRAM, frame, map=MAP)) == str(lp.show(PROGRAM, stream))
    simple = "#tick 1 min.  hot(M) :- temp(M, V), V > 90."
    found = lp.hypothesize(simple, "@T hot(M)", frame, map=MAP, at=AT)
    assert list(found) == list(lp.hypothesize(simple, "@T hot(M)", stream, at=AT))
    reasoner, other = lp.Reasoner(PROGRAM), lp.Reasoner(PROGRAM)
    reasoner.extend(frame, map=MAP)
    other.extend(stream)
    assert [a.atoms for a in reasoner.advance(AT)] == [a.atoms for a in other.advance(AT)]


def test_a_file_is_named_and_a_table_needs_a_mapping(tmp_path, stream):
    path = tmp_path / "readings.csv"
    pandas.DataFrame(ROWS).to_csv(path, index=False)
    assert lp.run(PROGRAM, path, map=MAP) == lp.run(PROGRAM, stream)
    with pytest.raises(lp.LarsparkError, match="a DataFrame needs a mapping from its columns"):
        lp.run(PROGRAM, pandas.DataFrame(ROWS))
    with pytest.raises(lp.LarsparkError, match="<elements> is a stream already"):
        lp.run(PROGRAM, stream, map=MAP)
    with pytest.raises(lp.LarsparkError, match="a int cannot be read as a table"):
        lp.run(PROGRAM, 5, map=MAP)


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("hot(M) :- temp(M, V), V > 90.", "a number was compared with a text once"),
        ("hot(M) :- tmep(M, V), V != 90.", "there are no facts of `tmep/2`"),
        ("hot(M) :- temp(M, V), site(M, Vienna), V != 90.", "`Vienna` is a variable"),
    ],
)
def test_a_run_warns_of_data_that_does_not_fit_its_program(rule: str, found: str) -> None:
    with pytest.warns(LarsparkWarning, match=found):
        lp.run(rule, lp.Stream.of([(1, 'temp(m1,"ERR")')]))


LIMITS = "#tick 1 min. over(S) :- temp(S, V), limit(S, L), V > L."


def test_background_data_is_taken_from_tables_and_files(tmp_path):
    columns = {"id": ["m1", "m2"], "limit": [90, 95]}
    path = tmp_path / "limits.csv"
    path.write_text("id,limit\nm1,90\nm2,95\n")
    doors = [pa.table(columns), pandas.DataFrame(columns), polars.DataFrame(columns), path]
    for table in doors:
        known = lp.facts(table, "limit(text(id), limit)")
        assert known == [lp.fact("limit", "m1", 90), lp.fact("limit", "m2", 95)]
    found = lp.run(LIMITS, pandas.DataFrame(ROWS), map=MAP, background=known)
    assert found["atom"].to_pylist() == ["over(m1)"]
    tuples = [("limit", "m1", 90)]
    assert lp.run(LIMITS, pandas.DataFrame(ROWS), map=MAP, background=tuples).num_rows == 1


@pytest.mark.parametrize(
    "background",
    [pandas.DataFrame({"limit(m1,90)": [1]}), "limit(m1,90)", {"limit(m1,90)": 1}],
    ids=["frame", "text", "mapping"],
)
def test_background_data_that_is_no_list_of_facts_is_refused(background):
    with pytest.raises(lp.LarsparkError, match="is not a list of facts") as error:
        lp.run(LIMITS, pandas.DataFrame(ROWS), map=MAP, background=background)
    assert "lp.facts(table" in error.value.problems[0].hint
    with pytest.raises(lp.LarsparkError, match="is not a list of facts"):
        lp.Reasoner(LIMITS, background)


def test_a_column_of_several_types_is_told(recwarn):
    frame = pandas.DataFrame({**ROWS, "value": pandas.Series([95.5, "ERR", 20], dtype=object)})
    with pytest.raises(lp.LarsparkError, match="Conversion failed for column value") as error:
        lp.run(PROGRAM, frame, map=MAP)
    assert error.value.problems[0].hint.startswith("give each column one type")
