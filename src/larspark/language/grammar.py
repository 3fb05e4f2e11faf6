"""The grammars, and the loop that runs tokens through them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark
from lark.exceptions import UnexpectedToken
from lark.lexer import Lexer, LexerState
from lark.parsers.lalr_analysis import Shift
from lark.parsers.lalr_interactive_parser import InteractiveParser

from larspark.language.builder import Builder
from larspark.language.pieces import TooDeepError
from larspark.language.syntax_errors import report_missing_dot, report_unexpected
from larspark.language.tokens import Statement
from larspark.language.words import WORDS

# Brackets may nest deeper than trees, because printing a tree can add brackets to it.
MAX_BRACKETS = 250


class _NoLexer(Lexer):
    """Tokens are fed one by one; Lark never asks for any."""

    def __init__(self, _configuration: object) -> None:
        pass

    def lex(self, _lexer_state: LexerState, _parser_state: object) -> Iterator[Any]:
        return iter(())


def load_grammar(package: str, file: str, starts: Sequence[str], builder: object) -> Lark:
    """The parser of a grammar file in a package; `builder` has a method for each alternative."""
    text = files(package).joinpath(file).read_text("utf-8")
    # The builder is not a Transformer: Lark only needs its methods.
    embedded: Any = builder
    return Lark(text, parser="lalr", lexer=_NoLexer, start=list(starts), transformer=embedded)


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
    fed = brackets = 0
    choices: Callable[[], Mapping[str, object]] = parser.choices
    try:
        for token in statement.tokens:
            if token.type in ("NAME", "VARIABLE"):
                word = words.get(token.text)
                if word is not None and word in choices():
                    token.type = word
            elif token.type in ("LPAR", "LSQB"):
                brackets += 1
                if brackets > MAX_BRACKETS:
                    message = f"more than {MAX_BRACKETS} brackets are open here"
                    token.source.report("L107", message, token.span)
                    return None, None
            elif token.type in ("RPAR", "RSQB"):
                brackets -= 1
            parser.feed_token(token)  # type: ignore[arg-type]
            fed += 1
        return _end(parser), None
    except UnexpectedToken:
        if fed < len(statement.tokens) and statement.tokens[fed].text in words:
            # In another statement it may be a name again.
            statement.tokens[fed].type = "NAME"
        return None, fed
    except TooDeepError:
        return None, None


def _end(parser: InteractiveParser) -> Any:
    feed_end: Callable[[], Any] = parser.feed_eof
    return feed_end()


def accepts(parser: InteractiveParser) -> Callable[[str], bool]:
    """Tells whether the parser can go on with a terminal, without running the builder."""
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
