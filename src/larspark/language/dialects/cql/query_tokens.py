"""CQL: text to tokens, tokens to statements, and the reader of the tokens of one statement."""

import re
from collections.abc import Iterator
from typing import NoReturn

from larspark.base.problems import Span
from larspark.language.source import Source
from larspark.language.source import Source as Text
from larspark.language.tokens import Token, brief, span_between

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


MAX_DEPTH = 60
# Words that end a name without `AS`.
RESERVED = frozenset(
    (
        *("select", "distinct", "from", "where", "group", "having", "order", "limit", "as", "and"),
        *("or", "not", "in", "exists", "union", "except", "intersect", "join", "left", "right"),
        *("full", "inner", "outer", "cross", "natural", "on", "using", "like", "is", "between"),
        *("null", "case", "over", "offset", "fetch", "by"),
    )
)


class Stop(Exception):  # noqa: N818 - internal: the problem has been reported
    """The rest of the statement cannot be read."""


class TokenReader:
    """Goes through the tokens of a statement, and reports problems at its place."""

    def __init__(self, text: Text, tokens: list[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def _peek(self, ahead: int = 0) -> str:
        """The next word in lower case, or the next symbol; empty at the end."""
        place = self._at + ahead
        if place >= len(self._tokens) or self._tokens[place].type == "STRING":
            return ""
        return self._tokens[place].text.lower()

    def _type(self) -> str:
        return self._tokens[self._at].type if self._at < len(self._tokens) else ""

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _take(self, *words: str) -> Token | None:
        return self._next() if self._peek() in words and self._peek() else None

    def _need(self, word: str) -> Token:
        return self._take(word) or self._unexpected(f"`{word.upper()}`")

    def _name(self, what: str) -> Token:
        if self._type() != "NAME" or self._peek() in RESERVED:
            self._unexpected(what)
        return self._next()

    def _place(self) -> Span:
        """The next token, or what follows the last one."""
        if self._at < len(self._tokens):
            return self._tokens[self._at].span
        end = self._tokens[-1].span
        return end._replace(column=end.end_column, end_column=end.end_column + 1)

    def _span(self, first: Token) -> Span:
        return span_between(first, self._tokens[max(self._at - 1, 0)])

    def _from(self, span: Span) -> Span:
        last = self._tokens[max(self._at - 1, 0)]
        return span._replace(end_line=last.line, end_column=last.end_column)

    def _unexpected(self, expected: str) -> NoReturn:
        found = "the statement ends"
        if self._at < len(self._tokens):
            found = f"found `{brief(self._tokens[self._at].text)}`"
        message = f"expected {expected}, {found}"
        self._text.report("L104", message, self._place())
        raise Stop

    def _refuse(self, what: str, span: Span, hint: str = "") -> None:
        self._text.report("L150", f"CQL: {what} is not supported", span, hint)

    def _nest(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            message = f"queries and brackets nest more than {MAX_DEPTH} deep"
            self._text.report("L107", message, self._place())
            raise Stop
