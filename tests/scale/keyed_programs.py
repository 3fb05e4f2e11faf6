"""Random stratified programs that join on one argument, and streams for them.

Strata are the derived predicates in their order; every stream atom has the key as an argument.
"""

from random import Random

from larspark.base.atoms import Atom, Element
from larspark.base.terms import Constant

INPUTS = {"a": 2, "b": 2, "c": 1}
DERIVED = {"p": 1, "q": 2, "r": 1, "s": 2}
# The key is the second argument of some predicates.
KEY_LAST = frozenset({"b", "s"})
KEYS: tuple[Constant, ...] = ("x", "y", "z", 1, 2, 2.5, "1")
VALUES: tuple[Constant, ...] = (0, 1, 2, 1.5)


def random_program(random: Random) -> str:
    names = random.sample(list(DERIVED), random.randint(1, 4))
    lines = [
        _rule(random, name, names[:level])
        for level, name in enumerate(names)
        for _ in range(random.choice([1, 1, 2]))
    ]
    if random.random() < 0.15:
        lines.append(f"#remember {names[0]}/{DERIVED[names[0]]}.")
    if random.random() < 0.2:
        lines.append(f"@{random.randint(0, 6)} c({random.choice(['x', 'y', '1'])}).")
    return "#input a/2, b/2, c/1.\n" + "\n".join(lines)


def random_elements(random: Random) -> list[Element]:
    keys = random.sample(KEYS, random.randint(1, 4))
    t = random.randint(0, 3)
    elements = []
    for _ in range(random.randint(0, 14)):
        t += random.choice([0, 0, 1, 1, 2, 4])
        name = random.choice([*INPUTS, *INPUTS, "unread"])
        args = _args(name, random.choice(keys), random.choice(VALUES))
        elements.append(Element(t, Atom(name, args[: INPUTS.get(name, 1)])))
    return elements


def random_background(random: Random) -> frozenset[Atom]:
    keys = (Atom("k", (random.choice(KEYS),)) for _ in range(random.randint(0, 3)))
    values = (Atom("m", (random.choice(VALUES),)) for _ in range(random.randint(0, 2)))
    return frozenset([*keys, *values, Atom("k", ("w",)), Atom("m", (7,))])


def _args(name: str, key: Constant, value: Constant) -> tuple[Constant, ...]:
    return (value, key) if name in KEY_LAST else (key, value)


def _rule(random: Random, head: str, below: list[str]) -> str:
    free = random.random() < 0.12
    body = ["k(K)"] if free else [_formula(random, below, "V"), *_more(random, below)]
    body += [f"not {_formula(random, below, '_')}" for _ in range(random.choice([0, 0, 1]))]
    if random.random() < 0.2 and not free:
        body.append("m(V)")
    if random.random() < 0.3:
        body.append("k(K)")
    timed = any("@T" in part and not part.startswith("not") for part in body)
    body = [
        part if timed or not part.startswith("not") else part.replace("@T", "some") for part in body
    ]
    values = any(", V" in part or "(V" in part for part in body if not part.startswith("not"))
    value = random.choice(["V", "V+1"]) if values else "0"
    pin = random.choice(["", "@T ", "@T+1 ", "@T-1 "]) if timed else ""
    return f"{pin}{_atom(head, value)} :- {', '.join(body)}."


def _more(random: Random, below: list[str]) -> list[str]:
    return [
        _formula(random, below, random.choice(["V", "W", "_"]))
        for _ in range(random.choice([0, 0, 1]))
    ]


def _atom(name: str, value: str) -> str:
    arity = {**INPUTS, **DERIVED}[name]
    if arity == 1:
        return f"{name}(K)"
    return f"{name}({value}, K)" if name in KEY_LAST else f"{name}(K, {value})"


def _formula(random: Random, below: list[str], value: str) -> str:
    name = random.choice([*INPUTS, *below, *below])
    atom = _atom(name, value)
    n = random.choice([0, 1, 2, 3, 5])
    windows = [f"[{n}]", f"[{n}]", f"[{n},+1]", f"[{n + 2} every 2]"]
    if random.random() < 0.1:
        windows = ["[*]"]
    window = random.choice(windows)
    kinds = ["now", "some", "some", "always", "at", "at"]
    if name in INPUTS and value != "_":
        kinds.append("tuples")
    match random.choice(kinds):
        case "now":
            return atom
        case "some":
            return f"{window} some {atom}"
        case "always":
            return f"{window} always {atom}"
        case "at":
            return f"{window} @T {atom}"
        case _:
            size = random.randint(1, 2)
            kinds = (f"#{size}", f"#{size}", f"session {size}", f"ended session {size} max 3")
            return f"[{random.choice(kinds)} by K] some {atom}"
