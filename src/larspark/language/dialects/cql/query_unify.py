"""Equations between columns as shared variables: `S.b = T.b` gives both columns one variable."""

from collections.abc import Sequence
from typing import NamedTuple

from larspark.base.problems import Span
from larspark.base.terms import Arithmetic, Term, Variable
from larspark.language.dialects.cql.query_scope import Bound, substitute


class Equation(NamedTuple):
    """A comparison of two terms."""

    operator: str
    left: Term
    right: Term
    span: Span


def unify(
    bound: Sequence[Bound], equations: Sequence[Equation], frozen: set[Term]
) -> tuple[dict[Variable, Term], list[Equation]]:
    """Terms for variables of the sources, and the comparisons that this does not cover.

    A variable of `frozen` stays, and so does one that a window partitions by: the key of a group
    is a variable that its atom holds once.
    """
    own = {term: n for n, term in enumerate(t for one in bound for t in one.terms)}
    keys = {key for one in bound for key in one.keys}
    changes: dict[Variable, Term] = {}
    rest: list[Equation] = []
    for equation in equations:
        left, right = (substitute(side, changes) for side in (equation.left, equation.right))
        if (
            equation.operator != "="
            or isinstance(left, Arithmetic)
            or isinstance(right, Arithmetic)
        ):
            rest.append(equation)
            continue
        if left == right:
            continue
        for old, new in _directions(left, right, own):
            trial = {v: substitute(term, {old: new}) for v, term in changes.items()} | {old: new}
            if old not in frozen and old not in keys and _keys_stand_alone(bound, trial):
                changes = trial
                break
        else:
            rest.append(equation)
    return changes, rest


def _directions(left: Term, right: Term, own: dict[Term, int]) -> list[tuple[Variable, Term]]:
    """What may be replaced by what; a later column by an earlier one rather than the reverse."""
    found: list[tuple[Variable, Term]] = [
        (old, new)
        for old, new in ((right, left), (left, right))
        if isinstance(old, Variable) and old in own
    ]
    found.sort(key=lambda pair: -own[pair[0]])
    return found


def _keys_stand_alone(bound: Sequence[Bound], changes: dict[Variable, Term]) -> bool:
    for one in bound:
        terms = [substitute(term, changes) for term in one.terms]
        if any(terms.count(key) > 1 for key in one.keys):
            return False
    return True
