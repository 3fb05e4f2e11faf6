"""A program in stages, each worked on by an engine of its own, gives the answers of the whole."""

from random import Random

import pyarrow as pa
from tests.run.interval.random_programs import Case, Generator

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.analysis.dependencies import evaluation_order
from larspark.analysis.stages import Stage, restricted
from larspark.base.atoms import Signature
from larspark.base.facts import Row, RowBatch
from larspark.base.problems import LarsparkError
from larspark.run.interval.engine import IntervalEngine
from larspark.run.protocol import Derived, Settings
from larspark.run.session import Session

CASES = 250

Intervals = list[tuple[str, int, int]]


def random_stages(checked: Checked, random: Random) -> list[Stage]:
    """Stages that end anywhere between predicates that do not need each other."""
    groups = list(evaluation_order(checked.edges, checked.derived))
    stages: list[Stage] = []
    while groups:
        size = random.choice([1, 1, min(2, len(groups))])
        derives = frozenset().union(*groups[:size])
        groups = groups[size:]
        asked = {edge.body for edge in checked.edges if edge.head in derives}
        before = frozenset().union(*(stage.derives for stage in stages))
        stages.append(
            Stage(derives, frozenset(), None, before & asked, None, frozenset(), reasons=())
        )
    return stages


def in_stages(case: Case, checked: Checked, stages: list[Stage], middle: int | None) -> Intervals:
    settings = Settings(case.start, case.hindsight, case.until)
    rows = [Row(t, atom, n) for n, (t, atom) in enumerate(case.elements)]
    kept: list[tuple[Derived, pa.Table]] = []
    found: Intervals = []
    for number, stage in enumerate(stages):
        session = Session(restricted(checked, stage), case.background, "interval", settings)
        engine = session.engine
        assert isinstance(engine, IntervalEngine)
        given = [each for each in kept if each[0].signature in stage.exchanged]
        later = frozenset[Signature]().union(*(s.exchanged for s in stages[number + 1 :]))
        engine.import_derived(stage.exchanged, given, later & stage.derives)
        session.append(RowBatch(rows, case.to if not rows else None))
        last = case.to if case.until is None else min(case.to, case.until)
        pieces = [] if middle is None else [session.advance(middle)]
        pieces = [list(piece.intervals()) for piece in pieces]
        pieces.append(list(session.advance(case.to).intervals()))
        found += [(str(a), start, end) for piece in pieces for a, start, end in piece]
        assert session.start is not None
        kept += engine.export_derived(session.start, last)
    return sorted(found)


def compare(case: Case, random: Random) -> int:
    """Compare stages with the whole program; gives the number of stages."""
    checked = check(
        case.program, {atom.signature for atom in case.background}, ends=case.until is not None
    )
    settings = Settings(case.start, case.hindsight, case.until)
    whole = Session(checked, case.background, "interval", settings)
    rows = [Row(t, atom, n) for n, (t, atom) in enumerate(case.elements)]
    whole.append(RowBatch(rows, case.to if not rows else None))
    middle = random.choice([None, case.to - 2])
    if middle is not None and (whole.start is None or middle < whole.start or case.hindsight):
        middle = None
    pieces = [] if middle is None else [list(whole.advance(middle).intervals())]
    pieces.append(list(whole.advance(case.to).intervals()))
    expected = sorted((str(a), start, end) for piece in pieces for a, start, end in piece)
    stages = random_stages(checked, random)
    assert in_stages(case, checked, stages, middle) == expected, (case, stages)
    return len(stages)


def test_random_programs_in_random_stages() -> None:
    tried: set[int] = set()
    for seed in range(CASES):
        random = Random(seed)
        case = Generator(random).case()
        try:
            tried.add(compare(case, random))
        except LarsparkError as error:
            assert {problem.code for problem in error.problems} <= {"L403", "L405"}, error
    assert {1, 2, 3, 4} <= tried
