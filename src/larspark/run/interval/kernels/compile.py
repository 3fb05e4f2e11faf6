"""How a kernel is compiled, and how it runs where Numba is missing.

A kernel is a plain Python function over arrays of 64-bit integers. With Numba (`larspark[fast]`)
it is compiled once and kept in Numba's cache; without, Python runs it as it stands, some hundred
times slower.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

try:
    import numba
except ImportError:
    COMPILED = False
else:
    COMPILED = True

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def kernel(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a function that Python code calls."""
    if COMPILED:
        compiled: Callable[Parameters, Result] = numba.njit(cache=True, nogil=True)(function)
        return compiled

    @wraps(function)
    def interpreted(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        # Hashes wrap around, which compiled code does silently.
        with np.errstate(over="ignore"):
            return function(*args, **kwargs)

    return interpreted


def helper(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile a function that only kernels call."""
    if COMPILED:
        compiled: Callable[Parameters, Result] = numba.njit(inline="always")(function)
        return compiled
    return function
