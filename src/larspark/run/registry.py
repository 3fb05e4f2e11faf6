"""The registry of engines, and the choice among them."""

from collections.abc import Iterable
from typing import NamedTuple, cast

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem
from larspark.run.answer_sets.kind import ASP, TMS
from larspark.run.interval.kind import INTERVAL
from larspark.run.oracle import ORACLE
from larspark.run.protocol import Engine, EngineKind, Settings, StageEngine

AUTO = "auto"
# In the order of preference: `auto` takes the first one that can run a program.
ENGINES: dict[str, EngineKind] = {kind.name: kind for kind in (INTERVAL, ASP, TMS, ORACLE)}


class Choice(NamedTuple):
    """An engine, and why it is chosen."""

    name: str
    reason: str


def choose(checked: Checked, settings: Settings) -> Choice:
    """The engine that `auto` stands for, and why."""
    refusals: dict[str, None] = {}
    for kind in ENGINES.values():
        obstacle = next(iter(kind.obstacles(checked, settings)), None)
        if obstacle is None:
            reason = f"because {', and '.join(refusals)}" if refusals else kind.runs
            return Choice(kind.name, reason)
        refusals[obstacle.message] = None
    # None can run it: the last one says why when it is made.
    return Choice(kind.name, f"because {', and '.join(refusals)}")


def engine_kind(name: str, checked: Checked, settings: Settings) -> EngineKind:
    """The engine of this name, or the choice of `auto`."""
    name = choose(checked, settings).name if name == AUTO else name
    kind = ENGINES.get(name)
    if kind is None:
        known = ", ".join([AUTO, *ENGINES])
        raise LarsparkError(Problem("L404", f"there is no engine `{name}`", hint=f"one of {known}"))
    return kind


def make_engine(
    kind: EngineKind, checked: Checked, background: Iterable[Atom], settings: Settings
) -> Engine:
    """Make an engine, or raise what in the program it cannot run."""
    found = tuple(kind.obstacles(checked, settings))
    if found:
        raise LarsparkError(found)
    return kind.make(checked, background, settings)


def stage_engine(kind: EngineKind, engine: Engine) -> StageEngine:
    """The engine of a stage, if its kind exchanges rows between stages."""
    if not kind.stages:
        message = f"the engine `{kind.name}` exchanges no rows between stages"
        raise LarsparkError(Problem("L403", message))
    return cast(StageEngine, engine)
