"""Text of stream queries to RSP-QL, the inner form: windows by name, a pattern, and reports.

The clauses about streams are blanked out of the text, so that places in the SPARQL that remains
stay places in the whole text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from larspark.base.problems import Span
from larspark.language.source import Source

Emission = Literal["rstream", "istream", "dstream"]


@dataclass(frozen=True, slots=True)
class StreamWindow:
    """A window over a stream.

    It holds `size` time points up to now, `slide` is how often it moves; with `triples` it holds so
    many triples. `size` None is the whole past. `graph` is its name in the pattern; None: its
    triples belong to the default graph.
    """

    graph: str | None
    stream: str
    size: int | None
    slide: int
    triples: int | None
    span: Span


@dataclass(slots=True)
class StreamQuery:
    """A query for streams: the SPARQL in it, and what the clauses about streams say.

    It reports every `step` time points from `first` on, and when triples of the streams `arriving`
    arrive. `before` is how many time points ago a new answer must not have been there.
    """

    sparql: str
    windows: list[StreamWindow] = field(default_factory=list)
    # Static graphs: those of the default graph, and those that the pattern names.
    graphs: list[str] = field(default_factory=list)
    named_graphs: list[str] = field(default_factory=list)
    emission: Emission = "rstream"
    step: int | None = None
    first: int = 0
    arriving: list[str] = field(default_factory=list)
    before: int = 1
    # Where brackets were put into the text of the query.
    inserted: list[int] = field(default_factory=list)


_TOKEN = re.compile(
    r"""
      (?P<SPACE>\s+|\#[^\n]*)
    | (?P<IRI><[^<>"{}|^`\\\s]*>)
    | (?P<STRING>\"\"\"(?:[^"\\]|\\.|"(?!""))*\"\"\"|'''(?:[^'\\]|\\.|'(?!''))*'''
        |"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<VARIABLE>[?$]\w+)
    | (?P<PREFIXED>[A-Za-z][\w.-]*:[\w.:%-]*|:[\w.:%-]*|_:[\w.-]+)
    | (?P<WORD>@?[A-Za-z_][\w-]*)
    | (?P<NUMBER>[0-9]+)
    | (?P<SYMBOL>\^\^|&&|\|\||!=|<=|>=|.)
    """,
    re.VERBOSE | re.DOTALL,
)


class QueryToken(NamedTuple):
    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def word(self) -> str:
        """The word in lower case; empty for anything else."""
        return self.text.lower() if self.kind == "WORD" else ""


def query_tokens(text: str) -> list[QueryToken]:
    """The tokens of a query without spaces and comments."""
    return list(_tokens(text))


def _tokens(text: str) -> Iterator[QueryToken]:
    position = 0
    while match := _TOKEN.match(text, position):
        position = match.end()
        if match.lastgroup != "SPACE":
            yield QueryToken(match.lastgroup or "", match.group(), match.start())


class Places:
    """Spans in a text by offsets."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def span(self, start: int, end: int) -> Span:
        text = self._source.text
        return Span(self._source.name, *_place(text, start), *_place(text, end))


def _place(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def blanked(text: str, start: int, end: int, by: str = "") -> str:
    """The text with a stretch replaced by `by` and spaces; line ends stay."""
    kept = "".join("\n" if character == "\n" else " " for character in text[start + len(by) : end])
    return text[:start] + by + kept + text[end:]
