"""The command line: what goes where, and how it ends."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

LARSPARK = Path(sys.executable).with_name("larspark")

PROGRAM = """hot(M) :- [3] some temp(M, V), V > 90.
alarm(M) :- hot(M), not [5] some serviced(M).
"""
EVENTS = """{"t": 1, "atom": "temp(m1,95)"}
{"t": 2, "atoms": ["temp(m2,50)", "serviced(m1)"]}
{"t": 3}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.lars").write_text(PROGRAM)
    (tmp_path / "e.jsonl").write_text(EVENTS)
    return tmp_path


POINTS = ("--as", "points")


def larspark(folder: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LARSPARK, *words], cwd=folder, capture_output=True, text=True, input=stdin, timeout=60
    )


def test_a_pipe_gets_a_line_for_every_time_point(folder: Path) -> None:
    done = larspark(folder, "run", "m.lars", "--stream", "e.jsonl", "--as", "points")
    assert done.stdout.splitlines() == [
        '{"t": 1, "atoms": ["alarm(m1)", "hot(m1)"]}',
        '{"t": 2, "atoms": ["hot(m1)"]}',
        '{"t": 3, "atoms": ["hot(m1)"]}',
    ]
    assert (done.returncode, done.stderr) == (0, "")


def test_without_a_format_a_stream_that_ends_gives_intervals_and_a_live_one_changes(
    folder: Path,
) -> None:
    intervals = [
        '{"atom": "alarm(m1)", "from": 1, "to": 1}',
        '{"atom": "hot(m1)", "from": 1, "to": 3}',
    ]
    done = larspark(folder, "run", "m.lars", "-s", "e.jsonl")
    assert done.stdout.splitlines() == intervals
    changes = [
        '{"t": 1, "add": ["alarm(m1)", "hot(m1)"], "del": []}',
        '{"t": 2, "add": [], "del": ["alarm(m1)"]}',
    ]
    done = larspark(folder, "run", "m.lars", "-s", "-", stdin=EVENTS)
    assert done.stdout.splitlines() == changes
    done = larspark(folder, "run", "m.lars", "-s", "e.jsonl", "--follow", "--to", "2")
    assert done.stdout.splitlines() == changes
    done = larspark(folder, "run", "m.lars", "-s", "e.jsonl", "--every", "2 time")
    assert [json.loads(line)["t"] for line in done.stdout.splitlines()] == [2]


def test_a_stream_may_come_from_standard_input_and_answers_go_to_a_file(folder: Path) -> None:
    words = ("run", "m.lars", "-s", "-", "--as", "changes", "--output", "out.jsonl")
    done = larspark(folder, *words, stdin=EVENTS)
    assert (done.returncode, done.stdout) == (0, "")
    assert (folder / "out.jsonl").read_text().splitlines() == [
        '{"t": 1, "add": ["alarm(m1)", "hot(m1)"], "del": []}',
        '{"t": 2, "add": [], "del": ["alarm(m1)"]}',
    ]


def test_from_to_and_at_choose_the_time_points(folder: Path) -> None:
    done = larspark(folder, "run", "m.lars", "-s", "e.jsonl", "--from", "2", "--to", "5", *POINTS)
    assert [json.loads(line)["t"] for line in done.stdout.splitlines()] == [2, 3, 4, 5]
    done = larspark(folder, "run", "m.lars", "-s", "e.jsonl", "--at", "2")
    assert done.stdout == '{"t": 2, "atoms": ["hot(m1)"]}\n'


def test_push_mode_answers_every_tick_with_its_count(folder: Path) -> None:
    done = larspark(folder, "run", "m.lars", "-s", "e.jsonl", "--mode", "push")
    ticks = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(tick["t"], tick["c"]) for tick in ticks] == [
        (1, 0),
        (1, 1),
        (2, 1),
        (2, 2),
        (2, 3),
        (3, 3),
    ]
    assert [len(tick["atoms"]) for tick in ticks] == [0, 2, 2, 2, 1, 1]


def test_bad_input_ends_with_1_and_every_problem_on_standard_error(folder: Path) -> None:
    (folder / "wrong.lars").write_text("a(X) :- b(Y.\nc(X) :- d(X)\n")
    done = larspark(folder, "check", "wrong.lars")
    assert done.returncode == 1
    assert done.stderr.count("error L1") == 2
    assert "Traceback" not in done.stderr
    assert len(json.loads(done.stdout)["errors"]) == 2


def test_a_bad_line_is_fatal_or_skipped_as_the_user_chooses(folder: Path) -> None:
    (folder / "bad.jsonl").write_text(EVENTS.replace('{"t": 3}', 'nonsense\n{"t": 3}'))
    done = larspark(folder, "run", "m.lars", "-s", "bad.jsonl")
    assert done.returncode == 1
    assert "bad.jsonl:3:" in done.stderr
    done = larspark(folder, "run", "m.lars", "-s", "bad.jsonl", "--on-error", "skip")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 2
    assert "skipped 1" in done.stderr


def test_ordinary_json_and_csv_are_mapped_and_a_format_overrides_the_suffix(folder: Path) -> None:
    objects = '{"time": 1, "sensor": {"id": "a"}, "value": 95}\n'
    (folder / "readings.txt").write_text(objects)
    (folder / "readings.dat").write_text("time;sensor;value\n1;a;95\n")
    (folder / "hot.lars").write_text("hot(S) :- temp(S, V), V > 90.\n")
    words = ("run", "hot.lars", "--as", "changes", "--json")
    for more in (
        ("-s", "readings.txt", "--format", "jsonl", "--map", "time -> temp(sensor.id, value)"),
        ("-s", "readings.dat", "--format", "csv", "--map", "time -> temp(sensor, value)"),
    ):
        done = larspark(folder, *words, *more)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["add"] == ["hot(a)"]
    done = larspark(folder, *words, "-s", "readings.txt", "--format", "xlsx")
    assert done.returncode == 1
    assert "unknown format `xlsx`" in done.stderr


def test_decisions_about_the_input_are_told_on_standard_error(folder: Path) -> None:
    (folder / "ids.csv").write_text("time,sensor,value\n1,007,95\n1,12,91\n")
    (folder / "hot.lars").write_text("hot(S) :- temp(S, V), V > 90.\n")
    words = ("run", "hot.lars", "-s", "ids.csv", "--as", "changes", "--json", "--map")
    done = larspark(folder, *words, "time -> temp(sensor, value)")
    assert json.loads(done.stdout)["add"] == ['hot("007")', 'hot("12")']
    assert 'ids.csv:2:1: warning L326: column `sensor` is read as text, because it holds "007"' in (
        done.stderr
    )
    told = larspark(folder, *words, "time -> temp(text(sensor), value)")
    assert told.stdout == done.stdout
    assert told.stderr == ""


def test_wrong_usage_ends_with_2(folder: Path) -> None:
    for words in (("run", "m.lars"), ("query", "p", "-s", "e.jsonl"), ("rum", "m.lars")):
        done = larspark(folder, *words)
        assert done.returncode == 2, words
        assert "Traceback" not in done.stderr


def test_models_are_numbered_and_their_absence_is_said(folder: Path) -> None:
    (folder / "choice.lars").write_text("a :- p, not b. b :- p, not a.\n")
    (folder / "p.jsonl").write_text('{"t": 7, "atom": "p"}\n')
    done = larspark(folder, "models", "choice.lars", "-s", "p.jsonl", "--at", "7")
    assert done.stdout.splitlines() == [
        '{"model": 1, "stream": {"7": ["a"]}}',
        '{"model": 2, "stream": {"7": ["b"]}}',
    ]
    done = larspark(folder, "models", "choice.lars", "-s", "p.jsonl", "--at", "7", "--limit", "1")
    assert len(done.stdout.splitlines()) == 1
    (folder / "none.lars").write_text("a :- p, not a.\n")
    done = larspark(folder, "models", "none.lars", "-s", "p.jsonl", "--at", "7")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no answer stream at 7" in done.stderr
    done = larspark(folder, "run", "none.lars", "-s", "p.jsonl", *POINTS)
    assert done.stdout == '{"t": 7, "atoms": null, "inconsistent": true}\n'
    for form in ("intervals", "changes"):
        done = larspark(folder, "run", "none.lars", "-s", "p.jsonl", "--as", form)
        assert done.stdout == ""
        said = "note: there is no answer stream at 1 time point, the first is 7\n"
        assert done.stderr.startswith(said)


def test_a_query_gives_substitutions_a_yes_or_nothing(folder: Path) -> None:
    def ask(formula: str, *words: str) -> str:
        return larspark(folder, "query", formula, "-s", "e.jsonl", *words).stdout

    assert ask("[1] some temp(M, V)", "--at", "2") == (
        '{"M": "m1", "V": 95}\n{"M": "m2", "V": 50}\n'
    )
    assert ask("[1] some temp(m1, 95)", "--at", "2") == "{}\n"
    assert ask("[1] some temp(m1, 95)", "--at", "3") == ""
    assert ask("temp(M, _)", "--at-each") == '{"t": 1, "M": "m1"}\n{"t": 2, "M": "m2"}\n'


def test_background_data_comes_from_files_and_options(folder: Path) -> None:
    (folder / "line.csv").write_text("m1,north\nm2,south\n")
    (folder / "b.lars").write_text("where(M, L) :- [9] some temp(M, _), line(M, L).\n")
    done = larspark(folder, "run", "b.lars", "-s", "e.jsonl", "-b", "line.csv", "--at", "2")
    assert done.stdout == '{"t": 2, "atoms": ["where(m1,north)", "where(m2,south)"]}\n'
    text = (folder / "b.lars").read_text()
    (folder / "b.lars").write_text('#background "line.csv" as line/2.\n' + text)
    assert larspark(folder, "run", "b.lars", "-s", "e.jsonl", "--at", "2").stdout == done.stdout


def test_tables_are_mapped_to_atoms(folder: Path) -> None:
    (folder / "t.csv").write_text("time,machine,value\n1,m1,95\n2,m2,50\n")
    words = ("run", "m.lars", "-s", "t.csv", "--map", "time -> temp(machine, value)", "--at", "2")
    assert larspark(folder, *words).stdout == '{"t": 2, "atoms": ["alarm(m1)", "hot(m1)"]}\n'


def test_an_answer_is_explained(folder: Path) -> None:
    words = ("explain", "m.lars", "alarm(m1)", "-s", "e.jsonl", "--at", "1")
    proof = json.loads(larspark(folder, *words, "--svg", "proof.svg").stdout)
    assert proof["holds"] is True
    assert proof["evidence"] == ["@1 temp(m1,95)"]
    assert (folder / "proof.svg").read_text().startswith("<svg")
    words = ("explain", "m.lars", "alarm(m1)", "-s", "e.jsonl", "--at", "2", "--why-not")
    assert json.loads(larspark(folder, *words).stdout)["holds"] is False


def test_what_may_become_true_is_told_with_what_is_missing(folder: Path) -> None:
    (folder / "h.lars").write_text("@T+2 alarm(M) :- @T hot(M), @T+1 hot(M), @T+2 hot(M).\n")
    (folder / "h.jsonl").write_text('{"t": 0, "atom": "hot(m1)"}\n{"t": 1, "atom": "hot(m1)"}\n')
    done = larspark(folder, "hypothesize", "h.lars", "@T alarm(M)", "-s", "h.jsonl", "--at", "1")
    first = json.loads(done.stdout.splitlines()[0])
    assert first["answer"] == {"T": 2, "M": "m1"}
    assert first["evidence"] == ["@0 hot(m1)", "@1 hot(m1)"]
    assert first["hypotheses"] == ["@2 hot(m1)"]


def test_the_version_is_told(folder: Path) -> None:
    assert larspark(folder, "--version").stdout.startswith("larspark ")


def test_the_last_line_of_a_run_says_how_many_facts_were_merged(folder: Path) -> None:
    stamps = ["12:00:01", "12:00:20", "12:00:40", "12:01:02"]
    lines = [f'{{"at": "2026-03-01T{stamp}", "user": "u1"}}\n' for stamp in stamps]
    (folder / "logins.jsonl").write_text("".join(lines))
    (folder / "logins.lars").write_text("#tick 1 min.\nseen(U) :- login(U).\n")
    words = ("run", "logins.lars", "-s", "logins.jsonl", "--map", "at -> login(user)")
    done = larspark(folder, *words, "--as", "changes")
    assert done.stderr.splitlines()[-1] == (
        "note: 2 facts equal another one at the same time point; equal facts count once"
    )


def test_background_tables_take_names_and_types_of_columns(folder: Path) -> None:
    (folder / "sites.csv").write_text("id,place,limit\n7,Vienna,90\n")
    (folder / "p.lars").write_text("near(S, L) :- site(S, L).")
    (folder / "s.jsonl").write_text('{"t": 1}\n')
    words = ("run", "p.lars", "--stream", "s.jsonl", "--background")
    done = larspark(folder, *words, "site(text(id), limit)=sites.csv")
    assert json.loads(done.stdout)["atom"] == 'near("7",90)'
    wrong = larspark(folder, *words, "site=sites.csv")
    assert "or with its columns: `--background 'site(id, name)=FILE'`" in wrong.stderr
