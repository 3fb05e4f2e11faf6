"""Rules that ask for silence, which also holds at the start of a run."""

from collections.abc import Iterator, Sequence

from larspark.analysis.signatures import Roles, head_predicates
from larspark.base.atoms import Signature
from larspark.base.durations import duration_text
from larspark.base.problems import Problem, Severity
from larspark.language.printer import formula_text
from larspark.language.tree import (
    AtomFormula,
    Comparison,
    Formula,
    Not,
    Program,
    Rule,
    Some,
    Windowed,
)
from larspark.logic.traversal import occurrences


def silence_problems(program: Program, rules: Sequence[Rule], parts: Roles) -> Iterator[Problem]:
    """Warnings about rules whose other conditions hold from the first time point on.

    `silent(M) :- machine(M), not [10] some temp(M, _).` with machines as background data. Queries
    of other languages, which have no way to say it otherwise, are left out.
    """
    if program.named or program.events or program.hindsight is not None:
        return
    lasting = _lasting(rules, parts)
    for rule in rules:
        silent = [(part, back) for part in rule.body if (back := _looks_back(part, lasting))]
        asking = [part for part, _ in silent]
        if asking and all(_lasts(part, lasting) for part in rule.body if part not in asking):
            part, back = max(silent, key=lambda each: each[1])
            length, age = str(back), f"has {back} time points behind it"
            if program.tick is not None:
                length = duration_text(back * program.tick.microseconds)
                age = f"is {length} old"
            yield Problem(
                "L235",
                f"`{formula_text(part)}` also holds at the start of a run, when nothing could "
                "have come yet",
                part.span,
                f"to wait until the run {age}, add `@(now - {length}) true` to the body",
                Severity.WARNING,
            )


def _lasting(rules: Sequence[Rule], parts: Roles) -> frozenset[Signature]:
    """The predicates that hold all the time: background data, and what follows from it alone."""
    found = set(parts.background)
    while True:
        new = {
            signature
            for rule in rules
            if all(_lasts(part, found) for part in rule.body)
            for signature in head_predicates(rule.head)
        }
        if new <= found:
            return frozenset(found)
        found |= new


def _lasts(part: Formula, lasting: frozenset[Signature] | set[Signature]) -> bool:
    match part:
        case Comparison():
            return True
        case AtomFormula(atom):
            return atom.signature in lasting
        case _:
            return False


def _looks_back(part: Formula, lasting: frozenset[Signature]) -> int:
    """How far `not [10] some ...` looks back for what comes with time; 0 for other formulas."""
    match part:
        case Not(Windowed(window, Some(body))) if window.bounds is not None:
            atoms = [each.formula.atom.signature for each in occurrences(body)]
            comes = bool(atoms) and not any(signature in lasting for signature in atoms)
            return (window.bounds.past or 0) if comes else 0
        case _:
            return 0
