"""Temporal formulas on every engine give what their recurrences give.

`LARSPARK_PAIRS` sets how many pairs of a formula and a stream are drawn.
"""

import os
from random import Random

import pytest
from tests.language.temporal.recurrences import (
    States,
    random_formula,
    random_states,
    satisfies,
)
from tests.run.test_agreement import SEED

from larspark import Program
from larspark.api import open_session
from larspark.base.atoms import atom_text
from larspark.base.facts import Row, RowBatch
from larspark.language import parse_program, program_text
from larspark.language.dialects.ltl.temporal_reader import read_formulas
from larspark.language.dialects.ltl.temporal_tree import (
    Binary,
    Listed,
    Temporal,
    Unary,
    temporal_text,
)
from larspark.language.printer import lars_translation
from larspark.language.source import Source
from larspark.run.protocol import Settings

PAIRS = int(os.environ.get("LARSPARK_PAIRS", "20000")) // 40
SHARE = {"interval": 1.0, "asp": 0.1, "tms": 0.1, "oracle": 0.1}
START = 3


def run(program: Program, states: States, engine: str, *, hindsight: bool) -> list[bool]:
    last = START + len(states) - 1
    session = open_session(program, (), engine, Settings(START, hindsight))
    rows = [
        Row(START + i, atom, 0)
        for i, state in enumerate(states)
        for atom in sorted(state, key=atom_text)
    ]
    session.append(RowBatch(rows, last))
    return [bool(point.atoms) for point in session.advance(last).points()]


def expected(formula: Temporal, states: States, reading: str) -> list[bool]:
    points = range(len(states))
    match reading:
        case "each":
            return [satisfies(states, i, formula) for i in points]
        case "prefix":
            return [satisfies(states[: i + 1], 0, formula) for i in points]
        case _:
            return [satisfies(states[: i + 1], i, formula) for i in points]


@pytest.mark.parametrize("engine", SHARE)
@pytest.mark.parametrize("reading", ["each", "prefix", "now"])
def test_a_formula_holds_where_its_recurrences_say(reading: str, engine: str) -> None:
    seen: set[bool] = set()
    for seed in range(SEED, SEED + int(PAIRS * SHARE[engine]) // 3):
        random = Random(f"{reading} {seed}")
        formula = random_formula(random, random.randint(1, 4))
        text = temporal_text(formula)
        program = Program.parse(text, dialect="ltl", reading=reading)
        states = random_states(random)
        found = run(program, states, engine, hindsight=reading == "each")
        assert found == expected(formula, states, reading), (seed, text, states)
        seen |= set(found)
    assert seen == {True, False}


def test_a_formula_of_the_past_is_asked_now_and_others_of_the_prefix() -> None:
    for seed in range(60):
        random = Random(seed)
        past = random_formula(random, 3, past=True)
        read = parse_program(temporal_text(past), dialect="ltl").program
        assert read == parse_program(temporal_text(past), dialect="ltl", options=NOW).program
        ahead = temporal_text(Listed("&", (past, Unary("F", random_formula(random, 1)))))
        read = parse_program(ahead, dialect="ltl").program
        assert read == parse_program(ahead, dialect="ltl", options=PREFIX).program


NOW, PREFIX = {"reading": "now"}, {"reading": "prefix"}


def test_formulas_and_their_translations_read_back() -> None:
    for seed in range(500):
        random = Random(seed)
        formula = random_formula(random, 5)
        for text in (temporal_text(formula), spelt(random, formula)):
            source = Source("t", text)
            (named,) = read_formulas(source)
            assert source.problems == []
            # Nested lists of one operator are printed in parentheses, and stay nested.
            assert named.formula == formula, text
        program = parse_program(temporal_text(formula), dialect="ltl").program
        assert program is not None
        again = parse_program(lars_translation(program))
        assert again.problems == ()
        assert again.program == program
        assert again.program is not None
        assert program_text(again.program) == program_text(program)


SPELLINGS = {
    "!": ("!", "~", "not ", "¬"),
    "X": ("X ", "X[!] "),
    "WX": ("WX ", "N ", "X[?] "),
    "F": ("F ", "<> ", "◇"),
    "G": ("G ", "[] ", "□"),
    "Y": ("Y ", "X^-1 "),
    "Z": ("Z ", "Y[?] "),
    "O": ("O ", "P ", "F^-1 "),
    "H": ("H ", "G^-1 "),
    "R": (" R ", " V "),
    "S": (" S ", " U^-1 "),
    "->": ("->", "=>", "→"),
    "<->": ("<->", "<=>", "↔"),
    "&": ("&", "&&", " and ", "/\\", "∧"),
    "|": ("|", "||", " or ", "\\/", "∨"),
}


def spelt(random: Random, formula: Temporal) -> str:
    """The formula with all parentheses, and operators in any of their spellings."""
    match formula:
        case Unary(operator, body):
            return f"({random.choice(SPELLINGS[operator])}{spelt(random, body)})"
        case Binary(operator, left, right):
            word = random.choice(SPELLINGS.get(operator, (f" {operator} ",)))
            return f"({spelt(random, left)}{word}{spelt(random, right)})"
        case Listed(operator, parts):
            words = [spelt(random, part) for part in parts]
            return f"({random.choice(SPELLINGS[operator]).join(words)})"
        case _:
            return temporal_text(formula)
