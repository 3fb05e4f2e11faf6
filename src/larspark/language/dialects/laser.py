"""Laser's rule strings: one rule a line, `h(X) :- time_win(3,0,1, diamond(p(X))) and not(q)`.

Laser evaluates some rules differently from what they say. Such rules are refused, or read as
written with a warning that Laser gives another answer.
"""

from collections.abc import Iterator
from functools import cache

from lark import Lark

from larspark.base.atoms import Atom
from larspark.base.terms import Arithmetic
from larspark.language.builder import Builder
from larspark.language.collector import Collector, Form
from larspark.language.dialect import Parsed, ProgramText
from larspark.language.grammar import accepts, load_grammar, run
from larspark.language.pieces import (
    FormulaPiece,
    Piece,
    as_formula,
    as_number,
    as_operand,
    as_term,
    as_time,
)
from larspark.language.source import Notation, Source
from larspark.language.syntax_errors import report_unexpected
from larspark.language.tokens import Statement, Token, span_between, text_of, tokenize, whole_number
from larspark.language.tree import (
    Always,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Not,
    Rule,
    Some,
    Windowed,
)
from larspark.language.window_syntax import Children
from larspark.language.windows import TimeWindow, TupleWindow, Window

WORDS = {
    word: word.upper()
    for word in ("and", "or", "not", "diamond", "box", "time_win", "tuple_win", "MATH", "COMP")
}
# A line that begins with one of these, or follows one, continues the rule.
_JOINING = ("and", "or")


def _statements(source: Source) -> Iterator[Statement]:
    """Cut a text into rules: one a line, longer where brackets are open or `and` goes on."""
    tokens: list[Token] = []
    broken = False
    brackets = 0
    for token in tokenize(source):
        if token.leads_line and brackets == 0 and not _continued(tokens, token):
            if tokens and not broken:
                yield Statement(tokens, tokens[-1])
            tokens, broken = [], False
        if token.type == "DOT":
            if tokens and not broken:
                yield Statement(tokens, token)
            tokens, broken, brackets = [], False, 0
        elif token.type in ("BROKEN", "BROKEN_LINE"):
            broken = True
        else:
            brackets += (token.type == "LPAR") - (token.type == "RPAR")
            brackets = max(brackets, 0)
            tokens.append(token)
    if tokens and not broken:
        yield Statement(tokens, tokens[-1])


def _continued(before: list[Token], token: Token) -> bool:
    return bool(before) and (before[-1].text in _JOINING or token.text in _JOINING)


def _read(statement: Statement) -> tuple[Rule | None, None]:
    """The rule of a statement, if it is right; no rest is left."""
    return _rule(statement), None


def _rule(statement: Statement) -> Rule | None:
    first = statement.tokens[0]
    if all(token.type != "IF" for token in statement.tokens):
        hint = "a fact ends with `:-`; a rule stands on one line"
        first.source.report("L104", "Laser's rules have a `:-`", first.span, hint)
        return None
    for token in statement.tokens:
        if token.text == "predicate_win":
            message = "Laser reserves `predicate_win` and does not evaluate it"
            token.source.report("L146", message, token.span, "write a LARS rule with `[only p(_)]`")
            return None
    parser = _laser().parse_interactive(start="rule")
    result, index = run(parser, statement, WORDS)
    if index is not None:
        report_unexpected(statement, index, accepts(parser))
    return result


@cache
def _laser() -> Lark:
    return load_grammar("larspark.language.dialects", "laser.lark", ("rule",), LaserBuilder())


class LaserBuilder:
    """One method for each alternative of Laser's grammar; it keeps no state of its own."""

    _terms = Builder()
    number = _terms.number
    wildcard = _terms.wildcard
    text = _terms.text

    def rule(self, children: Children) -> Rule:
        head, if_, body = children
        parts, last = body or ((), if_)
        return Rule(as_formula(head), parts, span_between(head.first, last))

    def body(self, children: Children) -> tuple[tuple[Formula, ...], Token]:
        for joining in children[1::2]:
            if joining.type == "OR":
                message = "Laser evaluates `or` as `and`, so it is not clear what is meant"
                hint = "write `and`, or one rule for each part"
                joining.source.report("L141", message, joining.span, hint)
        pieces: list[Piece] = list(children[::2])
        for piece in pieces:
            _warn(piece)
        return tuple(as_formula(piece) for piece in pieces), pieces[-1].last

    def negation(self, children: Children) -> Piece:
        span = span_between(children[0], children[-1])
        return _nested(children, Not(as_formula(children[2]), span))

    def diamond(self, children: Children) -> Piece:
        span = span_between(children[0], children[-1])
        return _nested(children, Some(as_formula(children[2]), span))

    def box(self, children: Children) -> Piece:
        span = span_between(children[0], children[-1])
        return _nested(children, Always(as_formula(children[2]), span))

    def group(self, children: Children) -> Piece:
        piece: Piece = children[1]
        return piece

    def at(self, children: Children) -> Piece:
        span = span_between(children[0], children[-1])
        return _nested(children, At(as_time(children[2]), as_formula(children[4]), span))

    def time_window(self, children: Children) -> Piece:
        past, future, unit = (whole_number(token) or 0 for token in children[2:7:2])
        token = children[0]
        if unit != 1:
            message = f"Laser multiplies the sizes by {unit}, and by definition this is a hop"
            hint = "write 1 here, and the sizes in full"
            token.source.report("L145", message, children[6].span, hint)
        elif future != 0:
            message = "Laser looks into the future with `box` only; read as defined"
            token.source.warn("L145", message, children[4].span)
        return _windowed(children, TimeWindow(past, future))

    def tuple_window(self, children: Children) -> Piece:
        if len(children) == 10:
            future, unit = (whole_number(token) for token in children[4:7:2])
            if (future, unit) != (0, 1):
                message = "Laser ignores these sizes of a tuple window"
                span = span_between(children[4], children[6])
                children[0].source.report("L145", message, span, "write `tuple_win(n, ...)`")
        return _windowed(children, TupleWindow(whole_number(children[2]) or 0))

    def math(self, children: Children) -> Piece:
        operation = children[2].text
        result, left, right = children[4], children[6], children[8]
        values = (as_number(left, operation), as_number(right, operation))
        term = Arithmetic(operation, values)
        span = span_between(children[0], children[-1])
        formula = Comparison("=", as_operand(result, "compute"), term, span)
        return FormulaPiece(formula, children[0], children[-1])

    def comparison(self, children: Children) -> Piece:
        left, right = as_operand(children[4], "compare"), as_operand(children[6], "compare")
        span = span_between(children[0], children[-1])
        operator = "=" if children[2].text == "==" else children[2].text
        formula = Comparison(operator, left, right, span)
        return FormulaPiece(formula, children[0], children[-1])

    def atom(self, children: Children) -> Piece:
        name = children[0]
        pieces = [piece for piece in children if isinstance(piece, Piece)]
        last = children[-1] if pieces else name
        args = tuple(as_term(piece) for piece in pieces)
        formula = AtomFormula(Atom(text_of(name), args), span_between(name, last))
        return FormulaPiece(formula, name, last)

    def variable(self, children: Children) -> Piece:
        (token,) = children
        if not token.text.isupper():
            message = f"Laser takes `{token.text}` for a constant; read as a variable"
            hint = "Laser's variables have capital letters only"
            token.source.warn("L144", message, token.span, hint)
        return self._terms.variable(children)

    def negative(self, children: Children) -> Piece:
        minus, number = children
        return self._terms.negative((minus, self._terms.number((number,))))


def _nested(children: Children, formula: Formula) -> Piece:
    depth = max(child.depth for child in children if isinstance(child, Piece))
    return FormulaPiece(formula, children[0], children[-1], depth + 1)


def _windowed(children: Children, window: Window) -> Piece:
    span = span_between(children[0], children[-1])
    return _nested(children, Windowed(window, as_formula(children[-2]), span))


def _warn(piece: Piece) -> None:
    """Warn where Laser's answer for this part of a body is not what the rule says."""
    formula, negated = as_formula(piece), False
    while not isinstance(formula, AtomFormula):
        match formula:
            case Not(body):
                formula, negated = body, True
            case Some(body) | Always(body) | At(_, body) | Windowed(_, body):
                formula = body
            case _:
                return
    atom, source = formula.atom, piece.first.source
    constants = [arg for arg in atom.args if isinstance(arg, int | float | str)]
    if constants:
        message = f"Laser ignores the constant `{constants[0]}` in a body; read as written"
        hint = "use a variable and compare it: `COMP(=, X, ...)`"
        source.warn("L142", message, formula.span, hint)
    if negated and atom.args:
        message = f"Laser lets any `{atom.predicate}` atom block this rule; read as written"
        hint = "only the atom with these arguments counts"
        source.warn("L143", message, formula.span, hint)


_FORM = Form(Notation(single_quotes=True, double_equals=True), _statements, _read)


def parse(text: ProgramText) -> Parsed:
    collector = Collector(text, _FORM)
    return collector.parsed(collector.program())
