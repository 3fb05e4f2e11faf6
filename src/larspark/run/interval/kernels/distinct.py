"""The kernel that finds elements which are there already."""

import numpy as np
from numpy.typing import NDArray

from larspark.run.interval.kernels.compile import kernel
from larspark.run.interval.kernels.layout import NONE, Ints, mix


@kernel
def first_arrivals(lines: Ints) -> NDArray[np.bool_]:
    """Which lines have no equal line before them."""
    size = 16
    while size < 2 * lines.shape[0]:
        size *= 2
    heads = np.full(size, NONE, np.int64)
    following = np.empty(lines.shape[0], np.int64)
    new = np.ones(lines.shape[0], np.bool_)
    for line in range(lines.shape[0]):
        state = 0
        for column in range(lines.shape[1]):
            state = mix(state, lines[line, column])
        bucket = state & (size - 1)
        other = heads[bucket]
        while other != NONE and new[line]:
            same = True
            for column in range(lines.shape[1]):
                if lines[line, column] != lines[other, column]:
                    same = False
                    break
            if same:
                new[line] = False
            other = following[other]
        following[line] = heads[bucket]
        heads[bucket] = line
    return new
