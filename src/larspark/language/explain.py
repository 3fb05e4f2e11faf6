"""Syntax errors in plain words: what was found, what would fit, and what was probably meant."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches

from larspark.language.tokens import SYMBOLS, WORDS, Statement, Token

# Can the parser go on with this terminal?
Accepts = Callable[[str], bool]

DIRECTIVES = ("tick", "input", "show", "background", "remember", "include")

_SHOWN = {
    **{terminal: f"`{symbol}`" for symbol, terminal in reversed(SYMBOLS.items())},
    **{terminal: f"`{word}`" for word, terminal in WORDS.items()},
    "VARIABLE": "a variable",
    "NUMBER": "a number",
    "STRING": "a string",
    "COMPARE": "a comparison such as `<`",
    "$END": "`.`",
}
# What is worth naming, in this order, when neither a formula nor a term is wanted.
_NAMED = (
    *("RPAR", "RSQB", "COMMA", "$END", "IF", "COMPARE", "AND", "SLASH", "AS"),
    *("NAME", "VARIABLE", "NUMBER", "STRING", "LSQB"),
)
_CLOSING = {"RPAR": "LPAR", "RSQB": "LSQB"}


def report_unexpected(statement: Statement, index: int, accepts: Accepts) -> None:
    """Report the token at this place, or the end of the statement, as not fitting."""
    tokens = statement.tokens
    token = tokens[index] if index < len(tokens) else None
    previous = tokens[index - 1] if index else None
    if _unknown_directive(tokens, index) or _not_before_window(token, previous, accepts):
        return
    if _open_bracket(tokens[:index], token, accepts) or _import(tokens, token):
        return
    place = token or statement.end or previous
    if place is None:
        return
    span = place.span
    if token is None and statement.end is None:
        span = span._replace(column=span.end_column, end_column=span.end_column + 1)
    found = f"`{token.text}`" if token else "the statement ends"
    wanted = _wanted(accepts)
    message = (
        f"{found}, where {wanted} was expected"
        if token is None
        else f"{wanted} was expected, not {found}"
    )
    place.source.report("L104", message, span, _hint(token, previous, accepts))


def report_missing_dot(last: Token) -> None:
    """Report that the statement that ends with this token has no `.`."""
    span = last.span._replace(column=last.end_column, end_column=last.end_column + 1)
    last.source.report("L105", "the statement has no `.` at its end", span, "put a `.` here")


def _wanted(accepts: Accepts) -> str:
    if accepts("NOT"):
        return "a formula"
    if accepts("NUMBER") and accepts("VARIABLE"):
        return "a term"
    named = [_SHOWN.get(terminal, "a name") for terminal in _NAMED if accepts(terminal)][:4]
    if not named:
        return "something else"
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} or {named[-1]}"


def _hint(token: Token | None, previous: Token | None, accepts: Accepts) -> str:
    if token is None:
        if previous is not None and previous.type == "IF":
            return "a fact has no `:-`"
        return ""
    word = token.text
    operand = accepts("COMPARE") or accepts("AND")
    if token.type == "COMPARE" and previous is not None:
        return "compare two values at a time: `1 < X, X < 3`; right after `@T` use parentheses"
    if token.type == "IF":
        return "a rule has one `:-`; the rule before it may lack its `.`"
    if token.type in _CLOSING:
        return f"there is no `{SYMBOL_OF[_CLOSING[token.type]]}` for it, or something is missing before it"
    if operand and token.type == "NAME" and word in ("v", "or", "V"):
        return "a disjunction is written `a or b`"
    if token.type == "VARIABLE" and word == "V" and operand:
        return "a disjunction is written `a or b`"
    if token.type == "COMMA" and accepts("IF"):
        return "a head is one formula: write `and` or `or` between its parts"
    if token.type == "HASH":
        return "a directive stands at the start of a statement; the one before it may lack its `.`"
    if operand and token.type in ("NAME", "VARIABLE", "NUMBER", "STRING", "AT_SIGN", "NOT"):
        return "a `,` or `and` may be missing, or the `.` of the statement before"
    if word in WORDS and accepts("NAME"):
        return f'`{word}` is a word of the language; as a name it needs quotes: `"{word}"`'
    return ""


SYMBOL_OF = {terminal: symbol for symbol, terminal in reversed(SYMBOLS.items())}


def _unknown_directive(tokens: Sequence[Token], index: int) -> bool:
    if index != 1 or tokens[0].type != "HASH":
        return False
    token = tokens[1] if len(tokens) > 1 else tokens[0]
    known = ", ".join(f"`#{word}`" for word in DIRECTIVES)
    close = get_close_matches(token.text[:40], DIRECTIVES, n=1)
    hint = f"did you mean `#{close[0]}`?" if close else f"the directives are {known}"
    word = token.text if len(tokens) > 1 else ""
    token.source.report("L111", f"there is no directive `#{word}`", token.span, hint)
    return True


def _not_before_window(token: Token | None, previous: Token | None, accepts: Accepts) -> bool:
    if token is None or token.text not in ("not", "¬") or not accepts("LSQB") or previous is None:
        return False
    if accepts("NOT"):
        return False
    reason = "Ticker silently drops this `not`, so it is not read here"
    hint = f"write `not` before the atom: `not p(X) [10]`; {reason}"
    token.source.report(
        "L109", "`not` cannot stand between an atom and its window", token.span, hint
    )
    return True


def _open_bracket(before: Sequence[Token], token: Token | None, accepts: Accepts) -> bool:
    """When the statement breaks off inside a bracket, the bracket is the better place to point at."""
    ends = token is None or token.type in ("IF", "HASH")
    if not ends:
        return False
    open_: list[Token] = []
    for earlier in before:
        if earlier.type in ("LPAR", "LSQB"):
            open_.append(earlier)
        elif earlier.type in _CLOSING and open_:
            open_.pop()
    if not open_:
        return False
    bracket = open_[-1]
    close = ")" if bracket.text == "(" else "]"
    message = f"`{bracket.text}` is never closed"
    bracket.source.report("L106", message, bracket.span, f"a `{close}` is missing after it")
    return True


def _import(tokens: Sequence[Token], token: Token | None) -> bool:
    if tokens[0].text != "import" or token is None or token is not tokens[1:2][0]:
        return False
    message = "Ticker's `import` loads a window written in Scala, and there is no counterpart"
    hint = "register a Python function and use it as `[name(3)]`"
    tokens[0].source.report("L132", message, tokens[0].span, hint)
    return True
