"""A new program takes over the facts of the old one, and answers as if it had always been there."""

import os
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from tests.run.interval.random_programs import Generator
from tests.scale import keyed_programs
from tests.scale.piecewise import Interval, arrivals, joined, local_answers
from tests.scale.streaming.simulated import Simulated, live_for, out_of_order, random_cuts

from larspark.base.atoms import Element, fact
from larspark.base.problems import LarsparkError
from larspark.run.protocol import Settings
from larspark.scale.grid import RequestedCuts
from larspark.scale.job import Prepared, prepare

EXAMPLES = int(os.environ.get("LARSPARK_EXAMPLES", "30"))


def in_turn(
    programs: Sequence[tuple[Prepared, int]], elements: Sequence[Element], closed: int
) -> list[Interval]:
    """What programs say over the whole stream, each after the time point that it took over at.

    Of that, what has ended before `closed`.
    """
    found: list[Interval] = []
    ends = [after for _, after in programs[1:]] + [closed]
    for (prepared, after), end in zip(programs, ends, strict=True):
        for atom, first, last in local_answers(prepared, elements, closed):
            if last > after and first <= end:
                found.append((atom, max(first, after + 1), min(last, end)))
    return [row for row in joined(found) if row[2] < closed]


def compare(
    random: Random, programs: Sequence[Prepared], elements: list[Element], shards: int
) -> str:
    """Change from one program to another somewhere in a stream; what came of it."""
    delay, keep = random.choice([0, 0, 1, 3]), random.choice([0, 2, 5, 10, 100, 100])
    # So late that everything before it is answered.
    elements = [*elements, *(Element(element.t + 9, element.atom) for element in elements[-1:])]
    ordered = random.random() < 0.5
    coming = out_of_order(elements, delay, random)
    options: dict[str, Any] = {"delay": delay, "keep": keep, "on_program_change": "migrate"}
    old, new = programs
    run = Simulated(live_for(old, shards, **options), ordered)
    half = random.randint(len(coming) // 3, len(coming) - 1) if coming else 0
    first, second = (random_cuts(part, random) for part in (coming[:half], coming[half:]))
    batches, change = [*first, *second], len(first)
    taken_over: list[tuple[Prepared, int]] = [(old, -1)]
    for number, batch in enumerate(batches):
        if number == change:
            run.stream_job = live_for(new, shards, **options)
            taken_over.append((new, -1 if run.closed is None else run.closed))
        before = dict(run.states)
        try:
            run.micro_batch(batch, random)
        except LarsparkError as error:
            assert {problem.code for problem in error.problems} <= {"L403", "L491", "L494"}
            # A refusal leaves the states as they were.
            assert run.states == before
            return "refused"
        if random.random() < 0.3:
            run.restart()
    assert run.late == 0
    if run.closed is None:
        return "nothing answered"
    everything = arrivals([element for _, element in sorted(coming)], ordered)
    assert run.intervals == in_turn(taken_over, everything, run.closed), (programs, coming, change)
    if taken_over[-1][1] < 0:
        return "nothing to take over"
    return "migrated"


def test_keyed_programs_take_over_in_any_shards() -> None:
    came: list[str] = []
    for seed in range(EXAMPLES):
        random = Random(seed)
        elements = [e for _ in range(4) for e in keyed_programs.random_elements(random)]
        first = min((element.t for element in elements), default=0)
        start = random.choice([None, None, first + 1])
        programs = [
            prepare(
                keyed_programs.random_program(random),
                keyed_programs.random_background(random),
                "auto",
                Settings(start),
                RequestedCuts(),
            )
            for _ in range(2)
        ]
        keyed = all(prepared.cuts.key is not None for prepared in programs)
        came.append(compare(random, programs, elements, random.choice([1, 2, 5]) if keyed else 1))
    assert min(came.count("migrated"), came.count("refused")) >= EXAMPLES // 10


def test_programs_of_any_kind_take_over_or_are_refused() -> None:
    came: list[str] = []
    for seed in range(2 * EXAMPLES):
        random = Random(seed)
        cases = [Generator(random).case() for _ in range(2)]
        try:
            programs = [
                prepare(
                    case.program,
                    case.background,
                    "auto",
                    Settings(case.start, until=case.until),
                    RequestedCuts(),
                )
                for case in cases
            ]
            elements = sorted((e for case in cases for e in case.elements), key=lambda e: e.t)
            came.append(compare(random, programs, elements, 1))
        except LarsparkError as error:
            # The program cannot run, or the facts are of a predicate that it derives.
            assert "L49" not in str(error)
    assert min(came.count("migrated"), came.count("refused")) >= EXAMPLES // 20


def run_of(program: str, shards: int = 1, **options: Any) -> Simulated:
    ready = prepare(program, (), "auto", Settings(options.get("start")), RequestedCuts())
    return Simulated(live_for(ready, shards, **{"on_program_change": "migrate", **options}))


def feed(run: Simulated, *facts: tuple[int, str]) -> None:
    run.micro_batch([(0, Element(t, fact(*text.split()))) for t, text in facts], Random(0))


def gone_on(before: Simulated, after: Simulated) -> Simulated:
    after.states = dict(before.states)
    return after


@pytest.fixture
def before() -> Simulated:
    run = run_of("p(X) :- [3] some a(X).", keep=3)
    feed(run, (1, "a x"), (8, "a y"), (10, "a z"))
    feed(run, (11, "a z"))
    return run


def refusal(before: Simulated, after: Simulated) -> str:
    with pytest.raises(LarsparkError) as caught:
        feed(gone_on(before, after), (30, "a x"))
    [problem] = caught.value.problems
    assert 'on_program_change="restart"' in problem.hint
    return f"{problem.code} {problem.message}"


def test_the_new_program_sees_facts_from_before_the_change(before: Simulated) -> None:
    after = gone_on(before, run_of("q(X) :- [2] some a(X)."))
    feed(after, (30, "a x"))
    # Answered up to 10; the fact about y at 8 was seen up to 10, that about z goes on.
    assert after.intervals == [("p(y)", 8, 10), ("p(z)", 10, 10), ("q(z)", 11, 13)]


def test_a_rule_that_looks_back_too_far_is_named(before: Simulated) -> None:
    assert refusal(before, run_of("p(X) :- [3] some a(X). q(X) :- [5] always a(X).")) == (
        "L491 the checkpoint cannot be migrated to this program: it looks back 5 time points, but "
        "the facts of only 3 are kept; line 2, `q(X) :- [5] always a(X).`: it looks for `a(X)` "
        "further back"
    )


def test_windows_without_a_bound_are_refused_once_facts_were_forgotten(before: Simulated) -> None:
    assert "the window `[#2 by X]` counts tuples" in refusal(
        before, run_of("p(X) :- [#2 by X] some a(X).")
    )
    early = run_of("p(X) :- [3] some a(X).", keep=3)
    feed(early, (1, "a x"), (2, "a x"), (3, "a y"))
    after = gone_on(early, run_of("p(X) :- [*] some a(X)."))
    feed(after, (30, "b"))
    feed(after, (31, "b"))
    # What held under the old program holds on under the new one, and does not end.
    assert after.intervals == []
    assert after.closed == 30


def test_facts_that_the_old_program_did_not_read_are_missing(before: Simulated) -> None:
    assert refusal(before, run_of("p(X) :- [3] some a(X). q(X) :- b(X).")) == (
        "L491 the checkpoint cannot be migrated to this program: the old program did not read "
        "`b/1`, so these facts were dropped"
    )


@pytest.mark.parametrize("choice", ["restart", "migrate"])
def test_another_key_or_tick_is_refused(choice: str) -> None:
    old = run_of("p(X) :- [3] some a(X, Y).", shards=2, keep=3)
    feed(old, (1, "a x y"), (5, "a y x"))
    other = run_of("p(Y) :- [3] some a(X, Y), b(Y).", shards=2, on_program_change=choice)
    with pytest.raises(LarsparkError) as caught:
        feed(gone_on(old, other), (9, "a x y"))
    assert str(caught.value).splitlines()[0] == (
        "error L494: the facts of `a/2` are sharded by argument 1, not by argument 2"
    )
    ticking = run_of("#tick 1 s. p(X) :- [3] some a(X, Y).", 2, on_program_change=choice)
    with pytest.raises(LarsparkError, match="made with another `#tick`"):
        feed(gone_on(old, ticking), (9, "a x y"))
