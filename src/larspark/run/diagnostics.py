"""Comparisons and calculations without a value, reported to the user."""

from typing import NamedTuple

from larspark.base.problems import Span
from larspark.base.terms import Constant, constant_text


class Calculation(NamedTuple):
    """A term or comparison of the program, and where it is written."""

    text: str
    origin: Span


class Diagnostics:
    """Counts over a whole run; they are not part of a saved state."""

    __slots__ = ("_example", "_mixed", "_tries")

    def __init__(self) -> None:
        self._mixed = 0
        self._example = ""
        # For each calculation how often it was tried, and how often it had a value.
        self._tries: dict[Calculation, tuple[int, int]] = {}

    def add_mixed(self, comparison: str, left: Constant, right: Constant) -> None:
        """Count a comparison of a number with a text; the first one becomes the example."""
        self._mixed += 1
        if not self._example:
            self._example = f"{constant_text(left)} {comparison} {constant_text(right)}"

    def add_tries(self, calculation: Calculation, tried: int, valued: int) -> None:
        before = self._tries.get(calculation, (0, 0))
        self._tries[calculation] = (before[0] + tried, before[1] + valued)

    def include(self, later: "Diagnostics") -> None:
        """Count also what another part of the run has counted."""
        self._mixed += later._mixed
        self._example = self._example or later._example
        for calculation, (tried, valued) in later._tries.items():
            self.add_tries(calculation, tried, valued)

    def clear(self) -> None:
        """Begin to count anew."""
        self._mixed, self._example = 0, ""
        self._tries.clear()

    def warnings(self) -> list[str]:
        """One sentence for each kind of calculation without a value."""
        found = []
        if self._mixed:
            times = "once" if self._mixed == 1 else f"{self._mixed:,} times"
            found.append(
                f"a number was compared with a text {times}, such as `{self._example}`: "
                "there is no order between them, so the comparison does not hold"
            )
        for calculation, (tried, valued) in self._tries.items():
            if tried and not valued:
                place = f"{calculation.origin.source}:{calculation.origin.line}"
                times = "the one time" if tried == 1 else f"all {tried:,} times"
                found.append(
                    f"{place}: `{calculation.text}` had no value {times} it was needed: "
                    "a division by zero, a text in arithmetic, or a number beyond 64 bits"
                )
        return found
