"""Tokens of dialects that do not have LARS's own: a pattern says what a token is."""

import re
from collections.abc import Iterator

from larspark.base.terms import INTEGER_MAX, INTEGER_MIN, Constant, constant
from larspark.language.source import Source
from larspark.language.tokens import Token, number_of

# Groups that every pattern has, with these: `COMMENT` is dropped, `UNCLOSED` is a comment and
# `UNQUOTED` a string that does not end, `OTHER` is any other character.
SKIPPED = r"(?P<SKIP>\s+)"
STRING = r'(?P<STRING>"(?:[^"\\\n]|\\[^\n])*")'
NUMBER = r"(?P<NUMBER>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"


def scan(source: Source, pattern: re.Pattern[str]) -> Iterator[Token]:
    """The tokens of a text; what is none is reported and left out."""
    line, line_start = 1, 0
    for match in pattern.finditer(source.text):
        kind, word = match.lastgroup or "", match.group()
        start = match.start()
        token = Token(kind, word, line, start - line_start + 1, False, source)
        newlines = word.count("\n")
        if newlines:
            line += newlines
            line_start = start + word.rindex("\n") + 1
        if kind in ("SKIP", "COMMENT"):
            continue
        if kind in ("UNCLOSED", "UNQUOTED"):
            span = token.span._replace(end_column=token.column + 1)
            code, what = ("L103", "comment") if kind == "UNCLOSED" else ("L102", "string")
            source.report(code, f"the {what} is not closed", span)
        elif kind == "OTHER":
            shown = word if word.isprintable() else ascii(word)[1:-1]
            source.report("L101", f"`{shown}` has no place here", token.span)
        else:
            yield token


def number(token: Token, negative: bool = False) -> Constant:
    """The constant that a number stands for, reported when it is out of range."""
    value = -number_of(token) if negative else number_of(token)
    if isinstance(value, int) and not INTEGER_MIN <= value <= INTEGER_MAX:
        token.source.report("L114", "the number does not fit a 64-bit integer", token.span)
        return 0
    return constant(value)
