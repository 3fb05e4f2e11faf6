"""A whole program watched ahead of time, in Python and beside the answers of a run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from tests.run.hypothetical.definition import Definition, Token, definitions, elements, streams

import larspark as lp
from larspark.base.atoms import Atom
from larspark.base.facts import Row, RowBatch
from larspark.base.terms import Variable
from larspark.language.tree import At, AtomFormula
from larspark.run.hypothetical import ChangeKind, Monitor, hypothesize

EXAMPLES = int(os.environ.get("LARSPARK_EXAMPLES", "30"))
LARSPARK = Path(sys.executable).with_name("larspark")
PROGRAM = """@T hot(B) :- @T temp(B, V), V >= 80.
alarm(B)  :- [2] always hot(B).
#show alarm/1.
"""
READINGS = {5: 79, 6: 84, 7: 88, 8: 91, 9: 70}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [json.dumps({"t": t, "atom": f"temp(b1,{value})"}) for t, value in READINGS.items()]
    (tmp_path / "bearings.lars").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "bearings.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [LARSPARK, "run", "bearings.lars", "-s", "bearings.jsonl", "--hypothetical", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def test_a_run_tells_after_each_time_point_what_may_come_and_by_when(folder: Path) -> None:
    lines = [json.loads(line) for line in run(folder, "--limit", "1").stdout.splitlines()]
    told = [(line["t"], line.get("atoms", line.get("hypothetical"))) for line in lines]
    assert told == [
        (5, []),
        (6, []),
        (6, "@8 alarm(b1)"),
        (7, []),
        (7, "@8 alarm(b1)"),
        (8, ["alarm(b1)"]),
        (8, "@9 alarm(b1)"),
        (9, []),
    ]
    assert lines[4] == {
        "t": 7,
        "hypothetical": "@8 alarm(b1)",
        "evidence": ["@6 temp(b1,84)", "@7 temp(b1,88)"],
        "hypotheses": ["@8 temp(b1,V8)"],
        "where": ["V8>=80"],
        "deadline": 8,
        "seen": 0.667,
    }


def test_the_changes_of_a_run_hold_those_of_hypothetical_answers(folder: Path) -> None:
    done = run(folder, "--as", "changes")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    told = [(line["t"], line.get("change", "run"), line.get("hypothetical")) for line in lines]
    assert told == [
        (6, "new", "@8 alarm(b1)"),
        (7, "strengthened", "@8 alarm(b1)"),
        (7, "new", "@9 alarm(b1)"),
        (8, "run", None),
        (8, "confirmed", "@8 alarm(b1)"),
        (8, "strengthened", "@9 alarm(b1)"),
        (8, "new", "@10 alarm(b1)"),
        (9, "run", None),
        (9, "refuted", "@9 alarm(b1)"),
        (9, "refuted", "@10 alarm(b1)"),
    ]
    at_7 = [
        json.loads(line) for line in run(folder, "--as", "changes", "--at", "7").stdout.splitlines()
    ]
    assert at_7 == [line for line in lines if line["t"] == 7]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--as", "intervals"), "points or changes"),
        (("--mode", "push"), "after time points"),
        (("--hindsight",), "exclude each other"),
        (("--as", "changes", "--limit", "3"), "--limit"),
    ],
)
def test_what_does_not_go_together_is_refused(
    folder: Path, words: tuple[str, ...], reason: str
) -> None:
    done = run(folder, *words)
    assert done.returncode == 2
    assert reason in done.stderr


def test_a_program_that_cannot_be_watched_says_why(folder: Path) -> None:
    (folder / "bearings.lars").write_text("alarm(B) :- [#3] some temp(B, _).\n", encoding="utf-8")
    done = run(folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error L472: a tuple window has no fixed size in time" in done.stderr


def test_in_python_events_come_as_time_passes() -> None:
    monitor = lp.Monitor(PROGRAM)
    events = []
    for t, value in READINGS.items():
        monitor.append(t, [f"temp(b1,{value})"])
        events += monitor.advance(t)
    first = [(event.t, event.change) for event in events if str(event.holds) == "@8 alarm(b1)"]
    assert first == [
        (6, ChangeKind.NEW),
        (7, ChangeKind.STRENGTHENED),
        (8, ChangeKind.CONFIRMED),
    ]
    assert monitor.pending() == []


@given(definitions(negation=True), streams(3))
@settings(max_examples=EXAMPLES, deadline=None)
def test_what_is_pending_are_the_uncertain_answers_to_each_predicate(
    definition: Definition, facts: frozenset[Token]
) -> None:
    program = definition.checked()
    monitor = Monitor(program, start=0, follow=False)
    for t in range(5):
        rows = [Row(t, atom, 0) for moment, atom in elements(facts) if moment == t]
        monitor.hear(RowBatch(rows, t))
        monitor.advance(t)
        expected = {
            (name, answer)
            for name in ("p", "q", "r")
            for answer in hypothesize(
                program,
                At(Variable("T"), AtomFormula(Atom(name, (Variable("X"),)))),
                elements(facts),
                at=t,
                start=0,
            )
            if not answer.certain
        }
        pending = monitor.pending()
        assert {(one.holds.atom.predicate, one.answer) for one in pending} == expected
        assert monitor.pending(2) == pending[:2]
