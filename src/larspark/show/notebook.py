"""What notebooks display: answers as HTML tables, streams as timelines."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from larspark import feeds
from larspark.base.atoms import Atom, atom_text
from larspark.base.facts import AnyBatch
from larspark.feeds.time_format import TimeFormat, TimeValue
from larspark.show.svg import safe
from larspark.show.timeline.picture import Picture, Scene, picture_stream


def answer_html(
    t: TimeValue,
    atoms: AbstractSet[Atom] | None,
    added: AbstractSet[Atom],
    removed: AbstractSet[Atom],
) -> str:
    """The output at a time point, one atom a row, with what has just begun and ended.

    >>> print(answer_html(3, {Atom("p", ("<b>",))}, set(), {Atom("q")}))
    <table>
    <tr><th>3</th><th></th></tr>
    <tr><td>p(&quot;&lt;b&gt;&quot;)</td><td></td></tr>
    <tr><td>q</td><td>ended</td></tr>
    </table>
    """
    if atoms is None:
        rows = [("no answer stream", "")]
    else:
        rows = [(text, "new" if new else "") for text, new in _texts(atoms, added)]
        rows += [(text, "ended") for text, _ in _texts(removed, removed)]
    cells = (f"<tr><td>{safe(text)}</td><td>{note}</td></tr>" for text, note in rows)
    return "\n".join(["<table>", f"<tr><th>{t}</th><th></th></tr>", *cells, "</table>"])


def _texts(atoms: AbstractSet[Atom], marked: AbstractSet[Atom]) -> list[tuple[str, bool]]:
    return sorted((atom_text(atom), atom in marked) for atom in atoms)


# More facts would not make the picture clearer, and reading them could take minutes.
FACTS_SHOWN = 20_000


class Stream(feeds.Stream):
    """A stream that notebooks draw as a timeline."""

    def _repr_html_(self) -> str | None:
        picture = self._picture()
        return None if picture is None else picture._repr_html_()

    def _repr_svg_(self) -> str | None:
        picture = self._picture()
        return None if picture is None else picture.to_svg()

    def _picture(self) -> Picture | None:
        # A source that can be read only once is not read for display.
        if not self.lasting:
            return None
        # Another stream, so that the counts of the last read stay as they are.
        stream = self._again(self.options)
        times = TimeFormat(self.options.tick, applies=lambda: stream.timestamps)
        return picture_stream(_beginning(stream), Scene(), times)


def _beginning(stream: feeds.Stream) -> Iterator[AnyBatch]:
    """The first facts of a stream."""
    seen = 0
    for batch in stream.batches():
        yield batch
        seen += len(batch)
        if seen >= FACTS_SHOWN:
            return
