"""The benchmarks run from end to end."""

import json
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from larspark.base.problems import LarsparkError
from larspark.bench import bench_command, benchmarks, run_benchmarks, suite
from larspark.bench import interval_workloads as laser
from larspark.bench.by_larspark import WholeTimeline
from larspark.bench.contest import (
    ATOMS,
    DUCKDB,
    INTERVAL,
    LOOP,
    POLARS,
    TABLES,
    Entrant,
    Measurement,
    contest,
)
from larspark.bench.measurement_output import table
from larspark.bench.soak import soak
from larspark.bench.suite import Benchmark, chosen
from larspark.bench.workload import Answer, Run, Workload
from larspark.run.interval.kernels import compile as kernels
from larspark.run.interval.kernels.background_compiler import BackgroundCompiler

STATED = ["bench", "window", "rate", "engine", "ns_per_fact", "us_per_time_point", "bytes"]


def silent(text: str) -> None:
    pass


def test_everyone_takes_part_and_is_compared_with_the_interval_engine() -> None:
    workload = laser.join(3, 20, measured=10)
    measured = contest("laser/join", workload, suite.ALL, repetitions=2, progress=silent)
    assert [one.engine for one in measured] == [
        "interval",
        "Reasoner, atoms in, changes out",
        "Reasoner, Arrow in, Arrow out",
        "interval, whole timeline",
        "polars",
        "duckdb",
        "clingo, one-shot",
    ]
    assert measured[0].ratio == 1
    assert all(one.ns_per_fact > 0 and one.us_per_time_point > 0 for one in measured)
    assert list(measured[0].to_json())[:7] == STATED
    assert measured[0].bytes


@pytest.mark.parametrize("rules", [1, 3, 9])
def test_few_facts_have_the_same_answers_through_the_front_door(rules: int) -> None:
    workload = laser.sparse(4, 2, rules=rules)
    entrants = [INTERVAL, ATOMS, TABLES, *([LOOP] if rules == 3 else [])]
    measured = contest("sparse", workload, entrants, repetitions=1, progress=silent)
    assert len({one.more["intervals"] for one in measured}) == 1
    assert measured[0].more["intervals"]


class Wrong(WholeTimeline):
    """Lets the last interval of every predicate end too late."""

    name = "wrong"

    def answer(self) -> Answer:
        return {
            signature: rows._replace(end=np.append(rows.end[:-1], rows.end[-1] + 1))
            for signature, rows in super().answer().items()
        }


class Sloppy(WholeTimeline):
    """Gives the right answer when it is looked at, and too little when the clock runs."""

    name = "sloppy"

    def run(self) -> Run:
        return super().run()._replace(intervals=0)


@pytest.mark.parametrize("cheat", [Wrong, Sloppy])
def test_different_answers_are_an_error_and_no_time_is_told(cheat: type[WholeTimeline]) -> None:
    with pytest.raises(LarsparkError) as error:
        contest(
            "laser/diamond",
            laser.diamond(2, 5, measured=5),
            [INTERVAL, Entrant(cheat)],
            repetitions=1,
            progress=silent,
        )
    assert error.value.problems[0].code == "L552"
    assert "give different answers" in error.value.problems[0].message


def test_who_needs_a_missing_package_is_left_out() -> None:
    absent = replace(POLARS, package="a_package_that_is_not_there")
    workload = laser.diamond(2, 5, measured=5)
    measured = contest("x", workload, [INTERVAL, absent, DUCKDB], repetitions=1, progress=silent)
    assert [one.engine for one in measured] == ["interval", "duckdb"]


@pytest.mark.parametrize(
    "make",
    [
        laser.flat_diamond,
        laser.flat_box,
        laser.flat_join,
        laser.flat_negation,
        laser.flat_tuples,
        laser.best_case,
        laser.worst_case,
    ],
)
def test_tick_by_tick_and_the_whole_timeline_agree(make) -> None:
    workload: Workload = make(4, 8)
    measured = contest("x", workload, suite.ENGINE, repetitions=1, progress=silent)
    assert len(measured) == 2


def test_a_gap_is_one_step() -> None:
    workload = laser.silence(10, 1000)
    entrants = [Entrant(laser.OverTheGap), Entrant(WholeTimeline)]
    over, _ = contest("gap", workload, entrants, repetitions=1, progress=silent)
    assert over.more["time_points"] == 1001
    assert over.more["milliseconds"] > 0


def test_a_soak_is_told_in_parts_and_stays_small() -> None:
    parts = list(soak("soak", 1000, silent))
    assert [part.more["part"] for part in parts] == list(range(1, 11))
    assert all(part.more["facts"] == 1000 for part in parts)
    assert parts[-1].bytes <= 1.5 * parts[1].bytes


def tiny(bench: str, quick: bool, progress) -> list[Measurement]:
    workload = laser.diamond(2, 5, measured=5)
    return contest(bench, workload, (INTERVAL, POLARS), repetitions=1, progress=progress)


@pytest.fixture
def only_tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Benchmark("tiny/diamond", "a small one", tiny)
    monkeypatch.setattr("larspark.bench.suite._BENCHMARKS", (one,))


@pytest.mark.usefixtures("only_tiny")
def test_a_pipe_gets_json_lines_with_the_stated_keys(capsys: pytest.CaptureFixture[str]) -> None:
    bench_command(["tiny"], quick=True, json=True)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["engine"] for line in lines] == ["interval", "polars"]
    assert all(set(STATED) <= set(line) for line in lines)
    assert lines[0]["bench"] == "tiny/diamond"
    assert (lines[0]["window"], lines[0]["rate"]) == (2, 5)


@pytest.mark.usefixtures("only_tiny")
def test_no_measurement_is_of_kernels_that_are_not_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernels._registry, "background", BackgroundCompiler())
    bench_command(["tiny"], quick=True, json=True)
    assert kernels._registry.background is None


@pytest.mark.usefixtures("only_tiny")
def test_the_library_hands_out_measurements_as_they_come() -> None:
    found: list[Measurement] = []
    run_benchmarks([], True, found.append)
    assert [one.engine for one in found] == ["interval", "polars"]


def test_people_get_a_table_with_ratios() -> None:
    more = {"cpu_ns_per_fact": 90.0, "flatness": 1.2}
    measured = [
        Measurement("x", 80, 800, "interval", 100.0, 80.0, 2048, 1.0, more),
        Measurement("x", 80, 800, "polars", 250.0, 200.0, None, 2.5, {}),
    ]
    console = Console(width=200, record=True, file=StringIO())
    console.print(table("x: a title", measured))
    text = console.export_text()
    assert "x: a title" in text
    assert "2.0 KiB" in text
    assert "1.2 times the smaller window" in text
    assert "2.50" in text


def test_a_name_stands_for_a_benchmark_or_a_group() -> None:
    assert [one.name for one in chosen(["flat"])] == [
        name for name in benchmarks() if name.startswith("flat/")
    ]
    assert [one.name for one in chosen(["gap", "laser/join"])] == ["laser/join", "gap"]
    assert len(chosen([])) == len(benchmarks())


def test_unknown_names_are_all_told_with_a_suggestion() -> None:
    with pytest.raises(LarsparkError) as error:
        run_benchmarks(["laser/joim", "zzz"], True, print)
    codes = [problem.code for problem in error.value.problems]
    assert codes == ["L551", "L551"]
    assert error.value.problems[0].hint == "did you mean `laser/join`?"
