"""Asking for models: from the terminal and from Python, on every engine."""

import json
import sys
from pathlib import Path

import pytest

import larspark as lp
from larspark.cli import main

CHOICE = """
#input request/1.
@T+1 plan(X, a) :- [2] @T request(X), not plan(X, b), not @T+1 plan(X, b).
@T+1 plan(X, b) :- [2] @T request(X), not plan(X, a), not @T+1 plan(X, a).
busy :- [2] some request(_).
"""
SUBSETS = """
in(X)  :- [5] some item(X), not out(X).
out(X) :- [5] some item(X), not in(X).
"""
CONTRARY = "calm :- quiet, not calm. loud :- noise."


Asked = tuple[int, list[object], str]


class Terminal:
    """The command line in this process: starting another takes longer than most questions."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._capsys = capsys

    def __call__(self, text: str, events: list[dict[str, object]], *words: str) -> Asked:
        program, stream = self._folder / "p.lars", self._folder / "e.jsonl"
        program.write_text(text)
        stream.write_text("".join(json.dumps(event) + "\n" for event in events))
        with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:
            patch.setattr(sys, "argv", ["larspark", *words, str(program), "-s", str(stream)])
            main()
        out, said = self._capsys.readouterr()
        return int(ended.value.code or 0), [json.loads(line) for line in out.splitlines()], said


POINTS = ("--as", "points")


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(tmp_path, capsys)


ONE = [{"t": 7, "atom": "request(x)"}]


def test_models_can_be_counted_and_asked_what_they_share_or_can_hold(ask: Terminal) -> None:
    at = ("--at", "7")
    assert ask(CHOICE, ONE, "models", *at)[1] == [
        {"model": 1, "stream": {"7": ["busy"], "8": ["plan(x,a)"]}},
        {"model": 2, "stream": {"7": ["busy"], "8": ["plan(x,b)"]}},
    ]
    assert ask(CHOICE, ONE, "models", *at, "--count")[1] == [{"count": 2}]
    assert ask(CHOICE, ONE, "models", *at, "--cautious")[1] == [{"cautious": {"7": ["busy"]}}]
    assert ask(CHOICE, ONE, "models", *at, "--brave")[1] == [
        {"brave": {"7": ["busy"], "8": ["plan(x,a)", "plan(x,b)"]}}
    ]
    code, _, said = ask(CHOICE, ONE, "models", *at, "--brave", "--limit", "2")
    assert code == 2
    assert "--limit, --count, --cautious, --brave and --closest" in said


def test_the_closest_model_goes_on_as_the_run_did(ask: Terminal) -> None:
    events = [
        {"t": 1, "atoms": ["item(1)", "only_in(1)"]},
        {"t": 2, "atom": "item(2)"},
    ]
    text = SUBSETS + ":- only_in(X), not in(X)."
    code, (answer,), said = ask(text, events, "models", "--at", "2", "--closest")
    assert (code, said) == (0, "")
    assert answer == {"model": 1, "stream": {"2": ["in(1)", "in(2)"]}}


def test_of_millions_of_models_the_first_are_there_and_all_are_counted(ask: Terminal) -> None:
    items = [f"item({n})" for n in range(40)]
    many = [{"t": 1, "atoms": items}, {"t": 2}]
    _, lines, _ = ask(SUBSETS, many, "models", "--at", "2", "--limit", "3")
    assert len(lines) == 3
    _, lines, _ = ask(SUBSETS, many, "models", "--at", "2", "--brave")
    assert lines == [
        {"brave": {"2": sorted(f"{w}({n})" for w in ("in", "out") for n in range(40))}}
    ]
    fewer = [{"t": 1, "atoms": items[:16]}, {"t": 2}]
    _, lines, _ = ask(SUBSETS, fewer, "models", "--at", "2", "--count")
    assert lines == [{"count": 2**16}]


def test_a_program_without_a_model_says_so_and_goes_on_later(ask: Terminal) -> None:
    events = [{"t": 1, "atom": "noise"}, {"t": 2, "atom": "quiet"}, {"t": 3, "atom": "noise"}]
    for words in ([], ["--cautious"], ["--brave"], ["--closest"]):
        code, lines, said = ask(CONTRARY, events, "models", "--at", "2", *words)
        assert (code, lines) == (0, [])
        assert said.startswith("no answer stream at 2\n")
    for engine in ("asp", "tms", "oracle"):
        _, lines, _ = ask(CONTRARY, events, "run", "--engine", engine, *POINTS)
        assert lines == [
            {"t": 1, "atoms": ["loud"]},
            {"t": 2, "atoms": None, "inconsistent": True},
            {"t": 3, "atoms": ["loud"]},
        ]


def test_a_time_limit_keeps_the_answer_before_and_says_so(ask: Terminal) -> None:
    pigeons = """
    place(P,H) :- [0] some pigeon(P), [0] some hole(H), not other(P,H).
    other(P,H) :- [0] some pigeon(P), [0] some hole(H), not place(P,H).
    housed(P) :- place(P,_).
    :- pigeon(P), not housed(P).
    :- place(P,H), place(Q,H), P < Q.
    """
    many = [f"{kind}({n})" for kind, most in (("pigeon", 14), ("hole", 13)) for n in range(most)]
    events = [{"t": 1, "atoms": ["pigeon(1)", "hole(1)"]}, {"t": 2, "atoms": many}, {"t": 3}]
    code, lines, said = ask(pigeons, events, "run", "--time-limit", "0.3", *POINTS)
    held = ["housed(1)", "place(1,1)"]
    assert code == 0
    assert lines == [{"t": 1, "atoms": held}, {"t": 2, "atoms": held}, {"t": 3, "atoms": []}]
    assert "the evaluation at 2 took longer than 0.3 s: the previous output is kept" in said
    code, lines, said = ask(pigeons, events, "models", "--at", "2", "--time-limit", "0.3")
    assert (code, lines) == (1, [])
    assert "L412: the answer streams at 2 take longer than 0.3 s" in said


@pytest.mark.parametrize("engine", ["asp", "tms", "oracle"])
def test_python_asks_the_same_on_every_engine(engine: str) -> None:
    reasoner = lp.Reasoner(SUBSETS, engine=engine, start=1)
    reasoner.append(3, ["item(1)", "item(2)"])
    assert reasoner.count(at=3) == 4
    assert len(reasoner.models(at=3, limit=3)) == 3
    assert reasoner.cautious(at=3) == lp.Model({})
    brave = reasoner.brave(at=3)
    assert brave is not None
    assert sorted(map(str, brave.stream[3])) == ["in(1)", "in(2)", "out(1)", "out(2)"]
    (*_, answer) = reasoner.advance(3)
    assert reasoner.closest(at=3) == lp.Model({3: answer.atoms})
    assert reasoner.count(at=3) == 4
    (answer_after,) = reasoner.advance(4)
    assert answer_after.atoms == answer.atoms
    with pytest.raises(lp.LarsparkError) as refusal:
        reasoner.models(at=3)
    assert refusal.value.problems[0].code == "L408"


def test_a_program_with_one_answer_stream_is_asked_the_same_way() -> None:
    reasoner = lp.Reasoner("a(X) :- [2] some p(X).", engine="interval", time_limit=1)
    reasoner.append(1, ["p(1)"])
    only = reasoner.models(at=1)
    assert reasoner.count(at=1) == 1
    assert [reasoner.closest(at=1)] == [reasoner.cautious(at=1)] == [reasoner.brave(at=1)] == only
    assert reasoner.notes == ("the engine `interval` evaluates without a time limit",)


@pytest.mark.parametrize("engine", ["asp", "oracle"])
def test_what_was_remembered_at_a_time_point_is_derived_when_it_is_asked_again(engine: str) -> None:
    text = "#remember q/1.\nq(X) :- p(X), not r(X).\nr(X) :- p(X), not q(X).\n:- p(2), r(2)."
    reasoner = lp.Reasoner(text, engine=engine, start=1)
    reasoner.append(2, ["p(2)"])
    list(reasoner.advance(2))
    assert [sorted(map(str, m.stream[2])) for m in reasoner.models(at=2)] == [["q(2)"]]


def test_an_incremental_run_gives_what_a_run_gives(ask: Terminal) -> None:
    events = [{"t": t, "atom": f"item({t % 5})"} for t in range(1, 12)]
    text = SUBSETS + ":- in(X), in(Y), X < Y."
    _, one_shot, _ = ask(text, events, "run", "--engine", "asp", *POINTS)
    _, kept, _ = ask(text, events, "run", "--engine", "asp", "--incremental", *POINTS)
    assert kept == one_shot
