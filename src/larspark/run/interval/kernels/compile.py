"""Kernels and their compilation with Numba.

A kernel is run by plain Python at first. When there is enough work it is compiled: by a process in
the background, once for each version and machine, while plain Python goes on. From then on it is
loaded from Numba's cache.
"""

import warnings
from collections.abc import Callable, Mapping
from time import monotonic, perf_counter
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

import numpy as np

from larspark.run.interval.kernels.background_compiler import BackgroundCompiler
from larspark.run.interval.kernels.compiled_cache import (
    discard_cached,
    is_cached,
    is_kept,
    kept_on_disk,
)

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])

# Seconds that plain Python may spend in all kernels before they are compiled.
INTERPRETED_SECONDS = 0.03
# Arrays with more lines than this take plain Python too long.
LARGE = 2000
# Seconds after which is looked again whether a kernel is compiled.
_LOOK_AGAIN = 0.2


class Listener(Protocol):
    """Is informed of what makes a run slow, which a user would otherwise not understand."""

    def compiling(self, number: int, count: int) -> None:
        """Kernels are compiled in the background: of `count` needed, `number` are ready."""

    def numba_missing(self) -> None:
        """There is work for compiled kernels, and Numba is not installed."""

    def cache_unusable(self, reason: str) -> None:
        """Compiled kernels cannot be kept, or what was kept cannot be used."""


class _Registry:
    """What all kernels share: their helpers, and the time spent without Numba."""

    def __init__(self) -> None:
        self.kernels: list[Kernel[..., Any]] = []
        self.listener: Listener | None = None
        self.helpers: dict[Callable[..., Any], Mapping[str, object]] = {}
        self.seconds = 0.0
        self.background: BackgroundCompiler | None = BackgroundCompiler()
        # Kernels that were not in the cache when they were needed, and those that are now.
        self.awaited: set[str] = set()
        self.arrived: set[str] = set()
        self._njit: Callable[..., Any] | None = None
        self._typeof: Callable[[object], Any] | None = None
        self._register: Callable[..., Any] | None = None
        self._missing = False
        self._has_complained = False

    @property
    def has_numba(self) -> bool:
        """Can functions be compiled? Loads Numba."""
        if self._njit is None and not self._missing:
            self._load()
        return not self._missing

    def dispatcher(self, function: Callable[..., Any], options: Mapping[str, object]) -> Any:
        """The function for Numba to compile when it is called; kept on disk if that is possible."""
        if self._njit is None:
            raise RuntimeError("Numba is not loaded")
        try:
            with kept_on_disk():
                return self._njit(cache=True, nogil=True, **options)(function)
        except (OSError, RuntimeError) as error:
            # There is no folder for Numba's files.
            self.complain(str(error))
            return self._njit(nogil=True, **options)(function)

    def types_of(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Numba's types of arguments."""
        return tuple(map(self._typeof, args)) if self._typeof is not None else ()

    def _load(self) -> None:
        try:
            from numba import njit, typeof
            from numba.core.errors import NumbaIRAssumptionWarning
            from numba.extending import register_jitable
        except ImportError:
            self._missing = True
            if self.listener is not None:
                self.listener.numba_missing()
            return
        # Registers how compiled code finds arrays by their addresses.
        import larspark.run.interval.kernels.native  # noqa: F401

        # A warning about Numba's own inlining, of no use to users.
        warnings.filterwarnings("ignore", category=NumbaIRAssumptionWarning)
        for function, options in self.helpers.items():
            register_jitable(**options)(function)
        self._njit, self._typeof, self._register = njit, typeof, register_jitable

    def add_helper(self, function: Callable[..., Any], options: Mapping[str, object]) -> None:
        """Let kernels call a function; its module may be imported after Numba was loaded."""
        self.helpers[function] = options
        if self._register is not None:
            self._register(**options)(function)

    def await_kernel(self, name: str) -> None:
        """Inform the listener of a kernel that is being compiled."""
        if name not in self.awaited:
            self.awaited.add(name)
            self._tell()

    def welcome(self, name: str) -> None:
        """Inform the listener of a kernel that is compiled now."""
        if name in self.awaited and name not in self.arrived:
            self.arrived.add(name)
            self._tell()

    def _tell(self) -> None:
        if self.listener is not None:
            self.listener.compiling(len(self.arrived), len(self.awaited))

    def complain(self, reason: str) -> None:
        """Say once why compiled kernels are not kept, or are not used."""
        if self._has_complained:
            return
        self._has_complained = True
        if self.listener is not None:
            self.listener.cache_unusable(reason)
        else:
            warnings.warn(f"the cache of compiled kernels: {reason}", stacklevel=2)


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


def has_work() -> bool:
    """Is there enough work for compiled kernels?"""
    return _registry.seconds > INTERPRETED_SECONDS


def are_awaited() -> bool:
    """Does plain Python run kernels until they are compiled?"""
    return len(_registry.arrived) < len(_registry.awaited)


def numba_is_there() -> bool:
    """Can kernels be compiled? Loads Numba."""
    return _registry.has_numba


def compile_at_once() -> None:
    """Compile every kernel when it is first called, and wait for it: for measurements."""
    _registry.background = None
    compile_soon()


class Kernel(Generic[Parameters, Result]):
    """A function that plain Python runs at first, and that is compiled when it pays.

    It is called by its attribute `run`, which the compiled function replaces, so that there is no
    indirection then.
    """

    __slots__ = ("_dispatcher", "_look_at", "_options", "plain", "run")

    def __init__(self, plain: Callable[Parameters, Result], options: Mapping[str, object]) -> None:
        self.plain = plain
        self._options = options
        self._dispatcher: Any = None
        # Before this time it is not looked again whether it is compiled.
        self._look_at = 0.0
        self.run: Callable[Parameters, Result] = self._try
        _registry.kernels.append(self)

    def _try(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Interpret the call, unless that would take long or has taken long already."""
        lines = max((len(arg) for arg in args if isinstance(arg, np.ndarray)), default=0)
        if lines > LARGE:
            compile_soon()
        compiled = self.if_ready(*args, **kwargs)
        if compiled is not None:
            self.run = compiled
            return compiled(*args, **kwargs)
        begin = perf_counter()
        result = self.interpret(*args, **kwargs)
        _registry.seconds += perf_counter() - begin
        return result

    def if_ready(
        self, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Callable[Parameters, Result] | None:
        """The compiled function, if there is work for it and it is ready for such arguments.

        If it is not compiled yet that begins in the background, where this is possible.
        """
        if not has_work() or monotonic() < self._look_at or not _registry.has_numba:
            return None
        if self._dispatcher is None:
            self._dispatcher = _registry.dispatcher(self.plain, self._options)
        if not self._is_cached(args) and self._begin(args):
            self._look_at = monotonic() + _LOOK_AGAIN
            return None
        _registry.welcome(self._name)
        compiled: Callable[Parameters, Result] = self._dispatcher
        return compiled

    @property
    def _name(self) -> str:
        return f"{self.plain.__module__}.{self.plain.__name__}"

    def _is_cached(self, args: tuple[Any, ...]) -> bool:
        """Can the compiled function be loaded? If what was kept is damaged, it is removed."""
        try:
            return is_cached(self._dispatcher, _registry.types_of(args))
        except Exception as error:
            _registry.complain(f"{self.plain.__name__} is damaged and compiled again: {error!r}")
            discard_cached(self._dispatcher)
            return False

    def _begin(self, args: tuple[Any, ...]) -> bool:
        """Have the function compiled in the background; False if that is impossible."""
        background = _registry.background
        if background is None or not is_kept(self._dispatcher):
            return False
        types = _registry.types_of(args)
        begun = background.request(self.plain.__module__, self.plain.__name__, types)
        if begun:
            _registry.await_kernel(self._name)
        return begun

    def compile_for(self, types: tuple[Any, ...]) -> None:
        """Compile the function for Numba's types of arguments, unless it is in the cache."""
        if not _registry.has_numba:
            return
        dispatcher = _registry.dispatcher(self.plain, self._options)
        if not is_cached(dispatcher, types):
            dispatcher.compile(types)

    def compiled(self) -> Callable[Parameters, Result]:
        """The compiled function, for which the first call may have to wait; or the interpreted one,
        without Numba."""
        if not _registry.has_numba:
            return self.interpret
        found: Callable[Parameters, Result] = _registry.dispatcher(self.plain, self._options)
        return found

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
    _registry.add_helper(function, _WITHOUT_REFCOUNTS)
    return function


def maker(function: Function) -> Function:
    """Let kernels call a function that allocates arrays."""
    _registry.add_helper(function, {"inline": "never"})
    return function


def inlined(function: Function) -> Function:
    """Let kernels call a small function that is inlined."""
    _registry.add_helper(function, {"inline": "always"})
    return function
