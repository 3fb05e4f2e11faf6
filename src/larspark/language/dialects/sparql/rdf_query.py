"""RSP-QL, the inner form: windows over streams by name, a pattern, and when to report what."""

from dataclasses import dataclass, field
from typing import Literal

from larspark.base.problems import Span

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

    It reports every `step` time points from `first` on, or with `arrivals` when triples of the
    streams arrive. `before` is how many time points ago a new answer must not have been there.
    """

    sparql: str
    windows: list[StreamWindow] = field(default_factory=list)
    # Static graphs: those of the default graph, and those that the pattern names.
    graphs: list[str] = field(default_factory=list)
    named_graphs: list[str] = field(default_factory=list)
    emission: Emission = "rstream"
    step: int | None = None
    first: int = 0
    arrivals: bool = False
    before: int = 1
