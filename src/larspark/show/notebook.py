"""What notebooks show: streams and answers as pictures."""

from collections.abc import Iterable

from larspark.base.atoms import Atom
from larspark.show.svg import safe
from larspark.show.timeline import timeline
from larspark.show.timeline_svg import timeline_svg


def stream_html(elements: Iterable[tuple[int, Atom]], note: str = "") -> str:
    """A stream as a timeline, with a line of text below; for `_repr_html_`."""
    return answers_html(elements, (), note)


def answers_html(
    elements: Iterable[tuple[int, Atom]],
    intervals: Iterable[tuple[Atom, int, int]],
    note: str = "",
) -> str:
    """Facts and the intervals of answers as a timeline; for `_repr_html_`.

    >>> print(answers_html([], [], "nothing <yet>").splitlines()[-1])
    <p>nothing &lt;yet&gt;</p>
    """
    below = f"\n<p>{safe(note)}</p>" if note else ""
    return f"{timeline_svg(timeline(elements, intervals)).rstrip()}{below}"
