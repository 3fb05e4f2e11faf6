"""`#remember` in recursions: what was output before is read again by the rules that derive it."""

import os
from dataclasses import replace
from random import Random

import pytest
from tests.run.interval.random_programs import DERIVED, Case, Generator
from tests.run.test_agreement import REFUSALS, SIGNATURES, cuts, run, span

from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError, Severity
from larspark.language import program_text
from larspark.language.tree import Rule
from larspark.meaning.check import check
from larspark.meaning.oracle import output_stream
from larspark.meaning.walk import occurrences

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
    compared, seed = 0, 0
    while compared < (PAIRS if engine == "interval" else PAIRS // 5):
        seed += 1
        random = Random(seed)
        case = recursive_case(random)
        if case is None:
            continue
        checked = check(case.program, SIGNATURES, ends=case.until is not None)
        if any(problem.severity is Severity.ERROR for problem in checked.problems):
            continue
        first, last = span(case, checked)
        if first is None or first > last or (checked.endless and case.until is None):
            continue
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
            continue
        assert found == expected, (seed, program_text(case.program))
        compared += any(expected.values())
