"""A program of any dialect as LARS text, each rule below the place it was read from."""

from larspark.language.printer import directive_lines, rule_text
from larspark.language.tree import Program, Rule


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
        origin = _origin(program, rule)
        text = rule_text(rule)
        if origin != last and not f"{origin}.".endswith(f": {text}"):
            lines.append(origin)
        last = origin
        lines.append(text)
    return "".join(f"{line}\n" for line in lines)


def _origin(program: Program, rule: Rule) -> str:
    """The place of a rule in the text that was read, and the text there, on one line."""
    span = rule.span
    lines = program.texts.get(span.source, "").split("\n")[span.line - 1 : span.end_line]
    if len(lines) == 1:
        lines = [lines[0][span.column - 1 : span.end_column - 1]]
    elif lines:
        lines = [lines[0][span.column - 1 :], *lines[1:-1], lines[-1][: span.end_column - 1]]
    return " ".join(f"% {span.source}:{span.line}: {' '.join(lines)}".split())
