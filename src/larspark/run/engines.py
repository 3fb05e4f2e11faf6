"""The registry of engines, and the choice among them."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem
from larspark.meaning.checked import Checked
from larspark.run.protocol import Engine, Settings


class EngineKind(NamedTuple):
    """An engine by name: how to make one, and what stands in the way for a program."""

    make: Callable[[Checked, Iterable[Atom], Settings], Engine]
    obstacles: Callable[[Checked, Settings], list[Problem]]


class Choice(NamedTuple):
    name: str
    reason: str


# Engines are imported when they are made: clingo and Numba take their time to load.
def _make_oracle(checked: Checked, background: Iterable[Atom], settings: Settings) -> Engine:
    from larspark.run.oracle import OracleEngine

    return OracleEngine(checked, background, settings)


def _no_obstacles(checked: Checked, settings: Settings) -> list[Problem]:
    return []


ENGINES: dict[str, EngineKind] = {
    "oracle": EngineKind(_make_oracle, _no_obstacles),
}


def choose(checked: Checked, settings: Settings) -> Choice:
    """The engine that `auto` stands for, and why."""
    return Choice("oracle", "the definitions themselves")


def make_engine(
    name: str, checked: Checked, background: Iterable[Atom], settings: Settings
) -> Engine:
    """Make the engine of this name, or `auto`'s choice, or say what stands in the way."""
    if name == "auto":
        name = choose(checked, settings).name
    kind = ENGINES.get(name)
    if kind is None:
        known = ", ".join(["auto", *ENGINES])
        raise LarsparkError(Problem("L404", f"there is no engine `{name}`", hint=f"one of {known}"))
    obstacles = kind.obstacles(checked, settings)
    if obstacles:
        raise LarsparkError(obstacles)
    return kind.make(checked, background, settings)
