"""Mutated programs, streams, mappings, options and states: taken or refused, never a traceback.

`LARSPARK_MUTATIONS=1000000 pytest tests/fuzz` tries more of them, for hours. What it finds is kept
in `corpus/`, so that it is tried from then on, as it was found and changed further.
"""

import faulthandler
import os
from collections.abc import Iterator
from contextlib import suppress
from random import Random

import pytest
from tests.fuzz.targets import Target, attack, targets

MUTATIONS = int(os.environ.get("LARSPARK_MUTATIONS", "3000"))
SEED = os.environ.get("LARSPARK_SEED", "0")
# Programs take a hundred times as long as options.
SHARE = {"program": 0.05, "lines": 0.15, "csv": 0.1, "mapping": 0.3, "option": 0.3, "state": 0.1}


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    faulthandler.dump_traceback_later(900, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
def test_a_mutated_input_is_taken_or_refused(target: Target) -> None:
    for sample in target.samples:
        # Options are given to one parser after the other.
        for seed in range(20 if target.name == "option" else 1):
            with suppress(*target.refusals):
                target.run(sample, Random(seed))
    rng = Random(f"{SEED} {target.name}")
    for _ in range(int(MUTATIONS * SHARE[target.name])):
        attack(target, rng)
