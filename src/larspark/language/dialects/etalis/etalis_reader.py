"""The text of ETALIS rules to patterns; what is not supported is refused by its name."""

import re
from typing import NoReturn, cast

from larspark.base.atoms import Atom
from larspark.base.problems import Span
from larspark.base.terms import Arithmetic, Operation, Term, Variable, Wildcard
from larspark.language.dialects.etalis.pattern_tree import (
    Event,
    EventRule,
    Pair,
    PairOperator,
    Pattern,
    Where,
    Without,
)
from larspark.language.scanning import NUMBER, SKIPPED, STRING, number, scan
from larspark.language.source import Source
from larspark.language.tokens import Token, number_of, span_between, text_of
from larspark.language.tree import AtomFormula, Comparison, Formula, Not, Rule

_TOKEN = re.compile(
    rf"""
      {SKIPPED}
    | (?P<COMMENT>%[^\n]*|/\*.*?\*/)
    | (?P<UNCLOSED>/\*.*)
    | (?P<ARROW><-|←)
    | (?P<COMPARE>=:=|=\\=|\\==|==|\\=|=<|>=|<|>|=)
    | (?P<NOT>\\\+)
    | (?P<NAME>[a-z][A-Za-z0-9_]*|'[^'\n]*')
    | (?P<VARIABLE>[A-Z_][A-Za-z0-9_]*)
    | {NUMBER}
    | {STRING}
    | (?P<SYMBOL>:-|[()\[\],;.:+\-*/|!])
    | (?P<UNQUOTED>["'][^\n]*)
    | (?P<OTHER>[^\x00-\x7f]|.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)

_PLAIN = re.compile(r"[a-z][A-Za-z0-9_]*:?")

# From the weakest; all group to the left.
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("or",),
    ("par",),
    ("and",),
    ("cnot", "fnot"),
    ("seq", "equals", "meets", "during", "starts", "finishes"),
)
_OPERATORS = frozenset(name for level in _LEVELS for name in level) | {"where"}
_REFUSED = {
    "star_times": "name the repetitions one by one",
    "ntimes": "name the repetitions one by one",
    "aggregate": "use an aggregate in a LARS rule",
    "prolog": "facts and comparisons stand in `where`",
    "event_multiply": "write one rule for each event",
    "not": "use `(p seq q) cnot r` or `p fnot q`",
    ";": "write `or` between events, and a rule for each condition",
}
_COMPARISONS = {"=<": "<=", "==": "=", "=:=": "=", "\\=": "!=", "\\==": "!=", "=\\=": "!="}
DEPTH_LIMIT = 40


class _NoRuleError(Exception):
    """A rule is wrong; it has been reported."""


class EtalisReader:
    """Reads the rules and facts of a text; problems are reported to its source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tokens = [_unquoted(token) for token in scan(source, _TOKEN)]
        self._place = 0
        self._depth = 0
        self._names: set[str] = set()
        self.rules: list[EventRule] = []
        self.facts: list[Rule] = []

    def read(self) -> None:
        while self._place < len(self._tokens):
            first = self._tokens[self._place]
            self._depth = 0
            try:
                self._statement(first)
            except _NoRuleError:
                self._skip_statement()

    def _skip_statement(self) -> None:
        while self._place < len(self._tokens) and self._text() != ".":
            self._place += 1
        self._place += 1

    def _statement(self, first: Token) -> None:
        if self._text() == ":-":
            self._refuse_policy()
            hint = "events come with `--stream`, and files are not loaded"
            self._refuse("L166", "directives are not supported", first, hint)
        if self._text() == "print_trigger" and self._text(1) == "(":
            hint = "every event that a rule defines is reported"
            self._source.warn("L166", "ETALIS: `print_trigger` is ignored", first.span, hint)
            self._skip_statement()
            return
        window = self._label()
        name = self._peek()
        head = self._atom()
        if self._text() == ".":
            self._place += 1
            span = span_between(first, self._tokens[self._place - 2])
            if name is not None and any(isinstance(t, Variable | Wildcard) for t in head.args):
                self._refuse("L104", "a fact has no variables", name)
            self.facts.append(Rule(AtomFormula(head, span), (), span))
            return
        if self._type() != "ARROW":
            self._unexpected("`<-` or `.` was expected")
        self._place += 1
        pattern = self._pattern()
        if self._text() == "do":
            token = self._token()
            hint = "actions are left to the reader of the answers"
            self._source.warn("L166", "ETALIS: `do` is ignored", token.span, hint)
            while self._place < len(self._tokens) and self._text() != ".":
                self._place += 1
        span = span_between(first, self._tokens[self._place - 1])
        if self._text() != ".":
            hint = (
                "an operator, such as `and`, is between two events" if self._text() == "," else ""
            )
            self._unexpected("an operator or `.` was expected", hint)
        self._place += 1
        self.rules.append(EventRule(head, pattern, window, span))

    def _refuse_policy(self) -> None:
        """Refuse `:- set_etalis_flag(event_consumption_policy, recent)` by the policy's name."""
        place = self._place
        while place < len(self._tokens) and self._tokens[place].text != ".":
            token = self._tokens[place]
            if token.text in ("recent", "chronological"):
                hint = "all events that the rules define are reported: `unrestricted`"
                self._refuse("L166", f"the policy `{token.text}` is not supported", token, hint)
            place += 1

    def _label(self) -> int | None:
        """The window of `label([property(event_rule_window, 5)]) rule:`, if there is one."""
        start = self._place
        window = None
        if self._type() == "NAME" and self._text() != "rule":
            self._place += 1
            if self._text() == "(" and self._text(1) == "[":
                self._place += 2
                window = self._properties()
        if self._text() == "rule:":
            self._place += 1
            return window
        if self._text() == "rule" and (self._place > start or self._text(1) == ":"):
            self._place += 1
            self._expect(":")
            return window
        if self._text() == ":" and self._place > start:
            self._place += 1
            return window
        self._place = start
        return None

    def _properties(self) -> int | None:
        window = None
        while self._text() != "]":
            token = self._token()
            if self._text() == ",":
                self._place += 1
                continue
            if self._text() != "property":
                self._unexpected("`property(event_rule_window, n)` was expected")
            self._place += 1
            self._expect("(")
            name = self._token()
            self._place += 1
            self._expect(",")
            size = self._token()
            self._place += 1
            self._expect(")")
            if name.text != "event_rule_window":
                hint = "all events that the rules define are reported: `unrestricted`"
                what = f"the property `{name.text}`"
                if size.text in ("recent", "chronological"):
                    what = f"the policy `{size.text}`"
                self._refuse("L166", f"{what} is not supported", token, hint)
            value = number_of(size) if size.type == "NUMBER" else -1
            if not isinstance(value, int) or value < 0 or value > 10**15:
                self._refuse("L114", f"`{size.text}` is not a whole number of time points", size)
            window = value
        self._place += 1
        self._expect(")")
        return window

    # Patterns

    def _pattern(self) -> Pattern:
        pattern = self._pairs(0)
        while self._text() == "where":
            self._enter(self._token())
            self._place += 1
            self._expect("(")
            pattern = Where(pattern, self._conditions())
            self._expect(")")
        return pattern

    def _pairs(self, level: int) -> Pattern:
        if level == len(_LEVELS):
            return self._primary()
        left = self._pairs(level + 1)
        while self._type() == "NAME" and self._text() in _LEVELS[level]:
            token = self._token()
            self._enter(token)
            self._place += 1
            right = self._pairs(level + 1)
            if token.text in ("cnot", "fnot"):
                if token.text == "cnot" and not _is_sequence(left):
                    hint = "write `(p seq q) cnot r`"
                    self._refuse("L166", "`cnot` stands behind a sequence", token, hint)
                left = Without(left, right, token.text == "cnot")
            else:
                left = Pair(cast("PairOperator", token.text), left, right)
        return left

    def _primary(self) -> Pattern:
        token = self._token()
        if token.text == "(":
            self._enter(token)
            self._place += 1
            pattern = self._pattern()
            self._expect(")")
            self._depth -= 1
            return pattern
        start = self._place
        atom = self._atom()
        return Event(atom, span_between(token, self._tokens[max(start, self._place - 1)]))

    # Conditions

    def _conditions(self) -> tuple[Formula, ...]:
        found = [self._condition()]
        while self._text() == ",":
            self._place += 1
            found.append(self._condition())
        return tuple(found)

    def _condition(self) -> Formula:
        first = self._token()
        if first.text == "not":
            self._refuse("L166", "`not` is not supported", first, "write `\\+ fact`")
        if first.type == "NOT":
            self._place += 1
            return Not(self._condition(), self._span(first))
        if self._is_goal():
            atom = self._atom()
            return AtomFormula(atom, self._span(first))
        left = self._compared()
        token = self._token()
        self._place += 1
        if token.text == "is":
            return Comparison("=", left, self._compared(), self._span(first))
        if token.type != "COMPARE":
            self._place -= 1
            self._unexpected("a comparison or `is` was expected")
        operator = _COMPARISONS.get(token.text, token.text)
        return Comparison(operator, left, self._compared(), self._span(first))

    def _compared(self) -> Term:
        first = self._token()
        term = self._term(0)
        if isinstance(term, Wildcard):
            self._refuse("L123", "`_` has no value to compare", first)
        return term

    def _is_goal(self) -> bool:
        """Does an atom stand here that no comparison follows?"""
        if self._type() != "NAME":
            return False
        place, open_brackets = self._place + 1, 0
        while place < len(self._tokens):
            text = self._tokens[place].text
            open_brackets += (text == "(") - (text == ")")
            if open_brackets <= 0 and text != ")":
                return text == ","
            if open_brackets < 0:
                return True
            place += 1
        return True

    def _term(self, level: int) -> Term:
        """Sums of products."""
        if level == 2:
            return self._factor()
        first = self._token()
        left = self._term(level + 1)
        operations = (("+", "-"), ("*", "/", "mod"))[level]
        while self._text() in operations and self._type() in ("SYMBOL", "NAME"):
            operation = cast("Operation", self._text())
            self._enter(self._token())
            self._place += 1
            self._check_number(left, first, operation)
            second = self._token()
            right = self._term(level + 1)
            self._check_number(right, second, operation)
            left = Arithmetic(operation, (left, right))
        return left

    def _factor(self) -> Term:
        token = self._token()
        if token.text == "(":
            self._enter(token)
            self._place += 1
            term = self._term(0)
            self._expect(")")
            return term
        if token.text in ("abs", "min", "max") and self._text(1) == "(":
            self._enter(token)
            self._place += 2
            args = [self._number(token.text)]
            while self._text() == ",":
                self._place += 1
                args.append(self._number(token.text))
            self._expect(")")
            if len(args) != (1 if token.text == "abs" else 2):
                self._refuse("L104", f"`{token.text}` has another number of arguments", token)
            return Arithmetic(cast("Operation", token.text), tuple(args))
        return self._argument()

    def _number(self, operation: str) -> Term:
        first = self._token()
        term = self._term(0)
        self._check_number(term, first, operation)
        return term

    def _check_number(self, term: Term, first: Token, operation: str) -> None:
        if isinstance(term, str):
            self._refuse("L114", f"`{term}` is text, and `{operation}` needs numbers", first)
        if isinstance(term, Wildcard):
            self._refuse("L123", f"`_` has no value, and `{operation}` needs numbers", first)

    # Atoms

    def _atom(self) -> Atom:
        token = self._token()
        name = text_of(token)
        if token.type == "NAME" and name in _REFUSED:
            self._refuse("L166", f"`{name}` is not supported", token, _REFUSED[name])
        if token.type not in ("NAME", "STRING") or name in _OPERATORS:
            self._unexpected("an event was expected")
        self._place += 1
        if self._text() != "(":
            return Atom(name)
        self._place += 1
        args = [self._argument()]
        while self._text() == ",":
            self._place += 1
            args.append(self._argument())
        self._expect(")")
        return Atom(name, tuple(args))

    def _argument(self) -> Term:
        token = self._token()
        self._place += 1
        if token.text == "-" and self._type() == "NUMBER":
            self._place += 1
            return number(self._tokens[self._place - 1], negative=True)
        if token.text == "[" or (token.type == "NAME" and self._text() == "("):
            what = "lists" if token.text == "[" else "compound arguments"
            hint = "give the parts as arguments of their own"
            self._refuse("L166", f"{what} are not supported", token, hint)
        match token.type:
            case "NUMBER":
                return number(token)
            case "NAME" | "STRING":
                return text_of(token)
            case "VARIABLE" if token.text == "_":
                return Wildcard()
            case "VARIABLE":
                return Variable(self._variable(token.text))
        self._place -= 1
        return self._unexpected("an argument was expected")

    def _variable(self, name: str) -> str:
        """The name in LARS, in which no variable is called `_x`, `_1` or `__`."""
        if name.lstrip("_")[:1].isupper() and not name.startswith("__"):
            return name
        if not self._names:
            self._names = {token.text for token in self._tokens if token.type == "VARIABLE"}
        found = f"V{name}"
        while found in self._names:
            found = f"V{found}"
        return found

    # Problems, and the place in the text

    def _refuse(self, code: str, message: str, token: Token | None, hint: str = "") -> NoReturn:
        span = Span(self._source.name, 1, 1, 1, 2) if token is None else token.span
        prefix = "ETALIS: " if code == "L166" else ""
        self._source.report(code, prefix + message, span, hint)
        raise _NoRuleError

    def _unexpected(self, message: str, hint: str = "") -> NoReturn:
        token = self._peek()
        if token is None:
            self._refuse("L104", f"{message}, and the text ends", self._tokens[-1])
        if token.text in _REFUSED:
            self._refuse("L166", f"`{token.text}` is not supported", token, _REFUSED[token.text])
        self._refuse("L104", f"{message}, not `{token.text}`", token, hint)

    def _expect(self, text: str) -> None:
        if self._text() != text:
            self._unexpected(f"`{text}` was expected")
        self._place += 1

    def _enter(self, token: Token) -> None:
        self._depth += 1
        if self._depth > DEPTH_LIMIT:
            message = f"the rule has more than {DEPTH_LIMIT} operators and brackets"
            self._refuse("L107", message, token, "give parts of it rules of their own")

    def _peek(self) -> Token | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _token(self) -> Token:
        token = self._peek()
        if token is None:
            self._unexpected("an event was expected")
        return token

    def _type(self) -> str:
        return self._tokens[self._place].type if self._place < len(self._tokens) else ""

    def _text(self, ahead: int = 0) -> str:
        place = self._place + ahead
        return self._tokens[place].text if place < len(self._tokens) else ""

    def _span(self, first: Token) -> Span:
        return span_between(first, self._tokens[self._place - 1])


def _is_sequence(pattern: Pattern) -> bool:
    while isinstance(pattern, Where):
        pattern = pattern.pattern
    return isinstance(pattern, Pair) and pattern.operator == "seq"


def _unquoted(token: Token) -> Token:
    """Operators, labels and names may stand in single quotes: `'seq'`, `'rule:'`."""
    if token.type == "NAME" and token.text[0] == "'":
        inner = token.text[1:-1]
        if _PLAIN.fullmatch(inner):
            token.text = inner
        else:
            token.type = "STRING"
    return token
