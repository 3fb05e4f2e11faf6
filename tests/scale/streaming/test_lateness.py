"""Time in a stream: what is late, when time points are closed, where the timeline begins."""

import os
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from tests.scale import keyed_programs
from tests.scale.piecewise import arrivals
from tests.scale.streaming.simulated import Simulated, final_intervals, live_for, random_cuts

from larspark.base.atoms import Element, atom_text, fact
from larspark.base.problems import LarsparkError
from larspark.run.protocol import Settings
from larspark.scale.grid import RequestedCuts
from larspark.scale.job import Prepared, prepare
from larspark.scale.streaming.stream_job import check_choices, time_points

EXAMPLES = int(os.environ.get("LARSPARK_EXAMPLES", "40"))


def prepared(program: str, **settings: Any) -> Prepared:
    return prepare(program, (), "auto", Settings(**settings), RequestedCuts())


def started(program: str, shards: int = 1, **options: Any) -> Simulated:
    return Simulated(live_for(prepared(program), shards, **options))


def feed(run: Simulated, *elements: tuple[int, str]) -> None:
    run.micro_batch([(0, Element(t, fact(*text.split()))) for t, text in elements], Random(0))


def test_late_facts_are_counted_and_change_nothing() -> None:
    counted = 0
    for seed in range(EXAMPLES):
        random = Random(seed)
        program = keyed_programs.random_program(random)
        background = keyed_programs.random_background(random)
        ready = prepare(program, background, "auto", Settings(), RequestedCuts())
        elements = keyed_programs.random_elements(random)
        coming = random.sample(list(enumerate(elements)), len(elements))
        shards = random.choice([1, 3]) if ready.cuts.key is not None else 1
        run = Simulated(live_for(ready, shards, delay=2, late="output"), ordered=True)
        late: list[Element] = []
        on_time: list[tuple[int, Element]] = []
        for batch in random_cuts(coming, random):
            for number, element in batch:
                if run.closed is not None and element.t <= run.closed:
                    # With a key, nobody looks at predicates that no rule reads.
                    if element.atom.signature in (ready.cuts.key or {element.atom.signature}):
                        late.append(element)
                else:
                    on_time.append((number, element))
            run.micro_batch(batch, random)
        given = [row for row in run.rows if row["late"]]
        assert run.late == len(late)
        assert sorted((row["from"], row["atom"]) for row in given) == sorted(
            (element.t, atom_text(element.atom)) for element in late
        )
        run.rows = [row for row in run.rows if not row["late"]]
        ordered = arrivals([element for _, element in sorted(on_time)], ordered=True)
        assert run.intervals == final_intervals(ready, ordered, run.closed), (program, coming)
        counted += len(late)
    assert counted > 20


def test_a_time_point_is_closed_when_the_delay_has_passed() -> None:
    run = started("p(X) :- a(X).", delay=3)
    feed(run, (5, "a x"), (8, "a y"))
    assert run.closed is None
    feed(run, (9, "a y"))
    assert run.closed == 5
    # A time point that is not closed takes facts, however much was heard after it.
    feed(run, (6, "a x"), (5, "a z"))
    assert (run.late, run.facts) == (1, 5)
    feed(run, (20, "a x"))
    assert run.intervals == [("p(x)", 5, 6), ("p(y)", 8, 9)]


def test_answers_for_time_points_without_facts_come_when_time_passes() -> None:
    run = started("idle(X) :- k(X), not [2] some a(X). k(x). k(y).", shards=4)
    feed(run, (0, "a x"))
    feed(run, (9, "a x"))
    feed(run, (20, "a x"))
    assert run.closed == 19
    assert run.intervals == [("idle(x)", 3, 8)]
    feed(run, (21, "a y"), (22, "a y"))
    assert run.intervals == [("idle(x)", 3, 8), ("idle(x)", 12, 19), ("idle(y)", 0, 20)]


def test_all_shards_begin_with_the_first_fact_of_any() -> None:
    program = "all(X) :- [5] always a(X)."
    rows = [(t, f"a {name}") for t in range(3, 9) for name in ("x", "y")]
    runs = [started(program, shards) for shards in (1, 7)]
    for run in runs:
        feed(run, (2, "a x"), *rows)
        feed(run, (30, "b"))
    # `x` is there since the timeline begins, at 2; for `y` there is no window before 8.
    assert runs[0].intervals == runs[1].intervals == [("all(x)", 2, 8), ("all(y)", 8, 8)]


@pytest.mark.parametrize(("ordered", "last"), [(True, "x"), (False, "z")])
def test_facts_of_one_time_point_arrive_in_their_order_not_as_they_come(
    ordered: bool, last: str
) -> None:
    run = Simulated(live_for(prepared("p(X) :- [#1] some a(X).")), ordered)
    for number, name in ((2, "x"), (0, "z"), (1, "y")):
        run.micro_batch([(number, Element(1, fact("a", name)))], Random(0))
    run.micro_batch([(3, Element(5, fact("a", "w")))], Random(0))
    run.micro_batch([(4, Element(7, fact("a", "w")))], Random(0))
    assert run.intervals == [(f"p({last})", 1, 4)]


def test_time_passes_when_it_has_passed_in_every_dataframe() -> None:
    run = started("p(X) :- a(X).", sources=2)

    def take(source: int, *times: int) -> None:
        columns = {"t": list(times), "atom": ["a(x)"] * len(times)}
        run.take([[pa.RecordBatch.from_pydict(columns)]], source)

    take(0, 1, 50)
    assert run.closed is None
    take(1, 2)
    assert run.closed == 1
    take(1, 10)
    assert run.closed == 9
    assert run.intervals == [("p(x)", 1, 2)]


def test_where_there_is_no_answer_stream_there_is_a_row_without_an_atom() -> None:
    pytest.importorskip("clingo")
    run = started("p(X) :- [2] some a(X). :- p(X), b(X).")
    feed(run, (1, "a x"), (2, "b x"))
    feed(run, (3, "b x"))
    feed(run, (4, "a y"), (9, "a x"))
    rows = sorted((row["from"], row["to"], row["atom"]) for row in run.rows)
    assert rows == [(1, 1, "p(x)"), (2, 3, None), (4, 6, "p(y)")]


@pytest.mark.parametrize("watermark", ["10 apples", "-1 s", -1, True, None, "s"])
def test_a_watermark_that_is_none_is_refused(watermark: Any) -> None:
    with pytest.raises(LarsparkError, match="error L490: watermark cannot be"):
        time_points("watermark", watermark, 1_000_000)


def test_a_duration_needs_a_tick() -> None:
    with pytest.raises(LarsparkError, match="the program has no `#tick`"):
        time_points("watermark", "10 s", None)


def test_all_wrong_choices_are_told_at_once() -> None:
    with pytest.raises(LarsparkError) as caught:
        check_choices("points", "drop", "fail", "guess")
    assert str(caught.value) == (
        "error L490: form cannot be 'points'\n  hint: one of intervals, changes\n"
        "error L490: late cannot be 'drop'\n  hint: one of count, output\n"
        "error L490: on_program_change cannot be 'guess'\n  hint: one of refuse, restart, migrate"
    )
