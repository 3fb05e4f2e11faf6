"""CQL gives the answers of SQL at every time point, and its translation gives the same."""

import os
import random

import pytest
from tests.language.cql.random_queries import random_events, random_relation, random_steps
from tests.language.cql.sqlite_evaluator import Event, Row, answers, script
from tests.run.test_agreement import SEED

from larspark import api
from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Severity
from larspark.feeds import Stream
from larspark.language import parse_program, program_text
from larspark.run.protocol import Settings
from larspark.run.replay import replay

PAIRS = int(os.environ.get("LARSPARK_PAIRS", "400"))
CHUNKS = 8


def run(
    program: api.Program, events: list[Event], relation: list[Row], times: range
) -> dict[int, set[Row]]:
    """The rows of the answers at every time point."""
    elements: list[tuple[int, Atom | None]] = [(t, Atom(name, row)) for t, name, row in events]
    stream = Stream.of([(times.start, None), *elements, (times.stop - 1, None)])
    session = api.open_session(
        program, [Atom("r", row) for row in relation], "auto", Settings(times.start)
    )
    pieces = replay(session, stream.batches(), to=times.stop - 1)
    return {
        point.t: {atom.args for atom in point.atoms or ()}  # type: ignore[misc]
        for piece in pieces
        for point in piece.points()
    }


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_queries_answer_as_sqlite_does(chunk: int) -> None:
    chance = random.Random(SEED + chunk)
    for _ in range(PAIRS // CHUNKS):
        steps, relation = random_steps(chance), random_relation(chance)
        first = chance.randint(0, 3)
        times = range(first, first + 9)
        events = random_events(chance, times)
        half_open = chance.random() < 0.3
        text = script(steps)
        options = {"range": "halfopen"} if half_open else {}
        parsed = parse_program(text, dialect="cql", options=options)
        errors = [p for p in parsed.problems if p.severity is Severity.ERROR]
        assert parsed.program is not None, (text, errors)
        program = api.Program(parsed.program)
        expected = answers(steps, events, relation, times, half_open)
        shown = program_text(parsed.program)
        try:
            found = run(program, events, relation, times)
        except LarsparkError as error:
            raise AssertionError(f"{text}\n{shown}\n{error}") from None
        assert found == expected, f"{text}\n{shown}\n{events}\n{relation}"
        again = run(api.Program.parse(shown), events, relation, times)
        assert again == expected, shown
