"""Trees to text, in one normalized form that reads back as the same tree."""

from typing import assert_never

from larspark.base.atoms import Signature
from larspark.language.term_text import atom_text, name_text, quoted, term_text, time_text
from larspark.language.tree import (
    MIRRORED,
    Aggregate,
    AggregateElement,
    Always,
    And,
    At,
    AtomFormula,
    Background,
    Comparison,
    Formula,
    Implies,
    Not,
    Or,
    Program,
    Reset,
    Rule,
    Some,
    Truth,
    Windowed,
)
from larspark.language.window_syntax import tick_text
from larspark.language.windows import Window


def program_text(program: Program) -> str:
    """Write a program: directives first, then the rules, one a line.

    >>> from larspark.language.parser import parse_program
    >>> print(program_text(parse_program("q(X):-p(X)[3],not r at T . #show q/1.").program), end="")
    #show q/1.
    q(X) :- [3] some p(X), not @T r.
    """
    lines = [*directive_lines(program), *map(rule_text, program.rules)]
    return "".join(f"{line}\n" for line in lines)


def directive_lines(program: Program) -> list[str]:
    """The directives of a program, one a line."""
    lines = []
    if program.tick is not None:
        lines.append(f"#tick {tick_text(program.tick)}.")
    if program.inputs is not None:
        lines.append(_signatures("input", program.inputs))
    if program.shows is not None:
        lines.append(_signatures("show", program.shows, program.shown_columns))
    if program.remembered:
        lines.append(_signatures("remember", program.remembered))
    for background in program.backgrounds:
        path = quoted(background.path)
        lines.append(f"#background {path} as {_table(background)}.")
    return lines


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
            return atom_text(atom)
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
            return f"@{time_text(time)} {f'({text})' if isinstance(body, Comparison) else text}"
        case Windowed(window, body):
            return f"[{window_text(window)}] {_operand(body, _PREFIX)}"
        case Reset(body):
            return f"reset {_operand(body, _PREFIX)}"
        case Aggregate():
            return _aggregate(formula)
        case _:
            assert_never(formula)


def window_text(window: Window) -> str:
    """Write what stands between the brackets of a window."""
    return window.text()


def _aggregate(aggregate: Aggregate) -> str:
    elements = " ; ".join(map(_element, aggregate.elements))
    text = f"#{aggregate.function}{{ {elements} }}"
    guards = list(aggregate.guards)
    if len(guards) == 2 or guards[0].operator == "=":
        first = guards.pop(0)
        text = f"{term_text(first.term)} {MIRRORED[first.operator]} {text}"
    for guard in guards:
        text = f"{text} {guard.operator} {term_text(guard.term)}"
    return f"{text} by {', '.join(key.name for key in aggregate.by)}" if aggregate.by else text


def _element(element: AggregateElement) -> str:
    tuple_ = ", ".join(map(term_text, element.terms))
    return f"{tuple_} : {', '.join(map(formula_text, element.conditions))}"


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


def _signatures(
    word: str,
    signatures: frozenset[Signature],
    columns: tuple[tuple[Signature, tuple[str, ...]], ...] = (),
) -> str:
    texts = {signature: _signature(signature) for signature in sorted(signatures)}
    for signature, names in columns:
        texts[signature] = f"{name_text(signature.predicate)}({', '.join(names)})"
    listed = ", ".join(texts.values())
    return f"#{word} {listed}." if listed else f"#{word}."


def _signature(signature: Signature) -> str:
    return f"{name_text(signature.predicate)}/{signature.arity}"


def _table(background: Background) -> str:
    if not background.columns:
        return _signature(background.signature)
    names = list(map(name_text, background.columns))
    if background.types:
        typed = zip(names, background.types, strict=True)
        names = [f"{kind}({name})" if kind else name for name, kind in typed]
    columns = ", ".join(names)
    return f"{name_text(background.signature.predicate)}({columns})"


def lars_translation(program: Program) -> str:
    """The program in LARS; comments show the lines of another language that rules come from.

    >>> from larspark.language import parse_program
    >>> parsed = parse_program("q(X) :- p(X) and not(r(X))", source="a.laser", dialect="laser")
    >>> print(lars_translation(parsed.program), end="")
    % a.laser:1: q(X) :- p(X) and not(r(X))
    q(X) :- p(X), not r(X).
    """
    lines = ["% Run with --hindsight."] if program.hindsight else []
    lines += directive_lines(program)
    last = ""
    for rule in program.rules:
        origin = origin_comment(program, rule)
        text = rule_text(rule)
        if origin != last and not f"{origin}.".endswith(f": {text}"):
            lines.append(origin)
        last = origin
        lines.append(text)
    return "".join(f"{line}\n" for line in lines)


def origin_comment(program: Program, rule: Rule) -> str:
    """The place of a rule in the text that was read, and the text there, on one line."""
    return f"% {rule.span.source}:{rule.span.line}: {written_text(program, rule)}".rstrip()


def written_text(program: Program, rule: Rule) -> str:
    """The text that a rule was read from, on one line; empty where there is none."""
    span = rule.span
    lines = program.texts.get(span.source, "").split("\n")[span.line - 1 : span.end_line]
    if len(lines) == 1:
        lines = [lines[0][span.column - 1 : span.end_column - 1]]
    elif lines:
        lines = [lines[0][span.column - 1 :], *lines[1:-1], lines[-1][: span.end_column - 1]]
    return " ".join(" ".join(lines).split())
