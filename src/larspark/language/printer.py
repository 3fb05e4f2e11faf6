"""Trees to text, in one normalized form that reads back as the same tree."""

from typing import assert_never

from larspark.base.atoms import Atom, Signature
from larspark.base.terms import Arithmetic, Term, Variable, Wildcard, constant_text
from larspark.language.tokens import WORDS
from larspark.language.tree import (
    Always,
    And,
    At,
    AtomFormula,
    Comparison,
    FilterWindow,
    Formula,
    Implies,
    NamedWindow,
    Not,
    Or,
    Program,
    Reset,
    Rule,
    Some,
    TimeWindow,
    Truth,
    TupleWindow,
    Window,
    Windowed,
)
from larspark.language.window_syntax import tick_text


def program_text(program: Program) -> str:
    """Write a program: directives first, then the rules, one a line.

    >>> from larspark.language.parser import parse_program
    >>> print(program_text(parse_program("q(X):-p(X)[3],not r at T . #show q/1.").program), end="")
    #show q/1.
    q(X) :- [3] some p(X), not @T r.
    """
    lines = []
    if program.tick is not None:
        lines.append(f"#tick {tick_text(program.tick)}.")
    if program.inputs is not None:
        lines.append(_signatures("input", program.inputs))
    if program.shows is not None:
        lines.append(_signatures("show", program.shows))
    if program.remembered:
        lines.append(_signatures("remember", program.remembered))
    for background in program.backgrounds:
        path = _quoted(background.path)
        lines.append(f"#background {path} as {_signature(background.signature)}.")
    lines.extend(map(rule_text, program.rules))
    return "".join(f"{line}\n" for line in lines)


def rule_text(rule: Rule) -> str:
    """Write a rule with its final `.`."""
    head = formula_text(rule.head)
    if not rule.body:
        return f"{head}."
    body = ", ".join(map(formula_text, rule.body))
    if isinstance(rule.head, Truth) and not rule.head.value:
        return f":- {body}."
    return f"{head} :- {body}."


# How strongly an operator binds; an operand that binds less strongly needs parentheses.
_IMPLICATION, _DISJUNCTION, _CONJUNCTION, _PREFIX = range(4)


def formula_text(formula: Formula) -> str:
    """Write a formula with as few parentheses as it needs.

    >>> from larspark.language.parser import parse_formula
    >>> formula_text(parse_formula("((a or b) and (not (c)))").formula)
    '(a or b) and not c'
    """
    match formula:
        case AtomFormula(atom):
            return _atom(atom)
        case Comparison(operator, left, right):
            return f"{term_text(left)} {operator} {term_text(right)}"
        case Truth(value):
            return "true" if value else "false"
        case Not(body):
            return f"not {_operand(body, _PREFIX)}"
        case And(parts):
            return " and ".join(_operand(part, _PREFIX) for part in parts)
        case Or(parts):
            return " or ".join(_operand(part, _CONJUNCTION) for part in parts)
        case Implies(left, right):
            return f"{_operand(left, _DISJUNCTION)} -> {_operand(right, _IMPLICATION)}"
        case Some(body):
            return f"some {_operand(body, _PREFIX)}"
        case Always(body):
            return f"always {_operand(body, _PREFIX)}"
        case At(time, body):
            text = _operand(body, _PREFIX)
            return f"@{_time(time)} {f'({text})' if isinstance(body, Comparison) else text}"
        case Windowed(window, body):
            return f"[{window_text(window)}] {_operand(body, _PREFIX)}"
        case Reset(body):
            return f"reset {_operand(body, _PREFIX)}"
        case _:
            assert_never(formula)


def window_text(window: Window) -> str:
    """Write what stands between the brackets of a window."""
    match window:
        case TimeWindow(None):
            return "*"
        case TimeWindow(past, future, every):
            size = str(past) if not future else f"{past},+{future}" if past else f"+{future}"
            return size if every == 1 else f"{size} every {every}"
        case TupleWindow(past, future, by):
            size = str(past) if not future else f"{past},+{future}" if past else f"+{future}"
            return f"#{size} by {', '.join(key.name for key in by)}" if by else f"#{size}"
        case FilterWindow(patterns):
            return f"only {', '.join(map(_atom, patterns))}"
        case NamedWindow(name, args):
            return _atom(Atom(name, args))
        case _:
            assert_never(window)


def term_text(term: Term) -> str:
    """Write a term with as few parentheses as it needs.

    >>> term_text(Arithmetic("*", (Arithmetic("+", (Variable("X"), 1)), 2)))
    '(X + 1) * 2'
    """
    match term:
        case Variable(name):
            return name
        case Wildcard():
            return "_"
        case str():
            return _quoted(term) if term in WORDS else constant_text(term)
        case int() | float():
            return constant_text(term)
        case Arithmetic("abs" | "min" | "max" as operation, args):
            return f"{operation}({', '.join(map(term_text, args))})"
        case Arithmetic(_, (operand,)):
            text = term_text(operand)
            return f"-{text}" if isinstance(operand, Variable) else f"-({text})"
        case Arithmetic(operation, (left, right)):
            strength = _STRENGTH[operation]
            return f"{_factor(left, strength)} {operation} {_factor(right, strength + 1)}"
        case _:
            raise ValueError(f"{term!r} is not a term")


_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "mod": 2}


def _factor(term: Term, strength: int) -> str:
    text = term_text(term)
    if (
        isinstance(term, Arithmetic)
        and len(term.args) == 2
        and _STRENGTH.get(term.operation, 3) < strength
    ):
        return f"({text})"
    return text


def _time(term: Term) -> str:
    """A time, close together: `T+3`."""
    if isinstance(term, Arithmetic) and term.operation in ("+", "-") and len(term.args) == 2:
        left, right = term.args
        return f"{_factor(left, 1)}{term.operation}{_factor(right, 2)}"
    return term_text(term)


def _operand(formula: Formula, strength: int) -> str:
    text = formula_text(formula)
    match formula:
        case Implies():
            own = _IMPLICATION
        case Or():
            own = _DISJUNCTION
        case And():
            own = _CONJUNCTION
        case _:
            own = _PREFIX
    return text if own >= strength else f"({text})"


def _atom(atom: Atom) -> str:
    name = term_text(atom.predicate)
    return f"{name}({', '.join(map(term_text, atom.args))})" if atom.args else name


def _signatures(word: str, signatures: frozenset[Signature]) -> str:
    listed = ", ".join(map(_signature, sorted(signatures)))
    return f"#{word} {listed}." if listed else f"#{word}."


def _signature(signature: Signature) -> str:
    return f"{term_text(signature.predicate)}/{signature.arity}"


def _quoted(text: str) -> str:
    """The text in quotes, also where a name would do."""
    written = constant_text(text)
    return written if written.startswith('"') else f'"{written}"'
