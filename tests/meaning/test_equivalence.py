"""Equivalence of programs: counterexamples are real, and where there are none, none is found."""

from random import Random
from typing import Literal

import pytest
from tests.meaning.test_verification import random_program

import larspark as lp
from larspark.base.atoms import Atom
from larspark.run.protocol import Settings

Kind = Literal["data", "uniform", "strong"]
KINDS: tuple[Kind, ...] = ("data", "uniform", "strong")
LAST = 1


def models(text: str, context: str, stream: dict[int, frozenset[Atom]], t: int) -> list[str]:
    """The answer streams by the definitions, with the facts of the context."""
    # Facts that a rule could derive are no elements of the stream.
    facts = {line.split()[1] for line in context.splitlines() if line.startswith("@")}
    more = "".join(f"{fact.rstrip('.')} :- never.\n" for fact in sorted(facts))
    program = lp.api.Program.parse(f"{text}\n{context}{more}")
    session = lp.api.open_session(program, (), "oracle", Settings(0, True, LAST))
    elements = [(point, atom) for point, atoms in stream.items() for atom in sorted(atoms)]
    lp.api.feed(session, lp.Stream.of([(0, None), *elements, (LAST, None)]), t, hindsight=True)
    return sorted(str(sorted(map(str, model.stream.items()))) for model in session.models(t))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # Equivalent in every sense.
        ("a :- b. a :- b, c.", "a :- b.", (True, True, True)),
        ("a :- some b.", "a :- @0 b. a :- @1 b.", (True, True, True)),
        ("a :- b, not b. c :- b.", "c :- b.", (True, True, True)),
        # A choice by disjunction and by negation: further rules tell them apart.
        ("a or b.", "a :- not b. b :- not a.", (True, True, False)),
        # Positive rules with and without support: further facts tell them apart.
        ("a :- b. b :- a.", "a :- b, i. b :- a, i.", (True, False, False)),
        ("a :- i.", "a :- not not i.", (True, True, True)),
        ("#input i/0. a :- i. a :- not i.", "a :- true.", (True, True, True)),
        ("a :- i. a :- not i.", "a :- true.", (True, True, False)),
        ("a :- i.", "a :- [1] some i.", (False, False, False)),
        ("a :- [#1] some i.", "a :- [#2] some i.", (False, False, False)),
        ("a :- [#1] some i.", "a :- i.", (False, False, False)),
    ],
)
def test_programs_are_told_apart_by_what_they_have_to_withstand(
    first: str, second: str, expected: tuple[bool, bool, bool]
) -> None:
    found = tuple(bool(lp.equivalent(first, second, (0, LAST), kind=kind)) for kind in KINDS)
    assert found == expected


@pytest.mark.parametrize("kind", KINDS)
def test_counterexamples_are_real(kind: Kind) -> None:
    told_apart = equivalent = 0
    for seed in range(15 if kind == "strong" else 30):
        random = Random(seed)
        first = random_program(random)
        # A small change is more often without effect.
        second = f"{first}\n{random_program(random).splitlines()[0]}"
        names = "i" if kind == "data" else "iab"
        found = lp.equivalent(first, second, (0, LAST), kind=kind, over=names)
        if found.stream is not None:
            assert found.at is not None
            assert found.first or found.second
            one, other = (
                models(text, found.context, found.stream, found.at) for text in (first, second)
            )
            assert one != other, (first, second, found)
            told_apart += 1
            continue
        equivalent += 1
        for _ in range(4):
            elements = [(t, name) for t in range(LAST + 1) for name in names]
            chosen = [element for element in elements if random.random() < 0.5]
            stream = {
                t: frozenset(Atom(n) for u, n in chosen if u == t and n == "i") for t in (0, 1)
            }
            context = "".join(f"@{t} {name}.\n" for t, name in chosen if name != "i")
            if kind == "strong":
                context += "a :- not c, b.\n" if random.random() < 0.5 else "@1 b :- @1 a.\n"
            t = random.randint(0, LAST)
            one, other = (models(text, context, stream, t) for text in (first, second))
            assert one == other, (first, second, context, stream, t)
    assert min(told_apart, equivalent) > 4
