"""The state that engines save which evaluate time point by time point."""

from dataclasses import dataclass

from larspark.base.atoms import Atom, Element
from larspark.run.state import State, atom_fields, atom_of


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
        start, latest, answered = values["times"]
        return cls(
            kept=[(t, atom_of(fields), counted) for t, counted, *fields in values["kept"]],
            arrived=values["arrived"],
            waiting=[Element(t, atom_of(fields)) for t, *fields in values["waiting"]],
            start=start,
            latest=latest,
            answered=answered,
            previous=[atom_of(fields) for fields in values["previous"]],
        )
