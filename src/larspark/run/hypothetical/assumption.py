"""What an answer hopes for, taken as given: facts that come, and atoms that stay away.

Variables become unknown values, so that what follows from the assumption follows whatever they are.
"""

from collections.abc import Iterable, Sequence
from itertools import count

from larspark.base.atoms import Signature
from larspark.base.terms import Constant, Variable, Wildcard
from larspark.run.hypothetical.dataset import Row
from larspark.run.hypothetical.literals import Denied, Literal
from larspark.run.hypothetical.patterns import Pattern, Slot, Time
from larspark.run.hypothetical.solving import Unknown


class Assumption:
    """Facts by predicate and time point, and the atoms that are absent."""

    def __init__(self, expected: Iterable[Literal] = (), denied: Iterable[Denied] = ()) -> None:
        self._unknown: dict[str, Unknown] = {}
        self._rows: dict[Signature, dict[int, list[Row]]] = {}
        anonymous = count()
        for t, pattern, _ in expected:
            if isinstance(t, int) and not any(isinstance(arg, Time) for arg in pattern.args):
                row = tuple(self._value(arg, f"_{next(anonymous)}") for arg in pattern.args)
                self._rows.setdefault(pattern.signature, {}).setdefault(t, []).append(row)
        self.absent = frozenset(map(self.put, denied))

    def put(self, denied: Denied) -> Denied:
        """The atom with unknown values for its variables."""
        pattern = denied.pattern
        if not any(isinstance(arg, Variable) for arg in pattern.args):
            return denied
        args: list[Slot] = [
            self._value(arg, "") if isinstance(arg, Variable) else arg for arg in pattern.args
        ]
        return denied._replace(pattern=Pattern(pattern.predicate, tuple(args)))

    def _value(self, slot: Slot, anonymous: str) -> Constant:
        match slot:
            case Variable(name):
                return self._unknown.setdefault(name, Unknown(name))
            case Wildcard() | Time():
                return Unknown(anonymous)
            case _:
                return slot

    def at(self, signature: Signature, t: int) -> Sequence[Row]:
        return self._rows.get(signature, {}).get(t, ())

    def times(self, signature: Signature) -> Iterable[int]:
        """The time points at which facts of a predicate are assumed."""
        return self._rows.get(signature, {})


NOTHING = Assumption()
