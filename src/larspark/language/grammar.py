"""The grammars, and the loop that runs tokens through them."""

import marshal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import lark
from lark import Lark
from lark.exceptions import UnexpectedToken
from lark.grammar import Rule
from lark.lexer import Lexer, LexerState, TerminalDef
from lark.parsers.lalr_analysis import Shift
from lark.parsers.lalr_interactive_parser import InteractiveParser

from larspark.base.disk import Disk
from larspark.base.durations import MICROSECONDS
from larspark.language.builder import Builder
from larspark.language.pieces import TooDeepError
from larspark.language.syntax_errors import report_missing_dot, report_unexpected
from larspark.language.tokens import Statement, Token
from larspark.language.words import AGGREGATE_WORDS, FUNCTIONS, WORDS

# Brackets may nest deeper than trees, because printing a tree can add brackets to it.
MAX_BRACKETS = 250
_OPENING = ("LPAR", "LSQB", "LBRACE")
_CLOSING = ("RPAR", "RSQB", "RBRACE")
_OPERATORS = ("COMPARE", "PLUS", "MINUS", "STAR", "SLASH")


class _NoLexer(Lexer):
    """Tokens are fed one by one; Lark never asks for any."""

    def __init__(self, _configuration: object) -> None:
        pass

    def lex(self, _lexer_state: LexerState, _parser_state: object) -> Iterator[Any]:
        return iter(())


def load_grammar(package: str, file: str, starts: Sequence[str], builder: object) -> Lark:
    """The parser of a grammar file in a package; `builder` has a method for each alternative."""
    place = files(package).joinpath(file)
    text = place.read_text("utf-8")
    # The builder is not a Transformer: Lark only needs its methods.
    embedded: Any = builder
    kept = Path(cache_from_source(str(place))).with_suffix(".lalr")
    made_from = sha256(f"{lark.__version__}\n{starts}\n{text}".encode()).digest()
    with suppress(OSError, ValueError, EOFError, TypeError):
        found, data, memo = marshal.loads(kept.read_bytes())  # noqa: S302 - as compiled modules
        if found == made_from:
            _set_objects(data, _NoLexer, embedded)
            known: Lark = Lark._load_from_dict(data, memo)  # type: ignore[no-untyped-call]
            return known
    parser = Lark(text, parser="lalr", lexer=_NoLexer, start=list(starts), transformer=embedded)
    if not sys.dont_write_bytecode:
        _keep_tables(parser, kept, made_from)
    return parser


def _keep_tables(parser: Lark, kept: Path, made_from: bytes) -> None:
    """Write the tables of a parser beside the compiled modules: making them takes 0.1 seconds.

    They are plain values, written in the form of compiled modules.
    """
    data, memo = parser.memo_serialize([TerminalDef, Rule])
    _set_objects(data, None, None)
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        Disk().replace(kept, marshal.dumps((made_from, data, memo)))


def _set_objects(data: dict[str, Any], lexer: Any, transformer: Any) -> None:
    """Set what is no plain value in the data of a parser."""
    data["parser"]["lexer_conf"]["lexer_type"] = lexer
    data["options"].update(lexer=lexer, transformer=transformer)


@cache
def _lars() -> Lark:
    return load_grammar("larspark.language", "lars.lark", ("rule", "query", "directive"), Builder())


def read_statement(statement: Statement) -> tuple[Any | None, Statement | None]:
    """The rule or directive that a statement holds, if it is right.

    Where a `.` is missing at the end of a line, that is reported, and the rest is given back as a
    statement of its own.
    """
    tokens = statement.tokens
    start = "directive" if tokens[0].type == "HASH" else "rule"
    parser = _lars().parse_interactive(start=start)
    result, index = run(parser, statement)
    if index is None:
        if result is not None and statement.end is None:
            report_missing_dot(tokens[-1])
        return result, None
    if 0 < index < len(tokens) and tokens[index].leads_line and accepts(parser)("$END"):
        indented = tokens[index].column > tokens[0].column
        report_missing_dot(tokens[index - 1], tokens[index], indented)
        with suppress(TooDeepError):
            result = _end(parser)
        return result, Statement(tokens[index:], statement.end)
    report_unexpected(statement, index, accepts(parser))
    return None, None


def read_query(statement: Statement) -> Any | None:
    """The formula that a statement holds."""
    parser = _lars().parse_interactive(start="query")
    result, index = run(parser, statement)
    if index is not None:
        report_unexpected(statement, index, accepts(parser))
    return result


def run(
    parser: InteractiveParser, statement: Statement, words: Mapping[str, str] = WORDS
) -> tuple[Any | None, int | None]:
    """Feed a statement: its result, or the index of the token that does not fit.

    Neither is given when the statement has been reported already.
    """
    tokens = statement.tokens
    fed = brackets = 0
    written = ""
    grouping = False
    try:
        for index, token in enumerate(tokens):
            written = token.type
            if written in ("NAME", "VARIABLE"):
                _name_word(parser, tokens, index, words)
            elif written in _OPENING:
                brackets += 1
                if brackets > MAX_BRACKETS:
                    message = f"more than {MAX_BRACKETS} brackets are open here"
                    token.source.report("L107", message, token.span)
                    return None, None
            elif written in _CLOSING:
                brackets -= 1
            elif grouping and _precedes_key(tokens, index) and accepts(parser)("KEY_COMMA"):
                token.type = "KEY_COMMA"
            grouping = grouping or token.type == "BY"
            parser.feed_token(token)  # type: ignore[arg-type]
            fed += 1
        return _end(parser), None
    except UnexpectedToken:
        if fed < len(tokens):
            # In another statement it may be a name again.
            tokens[fed].type = written
        return None, fed
    except TooDeepError:
        return None, None


def _name_word(
    parser: InteractiveParser, tokens: Sequence[Token], index: int, words: Mapping[str, str]
) -> None:
    """Give a word the terminal that the grammar wants in its place; otherwise it stays a name."""
    token, text = tokens[index], tokens[index].text
    if text in MICROSECONDS and index and tokens[index - 1].type == "NUMBER":
        # After `@T + 5`, and in a window, it is a name.
        accepted = accepts(parser)
        if accepted("UNIT") and not accepted("NAME"):
            token.type = "UNIT"
        return
    if text not in words and text not in AGGREGATE_WORDS:
        return
    choices: Mapping[str, object] = parser.choices()  # type: ignore[no-untyped-call]
    terminal = words.get(text)
    if text in FUNCTIONS and "FUNCTION" in choices:
        if tokens[index - 1].type == "HASH":
            terminal = "FUNCTION"
        elif index + 1 < len(tokens) and tokens[index + 1].text == "of":
            terminal = "COUNT" if text == "count" else "FUNCTION"
    elif text == "in" and "OVER" in choices and accepts(parser)("OVER"):
        terminal = "OVER"
    elif text in ("of", "where") and text.upper() in choices:
        terminal = text.upper()
    if terminal is not None and terminal in choices:
        token.type = terminal


def _precedes_key(tokens: Sequence[Token], index: int) -> bool:
    """Is this a comma before a variable that is no part of a comparison?"""
    if tokens[index].type != "COMMA" or index + 1 >= len(tokens):
        return False
    if tokens[index + 1].type != "VARIABLE":
        return False
    behind = tokens[index + 2] if index + 2 < len(tokens) else None
    return behind is None or (behind.type not in _OPERATORS and behind.text != "mod")


def _end(parser: InteractiveParser) -> Any:
    feed_end: Callable[[], Any] = parser.feed_eof
    return feed_end()


def accepts(parser: InteractiveParser) -> Callable[[str], bool]:
    """Whether the parser accepts a terminal next, without running the builder."""
    states = parser.parser_state.parse_conf.states
    stack = list(parser.parser_state.state_stack)

    def accepted(terminal: str) -> bool:
        trial = list(stack)
        while True:
            step = states[trial[-1]].get(terminal)
            if step is None:
                return False
            action, argument = step
            if action is Shift:
                return True
            if argument.expansion:
                del trial[-len(argument.expansion) :]
            goto = states[trial[-1]][argument.origin.name][1]
            if terminal == "$END" and goto == parser.parser_state.parse_conf.end_state:
                return True
            trial.append(goto)

    return accepted
