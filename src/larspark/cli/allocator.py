"""How the process of the command line deals with memory."""

import ctypes
import os
import sys
from contextlib import suppress

# Parameters of `mallopt`, as glibc numbers them.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_KEPT = 256 << 20
# The most that glibc allows.
_FROM_HEAP = 32 << 20


def keep_freed_memory() -> None:
    """Let the C library keep memory that was freed, up to some, for the next time point.

    What a time point needs for a moment can be some megabytes. glibc gives those back to the system
    when they are freed and gets them again, page by page, at the next time point: with a hundred
    rules that took a quarter of the time. Whoever sets it in the environment knows better, and
    other C libraries have their own ways.
    """
    chosen = {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"}
    if sys.platform != "linux" or chosen & os.environ.keys():
        return
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        # Setting one of them ends glibc's own adjustment of both.
        library.mallopt(_TRIM_THRESHOLD, _KEPT)
        library.mallopt(_MMAP_THRESHOLD, _FROM_HEAP)
