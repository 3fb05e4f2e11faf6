"""Settings of the C allocator for the command line."""

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
    """Make glibc keep freed memory, up to a limit, for the next time point.

    A time point may need some megabytes temporarily. By default glibc returns them to the system
    and gets them again, page by page, at the next time point, which took a quarter of the time with
    a hundred rules. Settings in the environment take precedence. Other C libraries are left alone.
    """
    chosen = {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"}
    if sys.platform != "linux" or chosen & os.environ.keys():
        return
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        # Setting either one disables glibc's dynamic adjustment of both.
        library.mallopt(_TRIM_THRESHOLD, _KEPT)
        library.mallopt(_MMAP_THRESHOLD, _FROM_HEAP)
