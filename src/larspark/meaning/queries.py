"""Queries (Definition 10): under which substitutions, and when, does a formula hold?"""

from collections.abc import Iterable, Iterator

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant
from larspark.language.nodes import variables, walk
from larspark.language.tree import At, Formula
from larspark.logic.binding import linear
from larspark.logic.circuit import TRUE
from larspark.logic.matching import Binding
from larspark.logic.values import NoValueError, order_key
from larspark.meaning.entailment import Structure
from larspark.meaning.grounding import Ground, check_depth, ground
from larspark.meaning.labelling import Labelling
from larspark.meaning.open_timeline import NO_HORIZON, time_points
from larspark.meaning.stream_matching import stream_matcher
from larspark.meaning.streams import Stream, Universe


def query(
    formula: Formula,
    elements: Iterable[tuple[int, Atom]],
    background: Iterable[Atom] = (),
    start: int | None = None,
    end: int | None = None,
    at: int | None = None,
) -> list[dict[str, Constant]]:
    """The substitutions under which the formula holds at `at`, sorted.

    A ground formula gives `[{}]` for yes and `[]` for no. Without `at` every time point of the
    timeline is asked, and each answer holds its time point as `t`. The timeline begins with the
    first element and ends with the last one, or with `at` when that is later.

    >>> from larspark.base.terms import Variable
    >>> from larspark.language.tree import AtomFormula, Some, Windowed
    >>> from larspark.language.windows import TimeWindow
    >>> recent = Windowed(TimeWindow(5), Some(AtomFormula(Atom("tram", (Variable("A"),)))))
    >>> query(recent, [(3, Atom("tram", ("a1",)))], at=8)
    [{'A': 'a1'}]
    """
    check_depth(formula)
    elements = list(elements)
    stream = _stream(elements, start, end, at)
    if stream is None:
        return []
    names = list(dict.fromkeys(variable.name for variable in variables(formula)))
    answers: list[dict[str, Constant]] = []
    for t, binding in _answers(formula, stream, frozenset(background), at):
        moment: dict[str, Constant] = {"t": t} if at is None else {}
        answers.append({**moment, **{name: binding[name] for name in names}})
    return sorted(answers, key=lambda answer: [order_key(value) for value in answer.values()])


def refuse_unbound(names: Iterable[str], binding: Binding, formula: Formula) -> None:
    """Refuse a formula when matching left one of its variables without a value."""
    unbound = [name for name in dict.fromkeys(names) if name not in binding]
    if unbound:
        raise LarsparkError(
            Problem(
                "L250",
                f"the variable `{name}` is bound by no positive part of the formula",
                formula.span,
                f"give `{name}` a value with an atom, or write `_` for any value",
            )
            for name in unbound
        )


def pins_in_timeline(formulas: Iterable[Formula], binding: Binding, stream: Stream) -> bool:
    """Do the time variables, those of pins such as `@T` and `@T+3`, have values in the timeline?"""
    for formula in formulas:
        for part in walk(formula):
            pin = linear(part.time) if isinstance(part, At) else None
            if pin is not None:
                point = binding[pin[0]]
                if not isinstance(point, int) or not stream.has_time(point):
                    return False
    return True


def _answers(
    formula: Formula, stream: Stream, background: frozenset[Atom], at: int | None
) -> Iterator[tuple[int, Binding]]:
    """The time points and substitutions at which the formula holds."""
    names = [variable.name for variable in variables(formula)]
    matcher = stream_matcher(stream, background)
    labelling = Labelling(Structure(stream, background))
    # The same formula at another time point shares its labels.
    candidates: dict[frozenset[tuple[str, Constant]], Ground | None] = {}
    for t in time_points(stream, NO_HORIZON) if at is None else (at,):
        for binding in matcher.bindings((formula,), t) if names else [{}]:
            key = frozenset(binding.items())
            if key not in candidates:
                refuse_unbound(names, binding, formula)
                candidates[key] = _ground_instance(formula, binding, stream)
            candidate = candidates[key]
            if candidate is not None and labelling.label(candidate, t) == TRUE:
                yield t, binding


def _ground_instance(formula: Formula, binding: Binding, stream: Stream) -> Ground | None:
    if not pins_in_timeline((formula,), binding, stream):
        return None
    try:
        return ground(formula, binding)
    except NoValueError:
        return None


def _stream(
    elements: list[tuple[int, Atom]], start: int | None, end: int | None, at: int | None
) -> Stream | None:
    """The stream a query is about; None when it has no time point to ask at."""
    times = [t for t, _ in elements]
    begins = [t for t in (start, min(times, default=None), at, end) if t is not None]
    ends = [t for t in (max(times, default=None) if end is None else end, at) if t is not None]
    if not begins or not ends:
        return None
    first, last = begins[0], max(ends)
    if at is not None and at < first:
        message = f"the time point {at} lies before the timeline, which begins with {first}"
        raise LarsparkError(Problem("L251", message))
    universe = Universe(element for element in elements if first <= element[0] <= last)
    return universe.whole(first, last)
