"""Syntax errors in plain words: what was found, what would fit, and what was probably meant."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches

from larspark.language.tokens import SYMBOLS, Statement, Token
from larspark.language.words import FUNCTIONS, WORDS, short_form

# Can the parser go on with this terminal?
Accepts = Callable[[str], bool]

DIRECTIVES = ("tick", "input", "show", "background", "remember", "include")

_SYMBOL_OF = {terminal: symbol for symbol, terminal in reversed(SYMBOLS.items())}
_SHOWN = {
    **{terminal: f"`{symbol}`" for terminal, symbol in _SYMBOL_OF.items()},
    **{terminal: f"`{word}`" for word, terminal in WORDS.items()},
    "NAME": "a name",
    "VARIABLE": "a variable",
    "NUMBER": "a number",
    "STRING": "a string",
    "$END": "`.`",
}
# What is worth naming, in this order, when neither a formula nor a term is expected.
_NAMED = (
    *("RPAR", "RSQB", "RBRACE", "COLON", "COMMA", "$END", "IF", "AND", "PLUS", "SLASH", "AS"),
    *("NAME", "VARIABLE", "NUMBER", "STRING", "LSQB", "LPAR"),
)
_OPENING = {"RPAR": "LPAR", "RSQB": "LSQB", "RBRACE": "LBRACE"}
_CLOSING_SYMBOL = {"LPAR": ")", "LSQB": "]", "LBRACE": "}"}
# Symbols of aggregates that mean something else in other languages.
_FOREIGN = {
    "COLON": "write `:-` for a rule",
    "SEMICOLON": "write `or` for a disjunction, `,` for a conjunction",
    "LBRACE": "there are no choices in braces; write a disjunction such as `p or not_p`",
    "RBRACE": "there are no choices in braces; write a disjunction such as `p or not_p`",
}
_OPERANDS = ("NAME", "VARIABLE", "NUMBER", "STRING", "WILDCARD", "NOT", "SOME", "LPAR")


def report_unexpected(statement: Statement, index: int, accepts: Accepts) -> None:
    """Report the token at this place, or the end of the statement, as not fitting."""
    tokens = statement.tokens
    if index == len(tokens):
        _report_end(statement, accepts)
        return
    token, before = tokens[index], tokens[:index]
    if not (
        _misplaced_aggregate(token, before, tokens[index + 1 :])
        or _unknown_directive(token, before)
        or _not_behind_atom(token, accepts)
        or _import_of_ticker(token, before)
        or (token.type in ("IF", "HASH") and _unclosed_bracket(before))
        or _foreign_symbol(token, before)
    ):
        message = f"expected {_expected(accepts)}, found `{_shortened(token.text)}`"
        hint = _column_hint(token, before) or _predicate_hint(token, before)
        hint = hint or _short_form_hint(token, before) or _hint(token, before, accepts)
        token.source.report("L104", message, token.span, hint)


def report_missing_dot(last: Token, following: Token | None = None, indented: bool = False) -> None:
    """Report that the statement that ends with this token has no `.`."""
    source = last.source
    span = last.span._replace(column=last.end_column, end_column=last.end_column + 1)
    rest = source.lines[last.line - 1][last.end_column - 1 :].strip()
    hint = "put a `.` here"
    if rest.startswith("%") and rest.endswith("."):
        hint = "`%` starts a comment; the remainder of a division is written `X mod Y`"
    elif following is not None and indented:
        hint = f"put a `.` here, or a `,` if the rule continues with `{_shortened(following.text)}`"
    source.report("L105", "the statement has no `.` at its end", span, hint)


def _report_end(statement: Statement, accepts: Accepts) -> None:
    tokens = statement.tokens
    if _unknown_directive(None, tokens) or _unclosed_bracket(tokens):
        return
    last = tokens[-1]
    end = statement.end
    span = last.span._replace(column=last.end_column, end_column=last.end_column + 1)
    hint = ""
    if last.type == "IF":
        hint = "a fact has no `:-`" if len(tokens) > 1 else "a constraint has a body"
    message = f"expected {_expected(accepts)}, found the end of the statement"
    last.source.report("L104", message, end.span if end is not None else span, hint)


def _expected(accepts: Accepts) -> str:
    if accepts("NOT"):
        return "a formula"
    if accepts("NUMBER") and accepts("VARIABLE"):
        return "a term"
    if accepts("ONLY"):
        return "a window such as `[5]`"
    terminals = [terminal for terminal in _NAMED if accepts(terminal)]
    if accepts("MINUS"):
        # Here these are operations, and not the future of a window or the arity of a predicate.
        terminals = [terminal for terminal in terminals if terminal not in ("PLUS", "SLASH")]
    named = [_SHOWN[terminal] for terminal in terminals][:4]
    if len(named) < 2:
        return named[0] if named else "something else"
    return f"{', '.join(named[:-1])} or {named[-1]}"


def _hint(token: Token, before: Sequence[Token], accepts: Accepts) -> str:
    """What was probably meant."""
    kind, word = token.type, token.text
    previous = before[-1].type if before else ""
    behind_operand = accepts("AND") or accepts("COMPARE")
    if kind in _OPENING:
        if previous == "LPAR" and kind == "RPAR":
            return "without arguments there are no parentheses: `p`, not `p()`"
        closed = _OPENING[kind] in [bracket.type for bracket in _open(before)]
        return "" if closed else f"there is no `{_SYMBOL_OF[_OPENING[kind]]}` for it"
    if kind == "COMPARE" and behind_operand:
        if any(earlier.type == "AT_SIGN" for earlier in before) and accepts("LSQB"):
            return "put the comparison into parentheses"
        return "compare two values at a time: `1 < X, X < 3`"
    if kind == "IF" and not accepts("NOT"):
        return "a rule has one `:-`; the rule before may lack its `.`"
    if kind == "COMMA" and accepts("IF"):
        return "a head is one formula: write `and` or `or` between its parts"
    if kind == "AT_SIGN" and behind_operand:
        return "a time stands before its formula, `@T p`, or behind an atom, `p at T`"
    if kind == "HASH" and behind_operand:
        return "a directive starts a statement; the one before may lack its `.`"
    if word in ("v", "V") and behind_operand:
        return "a disjunction is written `a or b`"
    if previous == "OF" and kind == "LSQB":
        function = before[-2].text
        return f"name what the {function} is of: `{short_form(function)}`"
    if kind == "NUMBER" and accepts("PLUS"):
        return f"the future of a window has a `+`: `[5,+{word}]`"
    if kind == "NAME" and accepts("STRING"):
        return f'put it into quotes: `"{word}"`'
    if kind in _OPERANDS and behind_operand:
        return "a `,` or `and` may be missing, or the `.` of the statement before"
    return ""


def _column_hint(token: Token, before: Sequence[Token]) -> str:
    """For what is no name of a column in `#show alarm(machine, value)`."""
    if not before or before[0].type != "HASH" or not _open(before):
        return ""
    if token.type == "VARIABLE":
        return f"the names of columns are lowercase: `{token.text.lstrip('_').lower()}`"
    if token.type == "RPAR" and before[-1].type == "LPAR":
        return f"without arguments there are no parentheses: `{before[-2].text}/0`"
    return ""


def _short_form_hint(token: Token, before: Sequence[Token]) -> str:
    """For `avg V of ...`, and for conditions of a short form with a comma between them."""
    last = before[-1] if before else token
    if (
        last.type == "NAME"
        and last.text in FUNCTIONS
        and token.type in ("LSQB", "NAME", "VARIABLE")
    ):
        return f"write `{short_form(last.text)}`"
    if token.text != "by" or all(earlier.text != "where" for earlier in before):
        return ""
    return "conditions after `where` are joined by `and`: `where V > 1 and V < 9 by M`"


def _predicate_hint(token: Token, before: Sequence[Token]) -> str:
    """For a predicate that starts with a capital letter: `Temp(M, V)`."""
    name = before[-1].text if before and before[-1].type == "VARIABLE" else "_"
    if token.type != "LPAR" or name.startswith("_"):
        return ""
    plain = f"`{name[0].lower()}{name[1:]}(...)`"
    return f'predicates start with a small letter, {plain}, or have quotes, `"{name}"(...)`'


def _unknown_directive(token: Token | None, before: Sequence[Token]) -> bool:
    if len(before) != 1 or before[0].type != "HASH":
        return False
    word = _shortened(token.text) if token is not None else ""
    place = token or before[0]
    close = get_close_matches(word, DIRECTIVES, n=1)
    known = ", ".join(f"`#{directive}`" for directive in DIRECTIVES)
    hint = f"did you mean `#{close[0]}`?" if close else f"the directives are {known}"
    place.source.report("L111", f"there is no directive `#{word}`", place.span, hint)
    return True


def _misplaced_aggregate(token: Token, before: Sequence[Token], after: Sequence[Token]) -> bool:
    """`#count` in a head or inside a formula, or an aggregate that does not exist."""
    behind_hash = bool(before) and before[-1].type == "HASH"
    name = token if behind_hash else after[0] if token.type == "HASH" and after else None
    follows = after if behind_hash else after[1:]
    if name is None or name.type != "NAME" or not follows or follows[0].type != "LBRACE":
        return False
    known = ", ".join(f"`#{function}`" for function in FUNCTIONS)
    if name.text not in FUNCTIONS:
        message = f"there is no aggregate `#{_shortened(name.text)}`"
        name.source.report("L127", message, name.span, f"the aggregates are {known}")
    elif not any(earlier.type == "IF" for earlier in before):
        hint = "compute the value in the body: `total(N) :- N = #count{ X : p(X) }.`"
        name.source.report("L128", "an aggregate cannot stand in a head", name.span, hint)
    else:
        message = "an aggregate is a literal of its own and cannot stand inside a formula"
        hint = "write a `,` before and after it, or give it a rule of its own"
        name.source.report("L128", message, name.span, hint)
    return True


def _foreign_symbol(token: Token, before: Sequence[Token]) -> bool:
    if token.type not in _FOREIGN or any(bracket.type == "LBRACE" for bracket in _open(before)):
        return False
    message = f"`{token.text}` is not an operator here"
    token.source.report("L110", message, token.span, _FOREIGN[token.type])
    return True


def _not_behind_atom(token: Token, accepts: Accepts) -> bool:
    if token.text not in ("not", "¬") or not accepts("IN") or accepts("NOT"):
        return False
    message = "`not` cannot stand between an atom and its window (Ticker silently drops it there)"
    hint = "write it before the atom: `not p(X) [10]`"
    token.source.report("L109", message, token.span, hint)
    return True


def _import_of_ticker(token: Token, before: Sequence[Token]) -> bool:
    if len(before) != 1 or before[0].text != "import" or token.type not in ("NAME", "SLASH"):
        return False
    message = "Ticker's `import` of a window written in Scala has no counterpart"
    hint = "register a Python function and use it as `[name(3)]`"
    before[0].source.report("L132", message, before[0].span, hint)
    return True


def _unclosed_bracket(before: Sequence[Token]) -> bool:
    """Where a statement breaks off inside a bracket, the bracket is the place to point at."""
    open_ = _open(before)
    if not open_:
        return False
    bracket = open_[-1]
    close = _CLOSING_SYMBOL[bracket.type]
    message = f"`{bracket.text}` is not closed"
    bracket.source.report("L106", message, bracket.span, f"a `{close}` is missing")
    return True


def _open(tokens: Sequence[Token]) -> list[Token]:
    """The brackets that are open after these tokens, the innermost last."""
    open_: list[Token] = []
    for token in tokens:
        if token.type in _OPENING.values():
            open_.append(token)
        elif token.type in _OPENING and open_:
            open_.pop()
    return open_


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
