"""Streams that notebooks can show."""

from collections.abc import Iterator

from larspark import feeds
from larspark.base.facts import AnyBatch
from larspark.show.picture import Scene, picture_stream

# A picture of more facts would show nothing more, and a notebook should not read for minutes.
FACTS_SHOWN = 20_000


class Stream(feeds.Stream):
    """Facts in the order of their time, which notebooks draw as a timeline."""

    def _repr_svg_(self) -> str | None:
        # What can be read only once is not read just to be looked at.
        if not self.lasting:
            return None
        return picture_stream(self._beginning(), Scene(), self.options.tick).to_svg()

    def _beginning(self) -> Iterator[AnyBatch]:
        """The first facts, read without touching the counts of the last reading."""
        seen = 0
        for batch in self._again(self.options).batches():
            yield batch
            seen += len(batch)
            if seen >= FACTS_SHOWN:
                return
