"""Text to tokens, and tokens to statements.

A statement ends at a `.` that is no part of a number, a string or a comment. Nothing here knows
the grammar; words of the language are names until the parser is in a place where they are wanted.
"""

import math
import re
from collections.abc import Iterator, Sequence

from larspark.base.problems import Span
from larspark.language.source import Source


class Token:
    """A word of the text. `type` names the terminal of the grammar."""

    __slots__ = ("column", "end_column", "leads_line", "line", "source", "text", "type")

    def __init__(
        self, type_: str, text: str, line: int, column: int, leads_line: bool, source: Source
    ) -> None:
        self.type = type_
        self.text = text
        self.line = line
        self.column = column
        self.end_column = column + len(text)
        self.leads_line = leads_line
        self.source = source

    @property
    def span(self) -> Span:
        return Span(self.source.name, self.line, self.column, self.line, self.end_column)

    def __repr__(self) -> str:
        return f"Token({self.type}, {self.text!r}, {self.line}:{self.column})"


class Statement:
    """The tokens of one statement, without its final `.`; `end` is the `.` or None at the end."""

    __slots__ = ("end", "tokens")

    def __init__(self, tokens: Sequence[Token], end: Token | None) -> None:
        self.tokens = tokens
        self.end = end


def span_between(first: Token, last: Token) -> Span:
    return Span(first.source.name, first.line, first.column, last.line, last.end_column)


SYMBOLS = {
    ":-": "IF",
    "->": "ARROW",
    "→": "ARROW",
    "∧": "AND",
    "∨": "OR",
    "¬": "NOT",
    "⊤": "TRUE",
    "⊥": "FALSE",
    "◇": "SOME",
    "□": "ALWAYS",
    "⊞": "BOXPLUS",
    "▷": "RESET",
    "=": "COMPARE",
    "!=": "COMPARE",
    "<": "COMPARE",
    "<=": "COMPARE",
    ">": "COMPARE",
    ">=": "COMPARE",
    "+": "PLUS",
    "-": "MINUS",
    "*": "STAR",
    "/": "SLASH",
    "(": "LPAR",
    ")": "RPAR",
    "[": "LSQB",
    "]": "RSQB",
    ",": "COMMA",
    ".": "DOT",
    "#": "HASH",
    "@": "AT_SIGN",
    "{": "LBRACE",
    "}": "RBRACE",
    ":": "COLON",
    ";": "SEMICOLON",
}

# What people write who know other languages, and what it is here.
FOREIGN = {
    "<-": "write `:-` in a rule, `< -` in a comparison",
    "←": "write `:-`",
    ":=": "write `:-`",
    "=>": "write `:-` in a rule, `->` in a formula, `>=` in a comparison",
    "<->": "write two implications with `->`",
    "|": "write `or`",
    "||": "write `or`",
    "&": "write `and`",
    "&&": "write `and`",
    "!": "write `not`",
    "~": "write `not`",
    "==": "write `=`",
    "<>": "write `!=`",
    "=<": "write `<=`",
    "≤": "write `<=`",
    "≥": "write `>=`",
    "≠": "write `!=`",
    "**": "there are no powers; write a product",
    "^": "there are no powers; write a product",
    "..": "list the values one by one",
}

_TOKEN = re.compile(
    r"""
      (?P<SPACE>[^\S\n]+)
    | (?P<NEWLINE>\n)
    | (?P<OPEN_COMMENT>/\*|%\*)
    | (?P<COMMENT>(?:%|//)[^\n]*)
    | (?P<NAME>[a-z][A-Za-z0-9_]*)
    | (?P<VARIABLE>_?[A-Z][A-Za-z0-9_]*)
    | (?P<WILDCARD>_(?![A-Za-z0-9_]))
    | (?P<NUMBER>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
    | (?P<STRING>"(?:[^"\\\n]|\\[^\n])*")
    | (?P<FOREIGN><->|<-(?=\s|[a-z])|:=|=>|\|\||&&|==|<>|=<|\*\*|\.\.|!(?!=)|[|&←≤≥≠^~])
    | (?P<SYMBOL>:-|->|!=|<=|>=|[-+*/=<>()\[\],.\#@{}:;→∧∨¬⊤⊥◇□⊞▷])
    | (?P<UNCLOSED>"[^\n]*)
    | (?P<QUOTED>'[^'\n]*'?)
    | (?P<OTHER>_\w+|[^\x00-\x7f]+|.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_COMMENTS = ("COMMENT", "OPEN_COMMENT")
_BROKEN = ("FOREIGN", "UNCLOSED", "QUOTED", "OTHER")
_COMMENT_END = {"/*": re.compile(r"\*/"), "%*": re.compile(r"\*%")}
_MIXED_COMMENT_END = re.compile(r"\*/|\*%")


def statements(source: Source) -> Iterator[Statement]:
    """Cut a text into statements; what is no token is reported and its statement dropped."""
    tokens: list[Token] = []
    broken = False
    for token in tokenize(source):
        if token.type == "DOT":
            if not broken and tokens:
                yield Statement(tokens, token)
            elif not broken:
                source.report("L104", "a statement is empty", token.span, "remove this `.`")
            tokens, broken = [], False
        elif token.type == "BROKEN":
            broken = True
        elif token.type == "BROKEN_LINE":
            tokens, broken = [], False
        else:
            tokens.append(token)
    if tokens and not broken:
        yield Statement(tokens, None)


def tokenize(source: Source, *, comments: bool = False) -> Iterator[Token]:
    """The tokens of a text, with comments on request as tokens of the type COMMENT.

    BROKEN and BROKEN_LINE stand for places that have been reported.
    """
    text, line, line_start, position = source.text, 1, 0, 0
    leads_line, previous = True, ""
    match_at = _TOKEN.match
    notation = source.notation
    while match := match_at(text, position):
        kind, word = match.lastgroup, match.group()
        column, position = position - line_start + 1, match.end()
        if kind == "SPACE":
            continue
        if kind == "NEWLINE":
            line, line_start, leads_line = line + 1, position, True
            continue
        if (
            notation.percent_is_modulo
            and kind in _COMMENTS
            and word[0] == "%"
            and previous in ("NUMBER", "VARIABLE")
        ):
            kind, word, position = "MOD", "%", match.start() + 1
        elif kind == "COMMENT":
            if comments:
                yield Token(kind, word, line, column, leads_line, source)
            continue
        elif kind == "OPEN_COMMENT":
            ends = _MIXED_COMMENT_END if notation.mixed_comment_ends else _COMMENT_END[word]
            end = ends.search(text, position)
            if end is None:
                yield _broken(Token(kind, word, line, column, leads_line, source))
                return
            if comments:
                whole = text[match.start() : end.end()]
                yield Token("COMMENT", whole, line, column, leads_line, source)
                leads_line = False
            line += text.count("\n", position, end.end())
            line_start = max(line_start, text.rfind("\n", position, end.end()) + 1)
            position = end.end()
            continue
        elif kind == "SYMBOL":
            kind = SYMBOLS[word]
        elif word == "==" and notation.double_equals:
            kind = "COMPARE"
        elif kind == "QUOTED" and notation.single_quotes and len(word) > 1 and word[-1] == "'":
            kind = "STRING"
        token = Token(kind or "", word, line, column, leads_line, source)
        leads_line, previous = False, token.type
        yield _broken(token) if kind in _BROKEN else token


def _broken(token: Token) -> Token:
    """Report what is no token; a string that is not closed takes the rest of its line with it."""
    source, word, span = token.source, token.text, token.span
    kind, token.type = token.type, "BROKEN"
    if kind == "FOREIGN":
        source.report("L110", f"`{word}` is not an operator here", span, FOREIGN[word])
    elif kind == "OPEN_COMMENT":
        hint = f"close it with `{word[::-1]}`"
        source.report("L103", f"the comment `{word}` is not closed", span, hint)
    elif kind == "UNCLOSED":
        span = span._replace(end_column=span.column + 1)
        source.report("L102", "the string is not closed on its line", span, 'close it with `"`')
        token.type = "BROKEN_LINE"
    elif kind == "QUOTED":
        hint = 'strings have double quotes: `"..."`'
        source.report("L101", "a single quote has no place here", span, hint)
    elif word[0] == "_":
        hint = "a name starts with a small letter, a variable with a capital one or `_` and one"
        source.report("L101", f"`{word}` is neither a name nor a variable", span, hint)
    else:
        shown = word if word.isprintable() else ascii(word)[1:-1]
        hint = "" if word.isascii() else 'other letters than a to z need quotes: `"..."`'
        source.report("L101", f"`{shown}` has no place here", span, hint)
    return token


_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


def text_of(token: Token) -> str:
    """The text that a name or a quoted string stands for."""
    text = token.text
    if token.type != "STRING":
        return text
    inner = text[1:-1]
    # Single quotes have no escapes.
    if "\\" not in inner or text[0] == "'":
        return inner

    def unescaped(match: re.Match[str]) -> str:
        char = match.group(1)
        if char not in _ESCAPES:
            column = token.column + 1 + match.start()
            span = token.span._replace(column=column, end_column=column + 2)
            hint = 'write `\\\\` for a backslash; `\\"`, `\\n`, `\\r` and `\\t` are the others'
            token.source.report("L102", f"`\\{char}` is no escape", span, hint)
        return _ESCAPES.get(char, "")

    return _ESCAPE.sub(unescaped, inner)


# More digits than this are not worth a conversion; sizes and arities have one digit to spare.
_LONGEST_INTEGER = 19
LONGEST_SIZE = 18


def number_of(token: Token) -> int | float:
    """The number as written; whether its sign brings it into range is checked later."""
    text = token.text
    if text.isdigit():
        if len(text) <= _LONGEST_INTEGER or len(text.lstrip("0")) <= _LONGEST_INTEGER:
            return int(text)
        token.source.report("L114", "the number does not fit a 64-bit integer", token.span)
        return 0
    value = float(text)
    if math.isinf(value):
        token.source.report("L114", "the number does not fit a 64-bit float", token.span)
        return 0
    return value


def whole_number(token: Token) -> int | None:
    """A number that must be whole, such as how many tuples; None, and a problem, if it is not."""
    if not token.text.isdigit():
        token.source.report("L114", f"`{brief(token.text)}` is not a whole number", token.span)
        return None
    if len(token.text) > LONGEST_SIZE:
        token.source.report("L114", f"`{brief(token.text)}` is too large a number", token.span)
        return None
    return int(token.text)


def brief(text: str) -> str:
    """Digits as a message shows them."""
    return text if len(text) <= 24 else f"{text[:21]}..."
