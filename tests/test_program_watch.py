"""Live runs whose program changes while they run, or while they are dead."""

import json
import signal
import time
from pathlib import Path
from subprocess import Popen

import pytest
from tests.in_process import larspark
from tests.test_durable import LARSPARK

OLD = "hot(M) :- [3] some temp(M, V), V > 90.\n"
NEW = "hot(M) :- [3] some temp(M, V), V > 80.\ntwice(M) :- hot(M), [2] always temp(M, _).\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.lars").write_text('#include "rules.lars".\n')
    (tmp_path / "rules.lars").write_text(OLD)
    (tmp_path / "s.jsonl").touch()
    return tmp_path


def start(folder: Path, *words: str) -> Popen[bytes]:
    command = [LARSPARK, "run", "m.lars", "--stream", "s.jsonl", "--follow", "--watch-program"]
    with (folder / "err").open("ab") as err:
        return Popen([*command, "-o", "out", *words], cwd=folder, stderr=err)


def wait_for(folder: Path, name: str, text: str, run: Popen[bytes], times: int = 1) -> None:
    while not (folder / name).exists() or (folder / name).read_text().count(text) < times:
        assert run.poll() is None, (folder / "err").read_text()
        time.sleep(0.02)


def feed(folder: Path, t: int, *atoms: str) -> None:
    with (folder / "s.jsonl").open("a") as file:
        file.writelines(f'{{"t": {t}, "atom": "{atom}"}}\n' for atom in atoms)


def lines(folder: Path, name: str = "out") -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def answers_alone(folder: Path, program: str, *words: str) -> list[dict[str, object]]:
    """What a program says over the whole stream."""
    (folder / "alone.lars").write_text(program)
    done = larspark(folder, "run", "alone.lars", "-s", "s.jsonl", "--as", "points", *words)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_changed_program_takes_over_and_a_wrong_one_does_not(folder: Path) -> None:
    feed(folder, 1, "temp(a,95)", "temp(b,85)")
    feed(folder, 2, "temp(a,70)", "temp(b,70)")
    feed(folder, 3, "temp(a,70)", "temp(b,70)")
    run = start(folder, "--as", "points")
    wait_for(folder, "out", '"t": 2', run)
    (folder / "rules.lars").write_text("hot(M) :- temp(M, .\n")
    wait_for(folder, "err", "rules.lars:1:15: error L106", run)
    feed(folder, 4, "temp(c,85)")
    wait_for(folder, "out", '"t": 3', run)
    (folder / "rules.lars").write_text(NEW)
    wait_for(folder, "err", "new rules hold after time point 3", run)
    feed(folder, 5, "temp(c,85)")
    feed(folder, 6, "temp(c,85)")
    feed(folder, 7, "temp(c,85)")
    wait_for(folder, "out", '"t": 6', run)
    run.send_signal(signal.SIGHUP)
    wait_for(folder, "err", "the same as before", run)
    # What cannot change while a run goes on.
    (folder / "rules.lars").write_text("#tick 1 min.\n" + NEW)
    wait_for(folder, "err", "error L433: the `#tick` of a program cannot change", run)
    run.send_signal(signal.SIGINT)
    assert run.wait(300) == 0
    found = lines(folder)
    [marked] = (line for line in found if "rules" in line)
    assert marked["t"] == 4
    more = ["hot(b)", "twice(a)", "twice(b)"]
    assert marked.pop("rules") == {"t": 3, "add": more, "del": []}
    old, new = (answers_alone(folder, program) for program in (OLD, NEW))
    assert found == old[:3] + new[3:]


def test_a_run_with_a_state_goes_on_with_the_rules_that_were_changed_meanwhile(
    folder: Path,
) -> None:
    words = ("--state", "S", "--commit-every", "1ms")
    feed(folder, 1, "temp(a,95)", "temp(b,85)")
    feed(folder, 2, "temp(a,70)", "temp(b,70)")
    run = start(folder, *words)
    wait_for(folder, "out", '"t": 1', run)
    run.send_signal(signal.SIGTERM)
    assert run.wait(300) == 0
    (folder / "rules.lars").write_text(NEW)
    refused = ("run", "m.lars", "-s", "s.jsonl", "--follow", "-o", "out", "--state", "S")
    assert "belongs to another program" in larspark(folder, *refused).stderr
    run = start(folder, *words)
    wait_for(folder, "err", "new rules hold after time point 1; 3 more and 0 fewer", run)
    # Killed before the new rules have answered anything, and changed again.
    wait_for(folder, "S/lock", "", run)
    run.kill()
    run.wait()
    run = start(folder, *words)
    feed(folder, 3, "temp(a,70)", "temp(b,70)", "temp(c,95)")
    feed(folder, 4, "temp(a,70)")
    wait_for(folder, "out", '"t": 3', run)
    (folder / "rules.lars").write_text(OLD)
    wait_for(folder, "err", "new rules hold after time point 3", run)
    feed(folder, 9, "temp(z,1)")
    wait_for(folder, "out", '"t": 7', run)
    run.send_signal(signal.SIGINT)
    assert run.wait(300) == 0
    more = ["hot(b)", "twice(a)", "twice(b)"]
    assert lines(folder) == [
        {"t": 1, "add": ["hot(a)"], "del": []},
        {"t": 2, "add": more, "del": [], "rules": {"t": 1, "add": more, "del": []}},
        {"t": 3, "add": ["hot(c)"], "del": []},
        {"t": 4, "add": [], "del": more, "rules": {"t": 3, "add": [], "del": more}},
        {"t": 5, "add": [], "del": ["hot(a)"]},
        {"t": 7, "add": [], "del": ["hot(c)"]},
    ]


def test_facts_that_are_not_kept_are_told_by_rule(folder: Path) -> None:
    run = start(folder, "--keep", "4", "--as", "points")
    for t in range(1, 12):
        feed(folder, t, "temp(a,95)")
        # Facts that are read together are kept together.
        wait_for(folder, "out", "\n", run, times=t - 1)
    (folder / "rules.lars").write_text(OLD + "long(M) :- [9] always temp(M, _).\n")
    wait_for(folder, "err", "new rules hold", run)
    run.send_signal(signal.SIGINT)
    assert run.wait(300) == 0
    told = (folder / "err").read_text()
    assert "they see the facts from 5 on: line 2, " in told
    assert "answered 11 time points, 1 to 11" in told
    assert "`long(M) :- [9] always temp(M, _).`: it looks for `temp(M,_)` further back" in told


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--keep", "3", "--follow"), "--keep goes with --watch-program"),
        (("--watch-program",), "--watch-program is for live runs"),
        (("--watch-program", "--follow", "--mode", "push"), "--watch-program excludes"),
    ],
)
def test_options_that_do_not_go_together(folder: Path, words: tuple[str, ...], why: str) -> None:
    done = larspark(folder, "run", "m.lars", "-s", "s.jsonl", *words)
    assert done.returncode == 2
    assert why in " ".join(done.stderr.replace("│", " ").split())
