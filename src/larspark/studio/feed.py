"""The batches of a stream, kept so that every version of a program reads them again."""

import threading
from collections.abc import Callable, Iterator

from larspark.base.facts import AnyBatch
from larspark.base.problems import LarsparkError
from larspark.feeds import Stream
from larspark.feeds.live import LiveStream
from larspark.show.timeline.tracks import Track, fact_tracks

# A live stream forgets its oldest facts when there are more.
KEPT_FACTS = 200_000
_WAIT_SECONDS = 0.1


class OutdatedError(Exception):
    """Nobody wants the answers any longer."""


class Feed:
    """Reads a stream once, in a thread of its own; runs read it from there."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.live = isinstance(stream, LiveStream)
        self.over = False
        self.failed: LarsparkError | None = None
        self._batches: list[AnyBatch] = []
        # So many batches were forgotten.
        self._forgotten = 0
        self._facts = 0
        self._tracks: tuple[int, list[Track]] = (-1, [])
        self._more = threading.Condition()
        threading.Thread(target=self._read, name="feed", daemon=True).start()

    def _read(self) -> None:
        try:
            for batch in self.stream.batches():
                with self._more:
                    self._batches.append(batch)
                    self._facts += len(batch)
                    while self.live and self._facts > KEPT_FACTS and len(self._batches) > 1:
                        self._facts -= len(self._batches.pop(0))
                        self._forgotten += 1
                    self._more.notify_all()
        except LarsparkError as error:
            self.failed = error
        finally:
            with self._more:
                self.over = True
                self._more.notify_all()

    def stop(self) -> None:
        """Let a live stream end."""
        if isinstance(self.stream, LiveStream):
            self.stream.stop()

    def read(self, outdated: Callable[[], bool], idle: Callable[[], None]) -> Iterator[AnyBatch]:
        """All batches from the beginning; raises `OutdatedError` when nobody wants them.

        `idle` is called now and then while there are no more.
        """
        number = 0
        while not outdated():
            with self._more:
                number = max(number, self._forgotten)
                if number - self._forgotten >= len(self._batches) and not self.over:
                    self._more.wait(_WAIT_SECONDS)
                found = self._batches[number - self._forgotten :][:1]
                over = self.over
            if found:
                number += 1
                yield found[0]
            elif over:
                break
            else:
                idle()
        else:
            raise OutdatedError
        if self.failed is not None:
            raise self.failed

    def known(self) -> list[AnyBatch]:
        """The batches that were read so far and are not forgotten."""
        with self._more:
            return list(self._batches)

    @property
    def heard(self) -> int:
        """How many batches were read."""
        return self._forgotten + len(self._batches)

    def tracks(self) -> list[Track]:
        """The facts that were read so far, as columns."""
        with self._more:
            version = self.heard
            batches = list(self._batches)
        if version != self._tracks[0]:
            self._tracks = version, fact_tracks(batches)
        return self._tracks[1]
