"""What is known about the distances between time points.

Time points of a clause are related by differences only: `T` lies in the window of `N`, `S` is one
later than `T`. Such knowledge is a table of upper bounds on `left - right`. The table is kept
closed - every bound that follows is in it - so that a contradiction shows at once, and a variable
that is no longer needed is dropped without losing anything about the others.
"""

from collections.abc import Iterable

from larspark.run.hypothetical.patterns import ORIGIN, Time


class Bounds:
    """A closed, satisfiable table of upper bounds on differences of time variables.

    >>> bounds = Bounds().at_most(Time("S"), Time("N")).at_most(Time("N"), Time("S", 5))
    >>> bounds.upper("N", "S"), bounds.upper("S", "N")
    (5, 0)
    >>> bounds.at_most(Time("N", 1), Time("S")) is None
    True
    """

    __slots__ = ("_rows",)

    def __init__(self, rows: dict[str, dict[str, int]] | None = None) -> None:
        self._rows = rows or {}

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(self._rows) - {ORIGIN}

    def upper(self, left: str, right: str) -> int | None:
        """The largest value of `left - right`; None when there is none."""
        if left == right:
            return 0
        return self._rows.get(left, {}).get(right)

    def at_most(self, left: Time, right: Time) -> "Bounds | None":
        """Add `left <= right`; None when that contradicts what is known."""
        slack = right.offset - left.offset
        if left.variable == right.variable:
            return self if slack >= 0 else None
        known = self.upper(left.variable, right.variable)
        if known is not None and known <= slack:
            return self
        back = self.upper(right.variable, left.variable)
        if back is not None and back + slack < 0:
            return None
        return self._with(left.variable, right.variable, slack)

    def _with(self, left: str, right: str, slack: int) -> "Bounds":
        rows = {name: dict(row) for name, row in self._rows.items()}
        sources = [(left, 0)] + [
            (name, row[left]) for name, row in rows.items() if left in row and name != left
        ]
        targets = [(right, 0), *rows.get(right, {}).items()]
        rows.setdefault(right, {})
        for source, before in sources:
            row = rows.setdefault(source, {})
            for target, after in targets:
                if source == target:
                    continue
                bound = before + slack + after
                if target not in row or row[target] > bound:
                    row[target] = bound
        return Bounds(rows)

    def implies(self, left: Time, right: Time) -> bool:
        """Does `left <= right` follow?"""
        slack = right.offset - left.offset
        known = self.upper(left.variable, right.variable)
        return known is not None and known <= slack

    def merged(self, other: "Bounds") -> "Bounds | None":
        bounds: Bounds | None = self
        for left, row in other._rows.items():
            for right, bound in row.items():
                if bounds is None:
                    return None
                bounds = bounds.at_most(Time(left), Time(right, bound))
        return bounds

    def put(self, bindings: "dict[str, Time]") -> "Bounds | None":
        """Replace variables by other time points."""
        moved: Bounds | None = Bounds()
        for left, row in self._rows.items():
            for right, bound in row.items():
                if moved is None:
                    return None
                one = bindings[left] if left in bindings else Time(left)
                two = bindings[right] if right in bindings else Time(right)
                moved = moved.at_most(one, two.shifted(bound))
        return moved

    def projected(self, variables: Iterable[str]) -> "Bounds":
        """Forget all other variables: exact, because the table is closed."""
        kept = {*variables, ORIGIN}
        rows = {
            name: {other: bound for other, bound in row.items() if other in kept}
            for name, row in self._rows.items()
            if name in kept
        }
        return Bounds(rows)

    def entries(self) -> Iterable[tuple[str, str, int]]:
        for left, row in self._rows.items():
            for right, bound in row.items():
                yield left, right, bound

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bounds):
            return NotImplemented
        return sorted(self.entries()) == sorted(other.entries())

    def __hash__(self) -> int:
        return hash(frozenset(self.entries()))
