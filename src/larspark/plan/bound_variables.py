"""Which variables a conjunction of literals binds, and which literals are needed to bind more."""

from collections.abc import Iterable, Iterator, Sequence

from larspark.base.atoms import term_text
from larspark.base.terms import Arithmetic, Term, Variable
from larspark.language.nodes import variables
from larspark.logic.binding import linear
from larspark.plan.literals import (
    Absent,
    Collection,
    Condition,
    Literal,
    Point,
    Reading,
    time_variable,
)
from larspark.plan.operators import term_variables
from larspark.plan.window_chains import is_recomputed, positions_of


def variables_of(literals: Iterable[Literal]) -> dict[Variable, None]:
    """The variables that literals mention, in the order of the text; also those of time points."""
    return dict.fromkeys(variable for literal in literals for variable in _variables(literal))


def _variables(literal: Literal) -> Iterator[Variable]:
    match literal:
        case Reading(atom, _, time, scope):
            for term in atom.args:
                yield from term_variables(term)
            if time is not None:
                yield from term_variables(time)
            yield from (placed.position for placed in scope if placed.position is not None)
        case Condition(comparison):
            yield from term_variables(comparison.left)
            yield from term_variables(comparison.right)
        case Point(time, scope):
            yield from term_variables(time)
            yield literal.variable
            yield from (placed.position for placed in scope if placed.position is not None)
        case Absent(alternatives):
            for conjunction in alternatives:
                yield from variables_of(conjunction)
        case Collection(aggregate):
            yield from variables(aggregate)


def is_positive(literal: Literal) -> bool:
    """Does the literal hold because something is there?"""
    return not isinstance(literal, Absent) and not (
        isinstance(literal, Reading) and literal.negated
    )


def bound_by(literals: Iterable[Literal], known: Iterable[Variable] = ()) -> set[Variable]:
    """The variables that atoms give values to, and equations from there on."""
    bound = set(known)
    equations: list[tuple[Variable, Term]] = []
    for literal in literals:
        match literal:
            case Reading(atom, _, time, scope, False):
                if is_recomputed(scope):
                    bound.update(positions_of(scope))
                for term in (*atom.args, *(() if time is None else (time,))):
                    if isinstance(term, Arithmetic):
                        lifted = Variable(term_text(term))
                        bound.add(lifted)
                        equations.append((lifted, term))
                    elif isinstance(term, Variable):
                        bound.add(term)
            case Point(time):
                equations.append((time_variable(time), time))
            case Condition(comparison, False, False) if comparison.operator == "=":
                left, right = comparison.left, comparison.right
                equations.extend(
                    (variable, term)
                    for variable, term in ((left, right), (right, left))
                    if isinstance(variable, Variable)
                )
            case _:
                pass
    before = -1
    while before != len(bound):
        before = len(bound)
        for variable, term in equations:
            # A variable that stands for itself says nothing.
            if term != variable and all(part in bound for part in term_variables(term)):
                bound.add(variable)
            if variable.name == term_text(term) and variable in bound:
                pin = linear(term)
                if pin is not None:
                    bound.add(Variable(pin[0]))
    return bound


def context(
    inner: Sequence[Literal], outer: Sequence[Literal], needed: Iterable[Variable]
) -> list[Literal]:
    """What an inner conjunction needs of the outer one to give values to all the needed variables.

    Atoms are the best context: they bring only values that come up. Time points are next. What
    only the outer conjunction as a whole can give is asked of all of it.
    """
    wanted = set(needed)
    chosen: list[Literal] = []
    atoms = [literal for literal in outer if isinstance(literal, Reading)]
    points = [literal for literal in outer if isinstance(literal, Point)]

    def missing() -> set[Variable]:
        points = [literal.variable for literal in chosen if isinstance(literal, Point)]
        return wanted - bound_by((*inner, *chosen), points)

    for atom in atoms:
        if not missing().isdisjoint(_variables(atom)):
            chosen += [atom]
    progress = True
    while progress:
        progress = False
        for point in points:
            if point in chosen:
                continue
            bound = bound_by((*inner, *chosen))
            links = missing() - {point.variable}
            if point.variable in missing() or (
                point.variable in bound and not links.isdisjoint(_variables(point))
            ):
                chosen.append(point)
                wanted.update(_variables(point))
                progress = True
    if missing():
        return list(outer)
    # What bounds a time point further also bounds how long it has to be kept.
    bound = bound_by((*inner, *chosen))
    return chosen + [p for p in points if p not in chosen and bound.issuperset(_variables(p))]
