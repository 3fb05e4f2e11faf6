"""Text of CQL to tokens, and tokens to statements."""

import re
from collections.abc import Iterator

from larspark.language.source import Source
from larspark.language.tokens import Token, brief

_TOKEN = re.compile(
    r"""
      (?P<SPACE>[^\S\n]+)
    | (?P<NEWLINE>\n)
    | (?P<COMMENT>(?:--|\#)[^\n]*)
    | (?P<OPEN>/\*)
    | (?P<NAME>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<NUMBER>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+)
    | (?P<STRING>'(?:[^'\n]|'')*'|"(?:[^"\n]|"")*")
    | (?P<SYMBOL><>|!=|<=|>=|\|\||[-+*/%=<>()\[\],.;:])
    | (?P<OTHER>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def query_statements(source: Source) -> Iterator[list[Token]]:
    """The statements of a text, without their `;`.

    What is no token is reported, and its statement left out.
    """
    tokens: list[Token] = []
    found = len(source.problems)
    for token in _tokens(source):
        if token.text == ";" and token.type == "SYMBOL":
            if tokens and len(source.problems) == found:
                yield tokens
            tokens, found = [], len(source.problems)
        else:
            tokens.append(token)
    if tokens and len(source.problems) == found:
        yield tokens


def _tokens(source: Source) -> Iterator[Token]:
    text, line, line_start, position = source.text, 1, 0, 0
    while match := _TOKEN.match(text, position):
        kind, word = match.lastgroup or "", match.group()
        column, position = match.start() - line_start + 1, match.end()
        token = Token(kind, word, line, column, False, source)
        if kind == "NEWLINE":
            line, line_start = line + 1, position
        elif kind == "OPEN":
            end = text.find("*/", position)
            if end < 0:
                source.report("L103", "the comment `/*` is not closed", token.span)
                return
            line += text.count("\n", position, end)
            line_start = max(line_start, text.rfind("\n", position, end) + 1)
            position = end + 2
        elif kind == "OTHER":
            if word in "'\"":
                message = "the string is not closed on its line"
                source.report("L102", message, token.span, f"close it with `{word}`")
                position = text.find("\n", position)
                if position < 0:
                    return
            else:
                shown = brief(word) if word.isprintable() else ascii(word)[1:-1]
                source.report("L101", f"`{shown}` has no place here", token.span)
        elif kind not in ("SPACE", "COMMENT"):
            yield token


def string_value(token: Token) -> str:
    """The text between the quotes; a doubled quote stands for one."""
    quote = token.text[0]
    return token.text[1:-1].replace(quote * 2, quote)
