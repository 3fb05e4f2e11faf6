"""What a live source has met on its way, counted."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field


def _silent(text: str) -> None:
    """Nobody wants to hear."""


@dataclass(slots=True)
class Traffic:
    """The counts of a live source; one thread writes them, others may look.

    `lines` were read whole; `cut` lines ended in the middle when their connection did. `breaks` of
    a connection lasted `down` seconds in all. `again` messages were delivered a second time after
    a break. `forgotten` breaks are those after which the broker had kept nothing for us.
    """

    say: Callable[[str], None] = _silent
    connected: bool = False
    lines: int = 0
    cut: int = 0
    breaks: int = 0
    again: int = 0
    forgotten: int = 0
    connections: int = 0
    _down: float = 0.0
    _since: float | None = field(default=None)

    @property
    def down(self) -> float:
        """For how many seconds there was no connection after a break."""
        now = 0.0 if self._since is None else time.monotonic() - self._since
        return self._down + now

    def up(self, where: str) -> None:
        """A connection was made."""
        self.connected = True
        self.connections += 1
        if self._since is not None:
            seconds = time.monotonic() - self._since
            self._down += seconds
            self._since = None
            self.say(f"connected to {where} again after {seconds:.1f} s")

    def broken(self, why: str) -> None:
        """A connection that was made is gone."""
        self.connected = False
        self.breaks += 1
        self._since = time.monotonic()
        self.say(why)
