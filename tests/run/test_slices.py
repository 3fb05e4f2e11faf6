"""Runs in slices give the answers of one run, on random programs and streams.

`LARSPARK_PAIRS` sets how many pairs of a program and a stream are drawn, `LARSPARK_SEED` another
set of them.
"""

import os
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.in_process import larspark
from tests.run.interval.random_programs import BACKGROUND, Case, Generator

import larspark as lp
from larspark.analysis.check import check
from larspark.base.atoms import Atom, Element, Signature
from larspark.base.facts import AnyBatch, ColumnBatch, Row, RowBatch
from larspark.base.problems import LarsparkError, Problem, Severity
from larspark.language import parse_program
from larspark.run import slices
from larspark.run.answers import JoinedChanges
from larspark.run.joined_tables import joined_table
from larspark.run.protocol import Answers, Settings
from larspark.run.replay import replay
from larspark.run.session import Session
from larspark.run.slices import SliceSize, replay_in_slices, slice_cut

PAIRS = int(os.environ.get("LARSPARK_PAIRS", "20000")) // 20
SEED = int(os.environ.get("LARSPARK_SEED", "0")) * 1_000_000_000
CHUNKS = 10
SIGNATURES = {Signature(name, arity) for name, arity in BACKGROUND.items()}
SMALL = SliceSize(1, 0)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_slices_give_the_answers_of_one_run(chunk: int) -> None:
    counts: Counter[str] = Counter()
    seed = SEED + chunk * 10_000_000
    while counts["compared"] < PAIRS // CHUNKS:
        seed += 1
        random = Random(seed)
        found = agrees(Generator(random).case(), random, seed)
        counts["compared"] += found is not None
        counts["cut"] += bool(found)
    # Some streams are too short to be cut.
    assert counts["compared"] < 50 or counts["cut"] * 3 > counts["compared"]


def agrees(case: Case, random: Random, seed: int) -> bool | None:
    """Compare slices with one run; were there several? None if the run cannot be cut."""
    checked = check(case.program, SIGNATURES, ends=case.until is not None)
    if any(problem.severity is Severity.ERROR for problem in checked.problems):
        return None
    settings = Settings(case.start, until=case.until)
    try:
        one, sliced = (Session(checked, case.background, "interval", settings) for _ in range(2))
    except LarsparkError:
        return None
    if slice_cut(one).lookback is None:
        return None
    batches = list(random_batches(case.elements, random))
    to = random.choice([None, case.to])
    size = random.choice([SMALL, SliceSize(2, 1), SliceSize(3, 0, most=5)])
    expected = list(replay(one, batches, to=to))
    pieces = list(replay_in_slices(sliced, batches, 2, to=to, size=size))
    assert joined_table(pieces).equals(joined_table(expected)), (seed, case)
    assert list(JoinedChanges().of(pieces)) == list(JoinedChanges().of(expected)), (seed, case)
    assert kinds(sliced.warnings) == kinds(one.warnings), (seed, case)
    return len({*starts(pieces)} - {*starts(expected)}) > 0 or len(pieces) > 1


def kinds(warnings: list[str]) -> list[str]:
    """Warnings without counts, which depend on how a stream comes in."""
    return [re.sub("once|the one time|(all )?[0-9,]+ times", "n times", text) for text in warnings]


def starts(pieces: Iterable[Answers]) -> Iterator[int]:
    return (piece.first for piece in pieces)


def random_batches(elements: tuple[Element, ...], random: Random) -> Iterator[AnyBatch]:
    """The elements in random batches, as rows and as columns; some only say that time moves on."""
    rows = [Row(t, atom, seq) for seq, (t, atom) in enumerate(elements)]
    while rows:
        count = random.choice([0, 1, 1, 2, 3])
        some, rows = rows[:count], rows[count:]
        last = rows[0].t if rows and random.random() < 0.3 else None
        batch = RowBatch(some, last)
        yield ColumnBatch(batch.segments(), last) if random.random() < 0.5 else batch


def session(text: str, start: int | None = None, engine: str = "interval") -> Session:
    program = parse_program(text).program
    assert program is not None
    return Session(check(program), (), engine, Settings(start))


def points(count: int) -> list[AnyBatch]:
    """A batch for each time point, of two facts."""
    rows = [Row(n // 2, Atom("a", (n % 3,)), n) for n in range(2 * count)]
    return [RowBatch(rows[n : n + 2]) for n in range(0, len(rows), 2)]


def test_a_slice_has_enough_facts_also_for_those_that_are_read_twice() -> None:
    def ends(lookback: int, size: SliceSize) -> list[int]:
        one = session(f"p(X) :- [{lookback}] some a(X).")
        return [piece.last for piece in replay_in_slices(one, points(40), 2, size=size)]

    assert ends(1, SliceSize(20, 0)) == [9, 19, 29, 39]
    assert ends(5, SliceSize(1, 4)) == [19, 39]
    # A slice would need more facts than are held for one: the rest is one run.
    assert ends(5, SliceSize(1, 4, most=30)) == [*range(40)]


def test_threads_take_over_when_a_short_slice_ran_on_compiled_kernels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ends() -> list[int]:
        one, size = session("p(X) :- [1] some a(X)."), SliceSize(20, 0, tried=True)
        return [piece.last for piece in replay_in_slices(one, points(20), 2, size=size)]

    monkeypatch.setattr(slices, "numba_is_there", lambda: True)
    monkeypatch.setattr(slices, "are_awaited", lambda: False)
    assert ends() == [2, 12, 19]
    monkeypatch.setattr(slices, "are_awaited", lambda: True)
    assert ends() == [2, *range(3, 20)]


def test_what_is_not_cut_is_one_run() -> None:
    def count(text: str, engine: str = "interval", jobs: int = 2) -> int:
        one = session(text, engine=engine)
        return len(list(replay_in_slices(one, points(12), jobs, size=SliceSize(4, 0))))

    one_run = len(list(replay(session("p(X) :- [1] some a(X)."), points(12))))
    assert count("p(X) :- [1] some a(X).") < one_run
    assert count("p(X) :- [1] some a(X).", jobs=1) == one_run
    assert count("p(X) :- [#2] some a(X).") == one_run
    assert count("p(X) :- some a(X).") == one_run
    assert count("#remember p/1. p(X) :- [1] some a(X). q :- [5] some p(_).") == one_run
    assert count("p(X) :- [1] some a(X).", engine="asp") == one_run


def test_a_problem_of_the_stream_comes_after_the_answers_before_it() -> None:
    def broken() -> Iterator[AnyBatch]:
        yield from points(20)
        raise LarsparkError(Problem("L312", "the line is broken"))

    def answers(pieces: Iterator[Answers]) -> list[Answers]:
        found: list[Answers] = []
        with pytest.raises(LarsparkError, match="the line is broken"):
            found.extend(pieces)
        return found

    text = "p(X) :- [2] some a(X), not [1] some a(2)."
    expected = joined_table(answers(replay(session(text), broken())))
    for facts in (6, 100):
        size = SliceSize(facts, 0)
        found = answers(replay_in_slices(session(text), broken(), 2, size=size))
        assert joined_table(found).equals(expected)


def test_a_problem_of_a_slice_is_raised() -> None:
    batches = [*points(20), RowBatch([Row(20, Atom("p", (1,)), 40)])]
    with pytest.raises(LarsparkError, match="which the program derives"):
        list(replay_in_slices(session("p(X) :- a(X)."), batches, 2, size=SliceSize(6, 0)))


def test_facts_before_the_start_are_not_held() -> None:
    text = "p(X) :- [2] some a(X)."
    expected = joined_table(replay(session(text, 30), points(40)))
    pieces = list(replay_in_slices(session(text, 30), points(40), 2, size=SliceSize(6, 0, most=20)))
    assert len(pieces) > 1
    assert joined_table(pieces).equals(expected)


def test_facts_of_the_program_itself_are_in_every_slice() -> None:
    text = "p(X) :- [2] some a(X). @7 a(7). @19 a(19). @90 a(90)."
    expected = joined_table(replay(session(text), points(40)))
    found = joined_table(replay_in_slices(session(text), points(40), 2, size=SliceSize(6, 0)))
    assert found.equals(expected)


def test_a_run_that_is_given_up_ends_its_threads() -> None:
    pieces = replay_in_slices(session("p(X) :- a(X)."), points(40), 2, size=SliceSize(6, 0))
    next(pieces)
    assert slice_threads()
    pieces.close()  # type: ignore[attr-defined]
    assert not slice_threads()


def slice_threads() -> list[str]:
    names = (thread.name for thread in threading.enumerate())
    return [name for name in names if name.startswith("larspark-slice")]


def test_the_doors_give_the_same_answers_with_any_number_of_jobs(tmp_path: Path) -> None:
    count = 450_000
    random = np.random.default_rng(1)
    table = pa.table({"time": np.arange(count) // 50, "s": random.integers(0, 99, count)})
    program = "hot(S) :- [1] some seen(S), S > 60, not seen(3)."
    one, several = (lp.run(program, table, map="time -> seen(s)", jobs=jobs) for jobs in (1, 3))
    assert one.num_rows > 1000
    assert several.equals(one)
    parquet.write_table(table, tmp_path / "seen.parquet")
    (tmp_path / "hot.lars").write_text(program)
    words = ["run", "hot.lars", "--stream", "seen.parquet", "--map", "time -> seen(s)", "--json"]
    for form in ("intervals", "changes"):
        runs = [larspark(tmp_path, *words, "--as", form, "--jobs", jobs) for jobs in ("1", "3")]
        assert runs[0].returncode == 0
        assert runs[0].stdout.count("\n") > 1000
        assert runs[1].stdout == runs[0].stdout
