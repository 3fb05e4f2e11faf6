"""`#remember` in recursions: what was output before is read again by the rules that derive it."""

import os
from dataclasses import replace
from random import Random

import pytest
from tests.run.interval.random_programs import DERIVED, Case, Generator
from tests.run.test_agreement import SEED, agrees

from larspark.base.atoms import Signature
from larspark.language.tree import Rule
from larspark.logic.traversal import occurrences

PAIRS = int(os.environ.get("LARSPARK_PAIRS", "20000")) // 200


def recursive_case(random: Random) -> Case | None:
    """A case whose derived predicates are all remembered, if a rule reads what it derives."""
    generator = Generator(random)
    case = generator.case()
    if not any(_reads_itself(rule) for rule in case.program.rules):
        return None
    remembered = frozenset(Signature(name, DERIVED[name]) for name in generator.names)
    return replace(case, program=replace(case.program, remembered=remembered))


def _reads_itself(rule: Rule) -> bool:
    read = {found.formula.atom.signature for formula in rule.body for found in occurrences(formula)}
    return any(found.formula.atom.signature in read for found in occurrences(rule.head))


@pytest.mark.parametrize("engine", ["interval", "asp", "tms"])
def test_a_recursion_reads_what_it_had_output_before(engine: str) -> None:
    compared, seed = 0, SEED
    while compared < (PAIRS if engine == "interval" else PAIRS // 5):
        seed += 1
        random = Random(seed)
        case = recursive_case(random)
        compared += case is not None and bool(agrees(case, engine, random, seed))
