"""Grounding and solving from scratch at every evaluation, with limits on time and size."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace

from clingo import Control, Number, Supremum, Symbol, Tuple_
from clingo import Model as Solution
from clingo.backend import Observer

from larspark.base.atoms import Element
from larspark.base.problems import LarsparkError, Problem
from larspark.run.answer_sets.encoding import Core, comparable, element_of, undetermined
from larspark.run.answer_sets.encoding_text import Calculation, Symbols, Text, constant
from larspark.run.answer_sets.given_relations import GivenRelations, Row
from larspark.run.answer_sets.plain_rules import Windows
from larspark.run.answer_sets.solver import Solvable, TimeLimitError, new_control
from larspark.run.answer_sets.stream_views import Arrival, View
from larspark.run.answer_sets.task import Task

# The most ground rules of an evaluation.
RULE_LIMIT = 5_000_000

# Grounding is watched again when some relation has grown by this factor since it was watched.
_GROWTH = 1.25
_CLOCK_EVERY = 1_000


class StopError(Exception):
    """Grounding has to stop; the solver re-raises exceptions as new ones of the same type."""


class Watch:
    """Stops a grounding that becomes too large or takes too long.

    Looking at every rule costs as much as grounding it. So, without a deadline, only a grounding
    over relations larger than those of an earlier one is watched.
    """

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self.problem: LarsparkError | None = None

    def begin(self, control: Control, sizes: Mapping[int, int], deadline: float | None) -> None:
        """Watch the next grounding, over given relations of these sizes, if they have grown."""
        self.problem = None
        grown = any(size > _GROWTH * self._seen.get(n, 0) for n, size in sizes.items())
        if deadline is None and not grown:
            return
        for number, size in sizes.items():
            self._seen[number] = max(size, self._seen.get(number, 0))
        control.register_observer(_Counter(self, deadline))

    def stop(self, problem: Problem) -> None:
        """Stop because of a problem."""
        self.problem = LarsparkError(problem)
        raise StopError


class _Counter(Observer):
    """Counts the ground rules of one grounding."""

    def __init__(self, watch: Watch, deadline: float | None) -> None:
        self._watch = watch
        self._deadline = deadline
        self._rules = 0

    def rule(self, choice: bool, head: Sequence[int], body: Sequence[int]) -> None:
        self._rules += 1
        if self._rules > RULE_LIMIT:
            message = f"more than {RULE_LIMIT} ground rules came up in one evaluation"
            hint = "does a rule combine everything with everything?"
            self._watch.stop(Problem("L410", message, hint=hint))
        if self._deadline is None or self._rules % _CLOCK_EVERY:
            return
        if time.monotonic() > self._deadline:
            raise StopError


# The most values calculated in one evaluation: `p(X+1) :- p(X)` would never end.
CALCULATION_LIMIT = 2_000_000

_TRUE = Number(1)
_CACHED_ROWS = 100_000
# No time point: stands for the evaluation time.
_NOW = -(2**64)


class StaticGrounding:
    """Grounds and solves the encoding anew at every evaluation; windows are kept up to date."""

    def __init__(self, task: Task, core: Core) -> None:
        self._core = core
        self._elements = task.elements
        self._given_relations = GivenRelations(core, task.background, task.elements)
        self._wanted = {
            f"r{number}": (p, pinned)
            for p, (number, pinned) in core.predicates.items()
            if p in task.observed
        }
        self._remembered = bool(task.remembered)
        numbers = [core.predicates[p][0] for p, _ in self._wanted.values()]
        choices = undetermined(core)
        self._open = [(f"r{n}", core.arities[n]) for n in numbers if n in choices]
        self._shown = [n for n in numbers if n not in choices]
        self._comparable = comparable(core, task.checked.shown)
        self._symbols = Symbols()
        self._text = self._new_text()
        self._rows: dict[Row, Symbol] = {}
        self._known: dict[Symbol, Element] = {}
        self._t = 0
        self._whole = View(0, -1)
        self._calculated = 0
        self._watch = Watch()
        self._deadline: float | None = None

    def begin(self, t: int, whole: View) -> None:
        """Time moves on to t."""
        self._t, self._whole = t, whole
        self._given_relations.begin(t, whole)

    def add(self, arrival: Arrival) -> None:
        """The stream has one more element."""
        self._given_relations.add(arrival)

    def evaluate(self, deadline: float | None, *, everything: bool) -> Solvable:
        """The answer streams at the current tick; all of them, or what holds at its time point."""
        self._given_relations.refresh()
        self._deadline = deadline
        for cache in (self._rows, self._known):
            if len(cache) > _CACHED_ROWS:
                cache.clear()
        control = self._ground(everything)
        if self._text.ordered and not self._symbols.ordered:
            # A new constant is one that the solver orders differently.
            self._text = self._new_text()
            control = self._ground(everything)
        literals: dict[Element, int] = {}
        for name, arity in self._open:
            for atom in control.symbolic_atoms.by_signature(name, arity):
                # Atoms without a literal are mentioned, but nothing can derive them.
                literal = atom.literal
                if literal:
                    element = self._element(atom.symbol)
                    if self._is_new(element) and (everything or element.t == self._t):
                        literals[element] = literal
        return Solvable(control, literals, self._settled, self._comparable, deadline=deadline)

    def size(self) -> int:
        """Nothing is kept but the windows."""
        return 0

    def _settled(self, solution: Solution) -> Iterable[Element]:
        elements = map(self._element, solution.symbols(shown=True))
        return filter(self._is_new, elements) if self._remembered else elements

    def _is_new(self, element: Element) -> bool:
        """Is the element not in the stream already?"""
        return not self._remembered or self._elements.holds(*element) is None

    def _element(self, symbol: Symbol) -> Element:
        """The derived element that a symbol of the solver stands for."""
        known = self._known.get(symbol)
        if known is None:
            row = tuple(constant(argument) for argument in symbol.arguments)
            signature, pinned = self._wanted[symbol.name]
            known = self._known[symbol] = element_of(signature, row, pinned, _NOW)
        return known if known.t != _NOW else Element(self._t, known.atom)

    def _new_text(self) -> Text:
        return Text(self._core, self._symbols, self._shown, ordered=self._symbols.ordered)

    def _ground(self, everything: bool) -> Control:
        control = new_control()
        text = self._text.showing_all if everything else self._text.showing_now
        control.add("base", [], text)
        self._calculated = 0
        given = {n: list(map(self._row, self._given_relations.rows(n))) for n in self._core.given}
        self._watch.begin(control, {n: len(rows) for n, rows in given.items()}, self._deadline)
        try:
            control.ground([("base", [])], context=self._context(given))
        except StopError:
            raise self._watch.problem or TimeLimitError from None
        return control

    def _context(self, given: Mapping[int, list[Symbol]]) -> SimpleNamespace:
        functions: dict[str, Callable[..., list[Symbol]]] = {
            "t": self._in_timeline,
            "i": lambda symbol: [_TRUE] if isinstance(constant(symbol), int) else [],
        }
        for number, rows in given.items():
            functions[f"g{number}"] = partial(list, rows)
        for name, calculation in self._text.calculations.items():
            functions[name] = self._calculate(calculation)
        for name, windows in self._text.windows.items():
            functions[name] = self._bounds(windows) if name[0] == "b" else self._within(windows)
        return SimpleNamespace(**functions)

    def _row(self, row: Row) -> Symbol:
        known = self._rows.get(row)
        if known is None:
            symbols = [self._symbols.symbol(value) for value in row]
            known = symbols[0] if len(symbols) == 1 else Tuple_(symbols) if symbols else _TRUE
            self._rows[row] = known
        return known

    def _calculate(self, calculation: Calculation) -> Callable[..., list[Symbol]]:
        def call(*arguments: Symbol) -> list[Symbol]:
            self._calculated += 1
            if self._calculated > CALCULATION_LIMIT:
                message = f"more than {CALCULATION_LIMIT} values were calculated in one evaluation"
                hint = "does a rule with arithmetic in its head feed itself?"
                self._watch.stop(Problem("L410", message, hint=hint))
            if self._deadline is not None and time.monotonic() > self._deadline:
                raise StopError
            result = calculation([constant(argument) for argument in arguments])
            return [] if result is None else [self._symbols.symbol(result)]

        return call

    def _in_timeline(self, symbol: Symbol) -> list[Symbol]:
        point = constant(symbol)
        return [_TRUE] if isinstance(point, int) and self._whole.has_time(point) else []

    def _within(self, windows: Windows) -> Callable[[Symbol], list[Symbol]]:
        view = self._given_relations.view(windows)

        def test(symbol: Symbol) -> list[Symbol]:
            point = constant(symbol)
            return [_TRUE] if isinstance(point, int) and view.has_time(point) else []

        return test

    def _bounds(self, windows: Windows) -> Callable[[], list[Symbol]]:
        view = self._given_relations.view(windows)

        def bounds() -> list[Symbol]:
            high = Supremum if view.end is None else self._symbols.symbol(view.end)
            return [Tuple_([self._symbols.symbol(view.start), high])]

        return bounds
