"""Ground atoms as text: `tram(a1,b)`, `temp("New York",-3.5)`, `done`."""

import re
from math import isfinite

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError
from larspark.base.terms import INTEGER_MAX, INTEGER_MIN, Constant, constant
from larspark.feeds.reading import Refused

NAME = re.compile(r"[a-z][A-Za-z0-9_]*")
# The group is empty for integers.
NUMBER = re.compile(r"-?[0-9]++((?:\.[0-9]+)?+(?:[eE][+-]?[0-9]+)?+)")
# Measured values seldom repeat, so they are not cached.
_FRACTION = re.compile(r"-?[0-9]{1,99}\.[0-9]{1,99}")
STRING = re.compile(r'"(?:[^"\\\n]++|\\.)*+"')

_SPACE = re.compile(r"[ \t\r\n]*+")
_HEAD = re.compile(rf"{_SPACE.pattern}({NAME.pattern}+|{STRING.pattern}){_SPACE.pattern}(\(?+)")
_ARGUMENT = re.compile(
    rf"{_SPACE.pattern}(?P<constant>(?P<name>{NAME.pattern}+)|(?P<number>{NUMBER.pattern})"
    rf"|(?P<string>{STRING.pattern})){_SPACE.pattern}(?P<separator>[,)])"
)
_WORD = re.compile(r"\w+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}

# Texts are cached, because streams repeat themselves; the cache is bounded.
_CACHED = 1 << 16
_CACHED_LENGTH = 200


class GroundAtoms(dict[str, Atom]):
    """A bounded cache of atoms by their text, parsed on first use.

    >>> GroundAtoms()["temp(s1, 21.50)"]
    Atom(predicate='temp', args=('s1', 21.5))
    """

    def __init__(self) -> None:
        self._constants = _PlainConstants()

    def __missing__(self, text: str) -> Atom:
        atom = None if '"' in text else self._plain(text)
        if atom is None:
            try:
                atom = _parse(text)
            except Refused as refused:
                raise refused.inside(text) from None
        if "." not in text and len(text) <= _CACHED_LENGTH:
            if len(self) >= _CACHED:
                self.clear()
            self[text] = atom
        return atom

    def _plain(self, text: str) -> Atom | None:
        """The atom, if all its arguments are names and numbers; else None."""
        head, opened, inner = text.partition("(")
        constants = self._constants
        try:
            name = constants[head]
            if type(name) is not str or (opened and inner[-1:] != ")"):
                return None
            if not opened:
                return Atom(name)
            return Atom(name, tuple([constants[token] for token in inner[:-1].split(",")]))
        except Refused:
            return None


class _PlainConstants(dict[str, Constant]):
    """A bounded cache of names and numbers by their text."""

    def __missing__(self, text: str) -> Constant:
        if _FRACTION.fullmatch(text):
            measured = float(text)
            return constant(measured) if measured.is_integer() else measured
        token = text.strip(" \t\r\n")
        value: Constant = token
        if NUMBER.fullmatch(token):
            value = number(token)
        elif not NAME.fullmatch(token):
            raise Refused("L312", "neither a name nor a number")
        if len(text) <= _CACHED_LENGTH:
            if len(self) >= _CACHED:
                self.clear()
            self[text] = value
        return value


def parse_ground_atom(text: str, source: str = "<atom>") -> Atom:
    """Parse one ground atom.

    >>> parse_ground_atom('temp("New York", -3.5)')
    Atom(predicate='temp', args=('New York', -3.5))
    >>> parse_ground_atom("tram(a1,St)")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    larspark.base.problems.LarsparkError: <atom>:1:9: error L312: `St` is a variable, ...
    """
    try:
        return _parse(text)
    except Refused as refused:
        raise LarsparkError(refused.at(source, 1, text)) from None


def number(text: str) -> Constant:
    """Parse a number of the language.

    >>> number("-3"), number("2.0"), number("1e-3")
    (-3, 2, 0.001)
    """
    match = NUMBER.fullmatch(text)
    if match is None:
        raise Refused("L312", f"`{shortened(text)}` is not a number")
    if match[1]:
        value = float(text)
        if not isfinite(value):
            raise Refused("L313", f"`{shortened(text)}` does not fit a 64-bit float")
        return constant(value) if value.is_integer() else value
    # Python refuses integers of many thousand digits; 64-bit integers have at most 19.
    if len(text) > 20 and len(text.lstrip("-0")) > 19:
        raise Refused("L313", f"`{shortened(text)}` does not fit a 64-bit integer")
    whole = int(text)
    if not INTEGER_MIN <= whole <= INTEGER_MAX:
        raise Refused("L313", f"`{text}` does not fit a 64-bit integer")
    return whole


def string(text: str) -> str:
    """Parse a quoted string.

    >>> string('"New York"')
    'New York'
    """
    _check_surrogates(text)
    for escape in _ESCAPE.finditer(text):
        if escape[1] not in _ESCAPED:
            raise Refused(
                "L312",
                f"`{escape[0]}` is not an escape",
                r"the escapes are \" \\ \n \r \t",
                escape.start(),
            )
    return _ESCAPE.sub(lambda escape: _ESCAPED[escape[1]], text[1:-1])


def value_constant(value: object) -> Constant:
    """The constant of a JSON, Arrow or Python value.

    >>> value_constant("New York"), value_constant(2.0), value_constant(True)
    ('New York', 2, 'true')
    """
    # The usual values first: matching takes longer than all else.
    if type(value) is int and INTEGER_MIN <= value <= INTEGER_MAX:
        return value
    if type(value) is str and value.isascii():
        return value
    match value:
        case str():
            _check_surrogates(value)
            return value
        case int() | float():
            try:
                return constant(value)
            except ValueError as error:
                raise Refused("L313", shortened(str(error), 120)) from None
        case None:
            raise Refused("L313", "null is not a constant")
        case _:
            raise Refused("L313", f"a value of type {type(value).__name__} is not a constant")


def _check_surrogates(text: str) -> None:
    if not text.isascii() and _SURROGATE.search(text):
        raise Refused("L313", "the text holds a lone surrogate")


def predicate(value: object) -> str:
    """Check a predicate that is given on its own, not inside the text of an atom."""
    if not isinstance(value, str):
        raise Refused("L312", "the predicate is not a text")
    if not value:
        raise Refused("L312", "the predicate is empty", _PREDICATE_HINT)
    _check_surrogates(value)
    return value


def atom_of_values(fact: object, source: str = "<fact>") -> Atom:
    """The ground atom of a tuple: its predicate, then its arguments.

    >>> atom_of_values(("temp", "m1", 21.0))
    Atom(predicate='temp', args=('m1', 21))
    """
    try:
        match fact:
            case (name, *values):
                return Atom(predicate(name), tuple(map(value_constant, values)))
            case _:
                raise Refused("L312", "a fact is an atom, its text, or a tuple")
    except Refused as refused:
        raise LarsparkError(refused.moved(0).at(source, 1, refused.quoted or "")) from None


def shortened(text: str, limit: int = 40) -> str:
    """The text, truncated if it is too long to show."""
    return text if len(text) <= limit else f"{text[:limit]}..."


_PREDICATE_HINT = "a predicate is a lowercase letter, then letters, digits and `_`, or quoted"


def _parse(text: str) -> Atom:
    head = _HEAD.match(text)
    if head is None:
        position = _skip(text, 0)
        message = f"{_found(text, position)}, not a predicate"
        raise Refused("L312", message, _PREDICATE_HINT, position)
    args: list[Constant] = []
    position, opened = head.end(), head[2]
    while opened:
        argument = _ARGUMENT.match(text, position)
        if argument is None:
            raise _no_argument(text, _skip(text, position))
        args.append(_value(argument))
        position = argument.end()
        if argument["separator"] == ")":
            break
    position = _skip(text, position)
    if position < len(text):
        hint = "an atom ends without a full stop here" if text[position] == "." else ""
        raise Refused("L312", f"{_found(text, position)} after the atom", hint, position)
    quoted = head[1].startswith('"')
    return Atom(predicate(string(head[1])) if quoted else head[1], tuple(args))


def _value(argument: re.Match[str]) -> Constant:
    if (name := argument["name"]) is not None:
        return name
    try:
        if (digits := argument["number"]) is not None:
            return number(digits)
        return string(argument["string"])
    except Refused as refused:
        raise refused.moved(argument.start("constant")) from None


def _no_argument(text: str, position: int) -> Refused:
    """Why there is no argument and separator at this position."""
    for pattern in (NAME, NUMBER, STRING):
        if constant_text := pattern.match(text, position):
            position = _skip(text, constant_text.end())
            message = f"{_found(text, position)}, not `,` or `)`"
            return Refused("L312", message, offset=position)
    if text.startswith('"', position):
        return Refused("L312", "a quoted string is not closed on its line", offset=position)
    word = _WORD.match(text, position)
    if word and (word[0][0].isupper() or word[0][0] == "_"):
        shown = shortened(word[0])
        return Refused(
            "L312",
            f"`{shown}` is a variable, and facts have no variables",
            f'quote a text that does not begin with a lowercase letter: "{shown}"',
            position,
        )
    return Refused("L312", f"{_found(text, position)}, not a constant", offset=position)


def _skip(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _found(text: str, position: int) -> str:
    if position >= len(text):
        return "the text ends"
    word = _WORD.match(text, position)
    return f"found `{shortened(word[0] if word else text[position])}`"
