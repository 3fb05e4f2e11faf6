"""How much of LARS a program uses, and what the LARS paper (Section 4) asks of its windows.

A window is monotone if it shows no less when the stream has more. It is sparse if nested windows
only show polynomially many different parts of a stream, so that formulas are checked in polynomial
time. Groups are meager if there are constantly many; that depends on the values of their keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from larspark.analysis.checked import Checked, Edge, EdgeKind, Fragment
from larspark.base.atoms import Signature
from larspark.language.nodes import children, walk
from larspark.language.printer import window_text
from larspark.language.tree import (
    Aggregate,
    Always,
    And,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Not,
    Or,
    Reset,
    Rule,
    Some,
    Truth,
    Windowed,
)
from larspark.logic.traversal import formulas, occurrences


def fragment(
    rules: Sequence[Rule],
    edges: Sequence[Edge],
    strata: Sequence[frozenset[Signature]] | None,
    several_models: bool,
) -> Fragment:
    """The smallest fragment that a program belongs to."""
    if not all(_is_plain_rule(rule) for rule in rules):
        return Fragment.FULL
    if strata is None or several_models:
        return Fragment.PLAIN
    if any(edge.kind is EdgeKind.NEGATIVE for edge in edges):
        return Fragment.STRATIFIED
    return Fragment.POSITIVE


def is_constraint(rule: Rule) -> bool:
    """Does the rule derive nothing, so that it can only forbid?"""
    return not any(atom.positive for atom in occurrences(rule.head))


def is_choice(head: Formula) -> bool:
    """Can a head hold in several ways, as `a or b` and `some a` do?"""
    if isinstance(head, Truth):
        return False
    definite = AtomFormula | And | Always | At | Windowed | Reset
    return any(
        not isinstance(part, definite) or (isinstance(part, Windowed) and not part.window.is_known)
        for part in walk(head)
    )


def has_nested_windows(rules: Sequence[Rule]) -> bool:
    """Is there a window below a window, with or without a `reset` between them?"""
    return any(_nests(formula, False) for rule in rules for formula in formulas(rule))


def _nests(formula: Formula, below_window: bool) -> bool:
    windowed = isinstance(formula, Windowed)
    if windowed and below_window:
        return True
    return any(_nests(part, below_window or windowed) for part in children(formula))


def _is_plain_rule(rule: Rule) -> bool:
    return _is_plain_head(rule.head) and all(map(_is_plain_element, rule.body))


def _is_plain_head(head: Formula) -> bool:
    match head:
        case AtomFormula() | At(_, AtomFormula()) | Truth(False):
            return True
        case Or(parts):
            return all(isinstance(p, AtomFormula) or _is_pinned_atom(p) for p in parts)
        case _:
            return False


def _is_plain_element(element: Formula) -> bool:
    """An extended atom or a comparison, perhaps negated, or an aggregate over such."""
    match element.body if isinstance(element, Not) else element:
        case AtomFormula() | Comparison() | Truth() | At(_, AtomFormula() | Truth(True)):
            return True
        case Windowed(_, Some(AtomFormula()) | Always(AtomFormula())):
            return True
        case Windowed(_, At(_, AtomFormula() | Truth(True))):
            return True
        case Aggregate() as aggregate:
            return all(map(_is_plain_element, children(aggregate)))
        case _:
            return False


def _is_pinned_atom(formula: Formula) -> bool:
    return isinstance(formula, At) and isinstance(formula.body, AtomFormula)


@dataclass(frozen=True, slots=True)
class WindowProperties:
    """What is known of a window; None where only the data or its definition could say it."""

    text: str
    monotone: bool | None
    sparse: bool | None


def window_properties(checked: Checked) -> tuple[WindowProperties, ...]:
    """The different windows of the rules, in the order of the text."""
    found = dict.fromkeys(
        part.window
        for rule in checked.rules
        for formula in formulas(rule)
        for part in walk(formula)
        if isinstance(part, Windowed)
    )
    return tuple(
        WindowProperties(f"[{window_text(window)}]", window.monotone, window.sparse)
        for window in found
    )
