"""Near misses: how close a body element came to holding, as text."""

from collections.abc import Sequence
from typing import NamedTuple

from larspark.base.atoms import Atom, atom_text
from larspark.base.terms import Term, Wildcard
from larspark.language import formula_text, window_text
from larspark.language.nodes import term_variables, variables
from larspark.language.tree import (
    Aggregate,
    Always,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Not,
    Some,
    Windowed,
)
from larspark.language.windows import Bounds, Window
from larspark.logic.binding import is_bound
from larspark.logic.matching import Binding
from larspark.logic.substitution import substitute
from larspark.logic.values import time_value, value
from larspark.meaning.grounding import ground_window
from larspark.meaning.open_timeline import NO_HORIZON, time_points
from larspark.meaning.streams import Stream, numbers_of
from larspark.meaning.window_functions import apply_window
from larspark.show.explain.aggregate_miss import nearest_group
from larspark.show.explain.knowledge import Evaluation
from larspark.show.explain.proof import element_text, interval_text
from larspark.show.explain.reasons import in_group
from larspark.show.explain.support import Support
from larspark.show.time_text import time_text

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class Near(NamedTuple):
    """A near miss: the smaller the rank, the nearer."""

    rank: tuple[int, float]
    text: str
    # The derived atom that is missing, and where; None for any time point.
    atom: Atom | None = None
    t: int | None = None


DOES_NOT_HOLD = Near((4, 0), "it does not hold")


class _Seen(NamedTuple):
    """An atom as a body element looks at it."""

    pattern: Atom
    operator: Formula
    # What each window is applied to, and last what is seen through all of them.
    streams: tuple[Stream, ...]
    windows: tuple[Windowed, ...]

    @property
    def stream(self) -> Stream:
        return self.streams[-1]

    @property
    def window_text(self) -> str:
        return " ".join(map(_brackets, self.windows))

    @property
    def place(self) -> str:
        interval = interval_text(self.stream.start, self.stream.end)
        return f"{self.window_text} = {interval}" if self.windows else interval


class NearMisses:
    """Finds the near misses of one evaluation."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._support = Support(evaluation, evaluation.stream.bits, NO_HORIZON)

    def find(self, part: Formula, binding: Binding) -> Near:
        """How close a body element that does not hold under this substitution is to holding."""
        match part:
            case Comparison():
                return self._comparison(part, binding)
            case Aggregate():
                return Near(*nearest_group(part, binding, self._evaluation, self._support))
            case Not(body):
                seen = self._look(body, binding)
                return DOES_NOT_HOLD if seen is None else self._blocked(seen)
            case _:
                seen = self._look(part, binding)
                if seen is None:
                    return DOES_NOT_HOLD
                if isinstance(seen.operator, Always):
                    return self._holes(seen)
                return self._absent(seen, binding)

    def _look(self, formula: Formula, binding: Binding) -> _Seen | None:
        """Apply the windows of a formula over one atom; None when it is another kind of formula."""
        stream = self._evaluation.stream
        streams, windows = [stream], []
        while isinstance(formula, Windowed):
            terms = formula.window.filter_terms
            if not {v.name for term in terms for v in term_variables(term)} <= binding.keys():
                return None
            window = ground_window(formula.window, formula.body, binding)
            stream = apply_window(window, stream, self._evaluation.at)
            streams.append(stream)
            windows.append(formula)
            formula = formula.body
        match formula:
            case AtomFormula(atom) | Some(AtomFormula(atom)) | Always(AtomFormula(atom)):
                pass
            case At(_, AtomFormula(atom)):
                pass
            case _:
                return None
        return _Seen(_pattern(atom, binding), formula, tuple(streams), tuple(windows))

    def _absent(self, seen: _Seen, binding: Binding) -> Near:
        """The atom is not there: where is it, or something like it?"""
        point = self._point(seen.operator, binding)
        near = self._whereabouts(seen, point)
        if seen.pattern.signature in self._evaluation.checked.derived:
            return near._replace(atom=seen.pattern, t=point)
        return near

    def _whereabouts(self, seen: _Seen, point: int | None) -> Near:
        evaluation = self._evaluation
        if seen.stream.is_empty:
            return Near(
                (2, 0), f"{seen.window_text} has no time points at {time_text(evaluation.at)}"
            )
        numbers = list(self._support.presences(seen.pattern, evaluation.stream))
        if not numbers:
            return self._others(seen)
        if point is not None:
            nearest = min(numbers, key=lambda n: abs(evaluation.element(n).t - point))
            return self._at_another_time(nearest, point)
        outside = [n for n in numbers if not seen.stream.bits >> n & 1]
        if not outside:
            latest = max(map(evaluation.element, numbers), key=lambda element: element.t)
            return Near((1, 0), f"{element_text(latest)} does not fit the rest")
        return self._outside(min(outside, key=lambda n: self._gap(n, seen.stream)), seen)

    def _point(self, operator: Formula, binding: Binding) -> int | None:
        """The time point at which an atom is asked for, if it is a single one."""
        match operator:
            case AtomFormula():
                return self._evaluation.at
            case At(time) if is_bound(time, binding):
                return time_value(time, binding)
            case _:
                return None

    def _at_another_time(self, number: int, point: int) -> Near:
        t, atom = self._evaluation.element(number)
        gap = abs(t - point)
        when = "last" if t < point else "next"
        verb = "was" if t < point else "is"
        side = "before" if t < point else "after"
        distance = f"{count(gap, 'time point')} {side} {time_text(point)}"
        return Near((0, gap), f"the {when} {atom_text(atom)} {verb} at {time_text(t)}, {distance}")

    def _gap(self, number: int, stream: Stream) -> int:
        t = self._evaluation.element(number).t
        if t < stream.start:
            return stream.start - t
        return t - stream.end if stream.end is not None and t > stream.end else 0

    def _outside(self, number: int, seen: _Seen) -> Near:
        """The atom is in the stream, but one of the windows does not show it."""
        for part, outer, inner in zip(seen.windows, seen.streams, seen.streams[1:], strict=False):
            if not outer.bits >> number & 1 or inner.bits >> number & 1:
                continue
            if part.window.bounds is None:
                return self._left_out(number, part, outer)
            t, atom = self._evaluation.element(number)
            gap = count(self._gap(number, inner), "time point")
            where = f"the last {atom_text(atom)} was at {time_text(t)}, {gap} too early"
            if t > inner.start:
                where = f"the next {atom_text(atom)} is at {time_text(t)}, {gap} too late"
            return Near((0, self._gap(number, inner)), f"{where} for {_brackets(part)}")
        return DOES_NOT_HOLD

    def _left_out(self, number: int, part: Windowed, outer: Stream) -> Near:
        """The element is old enough for a window, but not among those it keeps."""
        t, atom = self._evaluation.element(number)
        text = _brackets(part)
        most = part.window.ungrouped().tuples_back
        if not (part.window.selects_input and most is not None):
            return Near((1, 0), f"@{time_text(t)} {atom_text(atom)} is not in {text}")
        window = ground_window(part.window, part.body, {})
        members = outer.bits & outer.universe.arrived
        if window.groups is not None:
            members &= in_group(window.groups, atom, self._support, outer)
        later = [n for n in numbers_of(members) if n > number]
        after = [n for n in later if self._evaluation.element(n).t <= self._evaluation.at]
        kept = f"{text} keeps {most}"
        came = f"{count(len(after), 'tuple')} came after it and {kept}"
        return Near(
            (0, len(after)), f"the last {atom_text(atom)} was at {time_text(t)}, but {came}"
        )

    def _others(self, seen: _Seen) -> Near:
        """No such atom anywhere: what is there of its predicate?"""
        signature = seen.pattern.signature
        checked = self._evaluation.checked
        anything = Atom(signature.predicate, (Wildcard(),) * signature.arity)
        if signature in self._evaluation.background and signature not in checked.derived:
            atoms = self._evaluation.background[signature]
            nearest = max(sorted(atoms, key=atom_text), key=lambda atom: _alike(seen.pattern, atom))
            text = f"the background has no {atom_text(seen.pattern)}, but {atom_text(nearest)}"
            return Near((2, -_alike(seen.pattern, nearest)), text)
        name = atom_text(seen.pattern)
        absent = f"nothing gives {name}" if signature in checked.derived else f"no {name} so far"
        present = map(self._evaluation.element, self._support.presences(anything, seen.stream))
        newest = sorted(present, key=lambda element: (-element.t, atom_text(element.atom)))
        inside = list(dict.fromkeys(atom_text(element.atom) for element in newest))
        if not inside:
            return Near((3, 0), absent)
        listed = ", ".join(inside[:3]) + (", …" if len(inside) > 3 else "")
        return Near((2, 0), f"{absent}, only {listed} in {seen.place}")

    def _holes(self, seen: _Seen) -> Near:
        """Where is an atom missing that should be there always?"""
        name = atom_text(seen.pattern)
        if seen.stream.is_empty:
            at = time_text(self._evaluation.at)
            return Near((2, 0), f"{seen.window_text} has no time points at {at}")
        if seen.stream.end is None:
            return DOES_NOT_HOLD
        there = {
            self._evaluation.element(n).t
            for n in self._support.presences(seen.pattern, seen.stream)
        }
        holes = [p for p in time_points(seen.stream, NO_HORIZON) if p not in there]
        if not holes:
            return DOES_NOT_HOLD
        text = f"{name} is missing at {listing(holes)} of {seen.place}"
        if seen.pattern.signature in self._evaluation.checked.derived:
            return Near((0, len(holes)), text, seen.pattern, holes[-1])
        return Near((0, len(holes)), text)

    def _blocked(self, seen: _Seen) -> Near:
        """What is there although it should not be?"""
        background = self._support.background(seen.pattern)
        if background is not None:
            return Near((2, 0), f"{atom_text(background)} is background")
        numbers = list(self._support.presences(seen.pattern, seen.stream))
        if isinstance(seen.operator, AtomFormula):
            numbers = [n for n in numbers if self._evaluation.element(n).t == self._evaluation.at]
        if not numbers:
            return DOES_NOT_HOLD
        if isinstance(seen.operator, Always):
            return Near((0, 0), f"{atom_text(seen.pattern)} is there always in {seen.place}")
        latest = max((self._evaluation.element(n) for n in numbers), key=lambda element: element.t)
        text = f"{element_text(latest)} is there"
        if seen.windows:
            text = f"{element_text(latest)} is in {seen.place}"
        match [part.window for part in seen.windows]:
            case [Window(bounds=Bounds(past=int() as past, every=1))] if (
                latest.atom.signature in self._evaluation.checked.inputs
            ):
                text += f", and stays there until {time_text(latest.t + past)}"
            case _:
                pass
        return Near((0, len(numbers)), text)

    def _comparison(self, comparison: Comparison, binding: Binding) -> Near:
        text = formula_text(substitute(comparison, binding))
        if any(v.name not in binding for v in variables(comparison)):
            return DOES_NOT_HOLD
        left, right = value(comparison.left, binding), value(comparison.right, binding)
        if left is None or right is None:
            return Near((2, 0), f"{text} has no value")
        if isinstance(left, str) or isinstance(right, str):
            return Near((1, 0), f"{text} is false")
        return Near((0, abs(left - right)), f"{text} is false")


def count(number: int, noun: str) -> str:
    """A count with its noun.

    >>> count(1, "tuple"), count(2, "time point"), count(20, "tuple")
    ('one tuple', 'two time points', '20 tuples')
    """
    word = _NUMBERS[number] if number < len(_NUMBERS) else str(number)
    return f"{word} {noun}" if number == 1 else f"{word} {noun}s"


def listing(points: Sequence[int]) -> str:
    """Time points in words, the first few of them.

    >>> listing([3]), listing([3, 4]), listing([3, 4, 7, 8, 9])
    ('3', '3 and 4', '3, 4, 7 and two others')
    """
    shown = [time_text(point) for point in points[:3]]
    if len(points) > 3:
        return f"{', '.join(shown)} and {count(len(points) - 3, 'other')}"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _pattern(atom: Atom, binding: Binding) -> Atom:
    """The atom with what is bound replaced, and wildcards for the rest."""
    args: list[Term] = []
    for term in atom.args:
        known = value(term, binding) if is_bound(term, binding) else None
        args.append(Wildcard() if known is None else known)
    return Atom(atom.predicate, tuple(args))


def _brackets(part: Windowed) -> str:
    return f"[{window_text(part.window)}]"


def _alike(pattern: Atom, atom: Atom) -> int:
    return sum(a == b for a, b in zip(pattern.args, atom.args, strict=True))
