"""Algorithm 1 of the LARS paper: Example 22, and Proposition 3 on random formulas and streams."""

import os
from pathlib import Path
from random import Random
from typing import Literal

import pytest
from tests.in_process import larspark
from tests.language.temporal.recurrences import States, satisfies

from larspark import LarsparkError
from larspark.base.atoms import Atom
from larspark.language import parse_formula
from larspark.language.dialects.ltl.lars_to_pltl import Timeline, pltl
from larspark.language.dialects.ltl.temporal_reader import read_formulas
from larspark.language.dialects.ltl.temporal_tree import (
    Binary,
    Known,
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


def windowed(random: Random, depth: int, fixed: int = 4) -> tuple[Formula, int]:
    """A formula whose temporal operators stand below windows, and how far it sees ahead.

    The time points of `@` are at most `fixed`.
    """
    if depth == 0:
        return AtomFormula(Atom(random.choice("pq"))), 0
    if random.random() < 0.3:
        left, right = windowed(random, depth - 1, fixed), windowed(random, depth - 1, fixed)
        return And((Not(left[0]), right[0])), max(left[1], right[1])
    body, reach = windowed(random, depth - 1, fixed)
    past, future = random.randint(0, 2), random.randint(0, 2)
    kind = random.choice((Some, Always, lambda f: At(random.randint(0, fixed), f)))
    return Windowed(TimeWindow(past, future), kind(body)), reach + future


def ahead(steps: int, formula: Temporal) -> Temporal:
    for _ in range(steps):
        formula = Unary("X", formula)
    return formula


END = Proposition(Atom("u"))


def of_every_length(formula: Formula, reach: int, t: int) -> Temporal:
    """Construction (12): a case for each distance to the end, up to where they are all the same."""
    cases: list[Temporal] = []
    for n in range(reach + 1):
        here = [ahead(n, Unary("!", END)), pltl(formula, Timeline(0, t + n), t)]
        if n < reach:
            here.append(ahead(n + 1, END))
        cases.append(Listed("&", tuple(here)))
    return cases[0] if len(cases) == 1 else Listed("|", tuple(cases))


def of_every_time(kind: type[Some | Always], formula: Formula, reach: int, most: int) -> Temporal:
    """Constructions (22) and (23): from the start, each time point up to `most`, and all later."""
    within = Unary("!", END) if kind is Some else END
    operator: Literal["|", "&"] = "&" if kind is Some else "|"
    parts: list[Temporal] = []
    for t in range(most + 1):
        part: Temporal = Listed(operator, (within, of_every_length(formula, reach, t)))
        if t == most:
            part = Unary("F" if kind is Some else "G", part)
        parts.append(ahead(t, part))
    together = Listed("|" if kind is Some else "&", tuple(parts))
    return from_start(together)


def from_start(formula: Temporal) -> Temporal:
    start = Unary("!", Unary("Y", Known("true")))
    return Listed("&", (Unary("!", END), Unary("H", Binary("->", start, formula))))


def random_path(random: Random, last: int, beyond: int) -> tuple[States, list[tuple[int, Atom]]]:
    """States up to `last`, and further ones outside of the stream; its elements."""
    states: States = [set() for _ in range(last + 1)]
    elements = []
    for point in range(last + 1):
        for name in "pq":
            if random.random() < 0.5:
                states[point].add(Atom(name))
                elements.append((point, Atom(name)))
    return [*states, *({Atom("u")} for _ in range(beyond))], elements


def test_theorem_14_one_formula_for_streams_of_every_length() -> None:
    seen = set()
    for seed in range(PAIRS // 20):
        random = Random(f"theorem 14 {seed}")
        formula, reach = windowed(random, random.randint(1, 3))
        t = random.randint(0, 3)
        translated = of_every_length(formula, reach, t)
        for last in range(t, t + reach + 3):
            path, elements = random_path(random, last, reach + 3)
            holds = bool(query(formula, elements, start=0, end=last, at=t))
            assert satisfies(path, t, translated) == holds, (seed, last)
            assert satisfies(path, 0, ahead(t, translated)) == holds
            seen.add(holds)
    assert seen == {True, False}


def test_theorem_14_without_windows_around_the_temporal_operators() -> None:
    """Constructions (20), (22), (23): `@`, always and some over the whole timeline; and (25)."""
    seen = set()
    most = 4
    for seed in range(PAIRS // 100):
        random = Random(f"theorem 14, from the start {seed}")
        # At 4 the windows, which look back 2 time points at most, do not show 1 any more.
        body, reach = windowed(random, 1, fixed=1)
        fixed = random.randint(0, 3)
        moved = ahead(fixed, of_every_length(body, reach, fixed))
        cases: list[tuple[Formula, Temporal]] = [
            (At(fixed, body), from_start(moved)),
            (Some(body), of_every_time(Some, body, reach, most)),
            (Always(body), of_every_time(Always, body, reach, most)),
        ]
        ends: list[Temporal] = []
        for t in range(most + 1):
            ending = (Unary("!", END), Unary("X", END), of_every_length(body, reach, t))
            part: Temporal = Listed("&", ending)
            ends.append(ahead(t, Unary("F", part) if t == most else part))
        for last in range(most + 3):
            path, elements = random_path(random, last, most + reach + 3)
            for formula, translated in cases:
                for t in {0, last // 2, last}:
                    holds = bool(query(formula, elements, start=0, end=last, at=t))
                    assert satisfies(path, t, translated) == holds, (seed, last, t)
                    seen.add((type(formula), holds))
            holds = bool(query(body, elements, start=0, end=last, at=last))
            assert satisfies(path, 0, Listed("|", tuple(ends))) == holds, (seed, last)
    assert len(seen) == 6


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
