"""Rules that are legal, but probably do not mean what their author expects."""

import re
from collections import Counter
from collections.abc import Iterator

from larspark.analysis.frames import first_frame, frames
from larspark.analysis.reach import Reach
from larspark.base.atoms import Signature
from larspark.base.problems import Problem, Severity
from larspark.base.terms import Term, Variable
from larspark.language.nodes import term_variables, variables, walk
from larspark.language.printer import formula_text
from larspark.language.tree import (
    Aggregate,
    Always,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Rule,
    Some,
    Windowed,
)
from larspark.language.windows import Window
from larspark.logic.traversal import formulas, occurrences
from larspark.logic.values import compare

# `Vienna` is probably a name, `V`, `ID` and `St` are variables.
_NAME = re.compile(r"[a-z][A-Za-z0-9_]*")
_LIKE_A_NAME = re.compile(r"[A-Z][a-z]{2,}|[A-Z]{3,}|[A-Z]+_?[0-9]{2,}")


def looks_like_name(variable: str) -> bool:
    """Is a variable probably a name with a capital letter that should be quoted?"""
    return _LIKE_A_NAME.match(variable) is not None


def pitfall_problems(rule: Rule, derived: frozenset[Signature], placed: Reach) -> Iterator[Problem]:
    """Warnings about one rule."""
    yield from _forgotten(rule, derived, placed)
    yield from _windows_without_effect(rule)
    yield from _names_as_variables(rule)
    yield from _global_variables_as_tuples(rule)
    yield from _compared_constants(rule)
    yield from _compared_below_always(rule)


def _forgotten(rule: Rule, derived: frozenset[Signature], placed: Reach) -> Iterator[Problem]:
    """Windows that look back at conclusions which hold at the evaluation time only."""
    reported: set[Signature] = set()
    for formula in rule.body:
        for atom in _looked_back_at(formula, placed):
            signature = atom.atom.signature
            if signature in reported or signature not in derived:
                continue
            if not _only_now(signature, placed):
                continue
            reported.add(signature)
            yield Problem(
                "L227",
                f"`{signature}` is never found at earlier time points: its rules derive it for "
                "the time point of the evaluation only, and conclusions are not kept",
                atom.span,
                f"keep them with `#remember {signature}.`, or derive `{signature}` at the time of "
                f"its facts, with heads such as `@T {atom.atom} :- ...`",
                Severity.WARNING,
            )


def _only_now(signature: Signature, placed: Reach) -> bool:
    where = placed.placed[signature]
    return not where.empty and where.low >= 0


def _looked_back_at(formula: Formula, placed: Reach) -> Iterator[AtomFormula]:
    """The atoms that are asked for before the evaluation time.

    `@T p` without a window is left out: it is a way to get the current time.
    """
    found = list(frames(formula, first_frame(placed.end), {}))
    windowed = any(isinstance(part, Windowed) for part, _ in found)
    pinned = {id(part.body) for part, _ in found if isinstance(part, At) and not windowed}
    for part, frame in found:
        if isinstance(part, AtomFormula) and frame.now.times.low < 0 and id(part) not in pinned:
            yield part


def _windows_without_effect(rule: Rule) -> Iterator[Problem]:
    """Time windows directly over an atom, which is asked for at the evaluation time anyway."""
    for formula in formulas(rule):
        for part in walk(formula):
            match part:
                case Windowed(window, AtomFormula() as atom) if _moves_with_time(window):
                    some = formula_text(Windowed(window, Some(atom)))
                    yield Problem(
                        "L228",
                        "this window has no effect: without `some`, `always` or `@T`, the atom "
                        "must hold at the time point of the evaluation",
                        part.span,
                        f"write `{some}`",
                        Severity.WARNING,
                    )
                case _:
                    pass


def _moves_with_time(window: Window) -> bool:
    return window.bounds is not None and not window.bounds.hops


def _names_as_variables(rule: Rule) -> Iterator[Problem]:
    """Variables that are used once and look like constants with a capital letter."""
    count = Counter(v.name for formula in formulas(rule) for v in variables(formula))
    for formula in rule.body:
        for occurrence in occurrences(formula):
            for term in occurrence.formula.atom.args:
                match term:
                    case Variable(name) if count[name] == 1 and looks_like_name(name):
                        yield _used_once(name, occurrence.formula)
                    case _:
                        pass


def _used_once(name: str, atom: AtomFormula) -> Problem:
    return Problem(
        "L229",
        f"`{name}` is a variable that is used only once, so it stands for any value",
        atom.span,
        f'write `"{name}"` if the text is meant, and `_` or `_{name}` for any value',
        Severity.WARNING,
        focus=name,
    )


def _global_variables_as_tuples(rule: Rule) -> Iterator[Problem]:
    """Aggregates whose tuples, or the numbers in them, consist of global variables alone."""
    for part in rule.body:
        if not isinstance(part, Aggregate):
            continue
        counts = part.function == "count"
        for element in part.elements:
            terms = element.terms if counts else element.terms[:1]
            names = dict.fromkeys(v for term in terms for v in term_variables(term))
            if names and all(variable in part.shared for variable in names):
                listed = " and ".join(f"`{variable.name}`" for variable in names)
                outside = "also occurs" if len(names) == 1 else "also occur"
                effect = "there is at most one tuple" if counts else "all its numbers are equal"
                yield Problem(
                    "L232",
                    f"{listed} {outside} outside of the aggregate, so {effect}",
                    part.span,
                    "inside, use a variable that does not occur elsewhere in the rule",
                    Severity.WARNING,
                )


def _compared_constants(rule: Rule) -> Iterator[Problem]:
    """Comparisons of a text with a constant: a variable was probably meant."""
    for formula in rule.body:
        for part in walk(formula):
            match part:
                case Comparison(operator, str() | int() | float() as left, right) if isinstance(
                    right, str | int | float
                ) and str in (type(left), type(right)):
                    holds = compare(operator, left, right)
                    yield Problem(
                        "L233",
                        f"this compares two constants, so it {'always' if holds else 'never'} "
                        "holds",
                        part.span,
                        _capital_hint(left, right),
                        Severity.WARNING,
                    )
                case _:
                    pass


def _compared_below_always(rule: Rule) -> Iterator[Problem]:
    """`[2] always temp(M, V), V > 90`: one value for all time points, which is rarely meant."""
    below = {
        variable: part
        for formula in rule.body
        for part in walk(formula)
        if isinstance(part, Always)
        for variable in variables(part)
    }
    used = Counter(v for formula in formulas(rule) for v in {*variables(formula)})
    for formula in rule.body:
        match formula:
            case Comparison("<" | "<=" | ">" | ">=", Variable() as variable, int() | float()):
                # Only the formula with `always` and this comparison use it.
                if variable in below and used[variable] == 2:
                    yield _same_value(variable, formula, below[variable])
            case _:
                pass


def _same_value(variable: Variable, comparison: Comparison, part: Always) -> Problem:
    name = variable.name
    return Problem(
        "L234",
        f"`{formula_text(part)}` asks for one value `{name}` that is there at every time point",
        part.span,
        f"to ask whether each value is `{formula_text(comparison)}`, derive that by a rule of its "
        "own, keep it with `#remember`, and write `always` over it; or count the readings: "
        "`3 = count of [#3 by M] temp(M, V) where V > 90 by M`",
        Severity.WARNING,
    )


def _capital_hint(*terms: Term) -> str:
    names = [term for term in terms if isinstance(term, str) and _NAME.fullmatch(term)]
    example = f": `{names[0].capitalize()}`" if names else ""
    return f"variables begin with a capital letter{example}"
