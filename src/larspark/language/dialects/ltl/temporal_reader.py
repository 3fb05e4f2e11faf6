"""Text to temporal formulas: one, or several with names, `name := formula`."""

import re
from dataclasses import dataclass
from typing import NoReturn, cast

from larspark.base.atoms import Atom
from larspark.base.problems import Span
from larspark.base.terms import Constant
from larspark.language.dialects.ltl.temporal_tree import (
    WORDS,
    Binary,
    BinaryOperator,
    Fixed,
    Known,
    Listed,
    ListOperator,
    Proposition,
    Temporal,
    Unary,
    UnaryOperator,
)
from larspark.language.scanning import NUMBER, SKIPPED, STRING, number, scan
from larspark.language.source import Source
from larspark.language.tokens import Token, span_between, text_of

_TOKEN = re.compile(
    rf"""
      {SKIPPED}
    | (?P<COMMENT>(?:%|//|\#)[^\n]*|/\*.*?\*/)
    | (?P<UNCLOSED>/\*.*)
    | (?P<DEFINE>:=)
    | (?P<IFF><->|<=>|↔)
    | (?P<IMPLIES>->|=>|→)
    | (?P<DIAMOND><>|◇)
    | (?P<BOX>\[\s*\]|□)
    | (?P<AND>&&|&|/\\|∧)
    | (?P<OR>\|\||\||\\/|∨)
    | (?P<NOT>[!~¬])
    | (?P<INVERSE>\^\s*-\s*1(?![0-9])|⁻¹)
    | (?P<STRONG>\[\s*!\s*\])
    | (?P<WEAK>\[\s*\?\s*\])
    | (?P<NAME>[A-Za-z_][A-Za-z0-9_]*)
    | {NUMBER}
    | {STRING}
    | (?P<TRUTH>[⊤⊥])
    | (?P<FOREIGN>[∀∃ω])
    | (?P<SYMBOL><=|>=|[≤≥]|[()\[\],;.<>=:\-\^{{}}+*?@])
    | (?P<UNQUOTED>"[^\n]*)
    | (?P<OTHER>[^\x00-\x7f]|.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)

_UNARY: dict[str, UnaryOperator] = {
    "X": "X",
    "WX": "WX",
    "N": "WX",
    "F": "F",
    "G": "G",
    "Y": "Y",
    "Z": "Z",
    "O": "O",
    "P": "O",
    "H": "H",
}
_BINARY: dict[str, BinaryOperator] = {
    "U": "U",
    "R": "R",
    "V": "R",
    "W": "W",
    "M": "M",
    "S": "S",
    "T": "T",
    "B": "B",
}
_OPERATORS = frozenset((*_UNARY, *_BINARY))
# Words of other notations, which are names here.
_WORDS_ELSEWHERE = {
    **dict.fromkeys(("always", "globally"), "G"),
    **dict.fromkeys(("eventually", "finally"), "F"),
    **dict.fromkeys(("yesterday", "previously"), "Y"),
    "next": "X",
    "once": "O",
    "historically": "H",
    "until": "U",
    "release": "R",
    "releases": "R",
    "since": "S",
}
_PAST: dict[str, str] = {"X": "Y", "F": "O", "G": "H", "U": "S", "R": "T", "W": "B", "WX": "Z"}
_WORD_OPERATORS = {"&": "AND", "|": "OR", "!": "NOT"}

# Formulas that nest more deeply are refused, and so are larger ones.
DEPTH_LIMIT = 60
SIZE_LIMIT = 5_000


@dataclass(frozen=True, slots=True)
class Named:
    """A formula with its name, and the place of both."""

    name: str
    formula: Temporal
    span: Span


class _NoFormulaError(Exception):
    """The text of a formula is wrong; it has been reported."""


def read_formulas(source: Source) -> list[Named]:
    """The formulas of a text, in its order; problems are reported to the source."""
    return _Reader(source).formulas()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._tokens = [_worded(token) for token in scan(source, _TOKEN)]
        self._place = 0
        self._depth = 0
        self._size = 0
        self._defined: dict[str, Temporal] = {}
        # Names that are defined anywhere, with the place of the definition.
        self._names = {
            text_of(token): token
            for token, after in zip(self._tokens, self._tokens[1:], strict=False)
            if after.type == "DEFINE"
        }

    def formulas(self) -> list[Named]:
        found: list[Named] = []
        if not self._tokens and not self._source.problems:
            self._source.report(
                "L104", "a formula was expected", Span(self._source.name, 1, 1, 1, 2)
            )
        while self._place < len(self._tokens):
            first = self._tokens[self._place]
            try:
                found.append(self._definition(unnamed=not found))
            except _NoFormulaError:
                self._skip(first)
        return found

    def _definition(self, *, unnamed: bool) -> Named:
        first = self._tokens[self._place]
        name = "holds"
        if self._type(1) == "DEFINE":
            name = self._definition_name(first)
            self._place += 2
        elif not unnamed:
            self._refuse("L104", "`name :=` was expected before another formula", first)
        formula = self._formula(0)
        last = self._tokens[self._place - 1]
        if self._text() in (";", "."):
            self._place += 1
        elif self._place < len(self._tokens) and self._type(1) != "DEFINE":
            self._unexpected("an operator was expected")
        self._defined[name] = formula
        return Named(name, formula, span_between(first, last))

    def _definition_name(self, token: Token) -> str:
        name = text_of(token)
        if token.type not in ("NAME", "STRING") or name in WORDS:
            self._refuse("L104", f"`{token.text}` cannot be the name of a formula", token)
        if name in self._defined:
            self._refuse("L162", f"`{name}` is defined twice", token)
        return name

    def _skip(self, first: Token) -> None:
        """Go on at the next definition, or at the end."""
        self._depth = 0
        if self._place < len(self._tokens) and self._tokens[self._place] is first:
            self._place += 1
        while self._place < len(self._tokens):
            if self._type(1) == "DEFINE" and self._tokens[self._place] is not first:
                return
            self._place += 1

    # Binary operators by how strongly they bind: `<->`, `->`, `|`, `&`, temporal ones.

    def _formula(self, level: int) -> Temporal:
        if level == 5:
            return self._prefixed()
        first = self._token()
        left = self._formula(level + 1)
        if level in (2, 3):
            return self._listed(level, first, left)
        while (operator := self._binary(level)) is not None:
            self._enter(first)
            # `<->` groups to the left; nothing tells it from the right.
            right = self._formula(level + 1 if operator == "<->" else level)
            self._depth -= 1
            left = Binary(operator, left, right, self._span(first))
        return left

    def _listed(self, level: int, first: Token, left: Temporal) -> Temporal:
        kind, operator = (("OR", "|"), ("AND", "&"))[level - 2]
        parts = [left]
        while self._type() == kind:
            self._place += 1
            parts.append(self._formula(level + 1))
        if len(parts) == 1:
            return left
        return Listed(cast("ListOperator", operator), tuple(parts), self._span(first))

    def _binary(self, level: int) -> BinaryOperator | None:
        """The binary operator of this strength that stands here, which is then read."""
        token = self._peek()
        if token is None:
            return None
        if level == 0 and token.type == "IFF":
            self._place += 1
            return "<->"
        if level == 1 and token.type == "IMPLIES":
            self._place += 1
            return "->"
        if level == 4 and token.type == "NAME" and token.text in _BINARY and not self._defines():
            self._place += 1
            operator: str = _BINARY[token.text]
            if self._type() == "INVERSE":
                operator = self._inverse(token, operator)
            self._refuse_interval(token)
            return cast("BinaryOperator", operator)
        return None

    def _prefixed(self) -> Temporal:
        token = self._token()
        operator = self._unary(token)
        if operator is None:
            return self._primary(token)
        self._enter(token)
        body = self._prefixed()
        self._depth -= 1
        return Unary(operator, body, self._span(token))

    def _unary(self, token: Token) -> UnaryOperator | None:
        operator: str | None
        match token.type:
            case "NOT":
                operator = "!"
            case "DIAMOND":
                operator = "F"
            case "BOX":
                operator = "G"
            case "NAME":
                operator = _UNARY.get(token.text)
                if operator is not None and self._defines():
                    operator = None
            case _:
                operator = None
        if operator is None:
            return None
        self._place += 1
        if token.type == "NOT":
            return "!"
        if self._type() == "INVERSE":
            operator = self._inverse(token, operator)
        elif self._type() in ("STRONG", "WEAK"):
            if operator not in ("X", "Y"):
                self._unexpected("a formula was expected")
            if self._type() == "WEAK":
                operator = "WX" if operator == "X" else "Z"
            self._place += 1
        self._refuse_interval(token)
        return cast("UnaryOperator", operator)

    def _inverse(self, token: Token, operator: str) -> str:
        if operator not in _PAST:
            self._refuse("L104", f"`{token.text}` has no inverse", self._token())
        self._place += 1
        return _PAST[operator]

    def _primary(self, token: Token) -> Temporal:
        self._place += 1
        if token.text == "(":
            self._enter(token)
            formula = self._formula(0)
            self._depth -= 1
            if self._text() != ")":
                self._unexpected("`)` was expected", token)
            self._place += 1
            return formula
        if token.type == "TRUTH":
            return Known("true" if token.text == "⊤" else "false", token.span)
        if token.type == "NAME" and token.text in WORDS:
            return Known(cast("Fixed", WORDS[token.text]), token.span)
        if token.type not in ("NAME", "STRING") or self._defines(-1):
            self._place -= 1
            self._unexpected("a formula was expected")
        return self._atom(token)

    def _atom(self, token: Token) -> Temporal:
        self._refuse_by_name(token)
        name = text_of(token)
        args: list[Constant] = []
        if self._text() == "(":
            self._place += 1
            args.append(self._argument())
            while self._text() == ",":
                self._place += 1
                args.append(self._argument())
            if self._text() != ")":
                self._unexpected("`,` or `)` was expected", token)
            self._place += 1
        span = self._span(token)
        if not args and name in self._names:
            if name in self._defined:
                return self._defined[name]
            message = f"`{name}` stands before its definition is complete"
            self._refuse("L162", message, token, "define a formula above those that use it")
        return Proposition(Atom(name, tuple(args)), span)

    def _argument(self) -> Constant:
        token = self._token()
        self._place += 1
        if token.text == "-" and self._type() == "NUMBER":
            self._place += 1
            return number(self._tokens[self._place - 1], negative=True)
        if token.type == "NUMBER":
            return number(token)
        if token.type == "NAME" and not token.text[0].islower():
            hint = "list the values, one formula for each, or write rules in LARS"
            message = f"atoms are ground, and `{token.text}` is a variable"
            self._source.report("L161", message, token.span, hint)
        if token.type not in ("NAME", "STRING"):
            self._place -= 1
            self._unexpected("a constant was expected")
        return text_of(token)

    # Refusals

    def _refuse_by_name(self, token: Token) -> None:
        """Refuse what looks like an atom and is an operator of another logic."""
        after = self._peek()
        starts = after is not None and (
            after.type in ("NOT", "DIAMOND", "BOX", "TRUTH")
            or (after.type in ("NAME", "STRING") and after.text not in (*_BINARY, *WORDS))
            or (after.type == "NAME" and after.text in ("true", "false", "tt", "ff", "not"))
        )
        starts = starts and self._type(1) != "DEFINE"
        bracket = after is not None and after.text in ("[", "(")
        text = token.text
        quantified = text[0] in "AE" and all(letter in _UNARY for letter in text[1:])
        if token.type == "NAME" and quantified and (starts or bracket):
            hint = "a stream is one path; leave the quantifier out"
            message = f"the path quantifier `{text[0]}` is not supported"
            self._refuse("L161", message, token, hint)
        if text in ("forall", "exists") and starts:
            hint = "atoms are ground; write rules in LARS for variables"
            self._refuse("L161", f"the quantifier `{text}` is not supported", token, hint)
        if after is not None and after.text == "[" and text[-1] == "_" and text[:-1] in _OPERATORS:
            self._refuse_interval(token)
        letters = " ".join(text) if all(letter in _UNARY for letter in text) else ""
        meant = _WORDS_ELSEWHERE.get(text, letters)
        if starts and len(text) > 1 and meant:
            hint = f"write `{meant}`"
            self._refuse("L104", f"`{text}` is read as a name", token, hint)

    def _refuse_interval(self, token: Token) -> None:
        """Report and skip the interval of `F[0,5] p`, `F_[0,5] p`, `F<=5 p` and `X^3 p`."""
        after = self._peek()
        if after is None or after.text not in ("[", "<", "<=", "≤", ">", ">=", "≥", "=", "^", "{"):
            return
        message = f"intervals on operators such as `{token.text}` are not supported"
        hint = "use a window in LARS, such as `[+5] some p`"
        if after.text == "^":
            message, hint = f"`{token.text}` has no power but `^-1`", "repeat the operator"
        self._source.report("L161", message, after.span, hint)
        self._place += 1
        closing = {"[": "]", "{": "}"}.get(after.text)
        while closing is not None and self._text() not in (closing, ""):
            self._place += 1
        self._place += 1

    def _unexpected(self, message: str, opened: Token | None = None) -> NoReturn:
        token = self._peek()
        if token is None:
            where = self._tokens[-1] if opened is None else opened
            self._refuse("L104", f"{message}, and the text ends", where)
        if token.text == "^" and self._type(1) == "FOREIGN":
            self._place += 1
            token = self._token()
        if token.type == "FOREIGN":
            what = "infinite words are" if token.text == "ω" else "quantifiers are"
            self._refuse("L161", f"{what} not supported", token, "streams are finite and ground")
        text = token.text if token else ""
        hint = f"write `{_WORDS_ELSEWHERE[text]}`" if text in _WORDS_ELSEWHERE else ""
        self._refuse("L104", f"{message}, not `{text}`", token, hint)

    def _refuse(self, code: str, message: str, token: Token | None, hint: str = "") -> NoReturn:
        span = Span(self._source.name, 1, 1, 1, 2) if token is None else token.span
        self._source.report(code, message, span, hint)
        raise _NoFormulaError

    def _enter(self, token: Token) -> None:
        self._depth += 1
        self._size += 1
        if self._depth > DEPTH_LIMIT:
            hint = "give parts of the formula names: `name := ...`"
            message = f"the formula nests more than {DEPTH_LIMIT} levels deep"
            self._refuse("L107", message, token, hint)
        if self._size > SIZE_LIMIT:
            message = f"the formulas have more than {SIZE_LIMIT} operators"
            self._refuse("L108", message, token)

    # The place in the text

    def _token(self) -> Token:
        token = self._peek()
        if token is None:
            self._unexpected("a formula was expected")
        return token

    def _peek(self) -> Token | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _type(self, ahead: int = 0) -> str:
        place = self._place + ahead
        return self._tokens[place].type if place < len(self._tokens) else ""

    def _text(self) -> str:
        return self._tokens[self._place].text if self._place < len(self._tokens) else ""

    def _defines(self, ahead: int = 0) -> bool:
        return self._type(ahead + 1) == "DEFINE"

    def _span(self, first: Token) -> Span:
        return span_between(first, self._tokens[self._place - 1])


def _worded(token: Token) -> Token:
    """Words that are operators become their symbols' kind."""
    if token.type == "NAME" and WORDS.get(token.text) in _WORD_OPERATORS:
        token.type = _WORD_OPERATORS[WORDS[token.text]]
    return token
