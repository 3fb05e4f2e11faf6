"""Stream queries with rdflib: at each report the windows are graphs, and rdflib asks the query."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from rdflib import Dataset, Graph, Literal, URIRef

EX = "http://ex.org/"
Value = str | int | float
# Time, stream, and a triple of RDF terms.
Event = tuple[int, str, tuple[URIRef, URIRef, URIRef | Literal]]
Row = tuple[Value, ...]


@dataclass(frozen=True)
class Windowed:
    """A window: its graph in the query (empty: the default graph), stream, size, hop."""

    graph: str
    stream: str
    size: int
    slide: int = 1
    triples: int | None = None


@dataclass(frozen=True)
class Asked:
    """A query as text, as SPARQL for rdflib, its windows, and when it reports what."""

    dialect: str
    text: str
    sparql: str
    windows: tuple[Windowed, ...]
    step: int | None
    emission: str = "rstream"
    static_default: bool = False


def contents(window: Windowed, events: Sequence[Event], t: int) -> list[tuple]:
    rows = [(at, triple) for at, stream, triple in events if stream == window.stream and at <= t]
    if window.triples is not None:
        return [triple for _, triple in rows[-window.triples :]]
    pivot = t // window.slide * window.slide
    return [triple for at, triple in rows if pivot - window.size < at <= pivot]


def solutions(asked: Asked, events: Sequence[Event], static: Sequence[tuple], t: int) -> set[Row]:
    default = Graph()
    data = Dataset()
    for window in asked.windows:
        target = data.graph(URIRef(window.graph)) if window.graph else default
        for triple in contents(window, events, t):
            target.add(triple)
    for triple in static:
        data.graph(URIRef(EX + "static")).add(triple)
        if asked.static_default:
            default.add(triple)
    for triple in default:
        data.default_graph.add(triple)
    found = data.query(asked.sparql)
    if found.type == "ASK":
        return {()} if found.askAnswer else set()
    rows = {tuple("undef" if v is None else value(v) for v in row) for row in found}
    # rdflib leaves out solutions that bind nothing.
    return {row for row in rows if set(row) != {"undef"}}


def answers(
    asked: Asked, events: Sequence[Event], static: Sequence[tuple], times: range
) -> dict[int, set[Row]]:
    """The answers of each report."""
    streams = {window.stream for window in asked.windows}
    found: dict[int, set[Row]] = {}
    for t in times:
        arrived = any(at == t and stream in streams for at, stream, _ in events)
        if (t % asked.step == 0) if asked.step else arrived:
            now = solutions(asked, events, static, t)
            back = t - (asked.step or 1)
            then = solutions(asked, events, static, back) if back >= times.start else set()
            match asked.emission:
                case "istream":
                    now = now - then
                case "dstream":
                    now = then - now
            found[t] = now
    return found


def value(term: URIRef | Literal) -> Value:
    if isinstance(term, URIRef):
        return f"<{term}>"
    if term.language:
        return f'"{term}"@{term.language}'
    plain = term.toPython()
    if isinstance(plain, Decimal | float):
        return tidy(float(plain))
    if isinstance(plain, int) and not isinstance(plain, bool):
        return plain
    return str(term) if term.datatype is None else f'"{term}"^^<{term.datatype}>'


def tidy(number: float) -> int | float:
    """Without the last digits, in which decimal fractions and floats differ."""
    rounded = round(number, 9)
    return int(rounded) if rounded.is_integer() else rounded
