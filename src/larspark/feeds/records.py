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
        # Refused lines in or after the current batch: how many lie before a row, and the first
        # reasons, each with that row.
        self._ahead: deque[tuple[int, int]] = deque()
        self._problems: deque[tuple[int, Problem]] = deque()

    def refuse(self, number: int, problem: Callable[[int], Problem]) -> None:
        """The line with this number, from 0 among rows and refused lines, is no row."""
        row = number - self._refused
        if self._refused < PROBLEMS_KEPT:
            self._problems.append((row, problem(self._first_line + number)))
        self._refused += 1
        count = self._ahead.pop()[1] if self._ahead and self._ahead[-1][0] == row else 0
        self._ahead.append((row, count + 1))

    def line_of(self, row: int) -> int:
        """The line of a row of the current batch."""
        before = self._refused - sum(count for place, count in self._ahead if place > row)
        return self._first_line + row + before

    def first(self, row: int) -> tuple[int, Problem] | None:
        """The first refused line up to a row, with the row that it lies before."""
        return self._problems[0] if self._problems and self._problems[0][0] <= row else None

    def pass_to(self, row: int) -> tuple[int, list[Problem]]:
        """Leave everything up to a row behind: how many lines were refused there, and why."""
        count, problems = 0, []
        while self._ahead and self._ahead[0][0] <= row:
            count += self._ahead.popleft()[1]
        while self._problems and self._problems[0][0] <= row:
            problems.append(self._problems.popleft()[1])
        return count, problems
