"""The process in the background that compiles kernels: `python -m ...compile_worker PARENT`.

It reads requests from standard input (see `background_compiler`) until that ends.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from larspark.run.interval.kernels.compile import Kernel
from larspark.run.interval.kernels.compiled_cache import cache_folder

PACKAGE = Kernel.__module__.rpartition(".")[0]
# Programs that run meanwhile come first.
_NICE = 5
_POLL_SECONDS = 0.1


def main() -> None:
    """Compile what is requested."""
    with suppress(AttributeError, OSError):
        os.nice(_NICE)
    parent = int(sys.argv[1])
    for line in sys.stdin:
        compile_kernel(line, parent)


def compile_kernel(line: str, parent: int | None = None) -> None:
    """Compile a kernel unless it is in the cache: its module, its name, the types of arguments.

    `parent` is the process for which a worker of its own compiles.
    """
    module, name, *types = line.split()
    if not module.startswith(PACKAGE + "."):
        raise ValueError(f"{module} holds no kernels")
    found = getattr(import_module(module), name)
    if isinstance(found, Kernel):
        with _alone(parent):
            found.compile_for(tuple(map(_type, types)))


def _type(text: str) -> Any:
    """One of Numba's types, as `background_compiler.type_text` writes it."""
    from numba import types

    name, *shape = text.split(".")
    kind = types.boolean if name == "bool" else getattr(types, name)
    if not shape:
        return kind
    array: Any = types.Array
    return array(kind, int(shape[0]), shape[1], readonly="readonly" in shape)


@contextmanager
def _alone(parent: int | None) -> Iterator[None]:
    """Let no other process compile at the same time: it would compile the same.

    A worker whose parent has ended does not wait for its turn, so that many short runs in a row
    leave no more than one process behind.
    """
    try:
        import fcntl

        lock = (cache_folder() / "compiling.lock").open("w")
    except (ImportError, OSError):
        yield
        return
    with lock:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            if parent is not None and os.getppid() != parent:
                sys.exit()
            time.sleep(_POLL_SECONDS)
        yield


if __name__ == "__main__":
    main()
