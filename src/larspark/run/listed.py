"""What follows from all answer streams, for engines that list them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator

from larspark.base.atoms import Atom
from larspark.run.protocol import Model


class ListedModels(ABC):
    """Looks at every answer stream."""

    @abstractmethod
    def models(self, at: int, limit: int | None = None) -> Iterator[Model]: ...

    def closest(self, at: int) -> Model | None:
        """The answer stream to follow, where there can be only one."""
        return next(self.models(at), None)

    def count(self, at: int) -> int:
        """How many answer streams there are at a time point."""
        return sum(1 for _ in self.models(at))

    def cautious(self, at: int) -> Model | None:
        """What every answer stream at a time point holds; None without one."""
        return _combined(self.models(at), lambda atoms: frozenset.intersection(*atoms))

    def brave(self, at: int) -> Model | None:
        """What at least one answer stream at a time point holds; None without one."""
        return _combined(self.models(at), lambda atoms: frozenset[Atom]().union(*atoms))


def _combined(
    models: Iterable[Model], combine: Callable[[list[frozenset[Atom]]], frozenset[Atom]]
) -> Model | None:
    streams = [model.stream for model in models]
    if not streams:
        return None
    times = sorted({t for stream in streams for t in stream})
    combined = {t: combine([stream.get(t, frozenset()) for stream in streams]) for t in times}
    return Model({t: atoms for t, atoms in combined.items() if atoms})
