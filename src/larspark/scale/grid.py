"""The grid of a run: shards of keys times slices of time, chosen from the survey of the data."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from larspark.base.problems import LarsparkError, Problem
from larspark.scale.cuts import Cuts
from larspark.scale.survey import Survey

# A piece with fewer facts is not worth a task of its own.
SMALL_PIECE = 50_000
# A task holds its piece in memory.
LARGE_PIECE = 2_500_000
# Shorter slices, in lookbacks, spend more on the overlap than they gain.
_LOOKBACKS = 4
# Longer slices, in lookbacks, read few facts twice.
_MANY_LOOKBACKS = 10
# With fewer keys an engine needs longer per fact: its batches are limited in time.
_MANY_KEYS = 256
# A shard that exceeds its fair share by this factor delays all others.
_UNEVEN = 1.2


@dataclass(frozen=True, slots=True)
class Grid:
    """Shards times slices of [first, last]; `starts` are the first time points of the slices.

    >>> grid = Grid(2, (10, 20, 30), last=35, lookback=5)
    >>> grid.pieces, grid.shard(4), grid.slice(4)
    (6, 1, (20, 29))
    """

    shards: int
    starts: tuple[int, ...]
    last: int
    lookback: int

    @property
    def pieces(self) -> int:
        return self.shards * len(self.starts)

    def shard(self, piece: int) -> int:
        return piece // len(self.starts)

    def slice(self, piece: int) -> tuple[int, int]:
        """The first and the last time point that a piece gives answers for."""
        number = piece % len(self.starts)
        after = self.starts[number + 1 :]
        return self.starts[number], after[0] - 1 if after else self.last

    def timeline_start(self, piece: int) -> int:
        """The start of the timeline of a piece: its slice and the lookback before it."""
        return max(self.starts[0], self.slice(piece)[0] - self.lookback)


def wanted_pieces(facts: int, parallelism: int) -> int:
    """How many pieces keep all cores busy and are neither tiny nor too large for memory.

    >>> wanted_pieces(1_000, 8), wanted_pieces(200_000, 8), wanted_pieces(30_000_000, 8)
    (1, 4, 16)
    """
    if facts // SMALL_PIECE < parallelism:
        return max(1, facts // SMALL_PIECE)
    # As many rounds as memory requires, each with work for every core.
    return parallelism * ceil(facts / (LARGE_PIECE * parallelism))


def choose_shards(wanted: int, buckets: Sequence[int]) -> int:
    """The number of shards: the wanted pieces, or twice as many where keys are skewed.

    >>> choose_shards(2, [10] * 1024), choose_shards(2, [500, 10, 10, 10]), choose_shards(8, [5, 0])
    (2, 4, 1)
    """
    occupied = sum(count > 0 for count in buckets)
    if wanted == 1 or occupied <= 1:
        return 1
    loads = _loads(buckets, wanted)
    even = loads.max() <= _UNEVEN * loads.sum() / wanted
    return min(wanted if even else 2 * wanted, occupied)


def short_overlap(slices: int, length: int, lookback: int) -> bool:
    """Is a timeline so long that its slices read few facts twice?

    >>> short_overlap(4, 1_000, 20), short_overlap(4, 1_000, 200)
    (True, False)
    """
    return length >= slices * _MANY_LOOKBACKS * lookback


def many_keys(shards: int, buckets: Sequence[int]) -> bool:
    """Does each shard have enough keys for its engine to be as fast as with all keys?

    >>> many_keys(2, [10] * 1024), many_keys(8, [10] * 1024), many_keys(2, [10] * 50)
    (True, False, False)
    """
    return sum(count > 0 for count in buckets) >= shards * _MANY_KEYS


def _loads(buckets: Sequence[int], shards: int) -> npt.NDArray[np.int64]:
    """The number of facts of each shard."""
    loads = np.zeros(shards, dtype=np.int64)
    np.add.at(loads, np.arange(len(buckets)) % shards, np.asarray(buckets, dtype=np.int64))
    return loads


def choose_slices(
    wanted: int, shards: int, buckets: Sequence[int], length: int, lookback: int
) -> int:
    """The number of slices of a timeline; with shards, as many as the largest shard needs.

    >>> choose_slices(4, 1, (), length=1_000, lookback=10)
    4
    >>> choose_slices(4, 8, [0] * 7 + [900_000], length=1_000, lookback=10)
    4
    >>> choose_slices(4, 8, [100_000] * 8, length=1_000, lookback=10)
    1
    """
    slices = wanted
    if shards > 1:
        loads = _loads(buckets, shards)
        fair = max(SMALL_PIECE, int(loads.sum()) // wanted)
        # Keys cannot be spread more evenly than this.
        slices = ceil(int(loads.max()) / fair) if loads.max() > 1.5 * fair else 1
    return max(1, min(slices, length // max(1, _LOOKBACKS * lookback)))


def slice_starts(
    first: int, last: int, slices: int, times: Sequence[int], weights: Sequence[int]
) -> tuple[int, ...]:
    """The starts of at most `slices` slices that hold about the same number of facts each.

    `times` are a sample of the facts' times, each representing `weights` facts.

    >>> slice_starts(0, 99, 4, range(0, 100, 10), [1] * 10)
    (0, 20, 40, 70)
    """
    if slices <= 1 or last <= first:
        return (first,)
    inside = sorted((t, w) for t, w in zip(times, weights, strict=True) if first <= t <= last)
    if not inside:
        step = (last - first + 1) / slices
        return tuple(sorted({first + int(number * step) for number in range(slices)}))
    upto = np.cumsum([weight for _, weight in inside]).tolist()
    shares = [upto[-1] * number / slices for number in range(1, slices)]
    starts = {inside[min(bisect_left(upto, share), len(inside) - 1)][0] for share in shares}
    return tuple(sorted({first, *starts}))


class RequestedCuts(NamedTuple):
    """The numbers of shards and slices that the user requests; None: chosen from the data."""

    shards: int | None = None
    slices: int | None = None


def allowed_cuts(cuts: Cuts, hindsight: bool, requested: RequestedCuts) -> Cuts:
    """The cuts that a run may use; a requested cut that is impossible is an error."""
    if hindsight:
        ahead = "with hindsight an answer can depend on the whole future"
        cuts = replace(cuts, lookback=None, time_obstacles=(*cuts.time_obstacles, ahead))
    problems = []
    for name, number in zip(("shards", "slices"), requested, strict=True):
        if number is not None and number < 1:
            problems.append(Problem("L482", f"{name} cannot be {number}", hint="1 or more"))
    if (
        requested.shards is not None
        and requested.shards > 1
        and cuts.key is None
        and not cuts.stages
    ):
        problems.append(_impossible("shards", cuts.key_obstacles))
    if requested.slices is not None and requested.slices > 1 and cuts.lookback is None:
        problems.append(_impossible("slices", cuts.time_obstacles))
    if problems:
        raise LarsparkError(problems)
    return cuts


def choose_grid(
    cuts: Cuts, requested: RequestedCuts, survey: Survey, first: int, last: int, parallelism: int
) -> Grid:
    """The grid of a run over [first, last], chosen from the data unless requested.

    Without a key for the whole program, more than one shard means stages.
    """
    wanted = wanted_pieces(survey.facts, parallelism)
    length = last - first + 1
    shards, slices = requested
    if shards is None:
        keyed = cuts.key is not None or cuts.stages_pay
        shards = choose_shards(wanted, survey.buckets) if keyed else 1
        sliced = cuts.lookback is not None and short_overlap(wanted, length, cuts.lookback)
        if cuts.key is None and cuts.lookback is not None:
            # Slices are simpler than stages and preferred where they suffice.
            sliced |= choose_slices(wanted, 1, (), length, cuts.lookback) >= wanted
        at_once = cuts.key is not None and 1 < shards == wanted <= parallelism
        if slices is None and sliced and not (at_once and many_keys(shards, survey.buckets)):
            shards = 1
    if slices is None:
        slices = 1
        if cuts.lookback is not None:
            slices = choose_slices(wanted, shards, survey.buckets, length, cuts.lookback)
    starts = slice_starts(first, last, slices, survey.times, survey.weights)
    return Grid(shards, starts, last, cuts.lookback or 0)


def _impossible(what: str, obstacles: tuple[str, ...]) -> Problem:
    message = f"the program cannot be cut into {what}"
    return Problem("L482", message, hint="; ".join(obstacles))
