"""Keeping an eye on grounding, which the solver does not let anyone interrupt."""

import time
from collections.abc import Mapping, Sequence

from clingo import Control
from clingo.backend import Observer

from larspark.base.problems import LarsparkError, Problem

# So many ground rules may an evaluation have.
RULE_LIMIT = 5_000_000

# Grounding is watched again when some relation has grown by this factor since it was watched.
_GROWTH = 1.25
_CLOCK_EVERY = 1_000


class StopError(Exception):
    """Grounding has to stop; the solver passes exceptions on as new ones of their kind."""


class Watch:
    """Stops a grounding that becomes too large or takes too long.

    Looking at every rule costs as much as grounding it. So, without a deadline, only a grounding
    over relations larger than those of an earlier one is watched.
    """

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self.problem: LarsparkError | None = None

    def begin(self, control: Control, sizes: Mapping[int, int], deadline: float | None) -> None:
        """Watch the next grounding if that is due, over given relations of these sizes."""
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
