"""Queries (Definition 10): under which substitutions, and when, does a formula hold?"""

from collections.abc import Iterable, Iterator, Sequence

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import NOW, Constant
from larspark.language.nodes import variables
from larspark.language.tree import Aggregate, And, Formula
from larspark.logic.circuit import TRUE
from larspark.logic.matching import Binding, Matcher
from larspark.logic.values import NoValueError, order_key
from larspark.meaning.entailment import Structure
from larspark.meaning.grounding import Ground, GroundAnd, check_depth, pins_in_timeline
from larspark.meaning.labelling import Labelling
from larspark.meaning.open_timeline import NO_HORIZON, time_points
from larspark.meaning.stream_matching import ground_literal, stream_matcher
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
    found = (v for part in conjuncts(formula) for v in variables(part))
    names = list(dict.fromkeys(v.name for v in found if v != NOW))
    answers: list[dict[str, Constant]] = []
    for t, binding in _answers(formula, stream, frozenset(background), at):
        moment: dict[str, Constant] = {"t": t} if at is None else {}
        answers.append({**moment, **{name: binding[name] for name in names}})
    return sorted(answers, key=lambda answer: [order_key(value) for value in answer.values()])


def conjuncts(formula: Formula) -> tuple[Formula, ...]:
    """The parts of a conjunction, or the formula itself."""
    return formula.parts if isinstance(formula, And) else (formula,)


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


def _answers(
    formula: Formula, stream: Stream, background: frozenset[Atom], at: int | None
) -> Iterator[tuple[int, Binding]]:
    """The time points and substitutions at which the formula holds."""
    parts = conjuncts(formula)
    aggregates = any(isinstance(part, Aggregate) for part in parts)
    names = [variable.name for part in parts for variable in variables(part)]
    matcher = stream_matcher(stream, background)
    labelling = Labelling(Structure(stream, background))
    # The same formula at another time point shares its labels.
    candidates: dict[tuple[int | None, frozenset[tuple[str, Constant]]], Ground | None] = {}
    for t in time_points(stream, NO_HORIZON) if at is None else (at,):
        for binding in matcher.bindings(parts, t) if names else [{}]:
            # What an aggregate is over depends on the time point.
            key = (t if aggregates else None, frozenset(binding.items()))
            if key not in candidates:
                refuse_unbound(names, binding, formula)
                candidates[key] = _ground_instance(parts, binding, matcher, stream, t)
            candidate = candidates[key]
            if candidate is not None and labelling.label(candidate, t) == TRUE:
                yield t, binding


def _ground_instance(
    parts: Sequence[Formula], binding: Binding, matcher: Matcher[Stream], stream: Stream, t: int
) -> Ground | None:
    if not pins_in_timeline(parts, binding, stream):
        return None
    try:
        return GroundAnd(tuple(ground_literal(p, binding, matcher, stream, t) for p in parts))
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
