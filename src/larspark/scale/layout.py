"""How a run is laid out: the cuts that it may use, and how many pieces it is cut into."""

from dataclasses import replace
from typing import NamedTuple

from larspark.base.problems import LarsparkError, Problem
from larspark.scale.cuts import Cuts
from larspark.scale.grid import (
    Grid,
    choose_shards,
    choose_slices,
    short_overlap,
    slice_starts,
    wanted_pieces,
)
from larspark.scale.survey import Survey


class Wish(NamedTuple):
    """How many shards and slices a user asks for; None leaves it to the data."""

    shards: int | None = None
    slices: int | None = None


def allowed_cuts(cuts: Cuts, hindsight: bool, wish: Wish) -> Cuts:
    """The cuts that a run may use; what was asked for and cannot be is refused."""
    if hindsight:
        ahead = "with hindsight an answer can look at the whole future"
        cuts = replace(cuts, lookback=None, time_obstacles=(*cuts.time_obstacles, ahead))
    problems = []
    for name, number in zip(("shards", "slices"), wish, strict=True):
        if number is not None and number < 1:
            problems.append(Problem("L482", f"{name} cannot be {number}", hint="1 or more"))
    if wish.shards is not None and wish.shards > 1 and cuts.key is None and not cuts.stages:
        problems.append(_impossible("shards", cuts.key_obstacles))
    if wish.slices is not None and wish.slices > 1 and cuts.lookback is None:
        problems.append(_impossible("slices", cuts.time_obstacles))
    if problems:
        raise LarsparkError(problems)
    return cuts


class Room(NamedTuple):
    """How many tasks run at a time, and how many shards may read all facts, each by itself."""

    tasks: int
    readers: int = 1


def lay_out(cuts: Cuts, wish: Wish, seen: Survey, first: int, last: int, room: Room) -> Grid:
    """The grid of a run over [first, last], chosen from the data where nobody wished for it.

    More than one shard without a key for the whole program means stages.
    """
    wanted = wanted_pieces(seen.facts, room.tasks)
    length = last - first + 1
    shards, slices = wish
    if shards is None:
        keyed = cuts.key is not None or cuts.stages_pay
        shards = choose_shards(wanted, seen.buckets) if keyed else 1
        sliced = cuts.lookback is not None and short_overlap(wanted, length, cuts.lookback)
        if cuts.key is None and cuts.lookback is not None:
            # Slices are simpler than stages, so stages are for what slices cannot do.
            sliced |= choose_slices(wanted, 1, (), length, cuts.lookback) >= wanted
        at_once = cuts.key is not None and _at_once(wanted, shards, room)
        if slices is None and sliced and not at_once:
            shards = 1
    if slices is None:
        slices = 1
        if cuts.lookback is not None:
            slices = choose_slices(wanted, shards, seen.buckets, length, cuts.lookback)
    starts = slice_starts(first, last, slices, seen.times, seen.weights)
    return Grid(shards, starts, last, cuts.lookback or 0)


def _at_once(wanted: int, shards: int, room: Room) -> bool:
    """Are even shards worked on all at once, each reading for itself?

    Then nothing is shuffled, and other than those of slices their answers need no joining.
    """
    return 1 < wanted == shards <= min(room)


def _impossible(what: str, obstacles: tuple[str, ...]) -> Problem:
    message = f"the program cannot be cut into {what}"
    return Problem("L482", message, hint="; ".join(obstacles))
