"""Solver calls: all models, the closest one, the elements of all models or of some."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Literal, TypeAlias, TypeVar

from clingo import Control, SolveHandle
from clingo import Model as Solution
from clingo.backend import Backend

from larspark.base.atoms import Atom, Element, Signature, atom_text
from larspark.base.problems import LarsparkError, Problem

# Up to so many models, of so many elements in all, are sorted; more come in the order in which the
# solver finds them.
SORTED_LIMIT = 1_000
SORTED_ELEMENTS = 200_000

# After so many candidates that are not answer streams the search gives up.
CANDIDATE_LIMIT = 100_000

# How long a signal may wait while the solver works.
_SIGNAL_SECONDS = 0.1

# A search with fewer conflicts takes less time than starting a thread for it.
_SHORT_SEARCH = "200,umax"
_ANY_SEARCH = "umax,umax"

ModelElements: TypeAlias = frozenset[Element]
T = TypeVar("T")


class TimeLimitError(Exception):
    """An evaluation has exceeded its time limit."""


def new_control(models: int = 0) -> Control:
    """A solver for so many models (0: all) that says nothing on the terminal.

    Cores find the closest model without trying all combinations of independent choices. Searches
    end after a few conflicts, unless they run in a thread (`in_thread`).
    """
    options = [str(models), "--opt-strategy=usc", "--warn=none", f"--solve-limit={_SHORT_SEARCH}"]
    return Control(options, logger=_swallow, message_limit=0)


def is_satisfiable(control: Control, assumptions: Sequence[int], deadline: float | None) -> bool:
    """Is there a solution under these assumptions?"""
    return first_solution(control, assumptions, deadline, lambda _, found: found is not None)


def first_solution(
    control: Control,
    assumptions: Sequence[int],
    deadline: float | None,
    read: Callable[[SolveHandle, Solution | None], T],
) -> T:
    """Read the first solution under these assumptions, or None without one."""
    if deadline is None:
        with control.solve(assumptions, yield_=True) as handle:
            handle.resume()
            found = handle.model()
            if found is not None or handle.get().unsatisfiable:
                return read(handle, found)
    with in_thread(control, assumptions) as handle:
        return read(handle, _next_solution(handle, deadline))


@contextmanager
def in_thread(
    control: Control, assumptions: Sequence[int] = (), *, yield_: bool = True
) -> Iterator[SolveHandle]:
    """A search of any length in another thread: this one can handle signals such as Ctrl-C."""
    solving: Any = control.configuration.solve
    solving.solve_limit = _ANY_SEARCH
    try:
        with control.solve(assumptions, yield_=yield_, async_=True) as handle:
            yield handle
    finally:
        solving.solve_limit = _SHORT_SEARCH


def _wait(handle: SolveHandle, deadline: float | None) -> None:
    """Wait for the next result of a search in a thread, up to the deadline."""
    while not handle.wait(_SIGNAL_SECONDS if deadline is None else _slice(deadline)):
        if deadline is not None and time.monotonic() >= deadline:
            handle.cancel()
            raise TimeLimitError


def _slice(deadline: float) -> float:
    return max(0.0, min(_SIGNAL_SECONDS, deadline - time.monotonic()))


def _swallow(code: object, message: str) -> None:
    """Drop messages of the solver: they are about generated input."""


@dataclass(slots=True)
class Solvable:
    """A ground program inside the solver.

    Of the derived elements that matter `literals` are up to the solver; the others are the same in
    all its solutions, from which `settled` reads them.
    `comparable` says whether the output of one answer stream can be a part of another's.
    `accept` decides whether a candidate is an answer stream, where that takes a check of its own;
    then `literals` holds every derivable element.
    """

    control: Control
    literals: dict[Element, int]
    settled: Callable[[Solution], Iterable[Element]] | None = None
    comparable: bool = True
    accept: Callable[[ModelElements], bool] | None = None
    deadline: float | None = None
    _rejected: int = field(default=0, init=False)
    _settled: ModelElements | None = field(default=None, init=False)

    def add_certain(self, elements: Iterable[Element]) -> None:
        """Let elements be part of every answer stream."""
        with self.control.backend() as backend:
            for element in elements:
                atom = backend.add_atom()
                backend.add_rule([atom], [])
                self.literals[element] = atom

    def models(self) -> Generator[ModelElements]:
        """All answer streams, as the solver finds them."""
        for candidate in self._candidates():
            if self._accepts(candidate):
                yield candidate

    def count(self) -> int:
        """How many answer streams there are."""
        if self.accept is not None:
            return sum(1 for _ in self.models())
        self._configure("ignore")
        with in_thread(self.control, yield_=False) as handle:
            _wait(handle, self.deadline)
        return int(self.control.statistics["summary"]["models"]["enumerated"])

    def first(self) -> ModelElements | None:
        """Some answer stream; the one if there is only one."""
        if self.accept is None:
            return self._with()
        with closing(self.models()) as found:
            return next(found, None)

    def closest(
        self, t: int, shown: frozenset[Signature], previous: frozenset[Atom]
    ) -> ModelElements | None:
        """The answer stream whose output at t changes least from the previous one.

        Of equally close answer streams it is the first by the sorted texts of its output.
        """
        output = [e for e in self.literals if e.t == t and e.atom.signature in shown]
        ordered = sorted(output, key=lambda element: atom_text(element.atom))
        if not ordered:
            return self.first()
        with self.control.backend() as backend:
            changes = [(self._sign(e, e.atom not in previous), 1) for e in ordered]
            backend.add_minimize(2 * len(ordered) + 1, changes)
            literals = [self.literals[element] for element in ordered]
            for place, literal in enumerate(reversed(literals)):
                backend.add_minimize(2 * place + 1, [(-literal, 1)])
            if self.comparable:
                self._prefer_short(backend, literals)
        while True:
            best = self._best()
            if best is None or self._accepts(best):
                return best
            with self.control.backend() as backend:
                backend.add_rule([], [self._sign(e, e in best) for e in self.literals])

    def _prefer_short(self, backend: Backend, literals: Sequence[int]) -> None:
        """Before each text asks to be there, it is best that no text follows at all."""
        over = backend.add_atom()
        backend.add_rule([over], [])
        for place, literal in enumerate(reversed(literals)):
            after, over = over, backend.add_atom()
            backend.add_rule([over], [after, -literal])
            backend.add_minimize(2 * place + 2, [(-over, 1)])

    def certain(self) -> ModelElements | None:
        """The elements of every answer stream; None without one."""
        if self.accept is not None:
            return self._combined(frozenset.intersection)
        result = self.first()
        if result is None:
            return None
        for element, literal in self.literals.items():
            if element in result:
                other = self._with(-literal)
                result = result if other is None else result & other
        return result

    def imaginable(self) -> ModelElements | None:
        """The elements of at least one answer stream; None without one."""
        if self.accept is not None:
            return self._combined(frozenset.union)
        result = self.first()
        if result is None:
            return None
        for element, literal in self.literals.items():
            if element not in result:
                result = result.union(self._with(literal) or ())
        return result

    def _combined(
        self, combine: Callable[[ModelElements, ModelElements], ModelElements]
    ) -> ModelElements | None:
        found = self.models()
        first = next(found, None)
        return None if first is None else reduce(combine, found, first)

    def _with(self, *literals: int) -> ModelElements | None:
        """Some answer stream in which literals hold."""
        self._configure("ignore")
        return first_solution(
            self.control,
            literals,
            self.deadline,
            lambda _, found: None if found is None else self._read(found),
        )

    def _best(self) -> ModelElements | None:
        """The best candidate by the preferences that were stated."""
        best: ModelElements | None = None
        if self.deadline is None:
            self._configure("opt")
            with self.control.solve(yield_=True) as handle:
                for solution in handle:
                    best = self._read(solution)
                if handle.get().exhausted:
                    return best
        for candidate in self._candidates("opt"):
            best = candidate
        return best

    def _sign(self, element: Element, positive: bool) -> int:
        return self.literals[element] if positive else -self.literals[element]

    def _accepts(self, candidate: ModelElements) -> bool:
        if self.accept is None or self.accept(candidate):
            return True
        self._rejected += 1
        if self._rejected > CANDIDATE_LIMIT:
            message = f"more than {CANDIDATE_LIMIT} candidates turned out to be no answer streams"
            hint = "rules that depend on themselves through mixed formulas are costly"
            raise LarsparkError(Problem("L411", message, hint=hint))
        return False

    def _candidates(
        self, opt_mode: Literal["ignore", "opt"] = "ignore"
    ) -> Generator[ModelElements]:
        self._configure(opt_mode)
        with in_thread(self.control) as handle:
            while (solution := _next_solution(handle, self.deadline)) is not None:
                yield self._read(solution)

    def _read(self, solution: Solution) -> ModelElements:
        if self._settled is None:
            self._settled = frozenset(self.settled(solution) if self.settled else ())
        is_true = solution.is_true
        chosen = [element for element, literal in self.literals.items() if is_true(literal)]
        return self._settled.union(chosen)

    def _configure(self, opt_mode: Literal["ignore", "opt"]) -> None:
        """Look at preferences or not; only `closest` states any, and a new solver looks at them."""


def _next_solution(handle: SolveHandle, deadline: float | None) -> Solution | None:
    handle.resume()
    _wait(handle, deadline)
    return handle.model()


def in_order(
    models: Iterable[ModelElements], text: Callable[[ModelElements], list[tuple[int, list[str]]]]
) -> Iterator[ModelElements]:
    """The models sorted by text, as long as there are not too many of them.

    When the time limit is reached, the models found so far come before the error.
    """
    rest = iter(models)
    first: list[ModelElements] = []
    ended: TimeLimitError | None = None
    room = SORTED_ELEMENTS
    try:
        for model in rest:
            first.append(model)
            room -= len(model)
            if len(first) > SORTED_LIMIT or room < 0:
                break
        else:
            first.sort(key=text)
    except TimeLimitError as error:
        ended = error
    yield from first
    if ended is not None:
        raise ended
    yield from rest
