"""Connections that break are made again, after pauses that grow."""

from collections.abc import Callable

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live.inbox import Inbox
from larspark.feeds.live.traffic import Traffic

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0


def keep_connected(
    talk: Callable[[], None], where: str, inbox: Inbox, traffic: Traffic, retry: bool
) -> None:
    """Talk until the run ends: `talk` connects, calls `traffic.up`, and reads to the end.

    When it returns or fails the connection is gone, and it is called again after a pause. Without
    `retry` an orderly end of the connection is the end of the stream, and a failure is a problem.
    """
    pause = FIRST_PAUSE
    told = ""
    while not inbox.stopping.is_set():
        before = traffic.connections
        try:
            talk()
            why = "the other side closed it"
            failed = False
        except (OSError, UnicodeError) as error:
            # A name that no host can have is not even looked up.
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            failed = True
        if inbox.stopping.is_set():
            return
        was_up = traffic.connections > before
        if not retry:
            if failed:
                what = "the connection broke" if was_up else "cannot connect"
                raise LarsparkError(Problem("L321", f"{where}: {what}: {why}"))
            return
        if was_up:
            pause = FIRST_PAUSE
            told = ""
            traffic.broken(f"lost the connection to {where}: {why}; trying again")
        elif why != told:
            traffic.say(f"cannot connect to {where}: {why}; trying again until it works")
            told = why
        inbox.stopping.wait(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
