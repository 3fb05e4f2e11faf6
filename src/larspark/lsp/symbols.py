"""Predicates and variables by their places in a text, also in one that has errors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from larspark.base.atoms import Signature
from larspark.base.problems import Span
from larspark.language.grammar import read_statement
from larspark.language.source import Source, TooManyProblemsError
from larspark.language.tokens import Statement, Token, span_between, statements, text_of
from larspark.language.tree import Tick

_SIGNS = frozenset(("COMPARE", "PLUS", "MINUS", "STAR", "SLASH", "MOD"))
_FUNCTIONS = frozenset(("abs", "min", "max"))
_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place where a predicate or a variable stands.

    `statement` numbers the statement within the text. `defines` marks predicates in heads, and
    `declares` those in directives.
    """

    name: Signature | str
    token: Token
    statement: int
    defines: bool = False
    declares: bool = False

    @property
    def span(self) -> Span:
        return self.token.span


@dataclass(frozen=True, slots=True)
class Outline:
    """The statements of a text, and the occurrences in them."""

    statements: tuple[Statement, ...]
    occurrences: tuple[Occurrence, ...]

    def at(self, line: int, column: int) -> Occurrence | None:
        """The occurrence that covers a place, or ends there."""
        for found in self.occurrences:
            token = found.token
            if token.line == line and token.column <= column <= token.end_column:
                return found
        return None

    def same(self, wanted: Occurrence) -> Iterator[Occurrence]:
        """All occurrences of a predicate, or of a variable within its statement."""
        for found in self.occurrences:
            if found.name != wanted.name:
                continue
            if isinstance(wanted.name, Signature) or found.statement == wanted.statement:
                yield found

    def statement_span(self, number: int) -> Span:
        """The place of a statement, with its final dot."""
        statement = self.statements[number]
        return span_between(statement.tokens[0], statement.end or statement.tokens[-1])


def outline(text: str, name: str, read: "Statements") -> Outline:
    """What stands where in a text."""
    # With a tick every duration has a size: durations without one are no problem here.
    source = Source(name, text, tick=Tick(1))
    found: list[Statement] = []
    occurrences: list[Occurrence] = []
    try:
        for statement in statements(source):
            rest: Statement | None = statement
            while rest is not None:
                here, rest = read.one(rest)
                occurrences.extend(_occurrences(here.tokens, len(found)))
                found.append(here)
    except TooManyProblemsError:
        pass
    return Outline(tuple(found), tuple(occurrences))


class Statements:
    """Gives words their types; remembers the statements of a text from version to version."""

    def __init__(self) -> None:
        # By the words of a statement: their types, and how many of them are a statement.
        self._known: dict[tuple[object, ...], tuple[tuple[str, ...], int]] = {}

    def one(self, statement: Statement) -> tuple[Statement, Statement | None]:
        """The first statement of what was read as one, and the rest behind a missing dot."""
        tokens = statement.tokens
        key = tuple([(token.text, token.leads_line) for token in tokens])
        known = self._known.get(key)
        if known is None:
            _, rest = read_statement(statement)
            count = len(tokens) - (0 if rest is None else len(rest.tokens))
            known = tuple([token.type for token in tokens[:count]]), count
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = known
        types, count = known
        for token, kind in zip(tokens, types, strict=False):
            token.type = kind
        if count == len(tokens):
            return statement, None
        return Statement(tokens[:count], None), Statement(tokens[count:], statement.end)


def _occurrences(tokens: Sequence[Token], number: int) -> Iterator[Occurrence]:
    if tokens[0].type == "HASH":
        yield from _declared(tokens, number)
        return
    arrow = next((n for n, token in enumerate(tokens) if token.type == "IF"), len(tokens))
    # What the open brackets are: calls of atoms and functions, windows, or others.
    opened: list[str] = []
    for place, token in enumerate(tokens):
        following = tokens[place + 1].type if place + 1 < len(tokens) else ""
        if token.type in ("LPAR", "LSQB", "LBRACE"):
            called = token.type == "LPAR" and place and tokens[place - 1].type in ("NAME", "STRING")
            opened.append("call" if called else token.type)
        elif token.type in ("RPAR", "RSQB", "RBRACE"):
            if opened:
                opened.pop()
        elif token.type == "VARIABLE":
            yield Occurrence(token.text, token, number)
        elif token.type in ("NAME", "STRING") and "call" not in opened:
            if "LSQB" in opened and not _is_pattern(tokens, place):
                continue
            if following == "LPAR":
                if token.text in _FUNCTIONS and _is_operand(tokens, place):
                    continue
                signature = Signature(text_of(token), _arity(tokens, place + 1))
            elif _is_operand(tokens, place):
                continue
            else:
                signature = Signature(text_of(token), 0)
            yield Occurrence(signature, token, number, defines=place < arrow)


def _declared(tokens: Sequence[Token], number: int) -> Iterator[Occurrence]:
    """The predicates of a directive: `hot/1`, or `hot(machine)` with names of columns."""
    for place, token in enumerate(tokens[2:-1], start=2):
        if token.type not in ("NAME", "STRING"):
            continue
        after = tokens[place + 1 : place + 3]
        if after[0].type == "SLASH" and len(after) == 2 and after[1].text.isdigit():
            signature = Signature(text_of(token), int(after[1].text[:9]))
        elif after[0].type == "LPAR":
            signature = Signature(text_of(token), _arity(tokens, place + 1))
        else:
            continue
        yield Occurrence(signature, token, number, declares=True)


def _arity(tokens: Sequence[Token], start: int) -> int:
    """The number of arguments behind an opening bracket."""
    depth = commas = 0
    for token in tokens[start:]:
        if token.type in ("LPAR", "LSQB", "LBRACE"):
            depth += 1
        elif token.type in ("RPAR", "RSQB", "RBRACE"):
            depth -= 1
            if depth == 0:
                break
        elif token.type == "COMMA" and depth == 1:
            commas += 1
    return commas + 1


def _is_pattern(tokens: Sequence[Token], place: int) -> bool:
    """Does a name in a window stand in a filter, such as `[only tram(a1,_)]`?"""
    for token in reversed(tokens[:place]):
        if token.type == "ONLY":
            return True
        if token.type == "LSQB":
            return False
    return False


def _is_operand(tokens: Sequence[Token], place: int) -> bool:
    """Does a name stand beside an operator of arithmetic or a comparison?"""
    before = tokens[place - 1].type if place else ""
    end = place + 1
    if end < len(tokens) and tokens[end].type == "LPAR":
        depth = 0
        for end in range(place + 1, len(tokens)):
            depth += {"LPAR": 1, "RPAR": -1}.get(tokens[end].type, 0)
            if depth == 0:
                break
        end += 1
    after = tokens[end].type if end < len(tokens) else ""
    return before in _SIGNS or after in _SIGNS
