"""The derived elements that the labels of a network leave."""

from collections.abc import Callable, Iterable

from larspark.base.atoms import Element, Signature
from larspark.run.asp.core import Core, element_of
from larspark.run.asp.feeds import Row

# No time point: stands for the evaluation time.
_NOW = -(2**64)


class Labelled:
    """Keeps the elements of some predicates that are IN; costs what changes."""

    def __init__(self, core: Core, wanted: frozenset[Signature]) -> None:
        self._wanted = {
            relation: (signature, pinned)
            for signature, (relation, pinned) in core.predicates.items()
            if signature in wanted
        }
        self._holding: dict[int, Element] = {}

    def update(
        self,
        changed: Iterable[int],
        holds: Callable[[int], bool],
        atom: Callable[[int], tuple[int, Row]],
    ) -> None:
        """Some atoms may have got or lost the label IN; `atom` says what they are."""
        for number in changed:
            if not holds(number):
                self._holding.pop(number, None)
                continue
            relation, row = atom(number)
            if relation in self._wanted:
                signature, pinned = self._wanted[relation]
                self._holding[number] = element_of(signature, row, pinned, _NOW)

    def elements(self, t: int) -> Iterable[Element]:
        """The elements at the evaluation time t, and those that have a time of their own."""
        return (Element(t, e.atom) if e.t == _NOW else e for e in self._holding.values())
