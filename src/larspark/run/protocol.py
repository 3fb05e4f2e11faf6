"""The interface of engines: what they take, what they return, and what each kind can do."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import pyarrow as pa

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Signature
from larspark.base.facts import AnyBatch
from larspark.base.problems import Problem
from larspark.run.diagnostics import Diagnostics
from larspark.run.state import State


class Point(NamedTuple):
    """The output at one time point; `atoms` is None when there is no answer stream.

    In push mode it is the output at a tick, and `c` counts the elements that had arrived by then.
    """

    t: int
    atoms: frozenset[Atom] | None
    c: int | None = None


class Change(NamedTuple):
    """What begins and what ends to hold at t, compared with the time point before."""

    t: int
    added: tuple[Atom, ...]
    removed: tuple[Atom, ...]


class Model(NamedTuple):
    """One answer stream: its derived atoms by time point, shown predicates only."""

    stream: dict[int, frozenset[Atom]]


class Answers(Protocol):
    """The output over the time points [first, last], built in the form that is asked for."""

    first: int
    last: int

    def points(self) -> Iterator[Point]: ...

    def changes(self) -> Iterator[Change]:
        """What begins and ends within [first, last]; all that holds at first begins there."""

    def intervals(self) -> Sequence[tuple[Atom, int, int]]:
        """Maximal intervals within [first, last], sorted by start, then by the atom's text."""

    def inconsistent(self) -> Iterable[int]:
        """The time points without an answer stream, in order."""

    def table(self) -> pa.Table:
        """The same intervals as a table: atom (string), from, to."""


class Changed(Protocol):
    """What begins to hold at a time point and what ceases to, in any order, without duplicates."""

    @property
    def added(self) -> Collection[Atom]: ...

    @property
    def removed(self) -> Collection[Atom]: ...

    @property
    def size(self) -> int:
        """About how much changed; 0 if nothing did."""

    def texts(self) -> tuple[pa.Array, int]:
        """The texts of what begins to hold, whose number is returned, and of what ends after it."""


class Step(Changed, Protocol):
    """What changed at the time point t, compared with the one before."""

    t: int


class SteppedAnswers(Answers, Protocol):
    """Answers of a `StepEngine`."""

    def steps(self) -> Iterator[Step]:
        """What changed at every time point, compared with the one before it."""


class Settings(NamedTuple):
    """How the time of a run is laid out (see meaning: timeline, hindsight, until), and its work."""

    start: int | None = None
    hindsight: bool = False
    until: int | None = None
    # Evaluate after every element (a tick), not only after every time point.
    push: bool = False
    # So many seconds may an evaluation take; after that the previous output is kept.
    time_limit: float | None = None
    # Keep grounding and solver from one evaluation to the next.
    incremental: bool = False


class Engine(Protocol):
    """An engine reads elements in time order and answers time point by time point."""

    def append(self, batch: AnyBatch) -> None:
        """Take elements in.

        The session has decided what comes: elements in the order of time, after the time point
        advanced to last and not before the start, numbered in the order of arrival.
        """

    def advance(self, t: int) -> Answers:
        """The answers for every time point after the last advance, up to t."""

    def models(self, at: int, limit: int | None = None) -> Iterator[Model]:
        """The answer streams at a time point not before the last advance, in a fixed order."""

    def closest(self, at: int) -> Model | None:
        """The answer stream at a time point that a run would follow; None without one."""

    def count(self, at: int) -> int:
        """How many answer streams there are at a time point."""

    def cautious(self, at: int) -> Model | None:
        """What every answer stream at a time point holds; None without one."""

    def brave(self, at: int) -> Model | None:
        """What at least one answer stream at a time point holds; None without one."""

    @property
    def notes(self) -> Sequence[str]:
        """What a user should know about the run, such as that it follows one of several models."""

    @property
    def warnings(self) -> Sequence[str]:
        """What the data gave that the program does not handle."""

    def stats(self) -> dict[str, int]:
        """What the engine holds and has done, by name; each engine counts what matters to it."""

    def save(self) -> State:
        """Everything that later answers depend on, which shares nothing with the engine."""

    def restore(self, state: State) -> None:
        """Continue from a state of the same program and settings.

        One that cannot be read raises an error of `state.MALFORMED` and changes nothing.
        """


class StepEngine(Engine, Protocol):
    """An engine that says what changed, and runs a time point in one call; see `SteppedAnswers`."""

    def take(
        self, t: int, atoms: Sequence[Atom], seq: int, check: Callable[[Iterable[Atom]], None]
    ) -> bool:
        """Take in what happens at the next time point; False if `append` has to be called instead.

        The atoms are numbered from `seq` on. `check` refuses those that must not be in the stream:
        nothing is taken in then.
        """

    def step(self, t: int) -> Step | None:
        """What changes at the next time point; None if `advance` has to be called instead."""

    def holding(self) -> frozenset[Atom]:
        """The atoms that hold at the time point up to which was answered."""


class SliceEngine(Engine, Protocol):
    """An engine of which several can work at the same time, on slices of a run."""

    @property
    def diagnostics(self) -> Diagnostics:
        """The counts behind the warnings."""


class Derived(NamedTuple):
    """Derived rows of a predicate: atoms at the evaluation time, or pinned to time points."""

    signature: Signature
    pinned: bool


class StageEngine(Engine, Protocol):
    """An engine that exchanges derived rows with the engines of other stages."""

    def import_derived(
        self,
        given: Iterable[Signature],
        tables: Iterable[tuple[Derived, pa.Table]],
        wanted: Iterable[Signature],
    ) -> None:
        """Before the first answer: rows that other stages derive, and the predicates to export."""

    def receive_derived(self, tables: Iterable[tuple[Derived, pa.Table]]) -> None:
        """Between two answers: more rows that other stages derive, which begin after the last.

        They have one of the forms that were given before the first answer.
        """

    def export_derived(self, first: int, last: int) -> Iterator[tuple[Derived, pa.Table]]:
        """The rows derived within [first, last] of the predicates to export, each time once."""


Make: TypeAlias = Callable[[Checked, Iterable[Atom], Settings], Engine]
Obstacles: TypeAlias = Callable[[Checked, Settings], Iterable[Problem]]


@dataclass(frozen=True, slots=True)
class EngineKind:
    """An engine by name, and what it can do.

    `obstacles` gives what in a program the engine cannot run; `runs` says why `auto` takes it when
    nothing stands in its way.
    """

    name: str
    make: Make
    obstacles: Obstacles
    runs: str
    # Finds several answer streams, or none; the others run only programs that have exactly one.
    several_models: bool = False
    # Stops an evaluation when the time limit is over.
    time_limit: bool = False
    # Is a `StageEngine`.
    stages: bool = False
    # Is a `StepEngine`.
    steps: bool = False
    # Is a `SliceEngine`.
    slices: bool = False
