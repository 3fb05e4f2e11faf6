"""`larspark verify` and `larspark equivalent`, and their Python names."""

from pathlib import Path

import pytest
from tests.in_process import larspark

import larspark as lp
from larspark.run.protocol import Settings

PROGRAM = "hot(M) :- [2] some temp(M, V), V > 90.\n@T+1 cold(M) :- @T temp(M, V), V < 5.\n"
STREAM = '{"t": 3, "atom": "temp(a,95)"}\n{"t": 5, "atom": "temp(b,1)"}\n'


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"t": 5, "atoms": ["hot(a)"]}\n{"t": 6, "atom": "cold(b)"}\n', '{"answer": true}'),
        ('{"model": 1, "stream": {"5": ["hot(a)"], "6": ["cold(b)"]}}\n', '{"answer": true}'),
        (
            '{"t": 5, "atoms": ["hot(a)"]}\n',
            '{"answer": false, "violated": "@T+1 cold(M) :- @T temp(M, V), V < 5.", '
            '"place": "p.lars:2", "binding": {"M": "b", "T": 5, "V": 1}}',
        ),
        (
            '{"t": 3, "atoms": ["temp(c,99)"]}\n{"t": 5, "atoms": ["hot(a)", "hot(c)"]}\n'
            '{"t": 6, "atom": "cold(b)"}\n',
            '{"answer": false, "smaller": {"5": ["hot(a)"], "6": ["cold(b)"]}}',
        ),
    ],
)
def test_an_interpretation_is_verified_or_the_reason_is_given(
    tmp_path: Path, answer: str, expected: str
) -> None:
    for name, text in (("p.lars", PROGRAM), ("s.jsonl", STREAM), ("a.jsonl", answer)):
        (tmp_path / name).write_text(text)
    words = ("verify", "p.lars", "--stream", "s.jsonl", "--answer", "a.jsonl", "--at", "5")
    done = larspark(tmp_path, *words)
    assert (done.stdout, done.returncode) == (f"{expected}\n", 0), done.stderr


def test_what_a_run_remembers_counts_in_a_verification() -> None:
    program = "#remember on/0. @T on :- @T press. seen :- [3] some on."
    stream = lp.Stream.of([(1, "press"), (3, None)])
    assert lp.verify(program, stream, {3: ["seen"], 1: ["on"]}, at=3).holds
    assert not lp.verify(program, stream, {}, at=3).holds


def test_an_interpretation_outside_of_the_timeline_is_refused() -> None:
    stream = lp.Stream.of([(1, "i"), (3, None)])
    with pytest.raises(lp.LarsparkError, match="L251"):
        lp.verify("a :- i.", stream, {9: ["a"]}, at=3)


def test_the_answers_of_an_engine_are_verified() -> None:
    program = "a :- [2] some i, not b. b :- [2] some i, not a. c :- [1] always a."
    stream = lp.Stream.of([(1, "i"), (2, "i"), (4, None)])
    session = lp.api.open_session(lp.api.Program.parse(program), (), "auto", Settings())
    lp.api.feed(session, stream, 3)
    found = [model.stream for model in session.models(3)]
    assert len(found) == 2
    for model in found:
        stream = lp.Stream.of([(1, "i"), (2, "i"), (4, None)])
        assert lp.verify(program, stream, model, at=3).holds


def test_programs_are_compared_by_a_command(tmp_path: Path) -> None:
    (tmp_path / "p.lars").write_text("hot(M) :- [2] some temp(M, V), V > 90.\n")
    (tmp_path / "q.lars").write_text("hot(M) :- [2] some temp(M, V), V >= 90.\n")
    words = ("equivalent", "p.lars", "q.lars", "--timeline", "0,1")
    done = larspark(tmp_path, *words)
    assert done.stdout == '{"t": 0, "atoms": ["temp(a,90)"]}\n{"t": 1, "atoms": []}\n'
    assert done.stderr == "at 0 only p.lars has the answer stream without further atoms\n" + (
        "at 0 only q.lars has the answer stream 0: hot(a)\n"
    )
    done = larspark(tmp_path, *words, "--over", "temp(m,95)")
    assert (done.stdout, done.returncode) == ("", 0)
    assert done.stderr == "none up to 1: all 4 streams of temp(m,95) on [0, 1]\n"
    done = larspark(tmp_path, "equivalent", "p.lars", "p.lars", *words[3:], "--limit", "6")
    assert done.stderr.startswith("none among 6 streams of temp(a,90), temp(a,91), ")
    assert "fewer than 1 elements and some with 1; --limit looks further" in done.stderr


def test_too_many_atoms_have_to_be_chosen_from() -> None:
    program = "p(X, Y, Z) :- q(X, Y, Z), r(a1), r(a2), r(a3), r(a4)."
    with pytest.raises(lp.LarsparkError, match="L254"):
        lp.equivalent(program, program, (0, 1))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("F p", "!G !p", True),
        # At the end of each prefix, `p` has been once.
        ("F p", "O p", True),
        ("F p & F q", "F (p & F q) | F (q & F p)", True),
        ("F p & F q", "F (p & F q)", False),
        ("X p", "WX p", False),
    ],
)
def test_formulas_that_are_read_without_hindsight_are_compared(
    one: str, other: str, same: bool
) -> None:
    programs = [lp.Program.parse(text, dialect="ltl") for text in (one, other)]
    found = lp.equivalent(*programs, (0, 2))
    assert bool(found) is same
    if found.stream is not None and found.at is not None:
        # A run says the same at this time point.
        elements = [(t, atom) for t, atoms in found.stream.items() for atom in atoms]
        stream = lp.Stream.of([*elements, (found.at, None)])
        answers = [lp.run(program, stream, start=0, to=found.at) for program in programs]
        holds = [[found.at in (row["from"], row["to"]) for row in a.to_pylist()] for a in answers]
        assert any(holds[0]) is not any(holds[1])


def test_formulas_with_and_without_hindsight_are_not_compared() -> None:
    now = lp.Program.parse("F p", dialect="ltl")
    each = lp.Program.parse("F p", dialect="ltl", reading="each")
    assert lp.equivalent(each, each, (0, 1))
    with pytest.raises(lp.LarsparkError, match="L413"):
        lp.equivalent(now, each, (0, 1))
