"""The clock of a run."""

from dataclasses import dataclass

from larspark.run.interval.kernels.layout import FOREVER


@dataclass(slots=True)
class Clock:
    """The timeline, and the evaluation times that are being worked on.

    Everything before `floor` is answered and final. The time points from `floor` to `last` are
    evaluated together.
    """

    start: int
    # Where the timeline ends; None: with the evaluation time; FOREVER: nowhere.
    end: int | None
    floor: int
    last: int
    # Is all of the input known at every evaluation time?
    hindsight: bool

    @property
    def is_open(self) -> bool:
        """Has the timeline no end?"""
        return self.end == FOREVER
