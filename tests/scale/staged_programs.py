"""Random stratified programs whose rules join on different arguments, and streams for them.

What a rule derives often loses the argument that its body joins on, so that the next rule that
reads it joins on another one.
"""

from random import Random

from larspark.base.atoms import Atom, Element
from larspark.base.terms import Constant

INPUTS = {"a": 2, "b": 2, "c": 1, "g": 0}
BACKGROUND = {"k": 1, "m": 2}
DERIVED = ("p", "q", "r", "s", "u")
VALUES: tuple[Constant, ...] = ("x", "y", 1, 2, 2.5, "1", "z z")
VARIABLES = "XYZ"


def random_program(random: Random) -> str:
    names = {name: random.choice([0, 1, 1, 2]) for name in DERIVED[: random.randint(2, 5)]}
    lines = [
        _rule(random, name, list(names)[: level + (random.random() < 0.1)], names)
        for level, name in enumerate(names)
        for _ in range(random.choice([1, 1, 2]))
    ]
    inputs = [f"{name}/{arity}" for name, arity in INPUTS.items()]
    if random.random() < 0.2:
        inputs.append("k/1")
    if random.random() < 0.2:
        remembered = random.choice(list(names))
        lines.append(f"#remember {remembered}/{names[remembered]}.")
    if random.random() < 0.2:
        lines.append(f"@{random.randint(0, 6)} c({random.choice(['x', 'y', '1'])}).")
    if random.random() < 0.2:
        lines.append(_ground(random, *random.choice(list(names.items()))) + ".")
    return "\n".join([f"#input {', '.join(inputs)}.", *lines])


def random_elements(random: Random) -> list[Element]:
    values = random.sample(VALUES, random.randint(2, 4))
    t = random.randint(0, 3)
    elements = []
    for _ in range(random.randint(0, 18)):
        t += random.choice([0, 0, 0, 1, 1, 2, 4])
        name = random.choice(["a", "a", "b", "b", "c", "c", "g", "unread", "k"])
        arity = INPUTS.get(name, 1)
        elements.append(Element(t, Atom(name, tuple(random.choices(values, k=arity)))))
    return elements


def random_background(random: Random) -> frozenset[Atom]:
    return frozenset(
        Atom(name, tuple(random.choices(VALUES, k=arity)))
        for name, arity in BACKGROUND.items()
        for _ in range(random.randint(1, 3))
    )


def _rule(random: Random, head: str, below: list[str], names: dict[str, int]) -> str:
    arities = {**INPUTS, **BACKGROUND, **names}
    positive = [
        _formula(random, random.choice([*INPUTS, *below, *below, *below]), arities, VARIABLES[:2])
        for _ in range(random.choice([1, 1, 1, 2]))
    ]
    if random.random() < 0.3:
        positive.append(f"{random.choice(['', '[2] some '])}m({random.choice(['X, Z', 'Z, X'])})")
    if random.random() < 0.12:
        positive = ["k(X)"]
    bound = [v for v in (*VARIABLES, "T") if any(_has(part, v) for part in positive)]
    negative = [
        "not " + _formula(random, name, arities, [v for v in bound if v != "T"], "T" in bound)
        for _ in range(random.choice([0, 0, 1]))
        if (name := random.choice([*INPUTS, *(n for n in below if n != head)]))
    ]
    extra = ["X != Y"] if "X" in bound and "Y" in bound and random.random() < 0.15 else []
    pin = random.choice(["", "@T ", "@T+1 ", "@T-2 "]) if "T" in bound else ""
    terms = [v for v in bound if v != "T"] or ["x"]
    odd = ["x", f"{terms[0]}+1"] if terms != ["x"] else ["x"]
    args = [random.choice([*terms, *terms, *terms, *odd]) for _ in range(names[head])]
    return f"{pin}{_atom(head, args)} :- {', '.join([*positive, *negative, *extra])}."


def _formula(
    random: Random,
    name: str,
    arities: dict[str, int],
    variables: str | list[str],
    pins: bool = True,
) -> str:
    terms = [*variables, *variables, *variables, "_", random.choice(["x", "1"])]
    args = [random.choice(terms) for _ in range(arities[name])]
    atom = _atom(name, args)
    n = random.choice([0, 1, 2, 3, 5])
    window = random.choice([f"[{n}]", f"[{n}]", f"[{n},+1]", f"[{n + 2} every 2]", "[*]"])
    kinds = ["now", "some", "some", "some", "always", *(["at", "at"] if pins else [])]
    keys = [arg for arg in args if arg in VARIABLES]
    if name in INPUTS and pins and len(keys) == len(set(keys)):
        kinds += ["tuples"] * bool(keys) + ["last"] * (random.random() < 0.3)
        kinds += ["only"] * bool(keys)
    match random.choice(kinds):
        case "now":
            return atom
        case "some" | "always" as mode:
            return f"{window} {mode} {atom}"
        case "at":
            return f"{window} @T {atom}"
        case "last":
            return f"[#{random.randint(1, 3)}] some {atom}"
        case "only":
            return f"[only {atom}] [#{random.randint(1, 2)}] some {atom}"
        case _:
            return f"[#{random.randint(1, 2)} by {random.choice(keys)}] some {atom}"


def _ground(random: Random, name: str, arity: int) -> str:
    return _atom(name, [random.choice(["x", "1"]) for _ in range(arity)])


def _has(part: str, variable: str) -> bool:
    return variable in part


def _atom(name: str, args: list[str]) -> str:
    return f"{name}({', '.join(args)})" if args else name
