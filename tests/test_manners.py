"""How the command line behaves towards a person: suggestions, notes, progress, no tracebacks."""

import io
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from tests.in_process import larspark
from typer.testing import CliRunner

import larspark as lp
from larspark import cli
from larspark.base.atoms import Signature
from larspark.base.disk import Disk
from larspark.cli import app
from larspark.show import terminal as progress
from larspark.show.run_notes import unmatched_notes
from larspark.show.terminal import StatusLine

LARSPARK = str(Path(sys.executable).with_name("larspark"))
PROGRAM = "hot(M) :- [3] some temp(M, V), V > 90.\n"
EVENTS = '{"t": 1, "atom": "temp(m1,95)"}\n{"t": 3}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plant.lars").write_text(PROGRAM)
    (tmp_path / "events.jsonl").write_text(EVENTS)
    return tmp_path


def at_a_terminal(folder: Path, *words: str) -> str:
    """What a person sees who runs this."""
    ours, theirs = pty.openpty()
    # A child that is not waited for keeps running when the terminal is full, so it is read first.
    child = subprocess.Popen(
        [LARSPARK, *words],
        cwd=folder,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 65536):
            seen += chunk
    except OSError:
        # The other end is closed: on Linux that is an error, not an end.
        pass
    os.close(ours)
    assert child.wait(timeout=300) == 0, seen
    return seen.decode()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("rum", "plant.lars"), "Did you mean 'run'?"),
        (("run", "plant.lars", "--streem", "events.jsonl"), "--stream"),
        (("run", "plan.lars", "-s", "events.jsonl"), "did you mean plant.lars?"),
        (("run", "plant.lars", "-s", "event.jsonl"), "did you mean events.jsonl?"),
        (("run", "plant.lars", "-s", "events.jsonl", "-b", "plent.lars"), "did you mean plant"),
        (("run", "there/plant.lars", "-s", "events.jsonl"), "the directory there does not exist"),
        (("run", "plant.lars", "-s", "events.jsonl", "-o", "no/where"), "cannot write no/where"),
        (("show", "-s", "events.jsonl", "--svg", "no/where"), "cannot write no/where"),
        (("show", "-s", "events.jsonl", "--view", "3", "1"), "--view takes the first"),
        (("show", "-s", "events.jsonl", "--at", "3"), "--at draws the windows of a program"),
    ],
)
def test_what_is_mistyped_or_missing_is_told(
    folder: Path, words: tuple[str, ...], told: str
) -> None:
    done = larspark(folder, *words)
    assert done.returncode in (1, 2)
    assert told in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_predicate_that_never_came_is_noted_when_another_did(folder: Path) -> None:
    (folder / "typo.lars").write_text(PROGRAM.replace("temp", "tempp"))
    done = larspark(folder, "run", "typo.lars", "-s", "events.jsonl", "--as", "changes")
    assert done.stderr == "note: there are no facts of `tempp/2`; the stream has `temp/2`\n"
    done = larspark(folder, "query", "[3] some tmp(M, V)", "-s", "events.jsonl", "--at", "3")
    assert done.stderr == "note: there are no facts of `tmp/2`; the stream has `temp/2`\n"
    done = larspark(folder, "run", "plant.lars", "-s", "events.jsonl", "--as", "changes")
    assert done.stderr == ""


def test_notes_are_made_only_where_something_was_probably_meant() -> None:
    temp, tmp, door = Signature("temp", 2), Signature("tmp", 2), Signature("door", 1)
    assert unmatched_notes({temp, door}, {temp}) == []
    assert unmatched_notes({temp, door}, {temp, tmp}) == []
    assert unmatched_notes({temp}, {door}) == [
        "the program reads `temp/2`, of which there are no facts; the stream has `door/1`"
    ]
    assert unmatched_notes({temp}, set()) == ["the stream has no facts"]
    assert unmatched_notes(set(), set()) == []


def test_a_join_of_numbers_with_texts_is_noted(folder: Path) -> None:
    (folder / "join.lars").write_text(
        "hot(M) :- temp(M, V), limit(M, L), V > L. far(N) :- temp(M, _), site(M, N)."
    )
    (folder / "limits.csv").write_text("id,limit\n7,90\n8,95\n")
    (folder / "sites.lars").write_text("site(m, north).")
    (folder / "ids.jsonl").write_text('{"t": 1, "atom": "temp(\\"7\\",99)"}\n')
    words = ("run", "join.lars", "-s", "ids.jsonl", "-b", "sites.lars", "-b")
    note = (
        'note: `M` joins numbers of `limit/2`, such as 7, with texts of `temp/2`, such as "7", '
        "which are never equal; a mapping gives a column a type: `text(...)`, `number(...)`\n"
    )
    (folder / "one.csv").write_text("id,limit\n7,90\n")
    done = larspark(folder, *words, "limit(id, limit)=one.csv")
    assert note in done.stderr
    typed = larspark(folder, *words, "limit(text(id), limit)=limits.csv")
    assert "never equal" not in typed.stderr
    assert '"hot(\\"7\\")"' in typed.stdout
    with pytest.warns(UserWarning, match="`M` joins numbers of `limit/2`, such as 7"):
        lp.run(
            lp.Program.load(folder / "join.lars"),
            lp.Stream.read(folder / "ids.jsonl"),
            background=["limit(7,90)"],
        )


def test_a_run_warns_once_of_what_check_warns_of(folder: Path) -> None:
    (folder / "back.lars").write_text(
        "hot(M) :- [3] some temp(M, V), V > 90.\nalarm(M) :- [2] always hot(M).\n"
    )
    done = larspark(folder, "run", "back.lars", "-s", "events.jsonl")
    assert done.stderr.count("warning L227") == 1
    assert "#remember hot/1" in done.stderr


def test_a_run_without_facts_says_so(folder: Path) -> None:
    (folder / "empty.jsonl").write_text("")
    (folder / "header.csv").write_text("minute,machine,value\n")
    for words in (
        ["empty.jsonl"],
        ["header.csv", "--map", "minute -> temp(machine, value)"],
    ):
        done = larspark(folder, "run", "plant.lars", "-s", *words)
        assert "note: the stream has no facts\n" in done.stderr


def test_a_run_without_answers_says_so(folder: Path) -> None:
    (folder / "cold.lars").write_text("cold(M) :- temp(M, V), V < -100.\n")
    note = "note: there are no answers; `larspark explain` says what an atom lacks\n"
    for form in ("intervals", "changes"):
        done = larspark(folder, "run", "cold.lars", "-s", "events.jsonl", "--as", form)
        assert (done.stdout, done.stderr) == ("", note)
    points = larspark(folder, "run", "cold.lars", "-s", "events.jsonl", "--as", "points")
    assert points.stdout
    assert points.stderr == ""


def test_a_run_reports_comparisons_of_numbers_with_texts_and_arithmetic_without_values(
    folder: Path,
) -> None:
    (folder / "mixed.lars").write_text(
        "hot(M) :- temp(M, V), V > 90.\nper(M, V / Z) :- temp(M, V), zero(Z).\nzero(0).\n"
    )
    readings = ['{"t": 1, "predicate": "temp", "args": ["m1", "ERR"]}\n'] * 1
    readings += [f'{{"t": {t}, "atom": "temp(m1, {90 + t})"}}\n' for t in (2, 3)]
    readings += ['{"t": 4, "predicate": "temp", "args": ["m1", "n/a"]}\n']
    (folder / "mixed.jsonl").write_text("".join(readings))
    done = larspark(folder, "run", "mixed.lars", "-s", "mixed.jsonl", "--as", "intervals")
    assert done.stdout == '{"atom": "hot(m1)", "from": 2, "to": 3}\n'
    assert done.stderr.splitlines() == [
        'note: a number was compared with a text 2 times, such as `"ERR" > 90`: there is no order '
        "between them, so the comparison does not hold",
        "note: mixed.lars:2: `V / Z` had no value all 4 times it was needed: a division by zero, "
        "a text in arithmetic, or a number beyond 64 bits",
    ]


def test_an_output_named_like_a_table_is_noted(folder: Path) -> None:
    words = ("run", "plant.lars", "-s", "events.jsonl", "--output", "out.csv")
    assert "note: out.csv gets JSON Lines" in larspark(folder, *words).stderr
    assert (folder / "out.csv").read_text().startswith("{")


@pytest.mark.parametrize("engine", ["tms", "oracle"])
def test_other_engines_report_comparisons_of_numbers_with_texts(folder: Path, engine: str) -> None:
    (folder / "over.lars").write_text("hot(M) :- temp(M, V), V > 90.\n")
    (folder / "bad.jsonl").write_text('{"t": 1, "predicate": "temp", "args": ["m1", "ERR"]}\n')
    done = larspark(folder, "run", "over.lars", "-s", "bad.jsonl", "-e", engine)
    assert 'a number was compared with a text once, such as `"ERR" > 90`' in done.stderr


def test_an_unquoted_name_with_a_capital_letter_proposes_quotes(folder: Path) -> None:
    words = ("plant.lars", "hot(Vienna)", "-s", "events.jsonl", "--at", "3")
    assert 'write `"Vienna"` if the text is meant' in larspark(folder, "explain", *words).stderr
    done = larspark(folder, "query", "temp(Vienna, 1000)", "-s", "events.jsonl", "--at", "3")
    assert 'note: `Vienna` is a variable; write `"Vienna"` if the text is meant' in done.stderr


def test_a_live_fact_without_a_time_names_the_clock(folder: Path) -> None:
    (folder / "untimed.jsonl").write_text('{"atom": "temp(m1,95)"}\n')
    words = ("-s", "untimed.jsonl", "--follow", "--to", "3", "--on-error", "fail")
    done = larspark(folder, "run", "plant.lars", *words)
    assert "`--clock 1s` takes the time of arrival" in done.stderr


def test_the_first_line_that_a_live_run_skips_is_reported_at_once(folder: Path) -> None:
    lines = '{"atom": "temp(m1,95)"}\n{"t": 1, "atom": "temp(m1"}\n{"t": 4}\n'
    (folder / "partly.jsonl").write_text(lines)
    done = larspark(folder, "run", "plant.lars", "-s", "partly.jsonl", "--follow", "--to", "3")
    at_once, _, at_the_end = done.stderr.partition("the number of skipped lines follows at the end")
    assert "the key `t` is missing" in at_once
    assert "partly.jsonl:2" not in at_once
    assert "skipped 2 of 2 facts" in at_the_end


def test_check_speaks_plainly_unless_asked_for_everything(folder: Path) -> None:
    (folder / "plain.lars").write_text(
        "#tick 1 min.\nhot(M) :- [3 min] some temp(M, V), V > 90, site(M).\nsite(m1).\n"
    )
    seen = at_a_terminal(folder, "check", "plain.lars").replace("\r", "").splitlines()
    assert seen == [
        "engine          interval, the fastest one, as there is one answer at every time point",
        "looks back      3 min: 3 time points",
        "reads           temp/2",
        "background      site/1",
        "derives         hot/1",
    ]
    everything = at_a_terminal(folder, "check", "plain.lars", "--verbose")
    assert "partition key" in everything
    assert "strata" in everything


def test_a_terminal_is_not_steered_by_a_stream(folder: Path) -> None:
    (folder / "evil.jsonl").write_text('{"t": 1, "predicate": "temp", "args": ["\\u001b[2J", 99]}')
    for words in (
        ("run", "plant.lars", "-s", "evil.jsonl"),
        ("show", "plant.lars", "-s", "evil.jsonl"),
    ):
        seen = at_a_terminal(folder, *words)
        assert "\x1b[2J" not in seen
        assert "�[2J" in seen, words


@pytest.mark.parametrize("person", [True, False])
def test_a_long_run_shows_how_far_it_is_but_only_to_a_person(
    person: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Console(file=io.StringIO(), force_terminal=person, width=100, highlight=False)
    monkeypatch.setattr(progress, "SHORT", -1)
    stream = lp.Stream.read(folder / "events.jsonl", batch_size=1)
    line = StatusLine(terminal)
    with progress.reading_progress(stream, stream.batches(), line) as batches:
        assert sum(len(batch) for batch in batches) == 1
    shown = terminal.file.getvalue()
    assert ("1 facts" in shown and "t 3" in shown) == person
    assert bool(shown) == person
    assert stream.share == 1.0


def test_a_person_never_sees_a_traceback_unless_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise ValueError("the cat sat on it")

    monkeypatch.setattr(cli, "app", broken)
    monkeypatch.setattr(sys, "argv", ["larspark", "run"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 3
    told = capsys.readouterr().err
    assert "unexpected error: ValueError: the cat sat on it" in told
    assert "Traceback" not in told
    monkeypatch.setattr(sys, "argv", ["larspark", "run", "--debug"])
    with pytest.raises(ValueError, match="the cat"):
        cli.main()


def test_every_command_has_a_help_text_with_an_example() -> None:
    for command in app.registered_commands:
        assert command.short_help, command.name
        assert "Example: " in str(command.epilog), command.name


@pytest.mark.parametrize("command", ["explain", "hypothesize"])
def test_skipped_lines_are_told_by_questions_too(command: str, tmp_path: Path) -> None:
    (tmp_path / "p.lars").write_text("hot(M) :- temp(M, V), V > 90.")
    (tmp_path / "s.jsonl").write_text('{"t": 1, "atom": "temp(m1,95)"}\nrubbish\n')
    question = "hot(m1)" if command == "explain" else "@T hot(M)"
    words = [command, str(tmp_path / "p.lars"), question, "-s", str(tmp_path / "s.jsonl")]
    result = CliRunner().invoke(app, [*words, "--at", "1", "--on-error", "skip"])
    assert "skipped 1 of 2 facts" in result.stderr


def test_markup_and_emoji_codes_in_user_text_are_shown_as_they_are(folder: Path) -> None:
    (folder / "plant.lars").write_text('hot("[bold]:smile:[/]", M) :- [3] some temp(M, V).\n')
    (folder / "events.jsonl").write_text('{"t": 1, "atom": "temp(\\":heart:[red]\\", 1)"}\n')
    seen = at_a_terminal(folder, "run", "plant.lars", "-s", "events.jsonl")
    assert 'hot("[bold]:smile:[/]",":heart:[red]")' in seen
    done = larspark(folder, "run", "plant.lars", "-s", ":smile:[red].jsonl")
    assert "there is no file :smile:[red].jsonl" in done.stderr


@pytest.mark.parametrize(
    "words", [("run", "plant.lars", "-s", "many.jsonl"), ("check", "plant.lars")]
)
def test_a_full_disk_is_told(folder: Path, words: tuple[str, ...]) -> None:
    (folder / "many.jsonl").write_text(MANY)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [LARSPARK, *words],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
    assert done.returncode == 1
    assert done.stderr == "error L324: cannot write standard output: No space left on device\n"
    if words[0] == "run":
        done = subprocess.run(
            [LARSPARK, *words, "-o", "/dev/full"], cwd=folder, capture_output=True, text=True
        )
        assert done.returncode == 1
        assert done.stderr == "error L324: cannot write /dev/full: No space left on device\n"


MANY = "".join(f'{{"t": {t}, "atom": "temp(m,95)"}}\n' for t in range(20_000))


def test_a_reader_that_leaves_as_head_does_ends_a_run_in_peace(folder: Path) -> None:
    (folder / "many.jsonl").write_text(MANY)
    run = subprocess.Popen(
        [LARSPARK, "run", "plant.lars", "-s", "many.jsonl", "--as", "points"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None
    assert run.stderr is not None
    assert run.stdout.readline() == '{"t": 0, "atoms": ["hot(m)"]}\n'
    run.stdout.close()
    assert run.wait(120) == 0
    assert run.stderr.read() == ""


# It has no answer stream, and finding that out takes the solver years.
PIGEONS = """
in(P, H) or out(P, H) :- pigeon(P), hole(H).
some_hole(P) :- in(P, H).
:- pigeon(P), not some_hole(P).
:- in(P, H), in(Q, H), P < Q.
"""


def test_ctrl_c_ends_a_long_search_at_once(folder: Path) -> None:
    holes = " ".join(f"hole({n})." for n in range(14)) + " ".join(
        f"pigeon({n})." for n in range(15)
    )
    (folder / "hard.lars").write_text(holes + PIGEONS)
    for words in (("models", "hard.lars", "--at", "1"), ("run", "hard.lars")):
        run = subprocess.Popen([LARSPARK, *words, "-s", "events.jsonl"], cwd=folder)
        with pytest.raises(subprocess.TimeoutExpired):
            run.wait(8)
        run.send_signal(signal.SIGINT)
        assert run.wait(120) != 0


def test_a_state_is_saved_past_a_planted_link_and_as_a_whole(folder: Path) -> None:
    reasoner = lp.Reasoner(PROGRAM)
    target = folder / "treasure"
    target.write_text("gold")
    (folder / "state.bin").symlink_to(target)
    (folder / ".state.bin.writing").symlink_to(target)
    reasoner.save(folder / "state.bin")
    assert target.read_text() == "gold"
    assert not (folder / "state.bin").is_symlink()
    lp.Reasoner.restore(folder / "state.bin", PROGRAM)
    before = (folder / "state.bin").read_bytes()
    folder.chmod(0o700)

    class FullDisk(Disk):
        def write(self, descriptor: int, data: bytes | memoryview) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        FullDisk().replace(folder / "state.bin", b"new")
    assert (folder / "state.bin").read_bytes() == before
    assert [path.name for path in folder.glob(".*")] == [".state.bin.writing"]


JOIN = """pair(X, Y) :- [3] some p(X), [3] some p(Y).
triple(X, Z) :- pair(X, Y), pair(Y, Z).
"""


@pytest.mark.parametrize(
    ("option", "why"),
    [
        (("--max-memory", "600MiB"), "the run takes"),
        (("--time-limit", "2"), "an evaluation takes more than 2 s, and the limit is"),
        (("--max-rows", "1000"), "and the limit is --max-rows 1000"),
        (("--max-rows", "3", "--engine", "tms"), "and the limit is --max-rows 3"),
    ],
)
def test_a_run_that_takes_too_much_ends_with_an_error(
    folder: Path, option: tuple[str, ...], why: str
) -> None:
    (folder / "join.lars").write_text(JOIN)
    small = "--max-rows" in option
    facts = (f'{{"t": 1, "atom": "p({n})"}}\n' for n in range(40 if small else 3000))
    (folder / "many.jsonl").write_text("".join(facts))
    words = ("run", "join.lars", "-s", "many.jsonl", *option)
    done = subprocess.run([LARSPARK, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1, done
    assert "error L431" in done.stderr
    assert why in done.stderr
    assert "Traceback" not in done.stderr


def test_an_answer_at_every_time_point_is_refused_where_there_are_too_many(folder: Path) -> None:
    lines = [f'{{"t": {t}, "atom": "p(1)"}}\n' for t in (1, 10**12)]
    (folder / "far.jsonl").write_text("".join(lines))
    (folder / "far.lars").write_text("q(X) :- [3] some p(X).\n")
    words = ("run", "far.lars", "-s", "far.jsonl")
    done = larspark(folder, *words, "--as", "points")
    assert done.returncode == 1
    assert "error L432: the stream jumps from 1 to 999999999999" in done.stderr
    assert larspark(folder, *words).returncode == 0


def test_a_run_does_not_load_pandas(folder: Path) -> None:
    words = ["larspark", "run", "plant.lars", "--stream", "events.jsonl", "--json"]
    code = f"import sys; sys.argv = {words}; from larspark.cli import start; start()"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == '{"atom": "hot(m1)", "from": 1, "to": 3}\n'
    assert "pyarrow.lib" in done.stderr
    assert "pandas.core" not in done.stderr
