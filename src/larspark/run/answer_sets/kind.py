"""The engines `asp` and `tms`: how they are made, and what they can do."""

from collections.abc import Iterable, Iterator
from importlib.util import find_spec

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom
from larspark.base.problems import Problem
from larspark.run.protocol import Engine, EngineKind, Settings


# Imported when an engine is made: clingo takes its time to load, and may be missing.
def _make_asp(checked: Checked, background: Iterable[Atom], settings: Settings) -> Engine:
    from larspark.run.answer_sets.engines import AspEngine

    return AspEngine(checked, background, settings)


def _make_tms(checked: Checked, background: Iterable[Atom], settings: Settings) -> Engine:
    from larspark.run.answer_sets.engines import TmsEngine

    return TmsEngine(checked, background, settings)


def _obstacles(checked: Checked, settings: Settings) -> Iterator[Problem]:
    if find_spec("clingo") is None:
        hint = "install it with `pip install 'larspark[asp]'`"
        yield Problem("L406", "the engines `asp` and `tms` need the package clingo", hint=hint)


ASP = EngineKind(
    "asp", _make_asp, _obstacles, "every program", several_models=True, time_limit=True
)
TMS = EngineKind(
    "tms", _make_tms, _obstacles, "every program", several_models=True, time_limit=True
)
