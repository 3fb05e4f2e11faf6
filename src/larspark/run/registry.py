"""The registry of engines, and the choice among them."""

from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import NamedTuple

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem
from larspark.run.interval.unsupported import obstacles
from larspark.run.protocol import Engine, Settings

Make = Callable[[Checked, Iterable[Atom], Settings], Engine]
Obstacles = Callable[[Checked, Settings], tuple[Problem, ...]]


class EngineKind(NamedTuple):
    """An engine by name: how to make one, and what stands in the way for a program."""

    make: Make
    obstacles: Obstacles


class Choice(NamedTuple):
    """An engine, and why it is the one to take."""

    name: str
    reason: str


# Engines are imported when they are made: clingo and Numba take their time to load.
def _make_interval(checked: Checked, background: Iterable[Atom], settings: Settings) -> Engine:
    from larspark.run.interval.engine import IntervalEngine

    return IntervalEngine(checked, background, settings)


def _make_asp(checked: Checked, background: Iterable[Atom], settings: Settings) -> Engine:
    from larspark.run.answer_sets.engines import AspEngine

    return AspEngine(checked, background, settings)


def _make_tms(checked: Checked, background: Iterable[Atom], settings: Settings) -> Engine:
    from larspark.run.answer_sets.engines import TmsEngine

    return TmsEngine(checked, background, settings)


def _make_oracle(checked: Checked, background: Iterable[Atom], settings: Settings) -> Engine:
    from larspark.run.oracle import OracleEngine

    return OracleEngine(checked, background, settings)


def _beyond_intervals(checked: Checked, settings: Settings) -> tuple[Problem, ...]:
    return tuple(obstacles(checked, settings))


def _without_clingo(checked: Checked, settings: Settings) -> tuple[Problem, ...]:
    if find_spec("clingo") is not None:
        return ()
    hint = "install it with `pip install 'larspark[asp]'`"
    return (Problem("L406", "the engines `asp` and `tms` need the package clingo", hint=hint),)


def _nothing(checked: Checked, settings: Settings) -> tuple[Problem, ...]:
    return ()


ENGINES: dict[str, EngineKind] = {
    "interval": EngineKind(_make_interval, _beyond_intervals),
    "asp": EngineKind(_make_asp, _without_clingo),
    "tms": EngineKind(_make_tms, _without_clingo),
    "oracle": EngineKind(_make_oracle, _nothing),
}


# The engines that search, and stop searching when the time is over.
WATCHING = frozenset({"asp", "tms"})


def choose(checked: Checked, settings: Settings) -> Choice:
    """The engine that `auto` stands for, and why."""
    beyond = _beyond_intervals(checked, settings)
    if not beyond:
        return Choice("interval", "one answer stream, and every formula maps to intervals")
    if not _without_clingo(checked, settings):
        return Choice("asp", f"because {beyond[0].message}")
    return Choice("oracle", f"because {beyond[0].message}, and clingo is not installed")


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
    in_the_way = kind.obstacles(checked, settings)
    if in_the_way:
        raise LarsparkError(in_the_way)
    return kind.make(checked, background, settings)
