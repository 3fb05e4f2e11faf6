"""Compiled kernels that may be out of date are thrown away.

Numba notices when the file of a kernel changes, but not when a file does that a kernel takes
helpers or constants from, and a kernel of another layout gives wrong answers without a word. So
the folder's sources leave their fingerprint beside the compiled code.
"""

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

_STAMP = "kernels.sha256"


def forget_outdated(folder: Path) -> None:
    """Remove Numba's files for a folder if any of its sources changed since they were made.

    Where nothing can be written Numba keeps them elsewhere, for installed packages, whose files
    all change at once.
    """
    cache = folder / "__pycache__"
    stamp = cache / _STAMP
    fingerprint = sha256()
    for source in sorted(folder.glob("*.py")):
        fingerprint.update(source.name.encode() + source.read_bytes())
    with suppress(OSError):
        if stamp.exists() and stamp.read_text() == fingerprint.hexdigest():
            return
    with suppress(OSError):
        for compiled in [*cache.glob("*.nbi"), *cache.glob("*.nbc")]:
            compiled.unlink(missing_ok=True)
        cache.mkdir(exist_ok=True)
        stamp.write_text(fingerprint.hexdigest())


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])

# So many seconds Python may work before Numba is loaded, all kernels together.
PATIENCE = 0.03
# An array with more lines than this would take Python too long.
MANY_LINES = 2000


class _Workshop:
    """What all kernels share: the helpers they call, and how much was done without Numba."""

    def __init__(self) -> None:
        self.helpers: dict[Callable[..., Any], dict[str, object]] = {}
        self.seconds = 0.0
        self._njit: Callable[..., Any] | None = None
        self._missing = False

    def compile(
        self, function: Callable[Parameters, Result], options: Mapping[str, object]
    ) -> Callable[Parameters, Result] | None:
        """The compiled function; None where there is no Numba."""
        if self._njit is None and not self._missing:
            self._load()
        if self._njit is None:
            return None
        compiled: Callable[Parameters, Result] = self._njit(cache=True, nogil=True, **options)(
            function
        )
        return compiled

    def _load(self) -> None:
        try:
            from numba import njit
            from numba.core.errors import NumbaIRAssumptionWarning
            from numba.extending import register_jitable
        except ImportError:
            self._missing = True
            return
        # Compiled code finds arrays by their addresses from now on.
        import larspark.run.interval.kernels.native  # noqa: F401

        forget_outdated(Path(__file__).parent)
        # Numba warns of its own inlining here, which concerns nobody who runs a program.
        warnings.filterwarnings("ignore", category=NumbaIRAssumptionWarning)
        for function, options in self.helpers.items():
            register_jitable(**options)(function)
        self._njit = njit


_workshop = _Workshop()

# Compiled code counts who refers to an array, also where arrays are only handed to a function that
# is copied into a loop: up to a hundred times the cost of the work itself. Functions that make no
# arrays can do without.
_UNCOUNTED: dict[str, object] = {"_nrt": False}


def make_haste() -> None:
    """There is so much to do that Python would take too long from now on."""
    _workshop.seconds = max(_workshop.seconds, 2 * PATIENCE)


class Kernel(Generic[Parameters, Result]):
    """A function that is run by Python at first, and compiled when it pays.

    It is called by its attribute `run`, which the compiled function replaces: the way there costs
    nothing then.
    """

    __slots__ = ("_options", "plain", "run")

    def __init__(self, plain: Callable[Parameters, Result], options: Mapping[str, object]) -> None:
        self.plain = plain
        self._options = options
        self.run: Callable[Parameters, Result] = self._try

    def _try(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Let Python do it, unless that would take long or has taken long already."""
        lines = max((len(arg) for arg in args if isinstance(arg, np.ndarray)), default=0)
        if _workshop.seconds > PATIENCE or lines > MANY_LINES:
            self.run = self.compiled()
            return self.run(*args, **kwargs)
        begin = perf_counter()
        result = self.interpret(*args, **kwargs)
        _workshop.seconds += perf_counter() - begin
        return result

    def compiled(self) -> Callable[Parameters, Result]:
        """The function as Numba compiles it; without Numba as Python runs it."""
        return _workshop.compile(self.plain, self._options) or self.interpret

    def interpret(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Let Python run the function. Hashes wrap around, which compiled code does silently."""
        with np.errstate(over="ignore"):
            return self.plain(*args, **kwargs)


def kernel(function: Callable[Parameters, Result]) -> Kernel[Parameters, Result]:
    """Make a kernel of a function that Python code calls."""
    return Kernel(function, {})


def filling(function: Callable[Parameters, Result]) -> Kernel[Parameters, Result]:
    """Make a kernel of a function that makes no arrays, but only fills those it is given."""
    return Kernel(function, _UNCOUNTED)


def helper(function: Function) -> Function:
    """Let kernels call a function that makes no arrays. Loops that take long belong into one."""
    _workshop.helpers[function] = _UNCOUNTED
    return function


def maker(function: Function) -> Function:
    """Let kernels call a function that makes arrays."""
    _workshop.helpers[function] = {"inline": "never"}
    return function


def inlined(function: Function) -> Function:
    """Let kernels call a function so small that it is copied into them."""
    _workshop.helpers[function] = {"inline": "always"}
    return function
