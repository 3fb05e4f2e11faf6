"""larspark: rules over event streams, with exact meaning."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from larspark.api import (
    Answer,
    Monitor,
    OutputTable,
    Program,
    Reasoner,
    Report,
    equivalent,
    explain,
    facts,
    hypothesize,
    outputs,
    preconditions,
    query,
    run,
    satisfy,
    show,
    verify,
)
from larspark.base.atoms import Atom, fact
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live import LiveStream
from larspark.meaning.window_functions import register_window
from larspark.run.protocol import Model
from larspark.show.notebook import Stream

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Atom",
    "LarsparkError",
    "LiveStream",
    "Model",
    "Monitor",
    "OutputTable",
    "Problem",
    "Program",
    "Reasoner",
    "Report",
    "Stream",
    "__version__",
    "equivalent",
    "explain",
    "fact",
    "facts",
    "hypothesize",
    "outputs",
    "preconditions",
    "query",
    "register_window",
    "run",
    "satisfy",
    "show",
    "verify",
]


def __getattr__(name: str) -> ModuleType:
    # Spark is loaded when it is asked for: the local engines never need it.
    if name == "spark":
        return import_module("larspark.spark")
    raise AttributeError(f"module `larspark` has no attribute `{name}`")


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """`%load_ext larspark` in a notebook: cells may begin with `%%lars`."""
    from larspark.api.notebook_cells import register_cells

    register_cells(shell)
