"""Whatever the text: the parser answers with a tree or with problems, soon, and never fails."""

import random
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from larspark.base.codes import CODES
from larspark.base.problems import LarsparkError, Severity
from larspark.language import (
    DIALECTS,
    parse_atom,
    parse_formula,
    parse_program,
    program_text,
)

TEXTS = 100_000
CHUNKS = 20

LARS = """
#tick 1 s. #input tram/2, jam/1. #show gc/3, q(x, y). #remember alarm/1.
#background "a b.csv" as line/2.
@T high :- [#20] @T alpha(V), V >= 18.   % a comment
exp(ID, Y) at T+D :- [#1 by ID] @T tram(ID, X), plan(L, X, Y, D), not [20] some jam(X).
a or b :- (c and not d) or e -> f, reset [5,+3 every 2] always p(_, "x\\"y", -1.5e3).
:- [only tram(a1,_)] [#1] @U tram(a1,St), [mine(3)] true, [10 min] some q, X = (Y + 1) * 2 mod 3.
@36 tram(a1,b). ¬a ∧ b ∨ c → ◇ □ d. /* x */ e :- ⊞[3] some f, ▷ g, X = min(abs(Y), 2).
"""
TICKER = """
moreThanTwo :- third [10 sec].
@T third :- car(C), @T rec(C) [3 #], not rec(C) [2 #].
car(1). car(2). %* block *% high at T :- value(V), alpha(V) at T in [300 sec], leq(18,V).
lfu :- high always in [5 min]. r(K) :- K = K0 + 1, N != M, I = N % 2.
"""
LASER = """
@(T, steam(V)) :- time_win(80, 0, 1, @(T, (temp(V)))) and COMP(>=, V, 100)
freeze :- not(alarm) and not(normal)
h1(T1,X) :- tuple_win(3,0,1, @(T, p(X,Y))) and MATH(+,T1,T,2)
'http://ex.org/p'(X) :- time_win(2,0,1, box(q(X, a))) or diamond(r)
city(3.0):-
"""
LTL = """
% a comment
ok := G (req(a, -3) -> X[!] (Fault U F ack)) & [] (p W q) /\\ !"x y" || last <-> WX Z true
past := H (ack => O req) and (p S q T r B s), b := <> p M (p R q V r) ; c := ok & Y past
"""
ETALIS = """
% a comment
limit(2, "x"). r1([property(event_rule_window, 5)]) rule: c(X) <- a(X) seq b(-3) where (X > 2).
r2 'rule:' d(X) <- (c(X) 'seq' a(Y)) cnot b(Y) where (limit(X, _), N is X + 1, N =< Y * 2).
e <- (p and q) par (r during s) or p meets q fnot r. f(X) <- p(X) equals q(X) where (\\+ g(X)).
"""
SEEDS = (
    (LARS, "lars"),
    (TICKER, "ticker"),
    (TICKER, "lars"),
    (LASER, "laser"),
    (LARS, "ticker"),
    *((LTL, "ltl"), (ETALIS, "etalis")),
)

PARTS = (
    *("a", "p(", "X", "_", "3", "2.5", "1e400", '"s"', '"', "'", "\\", "\n", " ", "\t", "é", "\0"),
    *(".", ",", ":-", "->", "<-", "<", "=", "!=", "(", ")", "[", "]", "#", "@", "+", "-", "*", "/"),
    *("not ", "some ", "always ", "reset ", "and ", "or ", " at ", " in ", " every ", " by "),
    *("#tick 1 s.", "#show ", "#include ", "%", "%*", "/*", "*/", "//", "⊞", "◇", "∧", "¬"),
    *("time_win(", "diamond(", "COMP(", "MATH(", "|", ";", "&", "{", "}", "~", "\ud800", "only "),
    *("99999999", "[5 s]", "[1e9999999 s]", "[5]", "[3 #]", "X = ", "q(X)", "leq("),
)


def random_text(chance: random.Random) -> str:
    return "".join(chance.choices(PARTS, k=chance.randint(0, 40)))


def random_characters(chance: random.Random) -> str:
    return "".join(chr(chance.randint(0, 0x2FF)) for _ in range(chance.randint(0, 60)))


def mutated(chance: random.Random, seed: str) -> str:
    """A piece of a program with a few things lost, doubled, moved or put in."""
    start = chance.randrange(len(seed))
    if chance.random() < 0.7:
        start = seed.rfind("\n", 0, start) + 1
    text = seed[start : start + chance.randint(1, 400)]
    if chance.random() < 0.5:
        text = text[: text.rfind("\n") + 1]
    for _ in range(chance.randint(0, 4)):
        at = chance.randint(0, len(text))
        until = min(len(text), at + chance.randint(0, 8))
        match chance.randrange(4):
            case 0:
                text = text[:at] + text[until:]
            case 1:
                text = text[:at] + text[at:until] * 2 + text[until:]
            case 2:
                text = text[until:] + text[at:until] + text[:at]
            case _:
                text = text[:at] + chance.choice(PARTS) + text[until:]
    return text


def check_answer(text: str, dialect: str) -> bool:
    """Is the answer a tree or a list of problems, with places that exist? Tell which."""
    parsed = parse_program(text, dialect=dialect)
    errors = [p for p in parsed.problems if p.severity is Severity.ERROR]
    assert (parsed.program is None) == bool(errors)
    lines = text.split("\n")
    for problem in parsed.problems:
        assert problem.code in CODES
        assert problem.span is not None
        _, line, column, end_line, end_column = problem.span
        assert 1 <= line <= end_line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1
        assert 1 <= end_column <= len(lines[end_line - 1]) + 2
        problem.render().encode("utf-8")
    if parsed.program is None:
        return False
    again = parse_program(program_text(parsed.program))
    assert again.program == parsed.program
    return True


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_and_mutated_programs_are_answered(chunk: int) -> None:
    chance = random.Random(chunk)
    accepted = 0
    slowest = 0.0
    for number in range(TEXTS // CHUNKS):
        seed, dialect = chance.choice(SEEDS)
        if number % 4 == 0:
            text = random_text(chance)
        elif number % 20 == 1:
            text = random_characters(chance)
        else:
            text = mutated(chance, seed)
        start = time.process_time()
        accepted += check_answer(text, dialect)
        slowest = max(slowest, time.process_time() - start)
    # Mutations that are always refused, or never, would test one half of the parser only.
    assert TEXTS // CHUNKS * 0.02 < accepted < TEXTS // CHUNKS * 0.7
    assert slowest < 1


@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_ten_kilobytes_of_random_text_are_answered_within_a_second(dialect: str) -> None:
    chance = random.Random(dialect)
    for _ in range(10):
        text = "".join(chance.choices(PARTS, k=10_000))[:10_000]
        start = time.process_time()
        check_answer(text, dialect)
        assert time.process_time() - start < 1


def test_random_formulas_and_atoms_are_answered() -> None:
    chance = random.Random(0)
    for _ in range(3000):
        text = chance.choice((random_text(chance), mutated(chance, LARS)))
        parsed = parse_formula(text)
        assert (parsed.formula is None) == bool(parsed.problems)
        with suppress(LarsparkError):
            parse_atom(text)


HOSTILE: dict[str, str] = {
    "open parentheses": "a :- " + "(" * 10_000,
    "balanced parentheses": "a :- " + "(" * 5_000 + "b" + ")" * 5_000 + ".",
    "open windows": "[" * 10_000,
    "negations": "a :- " + "not " * 2_500 + "b.",
    "negations without end": "not " * 2_500,
    "windows": "a :- " + "[5] " * 2_500 + "b.",
    "times": "@T " * 3_300,
    "quotes": '"' * 10_000,
    "backslashes": '"' + "\\" * 10_000,
    "dots": "." * 10_000,
    "statements of one bracket": ").\n" * 3_300,
    "lines without dots": "a\n" * 5_000,
    "open comments": "/*" * 5_000,
    "open comments of the other kind": "%*" * 5_000,
    "digits": "p(" + "9" * 10_000 + ").",
    "exponents": "p(1e" + "9" * 10_000 + ").",
    "decimals": "p(1." + "9" * 10_000 + ").",
    "duration": "#tick " + "9" * 10_000 + " s.",
    "sum": "a :- X = " + "+".join("1" * 5_000) + ".",
    "signs": "a :- X = " + "-" * 10_000 + "1.",
    "implications": "a :- " + "->".join("b" * 3_000) + ".",
    "conjunction": "a :- " + " and ".join("b" * 1_500) + ".",
    "body": "a :- " + ",".join("b" * 5_000) + ".",
    "arguments": "p(" + ",".join("a" * 5_000) + ").",
    "facts": "p(a).\n" * 1_600,
    "unknown directives": "#\n" * 5_000,
    "includes": '#include "a".' * 800,
    "foreign operators": "a | b.\n" * 1_400,
    "control characters": "\0" * 10_000,
    "half characters": "\ud800" * 10_000,
    "one long name": "a" * 10_000 + ".",
    "one long line of problems": "a b. " * 2_000,
    "calls": "p(" * 5_000 + "a" + ")" * 5_000 + ".",
    "escapes": 'p("' + "\\q" * 4_900 + '").',
    "window keys": "a :- [#1 by " + ",".join("X" * 5_000) + "] p.",
    "laser": "a :- " + "not(" * 2_500 + "b" + ")" * 2_500,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_hostile_text_is_answered_within_a_second(name: str, dialect: str) -> None:
    text = HOSTILE[name]
    start = time.process_time()
    parse_program(text, dialect=dialect)
    between = time.process_time()
    parse_formula(text)
    assert max(between - start, time.process_time() - between) < 1
    check_answer(text, dialect)


@pytest.mark.parametrize("read", [parse_program, parse_formula])
def test_an_empty_text_is_answered(read: Callable[[str], object]) -> None:
    for text in ("", " ", "\n", "%", "\r\n", "\ufeff"):
        read(text)
