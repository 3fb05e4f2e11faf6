"""The layout of a program text: spaces and indentation, nothing else."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from larspark.base.problems import LarsparkError
from larspark.language.collector import has_errors
from larspark.language.grammar import read_statement
from larspark.language.source import Source
from larspark.language.tokens import Statement, Token, tokenize
from larspark.language.tree import Tick

WIDTH = 100
_INDENT = "    "
# The arrows of neighbouring rules, and comments behind them, stand below each other unless that
# takes more spaces than this.
_LARGEST_GAP = 24

_OPENING = frozenset(("LPAR", "LSQB", "LBRACE"))
_CLOSING = frozenset(("RPAR", "RSQB"))
_SIGNS = frozenset(("PLUS", "MINUS", "STAR", "SLASH"))
_OPERANDS = frozenset(("NUMBER", "VARIABLE", "WILDCARD", "NAME", "STRING", "RPAR"))
_UNICODE_PREFIXES = frozenset("¬◇□▷⊞")


def laid_out(text: str, name: str = "<program>") -> str:
    """The text of a program with normalized spaces; line breaks and comments stay.

    >>> print(laid_out("q(X):-p(X)[3],not r at T . % why"), end="")
    q(X) :- p(X) [3], not r at T.  % why
    """
    # With the shortest tick every duration has a size; whether `#tick` fits is not asked here.
    source = Source(name, text, tick=Tick(1))
    tokens = list(tokenize(source, comments=True))
    _name_words(tokens)
    if has_errors(tuple(source.problems)):
        raise LarsparkError(source.problems)
    lines = list(_lines(tokens))
    for first, last in _blocks(lines):
        _align(lines[first:last])
    return "\n".join(_with_blanks(lines)) + "\n" if lines else ""


def _name_words(tokens: Sequence[Token]) -> None:
    """Parse, so that the words of the language get their types; problems go to the source."""
    statement: list[Token] = []
    for token in tokens:
        if token.type == "DOT":
            _read(statement, token)
            statement = []
        elif token.type != "COMMENT":
            statement.append(token)
    _read(statement, None)


def _read(statement: list[Token], end: Token | None) -> None:
    rest = Statement(statement, end) if statement else None
    while rest is not None:
        _, rest = read_statement(rest)


@dataclass(slots=True)
class _Line:
    """A line of the text: its tokens, and whether a statement continues from the previous line."""

    tokens: list[Token]
    continues: bool
    # Where the arrow of the line stands, if the line is a rule.
    arrow: int | None = None
    head: str = ""
    body: str = ""
    comment: str = ""
    parts: list[str] = field(default_factory=list)

    @property
    def code(self) -> str:
        return self.head + self.body

    @property
    def last_row(self) -> int:
        last = self.tokens[-1]
        return last.line + last.text.count("\n")


def _lines(tokens: Sequence[Token]) -> Iterator[_Line]:
    line: list[Token] = []
    is_open = continues = False
    for token in tokens:
        if token.leads_line and line:
            yield _written(line, continues)
            line, continues = [], is_open
        line.append(token)
        if token.type != "COMMENT":
            is_open = token.type != "DOT"
    if line:
        yield _written(line, continues)


def _written(tokens: list[Token], continues: bool) -> _Line:
    line = _Line(tokens, continues)
    code = tokens
    if tokens[-1].type == "COMMENT" and len(tokens) > 1:
        code, line.comment = tokens[:-1], tokens[-1].text.rstrip()
    text = _INDENT if continues else ""
    in_time = False
    in_window = in_directive = False
    for number, token in enumerate(code):
        before = code[number - 1] if number else None
        in_time = _goes_on_in_time(in_time, before, token)
        if before is not None and _is_spaced(
            code, number, in_time=in_time, in_window=in_window, in_directive=in_directive
        ):
            text += " "
        if token.type == "IF" and line.arrow is None and not continues and number:
            line.arrow, line.head, text = number, text, ""
        text += token.text.rstrip() if token.type == "COMMENT" else token.text
        in_window = token.type == "LSQB" or (in_window and token.type != "RSQB")
        in_directive = (
            in_directive or (token.type == "HASH" and before is None and not continues)
        ) and token.type != "DOT"
    line.body = text
    if sum(token.type == "DOT" for token in code) != 1 or code[-1].type != "DOT":
        line.head, line.body, line.arrow = "", line.code, None
    return line


def _goes_on_in_time(in_time: bool, before: Token | None, token: Token) -> bool:
    """Is this token a part of the time behind `@` or `at`?"""
    if before is None:
        return False
    if before.type in ("AT_SIGN", "AT"):
        return True
    if not in_time:
        return False
    return token.type in _SIGNS if before.type in _OPERANDS else before.type in _SIGNS


def _is_spaced(
    code: Sequence[Token], number: int, *, in_time: bool, in_window: bool, in_directive: bool
) -> bool:
    """Does a space stand before this token?"""
    before, token = code[number - 1], code[number]
    kind, last = token.type, before.type
    if kind in ("COMMA", "DOT") or kind in _CLOSING or last in ("LPAR", "LSQB", "AT_SIGN"):
        return False
    if kind == "LPAR":
        return last not in ("NAME", "STRING", "FUNCTION") or before.end_column != token.column
    if last == "HASH":
        return False
    if kind == "LBRACE":
        return False
    if before.text in _UNICODE_PREFIXES:
        return False
    if kind == "HASH" and last == "NUMBER":
        return in_window
    if in_directive and "SLASH" in (kind, last):
        return False
    if in_window and last == "COMMA" and kind in ("PLUS", "HASH"):
        return False
    if last in _SIGNS and (number < 2 or code[number - 2].type not in _OPERANDS):
        return False
    if kind in _SIGNS and last not in _OPERANDS:
        return True
    return not (in_time and (kind in _SIGNS or last in _SIGNS))


def _blocks(lines: Sequence[_Line]) -> Iterator[tuple[int, int]]:
    """Neighbouring lines, up to an empty line or one that begins or continues a longer rule."""
    start = 0
    for number in range(1, len(lines) + 1):
        if (
            number == len(lines)
            or lines[number].tokens[0].line > lines[number - 1].last_row + 1
            or lines[number].continues
            or lines[number - 1].continues
        ):
            yield start, number
            start = number


def _align(lines: Sequence[_Line]) -> None:
    """Put arrows below each other, then the comments behind the lines."""
    rules = [line for line in lines if line.arrow is not None]
    widths = [len(line.head.rstrip()) for line in rules]
    if rules and max(widths) - min(widths) <= _LARGEST_GAP:
        longest = max(widths)
        heads = [f"{line.head.rstrip():<{longest}} " for line in rules]
        fits = all(
            len(head) + len(line.body) <= WIDTH or head == line.head
            for head, line in zip(heads, rules, strict=True)
        )
        if fits:
            for head, line in zip(heads, rules, strict=True):
                line.head = head
    remarked = [line for line in lines if line.comment]
    widths = [len(line.code) for line in remarked]
    if not remarked:
        return
    column = max(widths) if max(widths) - min(widths) <= _LARGEST_GAP else 0
    for line in remarked:
        line.body = f"{line.body}{' ' * max(0, column - len(line.code))}  {line.comment}"


def _with_blanks(lines: Sequence[_Line]) -> Iterator[str]:
    """The lines of the text; several empty lines become one."""
    row: int | None = None
    for line in lines:
        if row is not None and line.tokens[0].line > row + 1:
            yield ""
        yield line.code
        row = line.last_row
