"""Formulas over one atom as leaves of a plan: nested windows collapse into one."""

from dataclasses import dataclass, replace
from typing import assert_never

from larspark.base.atoms import Atom
from larspark.base.problems import Span
from larspark.base.terms import Arithmetic, Term, Variable
from larspark.language.tree import (
    Always,
    At,
    AtomFormula,
    FilterWindow,
    Formula,
    NamedWindow,
    Reset,
    Some,
    TimeWindow,
    TupleWindow,
    Window,
    Windowed,
)
from larspark.plan.literals import cannot
from larspark.plan.operators import Filters, Mode, Reach, Tuples

_EVERYTHING = Reach()


@dataclass(frozen=True, slots=True)
class View:
    """What a sequence of windows leaves of the stream."""

    reach: Reach = _EVERYTHING
    tuples: Tuples | None = None
    only: Filters = ()


@dataclass(frozen=True, slots=True)
class Look:
    """An atom, how it is asked for, and in which part of the stream."""

    atom: Atom
    mode: Mode
    time: Term | None
    view: View
    span: Span


def look(formula: Formula) -> Look:
    """Read a formula over one atom; raises an error when its windows do not collapse."""
    view = View()
    windows: list[tuple[Window, Span]] = []
    span = formula.span
    while True:
        match formula:
            case Windowed(window, body):
                windows.append((window, formula.span))
                formula = body
            case Reset(body):
                windows.clear()
                formula = body
            case _:
                break
    match formula:
        case AtomFormula(atom):
            mode, time = Mode.NOW, None
        case Some(AtomFormula(atom)):
            mode, time = Mode.SOME, None
        case Always(AtomFormula(atom)):
            mode, time = Mode.ALWAYS, None
        case At(pin, AtomFormula(atom)):
            mode, time = Mode.AT, pin
        case _:
            raise cannot("look at more than one atom at a time", span)
    for window, place in windows:
        view = _narrow(view, window, atom, place)
    if mode is Mode.ALWAYS and view.tuples is not None:
        raise cannot(
            "ask for `always` over a tuple window", span, "use the engine `asp`, or a time window"
        )
    return Look(atom, mode, time, view, span)


def _narrow(view: View, window: Window, atom: Atom, span: Span) -> View:
    match window:
        case TimeWindow():
            return replace(view, reach=_narrow_time(view, window, span))
        case TupleWindow():
            return replace(view, tuples=_narrow_tuples(view, window, atom, span))
        case FilterWindow(patterns):
            terms = [term for pattern in patterns for term in pattern.args]
            if any(isinstance(term, Variable | Arithmetic) for term in terms):
                hint = "group by the variable: `[#1 by ID]`"
                raise cannot("filter by the value of a term", span, hint)
            return replace(view, only=(*view.only, patterns))
        case NamedWindow(name):
            raise cannot(f"look through the window `{name}`", span, "use the engine `oracle`")
        case _:
            assert_never(window)


def _narrow_time(view: View, window: TimeWindow, span: Span) -> Reach:
    """Of two sliding windows each side of the smaller one counts."""
    reach = Reach(window.past, window.future, window.every)
    if view.reach == _EVERYTHING:
        return reach
    if view.reach.every > 1 or window.every > 1:
        raise cannot("nest hopping windows", span, "use the engine `asp`")
    past = [bound for bound in (view.reach.past, window.past) if bound is not None]
    future = [bound for bound in (view.reach.future, window.future) if bound is not None]
    return Reach(min(past, default=None), min(future))


def _narrow_tuples(view: View, window: TupleWindow, atom: Atom, span: Span) -> Tuples:
    if view.reach.every > 1:
        # Where the evaluation time lies outside a hop, a tuple window is no window at all.
        raise cannot("count tuples in a hopping window", span, "use the engine `asp`")
    by = tuple(atom.args.index(key) for key in window.by) if window.by else None
    tuples = Tuples(window.past, window.future, by, view.only)
    outer = view.tuples
    if outer is None:
        return tuples
    if (outer.by, outer.among) != (tuples.by, tuples.among):
        raise cannot("nest tuple windows that count differently", span, "use the engine `asp`")
    past, future = min(outer.past, window.past), min(outer.future, window.future)
    return replace(tuples, past=past, future=future)
