"""What a ground formula depends on: a condition over elements that may or may not be derived.

A condition is a number. Its negative is its negation, `TRUE` and `FALSE` are themselves, and every
other one is a variable (an element) or a conjunction of conditions. Equal conditions over the same
parts get the same number, so shared subformulas are built once.
"""

from collections.abc import Iterable

from larspark.base.atoms import Element

TRUE, FALSE = 1, -1


class Circuit:
    """Conditions of one evaluation.

    >>> from larspark.base.atoms import Atom
    >>> circuit = Circuit()
    >>> p, q = (circuit.variable(Element(0, Atom(name))) for name in "pq")
    >>> both = circuit.conjunction([p, TRUE, q])
    >>> circuit.parts(both) == (p, q) and circuit.conjunction([both, FALSE]) == FALSE
    True
    >>> circuit.polarity(circuit.disjunction([p, -q])) == (frozenset({p}), frozenset({q}))
    True
    """

    def __init__(self) -> None:
        self.elements: dict[int, Element] = {}
        self._variables: dict[Element, int] = {}
        self._parts: dict[int, tuple[int, ...]] = {}
        self._known: dict[tuple[int, ...], int] = {}
        self._next = TRUE + 1
        self._polarity: dict[int, tuple[frozenset[int], frozenset[int]]] = {}

    def variable(self, element: Element) -> int:
        """The condition that the element is derived."""
        node = self._variables.get(element)
        if node is None:
            node = self._variables[element] = self._new()
            self.elements[node] = element
        return node

    def conjunction(self, conditions: Iterable[int]) -> int:
        """All of the conditions; stops reading at the first that is false."""
        joined: dict[int, None] = {}
        for condition in conditions:
            if condition == FALSE or -condition in joined:
                return FALSE
            for part in self._parts.get(condition, (condition,)):
                if -part in joined:
                    return FALSE
                if part != TRUE:
                    joined[part] = None
        if len(joined) < 2:
            return next(iter(joined), TRUE)
        key = tuple(sorted(joined))
        node = self._known.get(key)
        if node is None:
            node = self._known[key] = self._new()
            self._parts[node] = key
        return node

    def disjunction(self, conditions: Iterable[int]) -> int:
        """One of the conditions; stops reading at the first that is true."""
        return -self.conjunction(-condition for condition in conditions)

    def parts(self, condition: int) -> tuple[int, ...]:
        """What a conjunction joins; a condition of another kind is alone."""
        return self._parts.get(condition, (condition,))

    def alternatives(self, condition: int) -> tuple[int, ...]:
        """What a disjunction offers; a condition of another kind is alone."""
        return tuple(-part for part in self.parts(-condition))

    def polarity(self, condition: int) -> tuple[frozenset[int], frozenset[int]]:
        """The variables that occur positively in a condition, and those that occur negatively."""
        pending = [abs(condition)]
        while pending:
            node = pending[-1]
            parts = self._parts.get(node, ())
            missing = [abs(part) for part in parts if abs(part) not in self._polarity]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            if node not in self._polarity:
                self._polarity[node] = self._polarity_of(node, parts)
        positive, negative = self._polarity[abs(condition)]
        return (positive, negative) if condition > 0 else (negative, positive)

    def _polarity_of(
        self, node: int, parts: tuple[int, ...]
    ) -> tuple[frozenset[int], frozenset[int]]:
        if node in self.elements:
            return frozenset({node}), frozenset()
        positive: set[int] = set()
        negative: set[int] = set()
        for part in parts:
            same, flipped = self._polarity[abs(part)]
            positive |= same if part > 0 else flipped
            negative |= flipped if part > 0 else same
        return frozenset(positive), frozenset(negative)

    def _new(self) -> int:
        node = self._next
        self._next += 1
        return node
