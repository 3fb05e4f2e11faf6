"""Solver calls: all models, the closest one, the elements of all models or of some."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal, TypeAlias

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

ModelElements: TypeAlias = frozenset[Element]


class TimeLimitError(Exception):
    """An evaluation has exceeded its time limit."""


def new_control(models: int = 0) -> Control:
    """A solver for so many models (0: all) that says nothing on the terminal.

    Cores find the closest model without trying all combinations of independent choices.
    """
    options = [str(models), "--opt-strategy=usc", "--warn=none"]
    return Control(options, logger=_swallow, message_limit=0)


def is_satisfiable(control: Control, assumptions: Sequence[int], deadline: float | None) -> bool:
    """Is there a solution under these assumptions?"""
    with control.solve(assumptions, async_=True) as handle:
        wait(handle, deadline)
        return bool(handle.get().satisfiable)


def wait(handle: SolveHandle, deadline: float | None) -> None:
    """Wait for the next result of the solver, up to the deadline.

    The solver works in another thread, so that this one can handle signals such as Ctrl-C.
    """
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
        is_satisfiable(self.control, (), self.deadline)
        return int(self.control.statistics["summary"]["models"]["enumerated"])

    def first(self) -> ModelElements | None:
        """Some answer stream; the one if there is only one."""
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
            best: ModelElements | None = None
            for candidate in self._candidates("opt"):
                best = candidate
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

    def _with(self, literal: int) -> ModelElements | None:
        """Some answer stream in which a literal holds."""
        with closing(self._candidates(assumptions=[literal])) as found:
            return next(found, None)

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
        self, opt_mode: Literal["ignore", "opt"] = "ignore", assumptions: Sequence[int] = ()
    ) -> Generator[ModelElements]:
        self._configure(opt_mode)
        with closing(self._solutions(assumptions)) as solutions:
            yield from map(self._read, solutions)

    def _read(self, solution: Solution) -> ModelElements:
        if self._settled is None:
            self._settled = frozenset(self.settled(solution) if self.settled else ())
        is_true = solution.is_true
        chosen = [element for element, literal in self.literals.items() if is_true(literal)]
        return self._settled.union(chosen)

    def _configure(self, opt_mode: Literal["ignore", "opt"]) -> None:
        """Look at preferences or not; only `closest` states any, and a new solver looks at them."""

    def _solutions(self, assumptions: Sequence[int]) -> Generator[Solution]:
        with self.control.solve(assumptions, yield_=True, async_=True) as handle:
            while True:
                handle.resume()
                wait(handle, self.deadline)
                solution = handle.model()
                if solution is None:
                    return
                yield solution


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
