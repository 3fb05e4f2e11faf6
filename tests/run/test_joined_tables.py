"""Intervals joined in columns are those joined row by row."""

from random import Random

import pytest

from larspark.base.atoms import Atom, atom_text
from larspark.run.answers import JoinedIntervals, PointAnswers
from larspark.run.joined_tables import JoinedTables, joined_table
from larspark.run.protocol import Point

ATOMS = [Atom("p"), Atom("p", (1,)), Atom("p", ("1",)), Atom("q", ("ä", 1.5)), Atom("Q", ('"\n',))]


@pytest.mark.parametrize("seed", range(200))
def test_columns_give_the_rows_of_intervals(seed: int) -> None:
    random = Random(seed)
    pieces = random_pieces(random)
    expected = [(atom_text(atom), *span) for atom, *span in JoinedIntervals().of(pieces)]
    tables = [table.to_pydict() for table in JoinedTables().of(pieces)]
    assert [row for table in tables for row in zip(*table.values(), strict=True)] == expected
    assert joined_table(pieces).num_rows == len(expected)


def test_an_interval_is_given_before_the_run_is_over() -> None:
    p, q = Atom("p"), Atom("q")
    first = PointAnswers(1, 2, [Point(1, frozenset({p})), Point(2, frozenset({q}))])
    then = PointAnswers(3, 3, [Point(3, frozenset({q}))])
    assert next(JoinedTables().of([first, then])).to_pylist() == [{"atom": "p", "from": 1, "to": 1}]


def random_pieces(random: Random) -> list[PointAnswers]:
    """Answers with atoms that often hold across the ends of pieces, some of them without points."""
    often = [random.random() for _ in ATOMS]
    pieces, t = [], random.randint(-3, 3)
    holding: frozenset[Atom] = frozenset()
    for _ in range(random.randint(0, 6)):
        points = []
        for _ in range(random.choice([0, 1, 1, 2, 5])):
            if random.random() < 0.5:
                chosen = [atom for atom, p in zip(ATOMS, often, strict=True) if random.random() < p]
                holding = frozenset(chosen)
            points.append(Point(t + len(points), holding))
        pieces.append(PointAnswers(t, t + len(points) - 1, points))
        t += len(points)
    return pieces
