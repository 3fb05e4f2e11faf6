"""Time points that are run in one call: what is remembered from one to the next stays right."""

import pyarrow as pa
import pytest

import larspark as lp
from larspark.base.atoms import Atom, atom_text
from larspark.base.problems import LarsparkError
from larspark.run.interval import interning, tick_changes, tick_records
from larspark.run.interval.kernels.compile import compile_at_once


@pytest.fixture(autouse=True)
def _compiled() -> None:
    compile_at_once()


def _advanced(reasoner: lp.Reasoner, t: int, facts: list) -> lp.Answer:
    reasoner.append(t, facts)
    [answer] = reasoner.advance(t)
    return answer


def _has_driver(reasoner: lp.Reasoner) -> bool:
    return reasoner.session.engine._driver is not None  # type: ignore[attr-defined]


def test_facts_and_answers_are_right_after_places_of_texts_were_given_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interning, "_PATIENCE", 8)
    reasoner = lp.Reasoner("q(X) :- [1] some p(X).", start=0)
    before = frozenset[Atom]()
    for t in range(600):
        # Names come again after the places of all names were given to others.
        names = [f"n{t % 40}", f"m{t}"]
        answer = _advanced(reasoner, t, [("p", name) for name in names])
        now = frozenset(lp.fact("q", name) for name in names)
        assert frozenset(answer.added) == now - before
        assert set(answer.atoms or ()) >= now
        before = frozenset(answer.atoms or ())
    assert _has_driver(reasoner)


def test_points_have_texts_that_were_forgotten_at_their_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interning, "_PATIENCE", 8)
    reasoner = lp.Reasoner("q(X) :- [1] some p(X).", start=0)
    for t in range(600):
        names = [f"n{t}", f"m{t}"]
        reasoner.append(t, [("p", name) for name in names])
        [point] = reasoner.session.advance(t).points()
        now = {f"{letter}{time}" for letter in "nm" for time in (t - 1, t) if time >= 0}
        assert point.atoms == {lp.fact("q", name) for name in now}
    assert _has_driver(reasoner)


@pytest.mark.parametrize("tried", [4, 1 << 12])
def test_facts_are_right_whether_they_are_looked_up_or_not(
    tried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tick_records, "_TRIED", tried)
    monkeypatch.setattr(tick_records, "_REMEMBERED", 16)
    monkeypatch.setattr(tick_changes, "_REMEMBERED", 4)
    reasoner = lp.Reasoner("q(X, Y) :- p(X, Y). r :- s.", start=0)
    for t in range(300):
        facts = [("p", t % 7, "a"), ("p", t, 0.5), ("p", 2**62 + t % 3, 2.0), ("other", t), ("s",)]
        answer = _advanced(reasoner, t, facts)
        expected = {lp.fact("q", *args) for name, *args in facts if name == "p"}
        assert set(answer.atoms or ()) == {*expected, Atom("r")}
    assert _has_driver(reasoner)


def test_a_float_that_is_whole_is_the_integer_in_a_hand_made_atom() -> None:
    reasoner = lp.Reasoner("q(X) :- [1] some p(X).", start=0)
    for t, value in enumerate([1, 2.0, 2, 3.0, 3.0]):
        answer = _advanced(reasoner, t, [Atom("p", (value,))])
    assert sorted(map(str, answer.atoms or ())) == ["q(3)"]


def test_a_refused_fact_leaves_nothing_behind_when_time_points_are_run_in_one_call() -> None:
    reasoner = lp.Reasoner("q(X) :- p(X).", start=0)
    for t in range(3):
        _advanced(reasoner, t, [("p", t)])
    assert _has_driver(reasoner)
    with pytest.raises(LarsparkError, match="L401"):
        reasoner.append(3, [("p", 3), ("q", 4)])
    [answer] = reasoner.advance(3)
    assert not answer.atoms


def test_facts_of_several_calls_at_one_time_point_all_count() -> None:
    reasoner = lp.Reasoner("q(X) :- p(X). n(N) :- N = count of [0] p(X).", start=0)
    for t in range(5):
        reasoner.append(t, [("p", "a")])
        reasoner.append(t, [])
        reasoner.append(t, [("p", "b"), ("p", "a")])
        [answer] = reasoner.advance(t)
        assert sorted(map(str, answer.atoms or ())) == ["n(2)", "q(a)", "q(b)"]


def test_the_history_keeps_what_a_time_window_sees() -> None:
    reasoner = lp.Reasoner("q(X) :- [3] some p(X).", start=0)
    for t in range(1000):
        _advanced(reasoner, t, [("p", t), ("p", -t)] if t % 5 else [])
    # The last append was at 999, when 998 was answered.
    assert sorted({t for t, _ in reasoner._history.elements()}) == [996, 997, 998, 999]
    assert reasoner.explain("q(998)").holds
    with pytest.raises(LarsparkError, match="L409"):
        reasoner.explain("q(900)", at=900)


NAMES = [f"n{number}_A" for number in range(11)]
QUOTED = ["a b", "B", "", "é", "née", "3", "_x", "x-y", "ça"]
ESCAPED = ['say "hi"', "back\\slash", "two\nlines", "tab\t", "carriage\rreturn"]


@pytest.mark.parametrize("texts", [NAMES, [*NAMES, *QUOTED], [*NAMES, *QUOTED, *ESCAPED]])
def test_columns_of_texts_are_written_like_single_atoms(texts: list[str]) -> None:
    reasoner = lp.Reasoner("q(X, Y) :- p(X, Y).", start=0)
    pairs = [(x, y) for x in texts for y in texts]
    columns = {"x": [x for x, _ in pairs], "y": [y for _, y in pairs]}
    reasoner.append(0, pa.table(columns), map="p(x, y)")
    [answer] = reasoner.advance(0)
    written = answer.table().column("atom").to_pylist()
    assert sorted(written) == sorted(atom_text(Atom("q", pair)) for pair in pairs)
