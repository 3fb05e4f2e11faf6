"""Misuse of windows and heads: combinations that have no effect or no useful meaning."""

import math
from collections.abc import Iterator

from larspark.analysis.frames import Offset, first_frame, frames
from larspark.base.atoms import Atom, Signature
from larspark.base.problems import Problem, Severity, Span
from larspark.base.terms import Variable
from larspark.language.nodes import term_variables, walk
from larspark.language.tree import (
    Aggregate,
    Always,
    And,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Implies,
    Not,
    Or,
    Reset,
    Rule,
    Some,
    Truth,
    Windowed,
)
from larspark.language.windows import Window
from larspark.logic.traversal import Occurrence, formulas, occurrences


def misuse_problems(
    formula: Formula, derived: frozenset[Signature], background: frozenset[Signature]
) -> Iterator[Problem]:
    """What is wrong with the windows of a formula."""
    for part in walk(formula):
        match part:
            case Windowed(window) if window.sizes:
                yield from _size_problems(window, part.span)
            case Windowed(window) if window.selects_input:
                yield from _tuple_problems(part, derived)
                atoms = [a.formula.atom for a in _seen(part)]
                atoms = [atom for atom in atoms if atom.signature not in background]
                for key in dict.fromkeys(v for k in window.keys for v in term_variables(k)):
                    yield from _key_problems(key, atoms, part)
            case Windowed(window) if window.filters is not None:
                yield from _filter_problems(window.filters, part, background)
            case _:
                pass


def endless_always_problems(rule: Rule, end: Offset) -> Iterator[Problem]:
    """`always` over a timeline that is open to the right."""
    for number, formula in enumerate(formulas(rule)):
        for part, frame in frames(formula, first_frame(end, in_head=number == 0), {}):
            # Outside of its timeline a formula is below a window of which nothing is known.
            endless = frame.inside and frame.timeline.times.high == math.inf
            if isinstance(part, Always) and endless:
                yield Problem(
                    "L225",
                    "this `always` has no last time point: heads of the program can point into "
                    "the future, so the timeline is open",
                    part.span,
                    "put it into a window, such as `[*] always ...` for the whole past, "
                    "or end the timeline with `--until`",
                )


def head_problems(rule: Rule) -> Iterator[Problem]:
    """A head that is true or false whatever the data is."""
    if isinstance(rule.head, Truth) and not rule.head.value:
        return
    truth = _truth(rule.head)
    if truth is not None:
        message, hint = "this head always holds, so the rule says nothing", "remove the rule"
        if not truth:
            message = "this head never holds, so the rule forbids its body"
            hint = "write a constraint, without a head, if that is meant"
        yield Problem("L226", message, rule.head.span, hint, Severity.WARNING)


def _truth(formula: Formula) -> bool | None:
    """The truth of a formula, if it is the same for all data."""
    match formula:
        case Truth(value):
            return value
        case Not(body):
            inner = _truth(body)
            return None if inner is None else not inner
        case And(parts) | Or(parts):
            deciding = isinstance(formula, Or)
            values = [_truth(part) for part in parts]
            if deciding in values:
                return deciding
            return None if None in values else not deciding
        case Implies(left, right):
            return True if _truth(left) is False else _truth(right)
        case Some(body) | Always(body) | At(_, body) | Windowed(_, body) | Reset(body):
            return False if _truth(body) is False else None
        case AtomFormula() | Comparison() | Aggregate():
            return None


def _seen(place: Windowed) -> Iterator[Occurrence]:
    """The atoms that are seen through a window."""
    return (
        occurrence
        for occurrence in occurrences(place)
        if occurrence.windows and occurrence.windows[0] is place.window
    )


def _tuple_problems(place: Windowed, derived: frozenset[Signature]) -> Iterator[Problem]:
    for signature in dict.fromkeys(a.formula.atom.signature for a in _seen(place)):
        if signature in derived:
            yield Problem(
                "L221",
                f"a {place.window.noun} looks at `{signature}`, which rules derive",
                place.span,
                "tuple windows count input: a conclusion that counted could push out the tuple it "
                "follows from; use a time window here, or the tuple window in the rules for "
                f"`{signature}`",
            )


def _size_problems(window: Window, span: Span) -> Iterator[Problem]:
    for size in window.sizes:
        yield Problem(
            "L230",
            f"`[{window.text()}]`: no background data gives `{size.name}`",
            span,
            "an atom of background data in the same body gives a size to each group: "
            f"`size(M, {size.name})`",
            focus=size.name,
        )


def _key_problems(key: Variable, atoms: list[Atom], place: Windowed) -> Iterator[Problem]:
    without = next((atom for atom in atoms if key not in atom.args), None)
    if without is not None or not atoms:
        what = f"`{without}`" if without is not None else "a stream atom"
        yield Problem(
            "L222",
            f"`by {key.name}`: `{key.name}` is not an argument of {what} below the window",
            place.span,
            "group by a variable that is an argument of every stream atom below the window",
            focus=key.name,
        )
        return
    positions: dict[Signature, set[int]] = {}
    for atom in atoms:
        here = (number for number, term in enumerate(atom.args) if term == key)
        positions.setdefault(atom.signature, set()).update(here)
    for signature, numbers in positions.items():
        if len(numbers) > 1:
            listed = " and ".join(str(number + 1) for number in sorted(numbers))
            yield Problem(
                "L223",
                f"`by {key.name}`: `{key.name}` is argument {listed} of `{signature}`",
                place.span,
                "group by a variable that is always the same argument of a predicate",
                focus=key.name,
            )


def _filter_problems(
    patterns: tuple[Atom, ...], place: Windowed, background: frozenset[Signature]
) -> Iterator[Problem]:
    visible = {pattern.signature for pattern in patterns} | background
    for occurrence in _seen(place):
        atom, span = occurrence.formula.atom, occurrence.formula.span
        if atom.signature not in visible:
            listed = ", ".join(f"`{pattern}`" for pattern in patterns)
            yield Problem(
                "L224",
                f"`{atom}` never holds here: the filter above it keeps only {listed}",
                span,
                f"add a pattern of `{atom.signature}` to the filter",
                Severity.WARNING,
            )
