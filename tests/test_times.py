"""Timestamps in, timestamps out: every command, and the Python names."""

import json
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from tests.in_process import larspark

import larspark as lp
from larspark.feeds.live import Recording
from larspark.feeds.output_file import OutputFile

PROGRAM = "#tick 1 min. hot(M) :- [3 min] some temp(M, V), V > 90."
CSV = """time,machine,value
2026-03-01T10:00:10Z,m1,80
2026-03-01T10:01:00Z,m1,95
2026-03-01T10:08:00Z,m1,70
"""
MAP = ("--map", "time -> temp(machine, value)")
HOT_AT = "2026-03-01T10:02:30Z"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.lars").write_text(PROGRAM)
    (tmp_path / "r.csv").write_text(CSV)
    return tmp_path


def lines(folder: Path, *words: str) -> list[Any]:
    command, *rest = words
    program = () if command == "query" else ("m.lars",)
    done = larspark(folder, command, *program, *rest, "-s", "r.csv", *MAP)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def moment(minute: int) -> str:
    return f"2026-03-01T10:0{minute}:00Z"


def test_a_run_writes_the_timestamps_of_its_stream_in_every_format(folder: Path) -> None:
    assert lines(folder, "run") == [{"atom": "hot(m1)", "from": moment(1), "to": moment(4)}]
    assert lines(folder, "run", "--as", "changes") == [
        {"t": moment(1), "add": ["hot(m1)"], "del": []},
        {"t": moment(5), "add": [], "del": ["hot(m1)"]},
    ]
    points = lines(folder, "run", "--as", "points")
    assert [point["t"] for point in points] == [moment(minute) for minute in range(9)]
    assert lines(folder, "run", "--at", HOT_AT) == [{"t": moment(2), "atoms": ["hot(m1)"]}]
    narrowed = lines(folder, "run", "--as", "points", "--from", moment(1), "--to", moment(2))
    assert [point["t"] for point in narrowed] == [moment(1), moment(2)]
    pushed = lines(folder, "run", "--mode", "push", "--to", moment(1))
    assert [tick["t"] for tick in pushed] == [moment(0), moment(0), moment(1), moment(1)]


def test_times_and_the_time_zone_are_options(folder: Path) -> None:
    first = int(datetime(2026, 3, 1, 10, 1, tzinfo=UTC).timestamp()) // 60
    assert lines(folder, "run", "--times", "points") == [
        {"atom": "hot(m1)", "from": first, "to": first + 3}
    ]
    vienna = ("--timezone", "Europe/Vienna")
    [answer] = lines(folder, "run", "--at", "2026-03-01T11:02", *vienna)
    assert answer == {"t": "2026-03-01T11:02:00+01:00", "atoms": ["hot(m1)"]}
    done = larspark(folder, "run", "m.lars", "-s", "r.csv", *MAP, "--timezone", "Vienna")
    assert done.returncode == 1
    assert "there is no time zone `Vienna`" in done.stderr


def test_integers_stay_integers_unless_iso_is_asked_for(folder: Path) -> None:
    (folder / "r.csv").write_text("time,machine,value\n3,m1,95\n8,m1,1\n")
    assert lines(folder, "run") == [{"atom": "hot(m1)", "from": 3, "to": 6}]
    [answer] = lines(folder, "run", "--times", "iso")
    assert answer["from"] == "1970-01-01T00:03:00Z"
    assert lines(folder, "run", "--at", "1970-01-01T00:04Z") == [{"t": 4, "atoms": ["hot(m1)"]}]


def test_the_other_commands_write_timestamps_too(folder: Path) -> None:
    at = ("--at", HOT_AT)
    [model] = lines(folder, "models", *at)
    assert model["stream"] == {moment(2): ["hot(m1)"]}
    asked = "[3 min] @T temp(M, V), V > 90"
    assert lines(folder, "query", asked, "--tick", "1min", *at) == [
        {"T": moment(1), "M": "m1", "V": 95}
    ]
    each = lines(folder, "query", "[1 min] some temp(_, 95)", "--tick", "1min", "--at-each")
    assert [answer["t"] for answer in each] == [moment(1), moment(2)]
    proof = lines(folder, "explain", f"@{moment(2)} hot(m1)", *at)[0]
    assert (proof["at"], proof["until"]) == (moment(2), moment(4))
    assert proof["evidence"] == [f"@{moment(1)} temp(m1,95)"]
    near = lines(folder, "explain", "hot(m1)", "--at", moment(6))[0]
    assert f"was at {moment(1)}, two time points too early" in json.dumps(near)
    lanes = lines(folder, "show", "--view", moment(0), moment(3))
    assert lanes[-1]["intervals"] == [[moment(1), moment(3)]]
    possible = lines(folder, "hypothesize", "@T hot(m1)", "--at", moment(1))
    assert possible[0]["t"] == moment(1)
    assert possible[0]["evidence"] == [f"@{moment(1)} temp(m1,95)"]
    assert {answer["answer"]["T"] for answer in possible} >= {moment(1), moment(4)}


def test_a_wrong_time_is_wrong_usage(folder: Path) -> None:
    for option in ("--at", "--from", "--to", "--until"):
        done = larspark(folder, "run", "m.lars", "-s", "r.csv", *MAP, option, "noon")
        assert done.returncode == 2
        assert "neither a time point nor an ISO" in done.stderr
    done = larspark(folder, "run", "m.lars", "-s", "r.csv", *MAP, "--lateness", "-1")
    assert done.returncode == 2


@pytest.mark.parametrize("form", ["points", "intervals"])
def test_a_file_of_answers_is_a_stream_again(folder: Path, form: str) -> None:
    (folder / "again.lars").write_text("#tick 1 min. #input hot/1. warm(M) :- hot(M).")
    words = ("--as", form, "--timezone", "Asia/Kolkata", "--output", "hot.jsonl")
    assert lines(folder, "run", *words) == []
    done = larspark(folder, "run", "again.lars", "-s", "hot.jsonl")
    expected = {"atom": "warm(m1)", "from": moment(1), "to": moment(4)}
    assert [json.loads(line) for line in done.stdout.splitlines()] == [expected]


def test_a_live_run_says_its_time_points_as_timestamps(folder: Path) -> None:
    (folder / "r.jsonl").write_text(
        f'{{"t": "{moment(0)}", "atom": "temp(m1,95)"}}\n{{"t": "{moment(2)}"}}\n'
    )
    words = ("run", "m.lars", "-s", "r.jsonl", "--follow", "--to", moment(1))
    # A process of its own: live runs handle signals.
    done = subprocess.run(
        [Path(sys.executable).with_name("larspark"), *words, "--record", "kept.jsonl"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert [json.loads(line)["t"] for line in done.stdout.splitlines()] == [moment(0)]
    assert f"{moment(0)} to {moment(1)}" in done.stderr
    assert json.loads((folder / "kept.jsonl").read_text().splitlines()[0])["t"] == moment(0)


def test_the_clock_of_a_live_run_gives_timestamps_unless_it_is_counted() -> None:
    stamped = lp.LiveStream("-", clock=1_000_000)
    counted = lp.LiveStream("-", clock=1_000_000, start=0)
    assert stamped.timestamps
    assert not counted.timestamps


def test_python_takes_and_gives_timestamps() -> None:
    ten = datetime(2026, 3, 1, 10, tzinfo=UTC)
    reasoner = lp.Reasoner(PROGRAM)
    reasoner.append(ten, ["temp(m1,95)"])
    answers = list(reasoner.advance("2026-03-01T10:01Z"))
    assert [answer.t for answer in answers] == [ten, ten.replace(minute=1)]
    assert "hot(m1) at 2026-03-01T10:01:00Z" in str(reasoner.explain("hot(m1)"))
    assert reasoner.count(at=ten.replace(minute=2)) == 1
    stream = lp.Stream.of([(ten, "temp(m1,95)"), (ten.replace(minute=9), None)])
    [row] = lp.run(PROGRAM, stream).to_pylist()
    assert (row["from"], row["to"]) == (ten, ten.replace(minute=3))
    [found] = lp.query("temp(M, V)", stream.with_tick(60_000_000), at=ten)
    assert found == {"M": "m1", "V": 95}
    assert "2026-03-01 10:00 UTC" in str(lp.show(PROGRAM, stream, view=(ten, ten)))
    plain = lp.Reasoner(PROGRAM)
    plain.append(3, ["temp(m1,95)"])
    assert [answer.t for answer in plain.advance(4)] == [3, 4]


def test_a_recording_without_timestamps_is_of_integers(tmp_path: Path) -> None:
    with closing(OutputFile(tmp_path / "kept.jsonl")) as file:
        kept = Recording(file)
        kept.add(next(lp.Stream.of([(7, "p")]).batches()))
    assert (tmp_path / "kept.jsonl").read_text() == '{"t": 7, "atom": "p"}\n'


LOCAL = """time,machine,value
2026-03-29 01:30:10,m1,95
2026-03-29 03:10:00,m1,70
"""


def test_local_times_are_in_the_zone_that_is_named(folder: Path) -> None:
    (folder / "r.csv").write_text(LOCAL)
    (found,) = lines(folder, "run", "--timezone", "Europe/Vienna", "--to", "2026-03-29T03:20")
    assert found == {
        "atom": "hot(m1)",
        "from": "2026-03-29T01:30:00+01:00",
        "to": "2026-03-29T01:33:00+01:00",
    }
    at = ("--at", "2026-03-29T01:32", "--timezone", "Europe/Vienna")
    assert lines(folder, "query", "[3] some temp(M, V), V > 90", "--tick", "1min", *at)
    assert lines(folder, "run", *at)[0]["atoms"] == ["hot(m1)"]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("time", "told"),
    [("2026-03-29 02:30:00", "does not exist in"), ("2026-10-25 02:30:00", "occurs twice in")],
)
def test_local_times_that_clocks_leave_out_or_repeat_are_told(
    folder: Path, form: str, time: str, told: str
) -> None:
    row = {"time": time, "machine": "m1", "value": 95}
    text = ",".join(row) + "\n" + ",".join(map(str, row.values()))
    (folder / f"l.{form}").write_text((text if form == "csv" else json.dumps(row)) + "\n")
    words = ("run", "m.lars", "-s", f"l.{form}", *MAP, "--timezone", "Europe/Vienna")
    done = larspark(folder, *words)
    assert done.returncode == 1
    assert f"the time {time} {told} Europe/Vienna" in done.stderr
    skipped = larspark(folder, *words, "--on-error", "skip")
    assert skipped.returncode == 0
    assert "skipped 1 of 1 facts" in skipped.stderr


def test_tables_and_pairs_of_local_times_take_a_zone() -> None:
    moments = [datetime(2026, 7, 1, 12, 0, 30), datetime(2026, 7, 1, 12, 9)]
    table = pa.table({"time": moments, "machine": ["m1", "m1"], "value": [95, 70]})
    found = lp.run(PROGRAM, table, map=MAP[1], timezone="Europe/Vienna").to_pylist()
    assert [row["from"].isoformat() for row in found] == ["2026-07-01T12:00:00+02:00"]
    pairs = [("2026-07-01T12:00", "temp(m1,95)")]
    for stream in (
        lp.Stream.of(pairs, timezone="Europe/Vienna"),
        lp.Stream.merge(lp.Stream.of(pairs)).in_zone(ZoneInfo("Europe/Vienna")),
    ):
        (row,) = lp.run(PROGRAM, stream).to_pylist()
        assert row["from"] == datetime(2026, 7, 1, 10, tzinfo=UTC)


def test_a_live_run_reads_local_times(folder: Path) -> None:
    text = '{"t": "2026-07-01T12:00", "atom": "temp(m1,95)"}\n{"t": "2026-07-01T12:09"}\n'
    (folder / "live.jsonl").write_text(text)
    words = ("run", "m.lars", "-s", "live.jsonl", "--timezone", "Europe/Vienna")
    done = larspark(folder, *words, "--follow", "--to", "2026-07-01T12:06")
    assert json.loads(done.stdout.splitlines()[0])["t"] == "2026-07-01T12:00:00+02:00"
