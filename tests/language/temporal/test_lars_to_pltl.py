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
from larspark.language.dialects.ltl.temporal_tree import (
    Listed,
    Proposition,
    Temporal,
    Unary,
    temporal_text,
)
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


def windowed(random: Random, depth: int) -> tuple[Formula, int]:
    """A formula whose temporal operators stand below windows, and how far it sees ahead."""
    if depth == 0:
        return AtomFormula(Atom(random.choice("pq"))), 0
    if random.random() < 0.3:
        left, right = windowed(random, depth - 1), windowed(random, depth - 1)
        return And((Not(left[0]), right[0])), max(left[1], right[1])
    body, reach = windowed(random, depth - 1)
    past, future = random.randint(0, 2), random.randint(0, 2)
    kind = random.choice((Some, Always, lambda f: At(random.randint(0, 4), f)))
    return Windowed(TimeWindow(past, future), kind(body)), reach + future


def ahead(steps: int, formula: Temporal) -> Temporal:
    for _ in range(steps):
        formula = Unary("X", formula)
    return formula


def test_theorem_14_one_formula_for_streams_of_every_length() -> None:
    """Construction (12): a case for each distance to the end, up to where they are all the same."""
    end = Proposition(Atom("u"))
    seen = set()
    for seed in range(PAIRS // 20):
        random = Random(f"theorem 14 {seed}")
        formula, reach = windowed(random, random.randint(1, 3))
        t = random.randint(0, 3)
        cases: list[Temporal] = []
        for n in range(reach + 1):
            here = [ahead(n, Unary("!", end)), pltl(formula, Timeline(0, t + n), t)]
            if n < reach:
                here.append(ahead(n + 1, end))
            cases.append(Listed("&", tuple(here)))
        translated = cases[0] if len(cases) == 1 else Listed("|", tuple(cases))
        for last in range(t, t + reach + 3):
            states: States = [set() for _ in range(last + 1)]
            elements = []
            for point in range(last + 1):
                for name in "pq":
                    if random.random() < 0.5:
                        states[point].add(Atom(name))
                        elements.append((point, Atom(name)))
            holds = bool(query(formula, elements, start=0, end=last, at=t))
            path = [*states, *({Atom("u")} for _ in range(reach + 3))]
            assert satisfies(path, t, translated) == holds, (seed, last)
            assert satisfies(path, 0, ahead(t, translated)) == holds
            seen.add(holds)
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
