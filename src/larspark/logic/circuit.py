"""Conditions on elements that may or may not hold, as a circuit of and-gates.

A condition is a number: a variable, a gate, or the constant `TRUE`; its negative is its negation.
Nested conjunctions are flattened, and equal conditions get the same number, so shared subformulas
are built once.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, NamedTuple, TypeAlias, TypeVar

TRUE, FALSE = 1, -1

Name = TypeVar("Name", bound=Hashable)

# From the truth of each variable, by its name, to the truth of a condition.
Decision: TypeAlias = Callable[[Callable[[Name], bool]], bool]


class Deferred(NamedTuple, Generic[Name]):
    """A condition that can be decided only when all variables are, and how to decide it."""

    node: int
    decide: Decision[Name]


class Circuit(Generic[Name]):
    """Conditions over named variables; a name is what the variable stands for.

    >>> circuit = Circuit[str]()
    >>> p, q = circuit.variable("p"), circuit.variable("q")
    >>> both = circuit.conjunction([p, q])
    >>> both == circuit.conjunction([q, p, TRUE]) and circuit.parts(both) == (p, q)
    True
    >>> circuit.disjunction([p, -p]) == TRUE and circuit.conjunction([both, -p]) == FALSE
    True
    >>> circuit.polarity(circuit.disjunction([p, -q])) == (frozenset({p}), frozenset({q}))
    True
    """

    def __init__(self) -> None:
        # gates[node] are the conditions that an and-gate joins; none for variables and constants.
        self.gates: list[tuple[int, ...]] = [(), ()]
        self.variables: dict[Name, int] = {}
        self.names: dict[int, Name] = {}
        self.deferred: list[Deferred[Name]] = []
        self._known: dict[tuple[int, ...], int] = {}
        self._polarity: dict[int, tuple[frozenset[int], frozenset[int]]] = {}

    def variable(self, name: Name) -> int:
        """The condition that what is named holds."""
        node = self.variables.get(name)
        if node is None:
            node = self.variables[name] = self._new(())
            self.names[node] = name
        return node

    def defer(self, decide: Decision[Name]) -> int:
        """A condition that `decide` computes from the truth of all variables."""
        node = self._new(())
        self.deferred.append(Deferred(node, decide))
        return node

    def conjunction(self, conditions: Iterable[int]) -> int:
        """All of the conditions; stops reading at the first that is false."""
        joined: set[int] = set()
        for condition in conditions:
            if condition == FALSE or -condition in joined:
                return FALSE
            for part in self.parts(condition):
                if -part in joined:
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

    def disjunction(self, conditions: Iterable[int]) -> int:
        """One of the conditions; stops reading at the first that is true."""
        return -self.conjunction(-condition for condition in conditions)

    def parts(self, condition: int) -> tuple[int, ...]:
        """The conditions that a conjunction joins; any other condition is its only part."""
        return (self.gates[condition] if condition > 0 else ()) or (condition,)

    def alternatives(self, condition: int) -> tuple[int, ...]:
        """The conditions that a disjunction joins; any other condition is its only one."""
        return tuple(-part for part in self.parts(-condition))

    def polarity(self, condition: int) -> tuple[frozenset[int], frozenset[int]]:
        """The variables that occur positively in a condition, and those that occur negatively."""
        pending = [abs(condition)]
        while pending:
            node = pending[-1]
            missing = [abs(part) for part in self.gates[node] if abs(part) not in self._polarity]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            if node not in self._polarity:
                self._polarity[node] = self._polarity_of(node)
        positive, negative = self._polarity[abs(condition)]
        return (positive, negative) if condition > 0 else (negative, positive)

    def _polarity_of(self, node: int) -> tuple[frozenset[int], frozenset[int]]:
        if node in self.names:
            return frozenset({node}), frozenset()
        positive: set[int] = set()
        negative: set[int] = set()
        for part in self.gates[node]:
            same, flipped = self._polarity[abs(part)]
            positive |= same if part > 0 else flipped
            negative |= flipped if part > 0 else same
        return frozenset(positive), frozenset(negative)

    def _new(self, parts: tuple[int, ...]) -> int:
        self.gates.append(parts)
        return len(self.gates) - 1
