"""Why a formula holds: the elements that support it, and those whose absence does."""

from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass, field
from typing import NamedTuple, assert_never

from larspark.base.atoms import Atom, atom_text
from larspark.base.terms import Wildcard
from larspark.language.windows import Positions, Window
from larspark.logic.values import key_values
from larspark.meaning.grounding import (
    Ground,
    GroundAggregate,
    GroundAlways,
    GroundAnd,
    GroundAt,
    GroundAtom,
    GroundImplies,
    GroundNot,
    GroundOr,
    GroundReset,
    GroundSome,
    GroundTruth,
    GroundWindowed,
)
from larspark.meaning.streams import Stream, numbers_of
from larspark.show.explain.proof import Absence, Collected, WindowSpan
from larspark.show.explain.support import Support, Views, is_pattern


class Crowd(NamedTuple):
    """A tuple window, and how many more tuples would push a used element out of it."""

    window: str
    element: int
    pushes: int
    # The tuples that count, when only those of one group do.
    group: str | None


@dataclass(slots=True)
class Reasons:
    """What makes a formula hold.

    Without the `needed` elements it cannot hold at all; the `chosen` ones are one way among
    several. `counted` is what tuple windows had in them.
    """

    needed: int = 0
    chosen: int = 0
    counted: int = 0
    background: dict[Atom, None] = field(default_factory=dict)
    windows: dict[WindowSpan, None] = field(default_factory=dict)
    crowds: list[Crowd] = field(default_factory=list)
    missing: dict[Atom, list[tuple[int, int | None]]] = field(default_factory=dict)
    collected: Collected | None = None

    @property
    def used(self) -> int:
        return self.needed | self.chosen

    def absences(self) -> tuple[Absence, ...]:
        """Absent atoms, adjoining time points joined."""
        found: list[Absence] = []
        for atom, spans in self.missing.items():
            start, end = min(spans, key=lambda span: span[0])
            for next_start, next_end in sorted(spans, key=lambda span: span[0]):
                if end is None or next_start <= end + 1:
                    end = None if end is None or next_end is None else max(end, next_end)
                else:
                    found.append(Absence(atom, start, end))
                    start, end = next_start, next_end
            found.append(Absence(atom, start, end))
        return tuple(found)


def find_reasons(
    support: Support,
    formula: Ground,
    preferred: int,
    *,
    window_texts: Mapping[Window, str],
    final: bool,
) -> Reasons:
    """Why a formula holds at the evaluation time.

    Where several elements would do, a `preferred` one is used, a given one rather than a derived
    one, and a late one rather than an early one. `window_texts` says how windows are written.
    `final` says that no other elements will ever be usable: then the only one that does is needed.
    """
    finder = _Finder(support, preferred, window_texts, final)
    finder.explain(formula, support.whole, support.evaluation.at, needed=True, windows="")
    return finder.reasons


def in_group(groups: Positions, atom: Atom, support: Support, stream: Stream) -> int:
    """The elements of a stream that are in one group with an atom, as bits."""
    keys = dict(groups).get(atom.signature, ())
    group, bits = key_values(keys, atom.args), 0
    for number in support.presences(_group_pattern(groups, atom), stream):
        if key_values(keys, stream.universe.elements[number].atom.args) == group:
            bits |= 1 << number
    return bits


def _group_pattern(groups: Positions, atom: Atom) -> Atom:
    """A pattern of the atoms that are in one group with an atom."""
    keys = dict(groups).get(atom.signature, ())
    args = (arg if place in keys else Wildcard() for place, arg in enumerate(atom.args))
    return Atom(atom.predicate, tuple(args))


def _group_text(groups: Positions, atom: Atom) -> str:
    """The tuples that are in one group with an atom."""
    keys = dict(groups).get(atom.signature, ())
    text = atom_text(_group_pattern(groups, atom))
    return text if all(isinstance(key, int) for key in keys) else f"{text} of the same group"


# Formulas that need an element, whichever time points a window covers.
_SEEKING = (GroundAtom, GroundSome, GroundAt)


class _Finder:
    """Descends a formula to the atoms that decide it.

    A formula is explained where it is true in the usable stream, or where it is false in the
    whole one: `views.negated` says which of the two is the case.
    """

    def __init__(
        self,
        support: Support,
        preferred: int,
        window_texts: Mapping[Window, str],
        final: bool,
    ) -> None:
        self.reasons = Reasons()
        self._support = support
        self._preferred = preferred
        self._texts = window_texts
        self._final = final

    def explain(
        self, formula: Ground, views: Views, t: int, needed: bool, windows: str | None
    ) -> None:
        """Note why the formula is true at t, or false if the views are negated.

        `windows` are the windows applied so far at the evaluation time, None after leaving it.
        """
        true = not views.negated
        match formula:
            case GroundAtom(atom):
                self._atom(atom, views, t, needed)
            case GroundTruth():
                return
            case GroundNot(body):
                self.explain(body, views.flip(), t, needed, windows)
            case GroundAnd(parts) | GroundOr(parts):
                branches = [(part, views) for part in parts]
                every = isinstance(formula, GroundAnd) == true
                self._branches(branches, t, every, needed, windows)
            case GroundImplies(left, right):
                self._branches([(left, views.flip()), (right, views)], t, not true, needed, windows)
            case GroundSome(GroundAtom(atom)):
                self._atom(atom, views, None, needed)
            case GroundSome(body):
                self._points(body, views, every=not true, needed=needed)
            case GroundAlways(body):
                self._points(body, views, every=true, needed=needed)
            case GroundAt(time, body):
                if views.active.has_time(time):
                    self.explain(body, views, time, needed, None)
            case GroundWindowed(window, body):
                self._window(window, body, views, t, needed, windows)
            case GroundReset(body):
                above = None if windows is None else ""
                self.explain(body, self._support.reset(views), t, needed, above)
            case GroundAggregate():
                tuples = self._support.tuples(formula)
                self.reasons.collected = Collected.of(formula.function, tuples)
            case _:
                assert_never(formula)

    def _atom(self, atom: Atom, views: Views, t: int | None, needed: bool) -> None:
        """The atom is there at t, or at some time point; or, if negated, it is not."""
        stream = views.active
        if views.negated:
            span = (stream.start, stream.end) if t is None else (t, t)
            self.reasons.missing.setdefault(atom, []).append(span)
            return
        background = self._support.background(atom)
        if background is not None:
            self.reasons.background[background] = None
            return
        candidates = list(self._support.presences(atom, stream, t))
        alone = (t is not None and not is_pattern(atom)) or self._only(candidates)
        best = 1 << max(candidates, key=self._preference)
        if needed and alone:
            self.reasons.needed |= best
        else:
            self.reasons.chosen |= best

    def _branches(
        self,
        branches: list[tuple[Ground, Views]],
        t: int,
        every: bool,
        needed: bool,
        windows: str | None,
    ) -> None:
        if not every:
            branches = [
                (formula, views)
                for formula, views in branches
                if self._support.value(formula, views, t) != views.negated
            ]
            needed = needed and self._only(branches)
            branches = branches[:1]
        for formula, views in branches:
            self.explain(formula, views, t, needed, windows)

    def _points(self, body: Ground, views: Views, every: bool, needed: bool) -> None:
        points: Iterable[int] = self._support.points(views)
        if not every:
            fitting = [p for p in points if self._support.value(body, views, p) != views.negated]
            needed = needed and self._only(fitting)
            points = fitting[-1:]
        for point in points:
            self.explain(body, views, point, needed, None)

    def _window(
        self,
        window: Window,
        body: Ground,
        views: Views,
        t: int,
        needed: bool,
        windows: str | None,
    ) -> None:
        inner = views.through(window, t)
        if window.counts_hidden:
            self.reasons.counted |= views.usable.bits
        elif window.selects_input:
            self.reasons.counted |= inner.usable.bits
        if window.tuples_back is None and not isinstance(body, _SEEKING):
            # Without an element the window may no longer cover the time point it was needed for.
            needed = False
        if windows is None:
            self.explain(body, inner, t, needed, None)
            return
        text = f"{windows} {self._texts[window]}".strip()
        before = self.reasons.used
        self.explain(body, inner, t, needed, text)
        if not isinstance(body, GroundWindowed):
            span = WindowSpan(text, inner.full.start, inner.full.end)
            self.reasons.windows[span] = None
        seeks = not views.negated and isinstance(body, _SEEKING)
        each = window.ungrouped()
        if seeks and each.tuples_back and not each.looks_ahead:
            self._crowd(window, each.tuples_back, inner.full, self.reasons.used & ~before, text)

    def _crowd(self, window: Window, past: int, inner: Stream, used: int, text: str) -> None:
        """How many more tuples push the first of the used elements out of a window?"""
        used &= inner.bits
        if not used:
            return
        oldest = next(numbers_of(used))
        group: str | None = None
        members = inner.bits
        if window.groups is not None:
            atom = self._support.evaluation.element(oldest).atom
            group = _group_text(window.groups, atom)
            members = in_group(window.groups, atom, self._support, inner)
        since = sum(1 for number in numbers_of(members) if number >= oldest)
        self.reasons.crowds.append(Crowd(text, oldest, past - since + 1, group))

    def _only(self, ways: Sized) -> bool:
        return self._final and len(ways) == 1

    def _preference(self, number: int) -> tuple[bool, bool, int, int]:
        derived = self._support.evaluation.derived >> number & 1
        known = (self._preferred | self.reasons.used) >> number & 1
        t = self._support.evaluation.element(number).t
        return bool(known), not derived, t, -number
