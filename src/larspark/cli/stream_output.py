"""Streams that commands find, written so that they can be read as streams."""

from collections.abc import Mapping

from rich.markup import escape

from larspark.base.atoms import Atom, atom_text
from larspark.show.terminal import Writer


def write_stream(out: Writer, stream: Mapping[int, frozenset[Atom]], last: int) -> None:
    """A line for each time point with atoms, and for the last one, where the timeline ends."""
    for t, atoms in sorted({**stream, last: stream.get(last, frozenset())}.items()):
        texts = sorted(map(atom_text, atoms))
        if out.people:
            out.line(f"[cyan]{t:>6}[/]  {escape('  '.join(texts))}")
        else:
            out.json({"t": t, "atoms": texts})
