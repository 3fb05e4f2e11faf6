"""What a sequence of windows leaves of the stream: windows from one place collapse into one."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Span
from larspark.base.terms import Arithmetic, Variable
from larspark.language.nodes import term_variables
from larspark.language.windows import (
    Bounds,
    GroupWindow,
    Key,
    Positions,
    SessionWindow,
    TupleWindow,
    Window,
)
from larspark.logic.traversal import key_of
from larspark.plan.literals import Placed, Scope, cannot, counts_tuples
from larspark.plan.operators import Contents, Filters, Reach, Sessions, Tuples

_EVERYTHING = Reach()


class Around(NamedTuple):
    """A window around a time point: [pivot - past, pivot + future], as a `Reach` is."""

    anchor: Variable
    past: int | None
    future: int | None
    every: int


@dataclass(frozen=True, slots=True)
class View:
    """What a sequence of windows leaves of the stream."""

    # Around the evaluation time.
    reach: Reach = _EVERYTHING
    tuples: Tuples | Sessions | None = None
    only: Filters = ()
    # Around other time points.
    around: tuple[Around, ...] = ()


_WHOLE = View()


def time_view_of(scope: Scope, atom: Atom | None) -> View:
    """The same, without bounds when the windows are recomputed."""
    return _WHOLE if is_recomputed(scope) else view_of(scope, atom)


def view_of(scope: Scope, atom: Atom | None) -> View:
    """What can be seen (of an atom, or time points); an error when the windows do not collapse."""
    view = _WHOLE
    for placed in scope:
        view = _narrow(view, placed, atom)
    return view


def is_recomputed(scope: Scope) -> bool:
    """Are elements counted here in a way that does not collapse into one window?"""
    if not counts_tuples(scope):
        return False
    keys = (key for placed in scope for key in placed.window.keys)
    names = dict.fromkeys(variable for key in keys for variable in term_variables(key))
    try:
        view_of(scope, Atom("", tuple(names)))
    except LarsparkError:
        return True
    return False


def positions_of(scope: Scope) -> tuple[Variable, ...]:
    """The time points from which the windows look, other than the evaluation time."""
    found = (placed.position for placed in scope if placed.position is not None)
    return tuple(dict.fromkeys(found))


def contents_of(scope: Scope, signature: Signature | None) -> Contents:
    """The windows as they are, to be evaluated at every time point."""
    positions = positions_of(scope)
    windows: list[tuple[Window, int | None]] = []
    for window, position, span, keys in map(_parts, scope):
        shape = (window.bounds, window.filters)
        if not (window.is_known and (window.selects_input or any(s is not None for s in shape))):
            raise _unknown(window, span)
        if any(isinstance(term, Variable | Arithmetic) for term in window.filter_terms):
            raise _variable_filter(span)
        known = GroupWindow(window.ungrouped(), keys) if window.keys else window
        windows.append((known, None if position is None else positions.index(position)))
    return Contents(signature, tuple(windows), len(positions))


def _parts(placed: Placed) -> tuple[Window, Variable | None, Span, Positions]:
    return placed.window, placed.position, placed.span, placed.keys


def _variable_filter(span: Span) -> LarsparkError:
    return cannot("filter by the value of a term", span, "group by the variable: `[#1 by ID]`")


def _unknown(window: Window, span: Span) -> LarsparkError:
    name = window.function or window.text()
    engine = "asp" if window.is_known else "oracle"
    return cannot(f"look through the window `{name}`", span, f"use the engine `{engine}`")


def _narrow(view: View, placed: Placed, atom: Atom | None) -> View:
    window, position, span = placed.window, placed.position, placed.span
    if window.bounds is not None:
        if position is None:
            return replace(view, reach=_narrow_time(view, window.bounds, span))
        return replace(view, around=(*view.around, Around(position, *window.bounds)))
    if window.filters is not None:
        if any(isinstance(term, Variable | Arithmetic) for term in window.filter_terms):
            raise _variable_filter(span)
        return replace(view, only=(*view.only, window.filters))
    if window.selects_input and position is not None:
        hint = "use the engine `asp`, or a time window"
        raise cannot("count tuples from another time point than now", span, hint)
    if isinstance(window, TupleWindow):
        return replace(view, tuples=_narrow_tuples(view, window, atom, span))
    if isinstance(window, SessionWindow):
        return replace(view, tuples=_sessions(view, window, atom, span))
    raise _unknown(window, span)


def _narrow_time(view: View, bounds: Bounds, span: Span) -> Reach:
    """Of two sliding windows each side of the smaller one counts."""
    reach = Reach(*bounds)
    if view.reach == _EVERYTHING:
        return reach
    if view.reach.every > 1 or bounds.hops:
        raise cannot("nest hopping windows", span, "use the engine `asp`")
    past = [bound for bound in (view.reach.past, bounds.past) if bound is not None]
    future = [bound for bound in (view.reach.future, bounds.future) if bound is not None]
    return Reach(min(past, default=None), min(future, default=None))


def _narrow_tuples(view: View, window: TupleWindow, atom: Atom | None, span: Span) -> Tuples:
    by = _positions(view, window, atom, span)
    tuples = Tuples(window.past, window.future, by, view.only)
    outer = view.tuples
    if outer is None:
        return tuples
    if isinstance(outer, Sessions) or (outer.by, outer.among) != (tuples.by, tuples.among):
        raise cannot("nest tuple windows that count differently", span, "use the engine `asp`")
    past, future = min(outer.past, window.past), min(outer.future, window.future)
    return replace(tuples, past=past, future=future)


def _sessions(view: View, window: SessionWindow, atom: Atom | None, span: Span) -> Sessions:
    """A time window around a session leaves the part of the session that lies in it."""
    if view.tuples is not None:
        raise cannot("nest session windows and tuple windows", span, "use the engine `asp`")
    if view.reach != _EVERYTHING and window.counts_hidden:
        hint = "use the engine `asp`, or put the time window inside"
        raise cannot("limit the length of sessions in a time window", span, hint)
    return Sessions(window.ungrouped(), _positions(view, window, atom, span), view.only)


def _positions(view: View, window: Window, atom: Atom | None, span: Span) -> tuple[Key, ...] | None:
    """The keys of a window over the arguments of an atom; None without keys."""
    if view.reach.every > 1:
        # Where the evaluation time lies outside a hop, such a window is no window at all.
        raise cannot(
            f"look through a {window.noun} in a hopping window", span, "use the engine `asp`"
        )
    if not window.keys or atom is None:
        return None
    if any(v not in atom.args for key in window.keys for v in term_variables(key)):
        raise cannot(f"look at background data through a {window.noun}", span)
    return tuple(key_of(key, atom.args) for key in window.keys)
