"""Which line of a file a row came from, and the lines that never became rows."""

from collections import deque
from collections.abc import Callable

from larspark.base.problems import Problem
from larspark.feeds.reading import PROBLEMS_KEPT


class Records:
    """The lines of a table's rows, from row 0 on; a refused line lies before some row.

    >>> records = Records(first_line=2)
    >>> records.refuse(0, lambda line: Problem("L316", f"line {line} is broken"))
    >>> records.line_of(0)
    3
    """

    def __init__(self, first_line: int = 1) -> None:
        self._first_line = first_line
        self._refused = 0
        # Refused lines that lie in or after the current batch: the row they lie before, and why.
        self._ahead: deque[tuple[int, Problem | None]] = deque()

    def refuse(self, number: int, problem: Callable[[int], Problem]) -> None:
        """The line with this number, from 0 among rows and refused lines, is no row."""
        kept = problem(self._first_line + number) if self._refused < PROBLEMS_KEPT else None
        self._ahead.append((number - self._refused, kept))
        self._refused += 1

    def line_of(self, row: int) -> int:
        """The line of a row of the current batch."""
        before = self._refused - sum(1 for place, _ in self._ahead if place > row)
        return self._first_line + row + before

    def first(self, row: int) -> tuple[int, Problem] | None:
        """The first refused line up to a row, with the row that it lies before."""
        if self._ahead and self._ahead[0][0] <= row:
            place, problem = self._ahead[0]
            if problem is not None:
                return place, problem
        return None

    def pass_to(self, row: int) -> tuple[int, list[Problem]]:
        """Leave everything up to a row behind: how many lines were refused there, and why."""
        count, problems = 0, []
        while self._ahead and self._ahead[0][0] <= row:
            _, problem = self._ahead.popleft()
            count += 1
            if problem is not None:
                problems.append(problem)
        return count, problems
