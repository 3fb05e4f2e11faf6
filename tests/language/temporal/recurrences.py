"""Temporal formulas over finite streams by their recurrences, and random ones to compare with."""

from random import Random

from larspark.base.atoms import Atom
from larspark.language.dialects.ltl.temporal_tree import (
    Binary,
    Known,
    Listed,
    Proposition,
    Temporal,
    Unary,
)

States = list[set[Atom]]

ATOMS = (Atom("p"), Atom("q"), Atom("r", (1,)), Atom("Xray"))
UNARY = ("!", "X", "WX", "F", "G", "Y", "Z", "O", "H")
BINARY = ("->", "<->", "U", "R", "W", "M", "S", "T", "B")
PAST_UNARY = ("!", "Y", "Z", "O", "H")
PAST_BINARY = ("->", "<->", "S", "T", "B")


def satisfies(states: States, i: int, formula: Temporal) -> bool:
    """Does the finite word satisfy the formula at position i?"""
    match formula:
        case Proposition(atom):
            return atom in states[i]
        case Known(name):
            edges = {"first": i == 0, "last": i == len(states) - 1}
            return {"true": True, "false": False, **edges}[name]
        case Listed(operator, parts):
            holding = [satisfies(states, i, part) for part in parts]
            return all(holding) if operator == "&" else any(holding)
        case Unary(operator, body):
            return _unary(states, i, operator, body, formula)
        case Binary(operator, left, right):
            return _binary(states, i, operator, (left, right), formula)


def _unary(states: States, i: int, operator: str, body: Temporal, formula: Temporal) -> bool:
    def at(j: int, f: Temporal, *, beyond: bool) -> bool:
        return satisfies(states, j, f) if 0 <= j < len(states) else beyond

    now = satisfies(states, i, body)
    return {
        "!": lambda: not now,
        "X": lambda: at(i + 1, body, beyond=False),
        "WX": lambda: at(i + 1, body, beyond=True),
        "F": lambda: now or at(i + 1, formula, beyond=False),
        "G": lambda: now and at(i + 1, formula, beyond=True),
        "Y": lambda: at(i - 1, body, beyond=False),
        "Z": lambda: at(i - 1, body, beyond=True),
        "O": lambda: now or at(i - 1, formula, beyond=False),
        "H": lambda: now and at(i - 1, formula, beyond=True),
    }[operator]()


def _binary(
    states: States, i: int, operator: str, sides: tuple[Temporal, Temporal], formula: Temporal
) -> bool:
    def later(*, beyond: bool) -> bool:
        return satisfies(states, i + 1, formula) if i + 1 < len(states) else beyond

    def earlier(*, beyond: bool) -> bool:
        return satisfies(states, i - 1, formula) if i > 0 else beyond

    f, g = (satisfies(states, i, side) for side in sides)
    return {
        "->": lambda: not f or g,
        "<->": lambda: f == g,
        "U": lambda: g or (f and later(beyond=False)),
        "W": lambda: g or (f and later(beyond=True)),
        "R": lambda: g and (f or later(beyond=True)),
        "M": lambda: g and (f or later(beyond=False)),
        "S": lambda: g or (f and earlier(beyond=False)),
        "B": lambda: g or (f and earlier(beyond=True)),
        "T": lambda: g and (f or earlier(beyond=True)),
    }[operator]()


def random_formula(random: Random, depth: int, *, past: bool = False) -> Temporal:
    kind = random.random()
    if depth == 0 or kind < 0.1:
        if random.random() < 0.15:
            names = ("true", "false", "first") if past else ("true", "false", "first", "last")
            return Known(random.choice(names))
        return Proposition(random.choice(ATOMS))

    def part() -> Temporal:
        return random_formula(random, depth - 1, past=past)

    if kind < 0.5:
        return Unary(random.choice(PAST_UNARY if past else UNARY), part())
    if kind < 0.8:
        return Binary(random.choice(PAST_BINARY if past else BINARY), part(), part())
    parts = tuple(part() for _ in range(random.choice((2, 2, 3))))
    return Listed(random.choice(("&", "|")), parts)


def random_states(random: Random) -> States:
    density = random.choice((0.15, 0.4, 0.7))
    length = random.randint(1, 8)
    return [{a for a in ATOMS if random.random() < density} for _ in range(length)]
