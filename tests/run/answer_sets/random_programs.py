"""Random programs and streams that the tests of the ASP engines share.

Programs are texts: what the language reads, engines have to run. They are drawn so that most are
safe, many have several answer streams, and some have none.
"""

import os
import re
from collections.abc import Callable
from random import Random
from typing import TypeVar

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.base.atoms import Element, fact
from larspark.base.facts import Row, RowBatch
from larspark.base.problems import LarsparkError, Severity
from larspark.language import parse_program

Result = TypeVar("Result")

# How many programs a property is tried on, relative to what runs every day.
SCALE = int(os.environ.get("LARSPARK_EXAMPLES", "100")) / 100

HEADER = "#input p/1, q/1, r/0, s/2.\nbg(0). bg(1). bg(x).\n"

_INPUT = (("p", 1), ("q", 1), ("r", 0), ("s", 2))
_DERIVED = (("a", 1), ("b", 1), ("c", 0), ("d", 2))
_ARITY = dict(_INPUT + _DERIVED)
_CONSTANTS = ("0", "1", "0", "x", "1.5")
_VALUES = (0, 0, 1, 1, "x", 1.5)
_BINDERS = (
    "p({})",
    "q({})",
    "bg({})",
    "[3] some p({})",
    "[#2] some q({})",
    "[2] some s({},_)",
    "[2] some a({})",
)
_TIME_BINDERS = (
    "@{} p(_)",
    "[4] @{} q(_)",
    "[#2] @{} p(_)",
    "@{} a(_)",
    "[2] @{} true",
    "[3 every 2] @{} true",
    "{} = now",
)
_COMPARISONS = (
    "X < Y",
    "X != Y",
    "X <= 1",
    "X > 1",
    "Y = X + 1",
    "not X = Y",
    "X * 2 >= Y",
    "Y = X / 2",
    "T <= U",
    "U = T + 1",
)


def seeded(seed: int) -> Random:
    return Random(seed)


def unless_refused(action: Callable[[], Result]) -> Result | None:
    """What an action gives; None if an engine says that it cannot run the program."""
    try:
        return action()
    except LarsparkError as error:
        if {problem.code for problem in error.problems} <= {"L403", "L410"}:
            return None
        raise


def examples(count: int) -> int:
    return max(1, round(count * SCALE))


def checked(text: str, *, ends: bool = False) -> Checked | None:
    """The checked program, if nothing is wrong with it and time needs no other end."""
    parsed = parse_program(text)
    if parsed.program is None:
        return None
    found = check(parsed.program, ends=ends)
    wrong = any(problem.severity is Severity.ERROR for problem in found.problems)
    return None if wrong or (found.endless and not ends) else found


def batch(elements: list[Element], last: int | None = None) -> RowBatch:
    return RowBatch([Row(t, atom, number) for number, (t, atom) in enumerate(elements)], last)


def stream(random: Random, most: int = 8, last: int = 4) -> list[Element]:
    """Between one and `most` elements, at time points from 0 to `last`."""
    found: list[Element] = []
    for _ in range(random.randint(1, most)):
        predicate, arity = random.choice(_INPUT)
        atom = fact(predicate, *(random.choice(_VALUES) for _ in range(arity)))
        found.append(Element(random.randint(0, last), atom))
    return sorted(found, key=lambda element: element.t)


def plain_program(random: Random, *, normal: bool = False) -> str:
    """A plain program; a normal one has neither disjunctions nor constraints."""
    directives = "#remember b/1.\n" if not normal and random.random() < 0.2 else ""
    directives += "#show a/1, c/0.\n" if random.random() < 0.1 else ""
    rules = [_plain_rule(random, normal) for _ in range(random.randint(1, 5))]
    if random.random() < 0.6:
        rules = choices(random, normal) + rules[: random.randint(0, 3)]
    return HEADER + directives + "\n".join(rules)


def full_program(random: Random) -> str:
    """A program with any formula in heads and bodies."""
    rules = choices(random) if random.random() < 0.4 else []
    for _ in range(random.randint(1, 3)):
        rules.append(_full_rule(random) if random.random() < 0.7 else _plain_rule(random, False))
    return HEADER + "\n".join(rules)


def choices(random: Random, normal: bool = False) -> list[str]:
    """Rules that leave a choice, or none at all."""
    given = random.choice(("p(X)", "[3] some p(X)", "bg(X)", "[2] some q(X)"))
    kinds = [
        [f"a(X) :- {given}, not b(X).", f"b(X) :- {given}, not a(X)."],
        [f"a(X) :- {given}, not a(X).", "a(X) :- [1] some q(X), not c."],
        [
            f"a(X) :- {given}, not b(X).",
            f"b(X) :- {given}, a(Y), X != Y.",
            "c :- a(X), not d(X,X).",
            f"d(X,X) :- {given}, not c.",
        ],
        ["c :- not r.", f"a(X) :- {given}, c, not d(X,X).", f"d(X,Y) :- {given}, bg(Y), not a(X)."],
    ]
    if not normal:
        kinds += [[f"a(X) or b(X) :- {given}."], ["@T a(X) or @T b(X) :- [3] @T p(X)."]]
    return random.choice(kinds)


def _window(random: Random, tuples: bool) -> str:
    kinds = ["[{n}]"] * 6 + ["[+{n}]", "[{n},+{m}]", "[{w} every {h}]", "[*]"]
    if random.random() < 0.05:
        kinds = ["[+*]", "[*,+*]", "[*,+{m}]", "[* every {h}]", "[+* every {h}]"]
    if tuples:
        kinds += ["[#{k}]"] * 3 + ["[#{k},+1]", "[#+1]"]
        kinds += ["[session {m}]", "[session {n} max {w}]", "[ended session {m}]"]
    hop = random.randint(1, 3)
    return random.choice(kinds).format(
        n=random.randint(0, 4),
        m=random.randint(0, 2),
        w=hop + random.randint(0, 3),
        h=hop,
        k=random.randint(1, 3),
    )


def _atom(random: Random, predicates: tuple[tuple[str, int], ...], wild: float = 0.1) -> str:
    def argument() -> str:
        kind = random.random()
        if kind < wild:
            return "_"
        return random.choice(_CONSTANTS if kind < wild + 0.15 else ("X", "Y"))

    predicate, arity = random.choice(predicates)
    arguments = ",".join(argument() for _ in range(arity))
    return f"{predicate}({arguments})" if arity else predicate


def _extended(random: Random, predicates: tuple[tuple[str, int], ...]) -> str:
    atom = _atom(random, predicates)
    predicate = atom.split("(")[0]
    time = random.choice("TU")
    kind = random.random()
    if kind < 0.35:
        return atom
    if kind < 0.45:
        return f"@{time}{random.choice(('', '', '+1', '-1'))} {atom}"
    window = _window(random, tuples=predicate in "pqrs")
    if random.random() < 0.1 and predicate in "pqs" and "X" in atom:
        size = random.randint(1, 2)
        kinds = ("[#{k} by X]", "[session {k} by X]", "[ended session {k} max 3 by X]")
        window = random.choice(kinds).format(k=size)
    if random.random() < 0.08 and _ARITY[predicate]:
        window = f"[only {predicate}({','.join('_' * _ARITY[predicate])})] {window}"
    return f"{window} {random.choice(('some', 'some', 'always', f'@{time}'))} {atom}"


def _plain_rule(random: Random, normal: bool) -> str:
    body = [
        _extended(random, random.choice((_INPUT, _INPUT, _DERIVED)))
        for _ in range(random.randint(1, 2))
    ]
    body += ["bg(X)"] if random.random() < 0.15 else []
    for _ in range(random.choice((0, 0, 1, 1, 2))):
        body.append("not " + _extended(random, random.choice((_INPUT, _DERIVED, _DERIVED))))
    body += [random.choice(_COMPARISONS)] if random.random() < 0.25 else []
    kind = 1 if normal else random.random()
    count = 0 if kind < 0.08 else 2 if kind < 0.25 else 1
    head = " or ".join(_head(random) for _ in range(count))
    _bind(random, head, body)
    return f"{head} :- {', '.join(body)}."


def _head(random: Random) -> str:
    atom = _atom(random, _DERIVED, wild=0)
    if random.random() < 0.6:
        return atom
    return f"@{random.choice('TU')}{random.choice(('', '', '', '+1', '-1', '+2'))} {atom}"


def _bind(random: Random, head: str, body: list[str]) -> None:
    """Bind the variables that nothing positive binds, and shuffle."""
    positive = [part for part in body if not re.search("^not|[<>=*/]|->|or", part)]
    bound = set(re.findall("[A-Z]", " ".join(positive)))
    for name in sorted(set(re.findall("[A-Z]", " ".join([head, *body]))) - bound):
        binders = _BINDERS if name in "XY" else _TIME_BINDERS
        body.append(random.choice(binders).format(name))
    random.shuffle(body)


def _formula(random: Random, depth: int, predicates: tuple[tuple[str, int], ...]) -> str:
    if not depth or random.random() < 0.15:
        return _atom(random, predicates)

    def part() -> str:
        return _formula(random, depth - 1, predicates)

    kind = random.choice(
        ("not", "and", "or", "->", "some", "always", "@T", "@T+1", "reset", "window", "window", "<")
    )
    if kind in ("and", "or", "->"):
        return f"({part()} {kind} {part()})"
    if kind == "<":
        return f"X {random.choice(('<', '!=', '>='))} {random.choice(('Y', '1'))}"
    if kind == "window":
        return f"{_window(random, random.random() < 0.3)} ({part()})"
    return f"{kind} ({part()})"


def _full_rule(random: Random) -> str:
    body = [
        _formula(random, random.randint(0, 3), _INPUT + _DERIVED)
        for _ in range(random.randint(1, 2))
    ]
    predicates = _DERIVED if random.random() < 0.8 else _INPUT + _DERIVED
    head = _formula(random, random.choice((0, 0, 1, 2)), predicates)
    head = "" if random.random() < 0.1 else head
    for name in sorted(set(re.findall("[XYT]", " ".join([head, *body])))):
        binders = {
            "X": ("p(X)", "[3] some q(X)", "bg(X)"),
            "Y": ("bg(Y)", "[2] some q(Y)"),
            "T": ("@T q(_)", "[2] @T p(_)"),
        }
        body.append(random.choice(binders[name]))
    return f"{head} :- {', '.join(body)}."
