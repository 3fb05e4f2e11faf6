"""The stream, the background and the derivable elements at one evaluation."""

import time
from collections.abc import Iterable, Iterator, Sequence

from larspark.analysis.reach import open_timeline_reach
from larspark.base.atoms import Atom, Element, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.language.nodes import walk
from larspark.language.tree import At, Formula, Rule, Windowed
from larspark.language.windows import GroupWindow, Window
from larspark.logic.traversal import key_positions
from larspark.logic.values import Substitution, ground_atom
from larspark.run.answer_sets.solver import TimeLimitError
from larspark.run.answer_sets.stream_views import Arrival, Elements, View

# How far beyond its last element an open timeline is searched at most.
REACH_LIMIT = 1_000_000


class EvaluationContext:
    """The stream, the background, and the elements that rules may derive, at one evaluation."""

    def __init__(
        self,
        elements: Elements,
        background: Iterable[Atom],
        whole: View,
        t: int,
        rules: Sequence[Rule],
        deadline: float | None = None,
    ) -> None:
        self._deadline = deadline
        self.elements = elements
        self.whole = whole
        self.t = t
        self.background: dict[Signature, dict[Atom, None]] = {}
        for atom in background:
            self.background.setdefault(atom.signature, {})[atom] = None
        self.possible: dict[Signature, dict[int, dict[Atom, None]]] = {}
        pins = [pin for rule in rules for f in (rule.head, *rule.body) for pin in _pins(f)]
        last = elements.last_time
        # No element lies beyond, and no window looks further than `reach` beyond that.
        self._latest = max([t, whole.start, *pins, *([] if last is None else [last])])
        self._reach = _reach(rules) if whole.end is None else 0
        self._windows: dict[int, tuple[Windowed, Window]] = {}

    def check_time(self) -> None:
        """Raise `TimeLimitError` after the deadline of the evaluation."""
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise TimeLimitError

    def add_possible(self, element: Element) -> bool:
        """Let an element be derivable; False if it already was."""
        t, atom = element
        here = self.possible.setdefault(atom.signature, {}).setdefault(t, {})
        if atom in here:
            return False
        here[atom] = None
        self._latest = max(self._latest, t)
        return True

    def is_possible(self, t: int, atom: Atom) -> bool:
        return atom in self.possible.get(atom.signature, {}).get(t, ())

    def is_background(self, atom: Atom) -> bool:
        return atom in self.background.get(atom.signature, ())

    def seen(self, signature: Signature, view: View, t: int) -> Iterator[Arrival]:
        """The stream's elements of a predicate that a view shows at t."""
        for arrival in self.elements.of(signature).get(t, ()):
            if view.shows(arrival):
                yield arrival

    def derivable(self, signature: Signature, view: View, t: int) -> Iterator[Atom]:
        """The atoms of a predicate that may be derived at t and would be seen."""
        for atom in self.possible.get(signature, {}).get(t, ()):
            if view.shows_derived(t, atom):
                yield atom

    def moments(self, signature: Signature, view: View) -> list[int]:
        """The time points of a view at which the stream or a rule may have a predicate's atoms."""
        times = {*self.elements.of(signature), *self.possible.get(signature, ())}
        return sorted(t for t in times if view.has_time(t))

    def time_points(self, view: View) -> range:
        """The time points of a view; of an open one as many as can differ."""
        if view.end is None:
            return range(view.start, max(view.start, self._latest) + self._reach + 1)
        return range(view.start, view.end + 1)

    def window(self, formula: Windowed, binding: Substitution) -> Window:
        """The window of a formula under a binding."""
        known = self._windows.get(id(formula))
        if known is None:
            known = self._windows[id(formula)] = (formula, without_variables(formula))
        return known[1].with_filters(lambda atom: ground_atom(atom, binding))


def without_variables(formula: Windowed) -> Window:
    """The window of a formula, its keys turned into positions; filters stay as they are."""
    window = formula.window
    if not window.is_known:
        message = f"this engine does not know what the window `{window.function}` does"
        raise LarsparkError(Problem("L403", message, formula.span))
    if window.keys:
        return GroupWindow(window.ungrouped(), key_positions(window.keys, formula.body))
    return window


def _reach(rules: Sequence[Rule]) -> int:
    distance = open_timeline_reach(rules)
    if distance > REACH_LIMIT:
        message = f"the open timeline would have to be searched for {distance} time points"
        raise LarsparkError(Problem("L403", message, hint="say where time ends with `until`"))
    return distance


def _pins(formula: Formula) -> Iterator[int]:
    for part in walk(formula):
        if isinstance(part, At) and isinstance(part.time, int):
            yield part.time
