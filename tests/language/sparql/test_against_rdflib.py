"""C-SPARQL, CQELS and RSP-QL give the answers of rdflib on each window; so do the translations."""

import os
import random

import pytest
from rdflib.plugins.sparql.sparql import NotBoundError
from tests.language.sparql.random_patterns import literal_events, random_asked
from tests.language.sparql.random_queries import Drawn, random_events, random_triple
from tests.language.sparql.rdflib_evaluator import EX, Asked, Event, Row, answers, tidy, value
from tests.run.test_agreement import SEED

from larspark import api
from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError
from larspark.feeds import Stream
from larspark.language import parse_program, program_text
from larspark.run.protocol import Settings
from larspark.run.replay import replay

PAIRS = int(os.environ.get("LARSPARK_PAIRS", "200"))
CHUNKS = 8


def run(
    program: api.Program, events: list[Event], static: list[tuple], times: range
) -> dict[int, set[Row]]:
    """The answers of each report."""
    elements: list[tuple[int, Atom | None]] = [
        (t, Atom("i", (*map(value, triple), f"<{stream}>"))) for t, stream, triple in events
    ]
    stream = Stream.of([(times.start, None), *elements, (times.stop - 1, None)])
    background = [Atom("g", (*map(value, triple), f"<{EX}static>")) for triple in static]
    session = api.open_session(program, background, "auto", Settings(times.start))
    found: dict[int, set[Row]] = {}
    for piece in replay(session, stream.batches(), to=times.stop - 1):
        for point in piece.points():
            atoms = point.atoms or frozenset()
            if Atom("report") in atoms:
                found[point.t] = {
                    tuple(tidy(v) if isinstance(v, float) else v for v in atom.args)
                    for atom in atoms
                    if atom.predicate == "answer" and set(atom.args) != {"undef"}
                }
    return found


def compare(asked: Asked, events: list[Event], static: list[tuple], times: range) -> None:
    """The query, and its translation, answer as rdflib does."""
    parsed = parse_program(asked.text, dialect=asked.dialect)
    assert parsed.program is not None, (asked.text, parsed.problems)
    try:
        expected = answers(asked, events, static, times)
    except NotBoundError:
        # rdflib fails at the aggregate of distinct values if one of them is unbound.
        return
    shown = program_text(parsed.program)
    try:
        found = run(api.Program(parsed.program), events, static, times)
    except LarsparkError as error:
        raise AssertionError(f"{asked.text}\n{shown}\n{error}") from None
    told = [(t, s[-2:], *(str(x)[-3:] for x in triple)) for t, s, triple in events]
    assert found == expected, f"{asked.text}\n{shown}\n{told}\n{static}"
    again = run(api.Program.parse(shown), events, static, times)
    assert again == expected, shown


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_queries_answer_as_rdflib_does(chunk: int) -> None:
    chance = random.Random(SEED + chunk)
    for _ in range(PAIRS // CHUNKS):
        asked = Drawn(chance).asked()
        times = range(chance.randint(0, 3), 11)
        events = random_events(chance, times)
        static = list({random_triple(chance) for _ in range(3)})
        compare(asked, events, static, times)


@pytest.mark.parametrize("chunk", range(2))
def test_abbreviations_and_literals_are_read_as_rdflib_reads_them(chunk: int) -> None:
    chance = random.Random(SEED + chunk)
    for _ in range(PAIRS // 8):
        times = range(6)
        compare(random_asked(chance), literal_events(chance, times), [], times)
