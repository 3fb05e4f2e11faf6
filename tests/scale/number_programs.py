"""Random programs with aggregates by key: rules of the keyed programs, and numbers over them."""

import re
from random import Random

from tests.scale import keyed_programs

# Numbers of groups; K is the key. The last ones ask for another key, or for none.
_NUMBERS = (
    "n1(K, N) :- N = count of {w} a(K, _) by K.",
    "n1(K, N) :- k(K), N = count of {w} a(K, V) where V > 0.",
    "n1(K, N) :- k(K), N = sum of V in {w} b(V, K), N < 3.",
    "n2(K) :- 2 <= count of {w} a(K, _) by K.",
    "n2(K) :- #max{{ V : {w} some b(V, K), not c(K) }} > 1 by K.",
    "n2(K) :- c(K), not #sum{{ V, T : {w} @T a(K, V) ; 1 : {w} some c(K) }} > 1.",
    "n3(K, N) :- N = avg of V in {g} a(K, V) by K.",
    "n3(K, N) :- N = min of V in {g} b(V, K) by K.",
    "@T+1 n3(K, N) :- {w} @T c(K), N = #count{{ V : {w} some a(K, V) }}.",
)
_BEYOND = (
    "n4(N) :- N = count of {w} a(_, _).",
    "n4(V) :- 2 <= #count{{ K : {w} some a(K, V) }} by V.",
)
_OVER_NUMBERS = (
    "n5(K) :- {w} some n1(K, N), not n2(K).",
    "n5(K) :- n3(K, N), N > 1.",
    "n5(K, N) :- N = #sum{{ M : n1(K, M) ; M : n3(K, M) }} by K.",
)


def random_program(random: Random) -> str:
    text = (
        keyed_programs.random_program(random) if random.random() < 0.4 else "#input a/2, b/2, c/1."
    )
    rules = random.sample(_NUMBERS, random.randint(1, 3))
    if random.random() < 0.15:
        rules.append(random.choice(_BEYOND))
    known = {match for rule in rules for match in re.findall(r"n[123]\(", rule.split(":-")[0])}
    rules += [
        rule
        for rule in _OVER_NUMBERS
        if random.random() < 0.4 and known.issuperset(re.findall(r"n[123]\(", rule))
    ]
    return "\n".join([text, *(_filled(random, rule) for rule in rules)])


def _filled(random: Random, rule: str) -> str:
    size = random.choice([0, 1, 2, 3, 5])
    window = random.choice([f"[{size}]", f"[{size}]", f"[{size},+1]", f"[{size + 2} every 2]"])
    grouped = random.choice([window, f"[#{size + 1} by K]", f"[session {size + 1} by K]"])
    return rule.format(w=window, g=grouped)
