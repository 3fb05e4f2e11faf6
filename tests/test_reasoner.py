"""The reasoner: pieces of a stream in, answers, explanations and saved states out."""

import copy
import threading
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import larspark as lp
from larspark.base.facts import RowBatch
from larspark.run.protocol import Settings
from larspark.run.session import Session

PROGRAM = "hot(M) :- [3] some temp(M, V), V > 90. alarm(M) :- hot(M), not [5] some serviced(M)."


def shown(answers: list[lp.Answer]) -> list[tuple[int, list[str]]]:
    return [(answer.t, sorted(map(str, answer.atoms or ()))) for answer in answers]


@pytest.mark.parametrize("engine", ["auto", "interval", "asp", "oracle"])
def test_answers_come_for_every_time_point_with_what_is_new_and_gone(engine: str) -> None:
    reasoner = lp.Reasoner(PROGRAM, engine=engine, start=1)
    reasoner.append(2, ["temp(m1,95)", lp.fact("temp", "m2", 20)])
    answers = list(reasoner.advance(3))
    reasoner.append(4, ["serviced(m1)"])
    answers += list(reasoner.advance(6))
    assert shown(answers) == [
        (1, []),
        (2, ["alarm(m1)", "hot(m1)"]),
        (3, ["alarm(m1)", "hot(m1)"]),
        (4, ["hot(m1)"]),
        (5, ["hot(m1)"]),
        (6, []),
    ]
    assert [(sorted(map(str, a.added)), sorted(map(str, a.removed))) for a in answers[1:4]] == [
        (["alarm(m1)", "hot(m1)"], []),
        ([], []),
        ([], ["alarm(m1)"]),
    ]


@pytest.mark.parametrize("engine", ["interval", "asp", "oracle"])
def test_a_saved_reasoner_goes_on_where_it_was(engine: str, tmp_path: Path) -> None:
    straight = lp.Reasoner(PROGRAM, engine=engine)
    straight.append(2, ["temp(m1,95)"])
    list(straight.advance(3))
    straight.save(tmp_path / "state.bin")
    resumed = lp.Reasoner.restore(tmp_path / "state.bin", PROGRAM)
    for reasoner in (straight, resumed):
        reasoner.append(4, ["serviced(m1)"])
    assert shown(list(straight.advance(7))) == shown(list(resumed.advance(7)))


def test_a_damaged_or_foreign_state_is_refused(tmp_path: Path) -> None:
    reasoner = lp.Reasoner(PROGRAM)
    reasoner.append(2, ["temp(m1,95)"])
    file = tmp_path / "state.bin"
    reasoner.save(file)
    with pytest.raises(lp.LarsparkError, match="belongs to another program"):
        lp.Reasoner.restore(file, "hot(M) :- temp(M, V).")
    whole = file.read_bytes()
    for position in range(0, len(whole), max(1, len(whole) // 60)):
        file.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(lp.LarsparkError, match="L407"):
            lp.Reasoner.restore(file, PROGRAM)
    file.write_bytes(whole[:-1])
    with pytest.raises(lp.LarsparkError, match="L407"):
        lp.Reasoner.restore(file, PROGRAM)


def test_an_answer_is_explained_while_what_it_rests_on_can_be_seen() -> None:
    reasoner = lp.Reasoner(PROGRAM)
    reasoner.append(2, ["temp(m1,95)"])
    list(reasoner.advance(3))
    explanation = reasoner.explain("alarm(m1)", at=3)
    assert explanation.holds
    assert explanation.to_json()["evidence"] == ["@2 temp(m1,95)"]
    reasoner.append(500, ["temp(m1,20)"])
    list(reasoner.advance(599))
    reasoner.append(600, ["temp(m1,20)"])
    with pytest.raises(lp.LarsparkError, match="L409"):
        reasoner.explain("alarm(m1)", at=3)


def test_elements_out_of_order_are_refused_and_leave_nothing_behind() -> None:
    reasoner = lp.Reasoner(PROGRAM)
    reasoner.append(5, ["temp(m1,20)"])
    with pytest.raises(lp.LarsparkError, match="an element at 3 comes after one at 5"):
        reasoner.append(3, ["temp(m1,99)"])
    with pytest.raises(lp.LarsparkError, match="which the program derives"):
        reasoner.append(5, ["hot(m1)"])
    assert shown(list(reasoner.advance(6))) == [(5, []), (6, [])]


@pytest.mark.parametrize("engine", ["interval", "asp", "tms", "oracle"])
def test_time_points_may_be_large_and_are_refused_beyond_the_range(engine: str) -> None:
    far = 2**59
    reasoner = lp.Reasoner(PROGRAM, engine=engine)
    reasoner.append(far - 2, ["temp(m1,95)"])
    assert shown(list(reasoner.advance(far))) == [
        (t, ["alarm(m1)", "hot(m1)"]) for t in (far - 2, far - 1, far)
    ]
    with pytest.raises(lp.LarsparkError, match="too far from 0"):
        reasoner.append(far + 1, ["temp(m1,95)"])
    with pytest.raises(lp.LarsparkError, match="too far from 0"):
        lp.Reasoner(PROGRAM, engine=engine, start=-far - 1)


def test_a_session_restored_before_a_programs_own_elements_takes_them_once() -> None:
    program = lp.Program.parse("@8 again. still :- [#1] some again.").check().checked

    def session() -> Session:
        return Session(program, (), "interval", Settings(start=0, hindsight=True))

    stopped = session()
    stopped.append(RowBatch((), 9))
    stopped.advance(3)
    restored = session()
    restored.restore(stopped.save())
    assert [(p.t, len(p.atoms or ())) for p in restored.advance(9).points()][-2:] == [
        (8, 1),
        (9, 1),
    ]


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "polars", "record batch"])
def test_rows_of_a_table_happen_at_the_time_point_they_are_appended_at(kind: str) -> None:
    columns = {"sensor": ["m1", "m2"], "value": [95, 20.5]}
    tables = {
        "pyarrow": pa.table(columns),
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns, strict=False),
        "record batch": pa.table(columns).to_batches()[0],
    }
    reasoner = lp.Reasoner(PROGRAM)
    reasoner.append(2, tables[kind], map="temp(sensor, value)")
    reasoner.append(3, pa.table(columns).slice(0, 0), map="temp(sensor, value)")
    reasoner.append(4, ["serviced(m1)"])
    assert shown(list(reasoner.advance(4))) == [
        (2, ["alarm(m1)", "hot(m1)"]),
        (3, ["alarm(m1)", "hot(m1)"]),
        (4, ["hot(m1)"]),
    ]


def test_a_table_without_a_mapping_is_refused_and_not_read_as_atoms() -> None:
    with pytest.raises(lp.LarsparkError, match="needs a mapping"):
        lp.Reasoner(PROGRAM).append(2, pd.DataFrame({"temp": [1]}))


def test_a_whole_run_reads_timestamps_by_the_tick_of_the_program() -> None:
    stream = lp.Stream.of([("1970-01-01T00:02:10", "p"), ("1970-01-01T00:05:59", "p")])
    table = lp.run("#tick 1 min. q :- [1 min] some p.", stream)
    assert table.to_pylist() == [
        {"atom": "q", "from": minute(2), "to": minute(3)},
        {"atom": "q", "from": minute(5), "to": minute(5)},
    ]
    points = lp.run("#tick 1 min. q :- [1 min] some p.", stream, times="points")
    assert points["from"].to_pylist() == [2, 5]


def minute(number: int) -> datetime:
    return datetime(1970, 1, 1, 0, number, tzinfo=UTC)


def test_a_whole_stream_is_taken_in_with_its_own_times() -> None:
    table = pa.table({"at": [2, 5], "sensor": ["m1", "m2"], "value": [95, 99]})
    reasoner = lp.Reasoner("hot(M) :- [1] some temp(M, V), V > 90.")
    reasoner.extend(lp.Stream.from_table(table, map="at -> temp(sensor, value)"))
    assert shown(list(reasoner.advance(6))) == [
        (2, ["hot(m1)"]),
        (3, ["hot(m1)"]),
        (4, []),
        (5, ["hot(m2)"]),
        (6, ["hot(m2)"]),
    ]


@pytest.mark.parametrize("engine", ["interval", "asp", "tms", "oracle"])
def test_every_engine_counts_what_it_holds(engine: str) -> None:
    reasoner = lp.Reasoner(PROGRAM, engine=engine)
    reasoner.append(2, ["temp(m1,95)"])
    list(reasoner.advance(3))
    counted = reasoner.stats()
    assert all(type(number) is int for number in counted.values())
    assert counted["rows" if engine == "interval" else "elements"] > 0


def test_threads_that_use_one_reasoner_wait_for_each_other() -> None:
    program = "q(X) :- [3] some p(X), not r(X). r(X) :- [#2] some p(X)."
    reasoner = lp.Reasoner(program, start=0)
    turn = threading.Lock()
    failed: list[BaseException] = []
    answered: list[lp.Answer] = []
    last = 300

    def append_and_advance() -> None:
        try:
            while True:
                with turn:
                    t = (reasoner.session.answered or 0) + 1
                    if t > last:
                        return
                    reasoner.append(t, [f"p({(t * k) % 11})" for k in range(1, 5)])
                    answered.extend(reasoner.advance(t))
        except BaseException as error:
            failed.append(error)

    def look() -> None:
        try:
            while len(answered) < last and not failed:
                reasoner.stats()
                reasoner.session.save()
        except BaseException as error:
            failed.append(error)

    work = (append_and_advance, append_and_advance, look, look)
    threads = [threading.Thread(target=each) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    alone = lp.Reasoner(program, start=0)
    expected = {}
    for t in range(1, last + 1):
        alone.append(t, [f"p({(t * k) % 11})" for k in range(1, 5)])
        expected |= {answer.t: answer.atoms for answer in alone.advance(t)}
    assert {answer.t: answer.atoms for answer in answered} == expected
    assert len(answered) == last + 1


def test_what_held_before_a_restart_is_not_reported_as_new(tmp_path: Path) -> None:
    program = "#tick 1 min. hot(M) :- [10 min] some temp(M, V), V > 90."
    reasoner = lp.Reasoner(program)
    reasoner.append("1970-01-01T00:01Z", ["temp(m1,95)", 'temp("New York",95)'])
    assert [len(answer.added) for answer in reasoner.advance(2)] == [2, 0]
    reasoner.save(tmp_path / "state")
    restored = lp.Reasoner.restore(tmp_path / "state", program)
    [answer] = restored.advance(3)
    assert (len(answer.atoms or ()), answer.added, answer.removed) == (2, frozenset(), frozenset())
    assert answer.t == minute(3)
    *_, last = restored.advance(12)
    assert len(last.removed) == 2


def test_a_reasoner_notes_what_had_no_order_and_no_value() -> None:
    rules = "hot(M) :- temp(M, V), V > 90. rate(M, V / 0) :- temp(M, V), V != x."
    reasoner = lp.Reasoner(rules, engine="interval")
    reasoner.append(1, ["temp(m1,80)"])
    assert len(list(reasoner.advance(1))) == 1
    assert not any("number was compared" in note for note in reasoner.notes)
    reasoner.append(2, ['temp(m1,"ERR")', "temp(m2,95)"])
    assert len(list(reasoner.advance(2))) == 1
    mixed, valueless = reasoner.notes
    assert mixed.startswith('a number was compared with a text once, such as `"ERR" > 90`')
    assert valueless.startswith("<program>:1: `V / 0` had no value all 3 times it was needed")


def test_a_reasoner_warns_of_what_its_program_probably_does_not_mean() -> None:
    with pytest.warns(UserWarning, match="`hot/1` is never found at earlier time points"):
        lp.Reasoner("hot(M) :- temp(M, V), V > 90. alarm(M) :- [2] always hot(M).")


def test_a_reasoner_notes_facts_that_its_program_does_not_read() -> None:
    reasoner = lp.Reasoner("hot(M) :- temp(M, V), V > 90.")
    assert reasoner.notes == ()
    reasoner.append(1, ["tmp(m1,95)"])
    note = "there are no facts of `temp/2`; the stream has `tmp/2`"
    assert reasoner.notes == (note,)
    reasoner.append(2, ["temp(m1,95)"])
    assert reasoner.notes == ()


def test_messages_write_times_as_they_were_given() -> None:
    reasoner = lp.Reasoner("#tick 1 min. hot(M) :- temp(M, V), V > 90.")
    reasoner.append("2026-03-01T10:00Z", ["temp(m1,95)"])
    list(reasoner.advance("2026-03-01T10:02Z"))
    late = "at 2026-03-01T09:00:00Z comes too late: answered up to 2026-03-01T10:02:00Z"
    for one in (reasoner, copy.deepcopy(reasoner)):
        with pytest.raises(lp.LarsparkError, match=late):
            one.append("2026-03-01T09:00Z", ["temp(m1,95)"])
    with pytest.raises(lp.LarsparkError, match="time point 2026-03-01T10:01:00Z was already"):
        reasoner.models("2026-03-01T10:01Z")


def test_a_text_in_place_of_a_program_is_told_how_to_read_it() -> None:
    with pytest.raises(TypeError, match=r"lp\.Program\.parse"):
        lp.Program("hot(M) :- temp(M, V), V > 90.")
