"""Random small stratified programs with streams: dense enough that much is derived."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element
from larspark.base.problems import Severity
from larspark.language import parse_program

INPUTS = ("a", "b", "c")
VALUES = ("x", "y")
LEVELS = 4
LAST = 9

# Twice stands what should come more often.
WINDOWS = ("[0]", "[1]", "[2]", "[3]", "[5]", "[*]", "[+2]", "[2,+1]")
TUPLE_WINDOWS = ("[#1]", "[#3]", "[#5]", "[#2 by X]", "[session 1]", "[session 2 max 4 by X]")
SHAPES = (
    "{atom}",
    "{window} some {atom}",
    "{window} some {atom}",
    "{window} some {atom}",
    "{window} always {atom}",
    "{window} @T {atom}",
    "{window} @T {atom}",
    "[3] some ({atom} or {name}({argument}) and c(x))",
)
HOPPING_WINDOWS = ("[4 every 2]", "[3,+1 every 3]")
NESTED_TUPLE_WINDOWS = ("[only a(_)] [#2]", "[3] [#4]", "[only a(_)] [ended session 2 by X]")
NESTED_SHAPES = ("[4] always reset [3] some {atom}",)


class Case(NamedTuple):
    text: str
    checked: Checked
    elements: tuple[Element, ...]
    at: int

    def __str__(self) -> str:
        facts = " ".join(f"@{t} {atom}." for t, atom in self.elements)
        return f"at {self.at}:\n{self.text}\n{facts}"


def random_case(seed: int, *, simple: bool = False) -> Case:
    """A program without problems, a stream, and a time point at which to look.

    A simple one has neither hopping nor nested windows.
    """
    random = Random(seed)
    author = _Author(random, simple)
    while True:
        rules = [author.rule(level) for level in range(LEVELS) for _ in range(2)]
        text = "\n".join(["#input a/1, b/1, c/1.", *rules])
        program = parse_program(text).program
        assert program is not None, text
        checked = check(program)
        errors = [p for p in checked.problems if p.severity is Severity.ERROR]
        if not errors and not checked.endless:
            return Case(text, checked, _stream(random), random.randint(LAST - 4, LAST))


def _stream(random: Random) -> tuple[Element, ...]:
    density = random.choice((0.2, 0.4, 0.6))
    return tuple(
        Element(t, Atom(name, (value,)))
        for t in range(LAST + 1)
        for name in random.sample(INPUTS, len(INPUTS))
        for value in VALUES
        if random.random() < density
    )


class _Author:
    def __init__(self, random: Random, simple: bool) -> None:
        self._random = random
        self._windows = WINDOWS if simple else WINDOWS + HOPPING_WINDOWS
        self._tuple_windows = TUPLE_WINDOWS if simple else TUPLE_WINDOWS + NESTED_TUPLE_WINDOWS
        self._shapes = SHAPES if simple else SHAPES + NESTED_SHAPES

    def rule(self, level: int) -> str:
        random = self._random
        below = tuple(f"p{n}" for n in range(level))
        binder = below[-1:] if below and random.random() < 0.6 else INPUTS
        body = [self._element(binder, ("X",))]
        # A predicate may depend on itself, as long as no negation is on the way.
        seen = (*INPUTS, *below, f"p{level}")
        body += [self._element(seen, ("X", "X", "x", "_", "Y")) for _ in range(random.randrange(3))]
        if any("(Y)" in part for part in body) and random.random() < 0.5:
            body.append("X != Y")
        if random.random() < 0.3:
            negated = self._element((*INPUTS, *below), ("X", "y", "_"))
            body.append(f"not {negated.replace('@T', 'some')}")
        head = f"p{level}(X)"
        if any("@T" in part for part in body):
            heads = (head, f"@T {head}", f"@T {head}", f"@T+1 {head}", f"@T-2 {head}")
            head = random.choice(heads)
            if random.random() < 0.3:
                body.append(f"T > {random.randrange(6)}")
        return f"{head} :- {', '.join(body)}."

    def _element(self, names: Sequence[str], arguments: Sequence[str]) -> str:
        """A positive body element; only input may stand under a tuple window."""
        random = self._random
        name, argument = random.choice(names), random.choice(arguments)
        window = random.choice(self._windows)
        if name in INPUTS and random.random() < 0.3:
            window = random.choice(self._tuple_windows)
        if "by X" in window:
            argument = "X"
        if "only" in window:
            name = "a"
        atom = f"{name}({argument})"
        shape = random.choice(self._shapes)
        return shape.format(window=window, atom=atom, name=name, argument=argument)
