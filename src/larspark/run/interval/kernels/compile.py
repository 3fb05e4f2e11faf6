"""Kernels and their compilation with Numba.

A kernel is run by plain Python at first, and compiled when that pays. Numba caches compiled code on
disk. It notices when the file of a kernel changes, but not when a file changes from which the
kernel takes helpers or constants, and a kernel with an outdated layout gives wrong answers. So a
hash of the folder's sources is kept beside the compiled code, which is removed when the hash
changes.
"""

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

import numpy as np

_STAMP = "kernels.sha256"


def remove_outdated(folder: Path) -> None:
    """Remove Numba's files for a folder if any of its sources changed since they were made.

    If the folder is read-only Numba caches elsewhere; the files of an installed package change all
    at once.
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

# Seconds that plain Python may spend in all kernels before they are compiled.
INTERPRETED_SECONDS = 0.03
# Arrays with more lines than this take plain Python too long.
LARGE = 2000


class Listener(Protocol):
    """Is informed of waits that a user would otherwise not understand."""

    def compiling(self, number: int, count: int) -> None:
        """A kernel is compiled that is not in Numba's cache, the `number`th of `count`."""

    def numba_missing(self) -> None:
        """There is work for compiled kernels, and Numba is not installed."""


class _Registry:
    """What all kernels share: their helpers, and the time spent without Numba."""

    def __init__(self) -> None:
        self.kernels: list[Kernel[..., Any]] = []
        self.listener: Listener | None = None
        self._compiled = 0
        self.helpers: dict[Callable[..., Any], dict[str, object]] = {}
        self.seconds = 0.0
        self._njit: Callable[..., Any] | None = None
        self._missing = False

    def compile(
        self, function: Callable[Parameters, Result], options: Mapping[str, object]
    ) -> Callable[Parameters, Result] | None:
        """The compiled function; None without Numba."""
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
            if self.listener is not None:
                self.listener.numba_missing()
            return
        # Registers how compiled code finds arrays by their addresses.
        import larspark.run.interval.kernels.native  # noqa: F401

        remove_outdated(Path(__file__).parent)
        # A warning about Numba's own inlining, of no use to users.
        warnings.filterwarnings("ignore", category=NumbaIRAssumptionWarning)
        for function, options in self.helpers.items():
            register_jitable(**options)(function)
        self._njit = njit

    def announce(self, function: Callable[..., Any]) -> None:
        """Inform the listener if a function is about to be compiled, not loaded from the cache."""
        if self.listener is None or self._njit is None:
            return
        file = Path(function.__code__.co_filename)
        if not any((file.parent / "__pycache__").glob(f"{file.stem}.{function.__name__}-*.nbi")):
            self._compiled += 1
            self.listener.compiling(self._compiled, len(self.kernels))


_registry = _Registry()


def listen(listener: Listener | None) -> None:
    """Inform a listener of kernels that are compiled, and of missing Numba."""
    _registry.listener = listener


# Numba counts references to an array also where it is only passed to a function that is inlined
# into a loop, at up to a hundred times the cost of the work itself. Functions that allocate no
# arrays do without.
_WITHOUT_REFCOUNTS: dict[str, object] = {"_nrt": False}


def compile_soon() -> None:
    """Compile kernels from their next call on: there is too much work for plain Python."""
    _registry.seconds = max(_registry.seconds, 2 * INTERPRETED_SECONDS)


class Kernel(Generic[Parameters, Result]):
    """A function that plain Python runs at first, and that is compiled when it pays.

    It is called by its attribute `run`, which the compiled function replaces, so that there is no
    indirection then.
    """

    __slots__ = ("_options", "plain", "run")

    def __init__(self, plain: Callable[Parameters, Result], options: Mapping[str, object]) -> None:
        self.plain = plain
        self._options = options
        self.run: Callable[Parameters, Result] = self._try
        _registry.kernels.append(self)

    def _try(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Interpret the call, unless that would take long or has taken long already."""
        lines = max((len(arg) for arg in args if isinstance(arg, np.ndarray)), default=0)
        if _registry.seconds > INTERPRETED_SECONDS or lines > LARGE:
            self.run = self.compiled()
            # Numba compiles at the first call.
            _registry.announce(self.plain)
            return self.run(*args, **kwargs)
        begin = perf_counter()
        result = self.interpret(*args, **kwargs)
        _registry.seconds += perf_counter() - begin
        return result

    def compiled(self) -> Callable[Parameters, Result]:
        """The compiled function; without Numba the interpreted one."""
        return _registry.compile(self.plain, self._options) or self.interpret

    def interpret(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Run the function in plain Python. Hashes overflow, which compiled code does silently."""
        with np.errstate(over="ignore"):
            return self.plain(*args, **kwargs)


def kernel(function: Callable[Parameters, Result]) -> Kernel[Parameters, Result]:
    """Make a kernel of a function that Python code calls and that allocates arrays."""
    return Kernel(function, {})


def filling(function: Callable[Parameters, Result]) -> Kernel[Parameters, Result]:
    """Make a kernel of a function that only fills the arrays it is given."""
    return Kernel(function, _WITHOUT_REFCOUNTS)


def helper(function: Function) -> Function:
    """Let kernels call a function that allocates no arrays. Long loops belong into one."""
    _registry.helpers[function] = _WITHOUT_REFCOUNTS
    return function


def maker(function: Function) -> Function:
    """Let kernels call a function that allocates arrays."""
    _registry.helpers[function] = {"inline": "never"}
    return function


def inlined(function: Function) -> Function:
    """Let kernels call a small function that is inlined."""
    _registry.helpers[function] = {"inline": "always"}
    return function
