"""The state that engines save which evaluate time point by time point."""

from dataclasses import dataclass
from itertools import pairwise

from larspark.base.atoms import Atom, Element
from larspark.run.state import (
    State,
    atom_fields,
    atom_of,
    optional_time,
    time_of,
    whole_number,
)


@dataclass(frozen=True, slots=True)
class SteppingState:
    """Everything that later answers depend on.

    `kept` are the elements that can still be seen, each with whether tuple windows count it, and
    `arrived` is the number of input elements in all.
    """

    kept: list[tuple[int, Atom, bool]]
    arrived: int
    waiting: list[Element]
    start: int | None
    latest: int | None
    answered: int | None
    previous: list[Atom]

    def to_state(self) -> State:
        return State(
            {
                "kept": [[t, counted, *atom_fields(atom)] for t, atom, counted in self.kept],
                "arrived": self.arrived,
                "waiting": [[t, *atom_fields(atom)] for t, atom in self.waiting],
                "times": [self.start, self.latest, self.answered],
                "previous": [atom_fields(atom) for atom in self.previous],
            }
        )

    @classmethod
    def of(cls, state: State) -> "SteppingState":
        """The inverse of `to_state`."""
        values = state.values
        start, latest, answered = map(optional_time, values["times"])
        kept = [(time_of(t), atom_of(fields), counted) for t, counted, *fields in values["kept"]]
        if not all(isinstance(counted, bool) for *_, counted in kept):
            raise ValueError("an element is neither counted nor not")
        arrived = whole_number(values["arrived"], sum(counted for *_, counted in kept), 2**62)
        waiting = [Element(time_of(t), atom_of(fields)) for t, *fields in values["waiting"]]
        for times in ([t for t, *_ in kept], [t for t, _ in waiting]):
            if any(later < earlier for earlier, later in pairwise(times)):
                raise ValueError("elements are not in the order of time")
        return cls(
            kept=kept,
            arrived=arrived,
            waiting=waiting,
            start=start,
            latest=latest,
            answered=answered,
            previous=[atom_of(fields) for fields in values["previous"]],
        )
