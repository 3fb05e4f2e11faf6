"""The values that names, strings and numbers stand for."""

import math
import re

from larspark.language.tokens import Token

_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


def text_of(token: Token) -> str:
    """The text that a name or a quoted string stands for."""
    text = token.text
    if token.type != "STRING":
        return text
    inner = text[1:-1]
    # Laser's single quotes have no escapes.
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
_LONGEST_SIZE = 18


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
    if len(token.text) > _LONGEST_SIZE:
        token.source.report("L114", f"`{brief(token.text)}` is too large a number", token.span)
        return None
    return int(token.text)


def brief(text: str) -> str:
    """Digits as a message shows them."""
    return text if len(text) <= 24 else f"{text[:21]}..."
