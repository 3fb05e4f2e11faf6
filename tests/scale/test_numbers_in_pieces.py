"""Aggregates in pieces, in stages and in shards of a stream, without Spark: the local answers."""

from random import Random

import pytest
from tests.scale import keyed_programs, number_programs, test_pieces, test_stages
from tests.scale.streaming import test_step

from larspark.base.atoms import Signature
from larspark.run.protocol import Settings
from larspark.scale.grid import RequestedCuts
from larspark.scale.job import prepare

COUNT = 60


def test_numbers_are_the_same_in_any_pieces() -> None:
    tried: set[tuple[int, int]] = set()
    for seed in range(COUNT):
        random = Random(seed)
        elements = keyed_programs.random_elements(random)
        program = number_programs.random_program(random)
        background = keyed_programs.random_background(random)
        settings = Settings(hindsight=random.random() < 0.1)
        tried |= test_pieces.compare(random, program, background, elements, settings, None)
    assert {(5, 1), (1, 3)} <= tried
    assert any(shards > 1 and slices > 1 for shards, slices in tried)


def test_numbers_are_the_same_in_stages() -> None:
    tried = set()
    for seed in range(COUNT):
        random = Random(seed)
        elements = keyed_programs.random_elements(random)
        program = number_programs.random_program(random)
        # A rule that joins on something else needs a stage of its own.
        program += "\nother(V) :- [3] some a(K, V), [3] some a(L, V), K != L."
        background = keyed_programs.random_background(random)
        tried.add(test_stages.compare(random, program, background, elements, Settings(), None))
    assert max(tried) > 1


def test_numbers_are_the_same_in_any_shards_and_micro_batches() -> None:
    tried: set[str] = set()
    for seed in range(COUNT // 3):
        random = Random(seed)
        elements = keyed_programs.random_elements(random)
        program = number_programs.random_program(random)
        background = keyed_programs.random_background(random)
        tried |= test_step.compare(random, program, background, elements, Settings())
    assert {"intervals", "changes", "1 shards", "5 shards"} <= tried


@pytest.mark.parametrize(
    ("program", "key", "lookback"),
    [
        ("n(K, N) :- N = count of [5] a(K, _) by K.", 0, 5),
        ("n(K) :- k(K), 3 > count of [5] a(K, _).", 0, 5),
        ("n(N) :- N = count of [5] a(_, _).", None, 5),
        ("n(V) :- 2 <= #count{ K : [4] some a(K, V) } by V.", 1, 4),
        ("n(K, N) :- N = sum of V in [#3 by K] a(K, V) by K.", 0, None),
    ],
)
def test_groups_are_keys(program: str, key: int | None, lookback: int | None) -> None:
    prepared = prepare(program, ["k(x)"], "auto", Settings(), RequestedCuts())
    cuts = prepared.cuts
    assert cuts.lookback == lookback
    assert (None if cuts.key is None else cuts.key[Signature("a", 2)]) == key
    assert prepared.engine.name == "interval"
