"""Algorithm 1 of the LARS paper: Example 22, and Proposition 3 on random formulas and streams."""

import os
from pathlib import Path
from random import Random

import pytest
from tests.in_process import larspark
from tests.language.temporal.recurrences import States, satisfies

from larspark import LarsparkError
from larspark.base.atoms import Atom
from larspark.language import parse_formula
from larspark.language.dialects.ltl.lars_to_pltl import Timeline, pltl
from larspark.language.dialects.ltl.temporal_reader import read_formulas
from larspark.language.dialects.ltl.temporal_tree import temporal_text
from larspark.language.source import Source
from larspark.language.tree import (
    Always,
    And,
    At,
    AtomFormula,
    Formula,
    Implies,
    Not,
    Or,
    Reset,
    Some,
    Truth,
    Windowed,
)
from larspark.language.windows import TimeWindow
from larspark.meaning.queries import query

PAIRS = int(os.environ.get("LARSPARK_PAIRS", "20000")) // 20


def test_example_22(tmp_path: Path) -> None:
    words = ["@1 q or p and [1,+3] some r", "--to", "pltl", "--timeline", "2,4", "--at", "3"]
    done = larspark(tmp_path, "translate", *words)
    assert done.stdout == "false | p & (X^-1 r | r | X r)\n"


def random_formula(random: Random, depth: int) -> Formula:
    if depth == 0 or random.random() < 0.1:
        if random.random() < 0.1:
            return Truth(random.random() < 0.5)
        return AtomFormula(Atom(random.choice("pqr")))

    def part() -> Formula:
        return random_formula(random, depth - 1)

    match random.randrange(9):
        case 0:
            return Not(part())
        case 1:
            return And((part(), part()))
        case 2:
            return Or((part(), part()))
        case 3:
            return Implies(part(), part())
        case 4:
            return Some(part())
        case 5:
            return Always(part())
        case 6:
            return At(random.randint(0, 8), part())
        case 7:
            return Reset(part())
        case _:
            past = random.choice((None, 0, 1, 2, 4))
            return Windowed(TimeWindow(past, random.choice((0, 0, 1, 3))), part())


def test_proposition_3() -> None:
    seen = set()
    for seed in range(PAIRS):
        random = Random(seed)
        formula = random_formula(random, random.randint(1, 4))
        first = random.randint(0, 3)
        last = first + random.randint(0, 4)
        states: States = [set() for _ in range(last + 1)]
        elements = []
        for t in range(first, last + 1):
            for name in "pqr":
                if random.random() < 0.4:
                    states[t].add(Atom(name))
                    elements.append((t, Atom(name)))
        for t in range(first, last + 1):
            translated = pltl(formula, Timeline(first, last), t)
            holds = bool(query(formula, elements, start=first, end=last, at=t))
            assert satisfies(states, t, translated) == holds, (seed, t)
            seen.add(holds)
            (again,) = read_formulas(Source("t", temporal_text(translated)))
            assert satisfies(states, t, again.formula) == holds
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("formula", "t", "code"),
    [
        ("[#3] some p", 1, "L472"),
        ("[4 every 2] some p", 1, "L472"),
        ("p(X)", 1, "L472"),
        ("@T p", 1, "L472"),
        ("p", 9, "L251"),
        ("some " * 8 + "p", 1, "L254"),
    ],
)
def test_what_has_no_counterpart_is_refused(formula: str, t: int, code: str) -> None:
    parsed = parse_formula(formula).formula
    assert parsed is not None
    with pytest.raises(LarsparkError, match=code):
        pltl(parsed, Timeline(0, 5), t)


def test_the_command_asks_for_what_it_needs(tmp_path: Path) -> None:
    assert larspark(tmp_path, "translate", "p", "--to", "pltl").returncode == 2
    wrong = ["--to", "pltl", "--timeline", "4,2", "--at", "3"]
    assert larspark(tmp_path, "translate", "p", *wrong).returncode == 2
    broken = ["--to", "pltl", "--timeline", "2,4", "--at", "3"]
    assert larspark(tmp_path, "translate", "p and", *broken).returncode == 1
