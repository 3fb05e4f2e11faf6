"""Every engine gives what the definitions give, on random programs and streams.

Streams are fed in one piece, tick by tick and in random cuts, some element by element, and some
sessions are saved and restored on the way. `LARSPARK_PAIRS` sets how many pairs of a program and a
stream are drawn, `LARSPARK_SEED` another set of them.
"""

import os
from collections import Counter
from random import Random

import pytest
from tests.definitions import output_stream
from tests.run.interval.random_programs import BACKGROUND, Case, Generator

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Signature
from larspark.base.facts import Row, RowBatch
from larspark.base.problems import LarsparkError, Severity
from larspark.language import program_text
from larspark.run.protocol import Settings
from larspark.run.session import Session

PAIRS = int(os.environ.get("LARSPARK_PAIRS", "20000"))
SEED = int(os.environ.get("LARSPARK_SEED", "0")) * 1_000_000_000
CHUNKS = 20
# Solving takes longer than evaluating intervals.
SHARE = {"interval": 1.0, "asp": 0.1, "tms": 0.1}
SIGNATURES = {Signature(name, arity) for name, arity in BACKGROUND.items()}

Output = dict[int, frozenset[Atom] | None]


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("engine", SHARE)
def test_an_engine_agrees_with_the_definitions(engine: str, chunk: int) -> None:
    wanted = int(PAIRS * SHARE[engine]) // CHUNKS
    counts: Counter[str] = Counter()
    seed = SEED + chunk * 10_000_000
    while counts["compared"] < wanted:
        seed += 1
        random = Random(seed)
        said_something = agrees(Generator(random).case(), engine, random, seed)
        counts["compared"] += said_something is not None
        counts["not empty"] += bool(said_something)
    # A comparison of empty answers alone would say nothing.
    assert wanted < 50 or counts["not empty"] * 10 > wanted


# Too large for the oracle, or beyond what an engine can do.
REFUSALS = {"L253", "L254", "L255", "L256", "L261", "L403", "L410"}


def agrees(case: Case, engine: str, random: Random, seed: int) -> bool | None:
    """Compare the engine with the definitions; was there any output? None if they refuse."""
    checked = check(case.program, SIGNATURES, ends=case.until is not None)
    if any(problem.severity is Severity.ERROR for problem in checked.problems):
        return None
    first, last = span(case, checked)
    if first is None or first > last or (checked.endless and case.until is None):
        return None
    try:
        expected = dict(
            output_stream(
                checked,
                case.elements,
                case.background,
                start=case.start,
                to=last,
                hindsight=case.hindsight,
                until=case.until,
            )
        )
        found = run(case, checked, engine, cuts(random, first, last), random)
    except LarsparkError as error:
        assert error.problems[0].code in REFUSALS, (seed, error)
        return None
    if found != expected:
        differing = [t for t in expected if found.get(t) != expected[t]]
        pytest.fail(f"seed {seed}, at {differing}:\n{program_text(case.program)}")
    return any(expected.values())


def span(case: Case, checked: Checked) -> tuple[int | None, int]:
    times = [element.t for element in (*checked.elements, *case.elements)]
    first = case.start if case.start is not None else min(times, default=None)
    return first, case.to if case.until is None else min(case.to, case.until)


def cuts(random: Random, first: int, last: int) -> list[int]:
    """The time points at which answers are asked for."""
    match random.choice(("one piece", "tick by tick", "cuts")):
        case "one piece":
            return [last]
        case "tick by tick":
            return list(range(first, last + 1))
        case _:
            return sorted({random.randint(first, last) for _ in range(4)} | {last})


def run(case: Case, checked: Checked, engine: str, stops: list[int], random: Random) -> Output:
    # The last tick of a time point says what the time point says.
    push = engine == "interval" and random.random() < 0.15
    settings = Settings(case.start, case.hindsight, case.until, push=push)

    def fresh() -> Session:
        return Session(checked, case.background, engine, settings)

    session = fresh()
    rows = [Row(t, atom, number) for number, (t, atom) in enumerate(case.elements)]
    found: Output = {}
    for stop in stops:
        due = rows if case.hindsight else [row for row in rows if row.t <= stop]
        rows = rows[len(due) :]
        session.append(RowBatch(due, case.to if case.hindsight else stop))
        found.update((point.t, point.atoms) for point in session.advance(stop).points())
        if random.random() < 0.2:
            state = session.save()
            session = fresh()
            session.restore(state)
    return found
