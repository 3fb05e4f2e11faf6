"""Conditions on undecided elements, as a circuit of and-gates.

A condition is a number: a variable, a gate, or the constant `TRUE`; its negative is its negation.
Equal conditions are the same number.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

TRUE, FALSE = 1, -1


class Deferred(NamedTuple):
    """A condition that can only be decided once all variables are; says how."""

    node: int
    decide: Callable[[Callable[[int], bool]], bool]


class Circuit:
    """Conditions over variables, which are named by the numbers of elements.

    >>> circuit = Circuit()
    >>> p, q = circuit.variable(0), circuit.variable(1)
    >>> circuit.conjunction([p, q]) == circuit.conjunction([q, p, TRUE])
    True
    >>> circuit.disjunction([p, -p]) == TRUE
    True
    """

    def __init__(self) -> None:
        # gates[node] are the conditions an and-gate joins; none for variables and constants.
        self.gates: list[tuple[int, ...]] = [(), ()]
        self.variables: dict[int, int] = {}
        self.deferred: list[Deferred] = []
        self._known: dict[tuple[int, ...], int] = {}

    def variable(self, name: int) -> int:
        """The condition that the element of this number is there."""
        node = self.variables.get(name)
        if node is None:
            node = self.variables[name] = self._new(())
        return node

    def defer(self, decide: Callable[[Callable[[int], bool]], bool]) -> int:
        """A condition that `decide` tells from the truth of all variables, by their names."""
        node = self._new(())
        self.deferred.append(Deferred(node, decide))
        return node

    def conjunction(self, parts: Iterable[int]) -> int:
        """All of the conditions; stops reading at the first that is false."""
        joined: set[int] = set()
        for part in parts:
            if part == FALSE or -part in joined:
                return FALSE
            if part != TRUE:
                joined.add(part)
        if len(joined) < 2:
            return joined.pop() if joined else TRUE
        key = tuple(sorted(joined))
        node = self._known.get(key)
        if node is None:
            node = self._known[key] = self._new(key)
        return node

    def disjunction(self, parts: Iterable[int]) -> int:
        """One of the conditions; stops reading at the first that is true."""
        return -self.conjunction(-part for part in parts)

    def positive_variables(self, condition: int) -> frozenset[int]:
        """The variables that, made true, can help to make the condition true."""
        found: set[int] = set()
        seen: set[int] = set()
        pending = [condition]
        variables = set(self.variables.values())
        while pending:
            current = pending.pop()
            if current in seen:
                continue
            seen.add(current)
            sign = 1 if current > 0 else -1
            pending.extend(sign * part for part in self.gates[abs(current)])
            if current in variables:
                found.add(current)
        return frozenset(found)

    def _new(self, parts: tuple[int, ...]) -> int:
        self.gates.append(parts)
        return len(self.gates) - 1
