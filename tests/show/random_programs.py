"""Random small stratified programs with streams: dense enough that much is derived."""

from random import Random
from typing import NamedTuple

from larspark.base.atoms import Atom, Element
from larspark.base.problems import Severity
from larspark.language import parse_program
from larspark.meaning.check import check
from larspark.meaning.checked import Checked

INPUTS = ("a", "b", "c")
VALUES = ("x", "y")
LEVELS = 4
LAST = 9

# More than once stands what should come more often.
WINDOWS = ("[0]", "[1]", "[2]", "[3]", "[5]", "[*]", "[+2]", "[2,+1]", "[4 every 2]", "[3,+1 every 3]")
TUPLE_WINDOWS = ("[#1]", "[#3]", "[#5]", "[#2 by X]", "[only a(_)] [#2]", "[3] [#4]")
SHAPES = (
    "{atom}",
    "{window} some {atom}",
    "{window} some {atom}",
    "{window} some {atom}",
    "{window} always {atom}",
    "{window} @T {atom}",
    "{window} @T {atom}",
    "[4] always reset [3] some {atom}",
    "[3] some ({atom} or {name}({argument}) and c(x))",
)


class Case(NamedTuple):
    text: str
    checked: Checked
    elements: tuple[Element, ...]
    at: int

    def __str__(self) -> str:
        facts = " ".join(f"@{t} {atom}." for t, atom in self.elements)
        return f"at {self.at}:\n{self.text}\n{facts}"


def random_case(seed: int) -> Case:
    """A program without problems, a stream, and a time point at which to look."""
    random = Random(seed)  # noqa: S311 - tests want the same numbers every time
    while True:
        rules = [_rule(random, level) for level in range(LEVELS) for _ in range(2)]
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


def _rule(random: Random, level: int) -> str:
    below = [f"p{n}" for n in range(level)]
    binder = below[-1:] if below and random.random() < 0.6 else INPUTS
    body = [_element(random, binder, ("X",))]
    for _ in range(random.randrange(3)):
        # A predicate may depend on itself, as long as no negation is on the way.
        body.append(_element(random, (*INPUTS, *below, f"p{level}"), ("X", "X", "x", "_", "Y")))
    if any("(Y)" in part for part in body) and random.random() < 0.5:
        body.append("X != Y")
    if random.random() < 0.3:
        negated = _element(random, (*INPUTS, *below), ("X", "y", "_"))
        body.append(f"not {negated.replace('@T', 'some')}")
    head = f"p{level}(X)"
    if any("@T" in part for part in body):
        head = random.choice((head, f"@T {head}", f"@T {head}", f"@T+1 {head}", f"@T-2 {head}"))
        if random.random() < 0.3:
            body.append(f"T > {random.randrange(6)}")
    return f"{head} :- {', '.join(body)}."


def _element(random: Random, names: tuple[str, ...] | list[str], arguments: tuple[str, ...]) -> str:
    """A positive body element; only input may stand under a tuple window."""
    name, argument = random.choice(names), random.choice(arguments)
    window = random.choice(WINDOWS)
    if name in INPUTS and random.random() < 0.3:
        window = random.choice(TUPLE_WINDOWS)
    if "by X" in window:
        argument = "X"
    if "only" in window:
        name = "a"
    shape = random.choice(SHAPES)
    return shape.format(
        window=window, atom=f"{name}({argument})", name=name, argument=argument
    )
