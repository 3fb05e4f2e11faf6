"""Inputs that are nearly right: pieces of good ones, changed, cut, repeated and mixed."""

from collections.abc import Sequence
from random import Random

# What parsers stumble over: ends, quotes, signs, numbers beyond all bounds, odd letters.
ODD = (
    *("", " ", "\n", "\t", "\r\n", "\0", "\ufeff", "\u202e", "\x1b[2J", "ä", "名", "😀", "\x85"),
    *("(", ")", "[", "]", "{", "}", '"', "'", "`", "\\", "\\u0000", "\\ud800", "%", "%*", "/*"),
    *(".", "..", ",", ";", ":", ":-", "->", "#", "@", "@T", "|", "<", "=", "!=", "+", "-", "*"),
    *("0", "-0", "1e400", "1e-400", "0x1", "007", "1.", ".5", "9223372036854775807", "1_0", "NaN"),
    *("9223372036854775808", "-9223372036854775809", "1" * 400, "2026-03-01T10:00:00Z", "null"),
    *("not ", "some ", "always ", "[3] ", "[#2 by X] ", "[session 2] ", "count of ", "by ", "now"),
    *("#include", "#background", "#remember", "#tick 1 min.", "_", "X", "inf", "true", "[] ", "{}"),
    *("(" * 300, "[1] some " * 80, "not " * 80, "[" * 2000, "a" * 5000, "-" * 1000),
)


def mutated(text: str, others: Sequence[str], rng: Random) -> str:
    """The text with a few changes, in places that chance chooses."""
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        first, last = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        last = min(last, first + rng.choice((0, 1, 3, 20, 200)))
        how = rng.randrange(7)
        if how == 0:
            middle = rng.choice(ODD)
        elif how == 1:
            middle = ""
        elif how == 2:
            middle = text[first:last] * rng.choice((2, 3, 20))
        elif how == 3:
            middle = text[first:last][::-1]
        elif how == 4:
            other = rng.choice(others)
            begin = rng.randrange(len(other) + 1)
            middle = other[begin : begin + rng.choice((1, 5, 40))]
        elif how == 5:
            middle = chr(rng.choice((rng.randrange(128), rng.randrange(0xD800))))
        else:
            text, middle = text[:last], text[first:last]
        text = text[:first] + middle + text[last:]
    return text[:20_000]
