"""Order, start and numbers of elements are decided by the session, for rows and columns alike."""

from collections.abc import Sequence

import pytest

from larspark.base.atoms import Atom
from larspark.base.facts import AnyBatch, ColumnBatch, Row, RowBatch
from larspark.base.problems import LarsparkError
from larspark.language import parse_program
from larspark.run.prepare import prepare
from larspark.run.protocol import Engine, Settings
from larspark.run.session import Session

PROGRAM = "@3 p(own). q(X) :- [#2] some p(X)."


class Seen:
    """An engine that keeps what it is given, and leaves the work to another one."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.rows: list[tuple[int, object, int]] = []

    def append(self, batch: AnyBatch) -> None:
        self.rows += [(t, args[0], seq) for t, (_, args), seq in batch.rows()]
        self.engine.append(batch)

    def __getattr__(self, name: str) -> object:
        return getattr(self.engine, name)


def session(program: str, start: int | None = None) -> tuple[Session, Seen]:
    parsed = parse_program(program).program
    assert parsed is not None
    made = Session(prepare(parsed).checked, engine="interval", settings=Settings(start))
    made.engine = seen = Seen(made.engine)  # type: ignore[assignment]
    return made, seen


def rows(*elements: tuple[int, str, int]) -> RowBatch:
    return RowBatch([Row(t, Atom("p", (name,)), seq) for t, name, seq in elements])


def columns(*elements: tuple[int, str, int]) -> ColumnBatch:
    return ColumnBatch(rows(*elements).segments())


@pytest.mark.parametrize("make", [rows, columns])
@pytest.mark.parametrize("first", [0, 7])
def test_elements_get_the_numbers_of_their_arrival(make: type[RowBatch], first: int) -> None:
    made, seen = session(PROGRAM, start=2)
    made.append(make((1, "before", first), (2, "a", first + 1), (3, "b", first + 2)))
    made.append(make((3, "c", first + 3), (4, "d", first + 4)))
    assert seen.rows == [(2, "a", 0), (3, "own", 1), (3, "b", 2), (3, "c", 3), (4, "d", 4)]


def test_a_batch_whose_numbers_fit_is_passed_on_as_it_is() -> None:
    batch = rows((1, "a", 0), (1, "b", 1))
    assert batch.numbered_from(0) is batch
    assert [row.seq for row in batch.numbered_from(5).rows()] == [5, 6]


@pytest.mark.parametrize(
    ("elements", "t", "latest"),
    [([(5, "a", 0), (4, "b", 1), (6, "c", 2)], 4, 5), ([(2, "late", 0)], 2, 3)],
)
def test_elements_out_of_order_are_refused_with_their_batch(
    elements: Sequence[tuple[int, str, int]], t: int, latest: int
) -> None:
    made, seen = session("q(X) :- [2] some p(X).")
    made.append(rows((3, "first", 0)))
    with pytest.raises(LarsparkError, match=f"an element at {t} comes after one at {latest}"):
        made.append(rows(*elements))
    assert seen.rows == [(3, "first", 0)]
