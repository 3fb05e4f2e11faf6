"""The interval engine at work: ticks, tables, gaps, what it keeps, and what it saves."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Signature
from larspark.base.facts import ColumnBatch, Row, RowBatch, Segment
from larspark.base.terms import constant
from larspark.feeds.stream import Stream
from larspark.language import parse_program
from larspark.run.interval.engine import IntervalEngine
from larspark.run.interval.interval_answers import IntervalAnswers
from larspark.run.protocol import Settings
from larspark.run.session import Session

PROGRAM = """
seen(S)   :- [5] some temp(S,_).
hot(S)    :- [5] some temp(S,V), V >= 90.
calm(S)   :- seen(S), not hot(S).
latest(V) :- [#3] some temp(_,V).
steady(S) :- [2] always temp(S,_).
"""


def checked(text: str) -> Checked:
    program = parse_program(text).program
    assert program is not None
    return check(program)


def session(text: str = PROGRAM, **options: Any) -> Session:
    return Session(checked(text), engine="interval", settings=Settings(**options))


def readings(first: int, last: int) -> pa.Table:
    times = np.repeat(np.arange(first, last + 1), 3)
    sensors = [f"s{number % 4}" for number in range(len(times))]
    values = [float((7 * number) % 100) / 2 + 50 for number in range(len(times))]
    return pa.table({"t": times, "s": sensors, "v": values})


def outputs(answers: Any) -> list[tuple[int, list[str]]]:
    return [(t, sorted(map(str, atoms or ()))) for t, atoms, _ in answers.points()]


# Push mode


def test_in_push_mode_every_element_is_a_tick() -> None:
    running = session("q(X) :- p(X), not r(X). n(X) :- [#1] some p(X).", push=True)
    running.append(RowBatch([row(3, "p", 1), row(3, "p", 2), row(3, "r", 1)], 3))
    ticks = [(t, c, sorted(map(str, atoms or ()))) for t, atoms, c in running.advance(4).points()]
    assert ticks == [
        (3, 0, []),
        (3, 1, ["n(1)", "q(1)"]),
        (3, 2, ["n(2)", "q(1)", "q(2)"]),
        (3, 3, ["q(2)"]),
        (4, 3, []),
    ]


def test_the_same_element_again_is_no_tick() -> None:
    running = session("q(X) :- p(X).", push=True)
    running.append(RowBatch([row(1, "p", 1), row(1, "p", 1)], 1))
    assert [c for _, _, c in running.advance(1).points()] == [0, 1]


# Tables


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "chunked"])
def test_a_table_goes_in_without_a_look_at_single_rows(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = readings(1, 40)
    expected = outputs(by_rows(table))

    def refuse(batch: object) -> Iterator[Row]:
        raise AssertionError("a table was taken apart into rows")

    monkeypatch.setattr(ColumnBatch, "rows", refuse)
    frames = {
        "arrow": table,
        "pandas": pd.DataFrame(table.to_pydict()),
        "polars": pl.from_arrow(table),
        "chunked": pa.concat_tables([table.slice(0, 50), table.slice(50)]),
    }
    running = session()
    for batch in Stream.from_table(frames[kind], map="t -> temp(s, v)").batches():
        running.append(batch)
    assert outputs(running.advance(40)) == expected


def by_rows(table: pa.Table) -> Any:
    running = session()
    rows = [row(line["t"], "temp", line["s"], constant(line["v"])) for line in table.to_pylist()]
    running.append(RowBatch(rows, 40))
    return running.advance(40)


def test_integers_beyond_62_bits_are_constants_like_others() -> None:
    table = pa.table({"t": [1, 1], "seq": [0, 1], "0": [2**62, 7]})
    running = session("q(X) :- p(X), X > 7.")
    running.append(ColumnBatch([Segment(Signature("p", 1), table)], 1))
    assert outputs(running.advance(1)) == [(1, [f"q({2**62})"])]


# Time


def test_a_gap_of_a_million_time_points_is_one_step() -> None:
    running = session(PROGRAM + "quiet :- not [5] some temp(_,_).")
    running.append(RowBatch([row(1, "temp", "a", 95)], 1))
    running.advance(1)
    running.append(RowBatch([row(1_000_001, "temp", "a", 20)], 1_000_001))
    intervals = [(str(atom), start, end) for atom, start, end in gap(running).intervals()]
    assert intervals == [
        ("hot(a)", 2, 6),
        ("latest(95)", 2, 1_000_001),
        ("seen(a)", 2, 6),
        ("quiet", 7, 1_000_000),
        ("calm(a)", 1_000_001, 1_000_001),
        ("latest(20)", 1_000_001, 1_000_001),
        ("seen(a)", 1_000_001, 1_000_001),
    ]
    assert engine(running).stats()["fired"] < 60


def gap(running: Session) -> IntervalAnswers:
    answers = running.advance(1_000_001)
    assert isinstance(answers, IntervalAnswers)
    return answers


@pytest.mark.parametrize("cuts", [[40], list(range(1, 41)), [7, 8, 30, 40]])
def test_what_began_and_ended_adds_up_to_what_holds(cuts: list[int]) -> None:
    running, holding = session(), set[tuple[str, tuple[int, ...]]]()
    for batch in Stream.from_table(readings(1, 40), map="t -> temp(s, v)").batches():
        running.append(batch)
    for t in cuts:
        answers = running.advance(t)
        assert isinstance(answers, IntervalAnswers)
        rows = answers.rows()
        news = answers.news()
        for signature, (began, ended) in news.items():
            holding |= {(str(signature), tuple(line[2:])) for line in began.tolist()}
            over = {(str(signature), tuple(line[2:])) for line in ended[ended[:, 1] < t].tolist()}
            again = {(str(signature), tuple(line[2:])) for line in held(rows, signature, t)}
            holding -= over - again
        assert holding >= {
            (str(signature), tuple(line[2:]))
            for signature in rows
            for line in held(rows, signature, t)
        }


def held(rows: dict[Signature, Any], signature: Signature, t: int) -> list[list[int]]:
    found = rows.get(signature)
    return [] if found is None else found[found[:, 1] >= t].tolist()


def test_answers_that_are_kept_do_not_change_when_time_goes_on() -> None:
    running, again = session(), session()
    kept = []
    for one in (running, again):
        for batch in Stream.from_table(readings(1, 20), map="t -> temp(s, v)").batches():
            one.append(batch)
    for t in range(1, 21):
        kept.append(running.advance(t))
    at_once = outputs(again.advance(20))
    assert [point for answers in kept for point in outputs(answers)] == at_once


def test_background_data_takes_back_only_what_a_rule_has_given() -> None:
    running = session("q :- not @1 p. q :- 1 = 1, not [*] some k(1). k(1). #input p/0.", start=1)
    assert outputs(running.advance(2)) == [(1, ["q"]), (2, ["q"])]


# What is kept


@pytest.mark.parametrize(
    "rule",
    [
        "q(X) :- [5] some p(X).",
        "q(X) :- [3] always p(X).",
        "q(X) :- [#20] some p(X).",
        "q(X) :- [#1 by X] some p(X), X > 0.",
        "q(X,Y) :- [5] some p(X), [5] some p(Y), X < Y.",
        "q(X) :- [5] some p(X), not [2] some r(X).",
        "@T q(X) :- [4] @T p(X). s(X) :- [4] always q(X).",
        "q(X) :- p(X). #remember q/1. s(X) :- [6] some q(X).",
        "q(X) :- [5] some (p(X) and not [2] some r(X)).",
        "q(X) :- [5] some [2] always p(X).",
        "q(X) :- [5] some reset [2] always p(X).",
        "q(X) :- [5] always reset [3] some p(X).",
        "q(X) :- [5] @T p(X), not @T [+2] some r(X).",
        "s :- [5] some not p(7).",
    ],
)
def test_what_no_window_sees_any_more_is_gone(rule: str) -> None:
    """Elements that never come again, except those of a group of its own for each."""
    running = session(rule)
    sizes = []
    for t in range(1, 1201):
        rows = [row(t, "p", 3 * t + number if "by" not in rule else number) for number in range(3)]
        running.append(RowBatch([*rows, row(t, "r", 3 * t - 3)], t))
        running.advance(t)
        if t % 300 == 0:
            sizes.append(engine(running).stats())
    assert sizes[-1]["rows"] <= sizes[0]["rows"] + 10
    assert sizes[-1]["bytes"] <= sizes[0]["bytes"] * 1.5


def test_names_that_nothing_refers_to_are_forgotten() -> None:
    running = session("q(X) :- [2] some p(X).")
    for t in range(1, 400):
        running.append(RowBatch([row(t, "p", f"name{t}-{n}") for n in range(100)], t))
        running.advance(t)
    assert len(engine(running)._constants) < 25_000


def test_stats_say_what_was_done_and_what_was_not() -> None:
    running = session("q(X) :- [3] some p(X), [3] some r(X). s :- never.")
    assert engine(running).stats()["rows"] == 0
    running.append(RowBatch([row(1, "p", 1), row(1, "r", 1), row(9, "p", 2)], 10))
    running.advance(10)
    stats = engine(running).stats()
    assert stats["time_points"] == 10
    assert stats["joined"] == 1
    assert stats["derived"] == 1
    assert stats["fired"] + stats["skipped"] == 20
    assert stats["rows"] == 1
    assert stats["bytes"] > 0


def test_a_rule_is_not_tried_where_one_of_its_formulas_holds_nowhere() -> None:
    """Also where an atom may still be derived for the past: only what holds now counts."""
    running = session("q(X) :- [3] some p(X), [9] some r(X). s(X) :- q(X), [3] some p(X).")
    fired = []
    for t in range(1, 31):
        rows = [row(t, "p", number) for number in range(4)]
        running.append(RowBatch([*rows, row(t, "r", 2)] if t == 10 else rows, t))
        atoms = [sorted(map(str, atoms or ())) for _, atoms, _ in running.advance(t).points()]
        assert atoms == [["q(2)", "s(2)"] if 10 <= t <= 19 else []]
        fired.append(engine(running).stats()["fired"])
    # Before r(2) comes and after it has gone nothing can follow, though p is new all the time.
    assert fired[8] == 0
    assert fired[9] > 0
    assert fired[18] == fired[29]


# What is saved


def test_a_state_before_the_first_answer_keeps_what_waits() -> None:
    running = session()
    running.append(RowBatch([row(4, "temp", "a", 95)], 4))
    resumed = session()
    resumed.restore(running.save())
    assert outputs(resumed.advance(5)) == outputs(running.advance(5))


def test_what_no_window_sees_any_more_is_not_saved_and_answers_stay_readable() -> None:
    running, twin = session(), session()
    sizes = []
    for last in (100, 200):
        for each in (running, twin):
            for batch in Stream.from_table(
                readings(last - 99, last), map="t -> temp(s, v)"
            ).batches():
                each.append(batch)
        answers, expected = running.advance(last), twin.advance(last)
        # Saved before the answers are looked at.
        state = running.save()
        sizes.append(len(state))
        assert outputs(answers) == outputs(expected)
        running = session()
        running.restore(state)
    few = session()
    for batch in Stream.from_table(readings(180, 200), map="t -> temp(s, v)").batches():
        few.append(batch)
    few.advance(200)
    assert max(sizes) < 2 * len(few.save())


def filled() -> Session:
    running = session()
    for batch in Stream.from_table(readings(1, 30), map="t -> temp(s, v)").batches():
        running.append(batch)
    running.advance(20)
    return running


def row(t: int, predicate: str, *args: int | float | str) -> Row:
    return Row(t, Atom(predicate, args), 0)


def engine(running: Session) -> IntervalEngine:
    assert isinstance(running.engine, IntervalEngine)
    return running.engine


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("q :- [20] some [#3] some p(_).", 300),
        ("q :- [20] [session 3 max 9] some p(_).", 300),
        ("q :- [#5] always p(_).", 100),
        ("q :- [6 every 2] [#3] some p(_).", 100),
    ],
)
def test_recomputed_windows_keep_what_they_can_still_see(text: str, most: int) -> None:
    running = session(text)
    for t in range(2_000):
        running.append(RowBatch([row(t, "p", number) for number in range(t % 4)], t))
        running.advance(t)
    assert engine(running).stats()["rows"] < most
