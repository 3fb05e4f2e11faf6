"""Ticker's scenarios, hypothetical answers, reading and starting, in small."""

import pytest

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError
from larspark.bench import feed_speed as reading
from larspark.bench import generated_streams as ticker_streams
from larspark.bench import hypothetical_speed as hypothetical
from larspark.bench import run_speed
from larspark.bench import ticker_workloads as ticker
from larspark.bench.soak import ticker_soak
from larspark.bench.workload import checked_program


def silent(text: str) -> None:
    pass


@pytest.mark.parametrize("make", [ticker.a1, ticker.a2, ticker.b1, ticker.b2])
def test_every_engine_runs_a_scenario_and_is_checked(make) -> None:
    setup = make(5, 12)
    measured = ticker.measure("ticker", setup, silent)
    expected = ["asp, one-shot", "asp, incremental", "tms"]
    expected += [] if setup.by_hand is None else ["clingo by hand"]
    assert [one.engine for one in measured] == (["interval"] if setup.single else []) + expected
    assert all(one.more["total_seconds"] >= one.more["init_seconds"] for one in measured)


def test_other_outputs_are_refused() -> None:
    for make in (ticker.a1, ticker.b1):
        setup = make(5, 10)
        checked = checked_program(setup.program, setup.background)
        right = [frozenset({Atom("random")})] * 10
        wrong = [frozenset({Atom("lfu")})] * 10
        with pytest.raises(LarsparkError) as error:
            ticker.compare("ticker", setup, checked, {"one": right, "two": wrong})
        assert error.value.problems[0].code == "L552"


def test_modes_last_for_twice_the_window() -> None:
    signals = ticker_streams.caching(10, 100)
    kinds = [sum(atoms[0].args[0] >= bound for bound in (12, 18)) for atoms in signals]
    assert all(len(set(kinds[first : first + 20])) == 1 for first in range(0, 100, 20))
    assert signals == ticker_streams.caching(10, 100)


def test_the_network_has_its_edges_both_ways() -> None:
    edges = {atom.args for atom in ticker_streams.background() if atom.predicate == "edge"}
    assert len(edges) == 28
    assert edges == {(m, n) for n, m in edges}


def test_many_signals_are_more_than_few() -> None:
    few, many = (ticker_streams.retrieval(20, 50, busy=busy) for busy in (False, True))
    assert sum(map(len, few)) < sum(map(len, many))
    assert many == ticker_streams.retrieval(20, 50, busy=True)


def test_hypothetical_answers_are_told_in_parts() -> None:
    measured = list(hypothetical.hypothetical("hypothetical", 200, silent))
    assert {one.bench for one in measured} == {
        "hypothetical/state",
        "hypothetical/answers",
        "hypothetical/changes",
    }
    assert sum(one.more["facts"] for one in measured) == 600
    assert hypothetical.readings(200) == hypothetical.readings(200)


def test_every_form_of_a_stream_is_read() -> None:
    measured = list(reading.reading("feeds", 300, silent))
    assert {one.more["facts"] for one in measured} == {300}
    assert "numbers.parquet, lateness 5" in {one.engine for one in measured}


def test_the_first_answer_comes_from_a_process_of_its_own() -> None:
    (measured,) = run_speed.start("start", 1, silent)
    assert measured.more["milliseconds"] > 0


def test_a_cold_run_answers_without_compiled_kernels() -> None:
    measured = list(run_speed.cold("cold", 300, 1, silent))
    assert [one.engine for one in measured] == ["first answer", "all answers"]
    assert 0 < measured[0].more["milliseconds"] <= measured[1].more["milliseconds"]


def test_a_soak_of_ticker_is_told_in_parts_with_what_is_kept() -> None:
    parts = list(ticker_soak("soak/ticker", 100, silent))
    assert [one.engine for one in parts] == ["asp, incremental"] * 10 + ["tms"] * 10
    assert all(0 < one.more["ground_rules"] < 2_000 for one in parts)


def test_files_are_answered_on_the_command_line_and_by_duckdb_alike() -> None:
    measured = list(run_speed.files("files", 3_000, 1, silent))
    labels = [one.engine for one in measured]
    assert "larspark, numbers.parquet, points" in labels
    assert {label for label in labels if label.startswith("DuckDB")} == {
        "DuckDB, objects.jsonl",
        "DuckDB, numbers.csv",
        "DuckDB, numbers.parquet",
    }
    assert all(one.more["milliseconds"] > 0 for one in measured)
