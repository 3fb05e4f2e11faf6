"""Typed tables of answers, one for each predicate."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

import larspark as lp

PROGRAM = """#tick 1 min.
seen(M, V) :- temp(M, V).
quiet :- not [1 min] some temp(_, _).
"""
TEN = datetime(2026, 3, 1, 10, tzinfo=UTC)


@pytest.fixture
def answers() -> pa.Table:
    pairs = [(TEN, "temp(m1,95)"), (TEN.replace(minute=1), 'temp("New York",2.5)')]
    return lp.run(PROGRAM, lp.Stream.of([*pairs, (TEN.replace(minute=3), None)]))


def test_every_predicate_has_a_table_with_the_types_that_fit(answers: pa.Table) -> None:
    tables = lp.outputs(answers)
    assert list(tables) == ["quiet/0", "seen/2"]
    assert tables["seen/2"].to_pylist() == [
        {"arg1": "m1", "arg2": 95.0, "from": TEN, "to": TEN},
        {
            "arg1": "New York",
            "arg2": 2.5,
            "from": TEN.replace(minute=1),
            "to": TEN.replace(minute=1),
        },
    ]
    three = TEN.replace(minute=3)
    assert tables["quiet/0"].to_pylist() == [{"from": three, "to": three}]


def test_columns_have_the_names_and_types_that_are_asked_for(answers: pa.Table) -> None:
    table = lp.outputs(answers, {"seen/2": "machine string, value double"})["seen/2"]
    frame = table.to_pandas()
    assert list(frame.columns) == ["machine", "value", "from", "to"]
    assert frame["value"].tolist() == [95.0, 2.5]
    assert str(frame["from"].dtype) == "datetime64[us, UTC]"
    assert table.to_polars().shape == (2, 4)
    assert pa.table(table).equals(table.arrow)
    assert len(table) == 2


def test_a_predicate_without_answers_has_an_empty_table_of_the_same_columns(
    answers: pa.Table,
) -> None:
    table = lp.outputs(answers, {"alarm/1": "machine string"})["alarm/1"]
    assert table.arrow.schema.names == ["machine", "from", "to"]
    assert len(table) == 0
    none = lp.run("p :- q.", lp.Stream.of([]))
    assert len(lp.outputs(none, {"p/0": ""})["p/0"]) == 0


def test_an_argument_of_another_type_is_named(answers: pa.Table) -> None:
    with pytest.raises(lp.LarsparkError, match="`m1` in `seen\\(m1,95\\)` is not a long"):
        lp.outputs(answers, {"seen/2": "machine long, value double"})


NAMED = "#show seen(machine, value), quiet/0, never(who)." + PROGRAM + "never(M) :- off(M)."


def test_the_program_names_the_columns() -> None:
    answers = lp.run(NAMED, lp.Stream.of([(1, "temp(m1,95)"), (4, None)]))
    tables = lp.outputs(answers)
    assert tables["seen/2"].to_pylist() == [{"machine": "m1", "value": 95, "from": 1, "to": 1}]
    assert tables["quiet/0"].arrow.schema.names == ["from", "to"]
    assert tables["never/1"].arrow.schema.names == ["who", "from", "to"]
    assert len(tables["never/1"]) == 0
    assert lp.outputs(answers.slice(0, 1))["seen/2"].arrow.schema.names[0] == "machine"


def test_columns_given_by_hand_win() -> None:
    answers = lp.run(NAMED, lp.Stream.of([(1, "temp(m1,95)")]))
    tables = lp.outputs(answers, {"seen/2": "m string, v double"})
    assert list(tables) == ["seen/2"]
    assert tables["seen/2"].to_pylist() == [{"m": "m1", "v": 95.0, "from": 1, "to": 1}]


@pytest.mark.parametrize("columns", ["a long, a long", "a long, from long"])
def test_two_columns_of_one_name_are_refused(answers: pa.Table, columns: str) -> None:
    with pytest.raises(lp.LarsparkError, match="has two columns"):
        lp.outputs(answers, {"seen/2": columns})


@pytest.mark.parametrize(
    "names",
    [
        *("{", "1", "[1]", '{"p": 1}', "[" * 9999, "\udcff"),
        *('[["p", "ab"]]', '[["p", [[]]]]', '[["p", [1]]]', '[[1, ["a"]]]'),
        *('[["p", ["a", "a"]]]', '[["p", ["from"]]]', '[["p", ["\\ud800"]]]', '[["p", ["A"]]]'),
    ],
)
def test_damaged_names_in_a_table_are_refused(answers: pa.Table, names: str) -> None:
    metadata = {b"larspark.columns": names.encode(errors="surrogateescape")}
    with pytest.raises(lp.LarsparkError, match="metadata of the answers are damaged"):
        lp.outputs(answers.replace_schema_metadata(metadata))
