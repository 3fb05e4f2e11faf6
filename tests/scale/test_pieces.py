"""The work on pieces, without Spark: whatever the cuts, the answers are those of one engine."""

from itertools import product
from random import Random

import pyarrow as pa
import pytest
from tests.run.interval.random_programs import Generator
from tests.scale import keyed_programs
from tests.scale.piecewise import (
    answer_pieces,
    arrivals,
    job_for,
    local_answers,
    model_rows,
    text_partitions,
)

from larspark.base.atoms import Atom, Element, fact
from larspark.base.facts import Row, RowBatch
from larspark.base.problems import LarsparkError
from larspark.feeds.mapping import parse_mappings
from larspark.language import tree
from larspark.run.protocol import Settings
from larspark.run.session import Session
from larspark.scale.grid import RequestedCuts
from larspark.scale.job import prepare
from larspark.scale.table_facts import Shape

ANY = 120
KEYED = 80


def compare(
    random: Random,
    program: str | tree.Program,
    background: frozenset[Atom],
    elements: list[Element],
    settings: Settings,
    to: int | None,
    engine: str = "auto",
) -> set[tuple[int, int]]:
    """Compare every cut that the program allows with one engine; the cuts that were tried."""
    whole = prepare(program, background, engine, settings, RequestedCuts(1, 1))
    ordered = random.random() < 0.5
    expected = local_answers(whole, arrivals(elements, ordered), to)
    sources = [text_partitions(elements, random, ordered)]
    shards = [1] if whole.cuts.key is None else [1, 2, 5]
    slices = [1] if whole.cuts.lookback is None else [1, random.randint(2, 4)]
    tried = set(product(shards, slices))
    for requested in tried:
        prepared = prepare(program, background, engine, settings, RequestedCuts(*requested))
        job = job_for(prepared, sources, to)
        found = [] if job is None else answer_pieces(job, sources)
        assert found == expected, (requested, program, elements)
    return tried


def test_keyed_programs_give_the_same_answers_in_any_pieces() -> None:
    tried: set[tuple[int, int]] = set()
    for seed in range(KEYED):
        random = Random(seed)
        elements = keyed_programs.random_elements(random)
        first = min((element.t for element in elements), default=0)
        start = random.choice([None, None, first + 1])
        to = random.choice([None, None, max(first, start or 0) + random.randint(0, 9)])
        settings = Settings(start, hindsight=random.random() < 0.1)
        program = keyed_programs.random_program(random)
        background = keyed_programs.random_background(random)
        tried |= compare(random, program, background, elements, settings, to)
    assert {(5, 4), (5, 1), (1, 3)} <= tried


def test_programs_of_any_kind_give_the_same_answers_in_any_pieces() -> None:
    tried: set[tuple[int, int]] = set()
    for seed in range(ANY):
        random = Random(seed)
        case = Generator(random).case()
        settings = Settings(case.start, case.hindsight, case.until)
        try:
            prepare(case.program, case.background, "auto", settings, RequestedCuts(1, 1))
        except LarsparkError:
            continue
        elements = list(case.elements)
        try:
            tried |= compare(random, case.program, case.background, elements, settings, case.to)
        except LarsparkError as error:
            # A time variable without an end is seen only when the program runs.
            assert error.problems[0].code == "L403"
    assert {(1, 1), (1, 2), (1, 4)} <= tried


@pytest.mark.parametrize("engine", ["asp", "oracle"])
def test_constraints_hold_in_every_slice(engine: str) -> None:
    if engine == "asp":
        pytest.importorskip("clingo")
    program = "p(X) :- [2] some a(X). :- p(X), [1] some b(X)."
    elements = [
        Element(t, fact("b" if t % 7 == 3 else "a", "x" if t % 2 else "y")) for t in range(20)
    ]
    tried = compare(Random(1), program, frozenset(), elements, Settings(), None, engine)
    assert len(tried) == 2


def test_a_stream_of_background_predicates_is_seen_by_all_shards() -> None:
    program = "p(X) :- [2] some a(X), k(Y)."
    elements = [Element(t, fact("k", t) if t % 5 == 0 else fact("a", t % 4)) for t in range(20)]
    background = frozenset({fact("k", 0)})
    tried = compare(Random(2), program, background, elements, Settings(), None)
    assert (5, 1) in tried


def test_predicates_and_constants_that_need_quotes_are_written_as_local_runs_write_them() -> None:
    program = '"Foo bar"(X) :- [1] some a(X). "Foo bar" :- [1] some a(_).'
    elements = [Element(t, fact("a", "x y" if t % 2 else "z")) for t in range(0, 12, 3)]
    compare(
        Random(3),
        program,
        frozenset(),
        elements,
        Settings(),
        None,
    )


def test_keys_of_different_column_types_meet() -> None:
    program = "p(X) :- [3] some a(X), b(X)."
    shapes = [Shape(n, parse_mappings(f"t -> {name}(x)")[0]) for n, name in enumerate("ab")]
    whole = pa.RecordBatch.from_pydict({"t": [1, 1, 2], "x": pa.array([1, 2, 3], pa.int32())})
    halves = pa.RecordBatch.from_pydict({"t": [2, 3, 4], "x": pa.array([2.0, 1.0, 3.0])})
    sources = [(shapes[0], [[whole]]), (shapes[1], [[halves]])]
    for shards in (1, 3):
        job = job_for(
            prepare(program, (), "auto", Settings(), RequestedCuts(shards)), sources, None
        )
        assert job is not None
        assert answer_pieces(job, sources) == [("p(1)", 3, 3), ("p(2)", 2, 2), ("p(3)", 4, 4)]


def test_facts_of_one_time_point_arrive_by_order_then_place_then_text() -> None:
    program = "last(X) :- [#1] some a(X). last(X) :- [#1] some b(X)."
    table = pa.RecordBatch.from_pydict({"t": [1, 1, 1], "x": ["k", "m", "l"], "n": [2, 1, 1]})

    def last(order: str | None, names: str) -> list[str]:
        shapes = [Shape(n, parse_mappings(f"t -> {p}(x)")[0], order) for n, p in enumerate(names)]
        sources = [(shape, [[table]]) for shape in shapes]
        job = job_for(prepare(program, (), "auto", Settings(), RequestedCuts()), sources, None)
        assert job is not None
        return [atom for atom, _, _ in answer_pieces(job, sources)]

    assert last(None, "a") == ["last(m)"]
    assert last("n", "a") == ["last(k)"]
    assert last(None, "ba") == last(None, "ab") == ["last(m)"]


def test_a_hot_key_is_cut_by_time_when_the_program_allows_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("larspark.scale.grid.SMALL_PIECE", 10)
    hot = [Element(t, fact("a", "x", t % 3)) for t in range(200)]
    rest = [Element(t, fact("a", name, 0)) for t in range(0, 200, 40) for name in "yzuvw"]
    elements = sorted(hot + rest)
    sources = [text_partitions(elements, Random(3), ordered=False)]
    both = prepare("p(X) :- [12] always a(X, _).", (), "auto", Settings(), RequestedCuts())
    job = job_for(both, sources, None)
    assert job is not None
    assert job.grid.shards > 1
    assert len(job.grid.starts) > 1
    assert answer_pieces(job, sources) == local_answers(both, arrivals(elements, False), None)

    by_key = prepare("p(X) :- [*] always a(X, _).", (), "auto", Settings(), RequestedCuts())
    job = job_for(by_key, sources, None)
    assert job is not None
    assert len(job.grid.starts) == 1


def test_all_answer_streams_are_the_same_in_any_slices() -> None:
    pytest.importorskip("clingo")
    program = "on(X) or off(X) :- [2] some a(X). :- on(x), on(y), [3] some b(_)."
    elements = [
        Element(t, fact("b" if t % 6 == 4 else "a", "x" if t % 2 else "y")) for t in range(14)
    ]
    shape, partitions = text_partitions(elements, Random(5), ordered=True)

    def rows(slices: int) -> list[tuple[int, int, str]]:
        prepared = prepare(
            program, (), "asp", Settings(), RequestedCuts(1, slices), every_model=True
        )
        job = job_for(prepared, [(shape, partitions)], None)
        assert job is not None
        assert len(job.grid.starts) == slices
        return sorted(model_rows(job, shape, partitions))

    whole = rows(1)
    assert {model for t, model, _ in whole if t == 1} == {1, 2, 3, 4}
    assert {model for t, model, _ in whole if t == 6} == {1, 2, 3}
    assert rows(3) == whole

    # The numbers are those of the sorted outputs of a local engine.
    session = Session(prepare(program, (), "asp", Settings(), RequestedCuts()).checked, (), "asp")
    session.append(RowBatch([Row(t, atom, n) for n, (t, atom) in enumerate(elements) if t <= 6], 6))
    found = sorted(sorted(map(str, model.stream.get(6, ()))) for model in session.models(6))
    assert [sorted(a for t, m, a in whole if (t, m) == (6, n)) for n in (1, 2, 3)] == found


ODD_PROGRAMS = [
    # What a predicate of the stream has as background data is in every shard.
    "#input k/1, a/1. p(X) :- [2] some k(X). q(X) :- [2] some k(X), not [3] some a(X).",
    # Where a window with `by` starts depends on the tuples of all values, however old.
    "q(X) :- [#1 by X] [2] always a(X).",
    "q(X) :- k(X), [#1 by X] @3 (a(X) or 1 < 2).",
    "q(X) :- k(X), [#1 by X] [4 every 3] some (a(X) or 1 < 2).",
    "q(X) :- k(X), [#1 by X] [2] some (a(X) or reset b(X)).",
    "q(X, U) :- [#1 by X] [5] @U [+3] some b(X).",
    "q(X, T) :- a(X), [#2 by X] [1] @T a(X), not [3] some b(X).",
    "q(X) :- a(X), [only a(X), b(X)] [#2] always a(X).",
    # Rules that fire without facts of their key.
    "q(X) :- k(X), (a(X) or not [2] some b(X)).",
    "q(X) :- k(X), not [2] some (a(X) and b(X)). r(X) :- [1] some q(X), not b(X).",
    "q(X) and r(X) :- a(X). s(X) :- q(X), not [2] some b(X). s(x). s(w).",
    # Constants, arithmetic and comparisons join nothing.
    "q(X) :- [2] some a(X), [3] some b(Y), X = Y.",
    "q(Y) :- a(X), [3] some b(Y), X < Y.",
    "q(x) :- a(X), [1] some b(x).",
    "q(X) :- a(X), not [2] some b(_).",
    # Recursion.
    "q(X) :- [3] some a(X). q(X) :- r(X), [1] some b(X). r(X) :- [2] some q(X), not a(X).",
]


@pytest.mark.parametrize("program", ODD_PROGRAMS)
def test_odd_programs_give_the_same_answers_in_any_pieces(program: str) -> None:
    for seed in range(5):
        random = Random(seed)
        elements = [
            Element(random.randint(0, 7), fact(random.choice("aabbk"), random.choice("xyz")))
            for _ in range(random.randint(4, 9))
        ]
        background = frozenset({fact("k", "x"), fact("k", "w")})
        compare(random, program, background, sorted(elements), Settings(), None)
