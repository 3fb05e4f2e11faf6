"""RDF from files: streams of triples, and static graphs as background data.

Streams are N-Quads, each line with its time in front (`36 <s> <p> <o> .`), or with a
`prov:generatedAtTime` for each graph, or JSON Lines: `{"t": 36, "triple": ["<s>", "<p>", 3]}`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from larspark.base.atoms import Atom
from larspark.base.facts import AnyBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.base.rdf_terms import DATA, STREAMED, iri_text, literal_constant
from larspark.base.terms import Constant
from larspark.feeds.byte_source import Source, line_blocks, text_of
from larspark.feeds.formats.jsonl import JsonLines, Times
from larspark.feeds.ground_atoms import value_constant
from larspark.feeds.ordering import Arrival, Blocks, row_batches
from larspark.feeds.reading import OnError, Options, Reading, Refused
from larspark.feeds.stream import Stream
from larspark.feeds.time_options import DurationLike, reading_options
from larspark.feeds.times import time_point

GRAPH_FORMATS = {
    ".ttl": "turtle",
    ".n3": "n3",
    ".nt": "nt",
    ".rdf": "xml",
    ".xml": "xml",
    ".owl": "xml",
    ".nq": "nquads",
    ".trig": "trig",
}
_GENERATED = "http://www.w3.org/ns/prov#generatedAtTime"
_TIME = re.compile(r"\s*(?:\"([^\"]*)\"|([0-9][^\s<]*))\s+(?=[<_])")
_KEYS = {"t", "triple", "stream"}


def is_rdf(place: str) -> bool:
    """Is it a file of RDF, by its suffix?"""
    return Path(place).suffix.lower() in GRAPH_FORMATS


def read_graph(place: str, graph: str) -> Iterator[Atom]:
    """The triples of a file as facts `g(S, P, O, Graph)`."""
    rdflib = _rdflib(place)
    form = GRAPH_FORMATS[Path(place).suffix.lower()]
    source = Source(place)
    base = Path(place).resolve().as_uri()
    with source.open() as file:
        data = file.read()
    try:
        found = rdflib.Dataset(default_union=True) if form in ("nquads", "trig") else None
        parsed = found if found is not None else rdflib.Graph()
        parsed.parse(data=data, format=form, publicID=base)
    except Exception as error:
        # The parsers of rdflib raise exceptions of many kinds.
        why = str(error).strip().split("\n")[0][:200]
        problem = Problem("L316", f"{place} is no {form}: {why}")
        raise LarsparkError(problem) from None
    for subject, predicate, object_ in parsed.triples((None, None, None)):
        terms = tuple(_constant(term) for term in (subject, predicate, object_))
        yield Atom(DATA, (*terms, graph))


def read_triples(
    place: str,
    stream: str | None,
    *,
    tick: int | None = None,
    on_error: OnError = "fail",
    lateness: DurationLike = 0,
) -> Stream:
    """A stream of triples as facts `i(S, P, O, Stream)`; without a name graphs are streams."""
    _rdflib(place)
    source = Source(place)
    options = reading_options(tick, on_error, lateness)

    def reader(options: Options, reading: Reading) -> Iterator[AnyBatch]:
        with source.open() as file:
            lines = _Lines(stream, options)
            reading.timestamps = lambda: lines.timestamps
            blocks = lines.blocks(file, source.name)
            yield from row_batches(blocks, source.name, options, reading)

    return Stream(source.name, reader, options, lasting=source.lasting)


def _rdflib(place: str) -> Any:
    try:
        import rdflib
    except ImportError:
        message = f"{place} is RDF, and the package rdflib is not installed"
        hint = "pip install 'larspark[rdf]'"
        raise LarsparkError(Problem("L323", message, hint=hint)) from None
    return rdflib


def _constant(term: Any) -> Constant:
    import rdflib

    if isinstance(term, rdflib.URIRef):
        return iri_text(str(term))
    if isinstance(term, rdflib.BNode):
        return f"_:{term}"
    datatype = None if term.datatype is None else str(term.datatype)
    return literal_constant(str(term), datatype, term.language)


class _Lines:
    """Parses the lines of a stream; the times of graphs are kept until their triples come."""

    def __init__(self, stream: str | None, options: Options) -> None:
        from rdflib.plugins.parsers.ntriples import W3CNTriplesParser

        self._stream = stream
        self._options = options
        self._parser = W3CNTriplesParser()
        self._nodes: dict[str, Any] = {}
        self._atoms = JsonLines(options, Times.REQUIRED)
        # Whether times were timestamps, and not integers.
        self.timestamps = False
        self._times: dict[str, int] = {}
        # Triples of graphs whose time is not known yet.
        self._waiting: dict[str, list[tuple[Atom, int]]] = {}

    def blocks(self, file: BinaryIO, source: str) -> Blocks:
        number = 1
        for lines in line_blocks(file):
            yield list(self._arrivals(lines, number, source))
            number += len(lines)
        for graph, waiting in self._waiting.items():
            for _, line in waiting[:1]:
                message = f"the graph {graph} has no time"
                hint = f"write its <{_GENERATED}>, or times in front of the lines"
                yield [Refused("L310", message, hint).at(source, line)]

    def _arrivals(
        self, lines: list[bytes | None], first: int, source: str
    ) -> Iterator[Arrival | Problem]:
        for number, line in enumerate(lines, first):
            shown = (line or b"").decode(errors="replace")
            try:
                text = text_of(line).strip()
                if text.startswith("{"):
                    record = self._record(text)
                    if "triple" in record or set(record) <= {"t"}:
                        yield self._triple(record, number)
                    else:
                        # A line of atoms.
                        yield from self._atoms.arrivals([line], number, source)
                elif text and not text.startswith("#"):
                    yield from self._quad(text, number)
            except Refused as refused:
                yield refused.at(source, number, shown)

    def _point(self, written: object) -> int:
        self.timestamps = self.timestamps or isinstance(written, str)
        return time_point(written, self._options.tick, zone=self._options.local)

    def _record(self, text: str) -> dict[str, Any]:
        try:
            record = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise Refused("L308", f"not JSON: {error.msg}", offset=error.pos) from None
        if not isinstance(record, dict):
            raise Refused("L308", "the line is no object")
        return record

    def _triple(self, record: dict[str, Any], number: int) -> Arrival:
        if "t" not in record:
            raise Refused("L309", "the key `t` is missing")
        t = self._point(record["t"])
        if set(record) == {"t"}:
            return t, (), number
        triple = record.get("triple")
        unknown = sorted(set(record) - _KEYS)
        if unknown or not isinstance(triple, list) or len(triple) != 3:
            example = '{"t": 36, "triple": ["<http://a>", "<http://b>", 3]}'
            raise Refused("L309", "a line has a time and a triple", f"write {example}")
        stream = record.get("stream", self._stream)
        if not isinstance(stream, str):
            raise Refused("L309", "the key `stream` is missing", "or name it: --stream NAME=FILE")
        name = stream if stream.startswith("<") else iri_text(stream)
        terms = tuple(value_constant(value) for value in triple)
        return t, (Atom(STREAMED.predicate, (*terms, name)),), number

    def _quad(self, text: str, number: int) -> Iterator[Arrival]:
        timed = _TIME.match(text)
        t = None
        if timed is not None:
            written = timed[1] if timed[1] is not None else timed[2]
            t = self._point(int(written) if written.isdigit() else written)
            text = text[timed.end() :]
        subject, predicate, object_, graph = self._parsed(text)
        if t is None and str(predicate) == _GENERATED:
            name = str(subject)
            self._times[name] = self._point(_moment(str(object_)))
            for atom, line in self._waiting.pop(name, ()):
                yield self._times[name], (atom,), line
            return
        stream = self._stream if self._stream is not None else None if graph is None else str(graph)
        if stream is None:
            raise Refused("L309", "the quad has no graph", "name it: --stream NAME=FILE")
        terms = tuple(_constant(term) for term in (subject, predicate, object_))
        atom = Atom(STREAMED.predicate, (*terms, iri_text(stream)))
        if t is not None:
            yield t, (atom,), number
        elif graph is None:
            hint = "write it in front: `36 <s> <p> <o> .`"
            raise Refused("L310", "the time is missing", hint)
        elif str(graph) in self._times:
            yield self._times[str(graph)], (atom,), number
        else:
            self._waiting.setdefault(str(graph), []).append((atom, number))

    def _parsed(self, text: str) -> tuple[Any, Any, Any, Any]:
        from rdflib.exceptions import ParserError
        from rdflib.plugins.parsers.ntriples import r_tail, r_wspace

        parser = self._parser
        parser.line = text
        try:
            subject = parser.subject(self._nodes)
            parser.eat(r_wspace)
            predicate = parser.predicate()
            parser.eat(r_wspace)
            object_ = parser.object(self._nodes)
            parser.eat(r_wspace)
            graph = parser.uriref() or parser.nodeid(self._nodes) or None
            parser.eat(r_tail)
        except (ParserError, ValueError) as error:
            why = str(error).split("\n")[0][:120]
            raise Refused("L316", f"the line is no quad: {why}") from None
        if parser.line:
            raise Refused("L316", "there is text after the quad")
        return subject, predicate, object_, graph


def _moment(text: str) -> int | str:
    return int(text) if text.isdigit() else text
