"""The clauses about streams of C-SPARQL, CQELS and RSP-QL, read into the inner form."""

import re
from collections.abc import Callable
from typing import NoReturn, cast, get_args
from urllib.parse import urljoin

from larspark.language.dialects.sparql.rdf_query import (
    Emission,
    Places,
    QueryToken,
    StreamQuery,
    StreamWindow,
    blanked,
    query_tokens,
)
from larspark.language.query_options import QueryOptions
from larspark.language.source import Source
from larspark.language.tokens import LONGEST_SIZE

_SECOND = 1_000_000
_UNITS = {
    "ms": 1_000,
    "s": _SECOND,
    "sec": _SECOND,
    "second": _SECOND,
    "seconds": _SECOND,
    "m": 60 * _SECOND,
    "min": 60 * _SECOND,
    "minute": 60 * _SECOND,
    "minutes": 60 * _SECOND,
    "h": 3_600 * _SECOND,
    "hour": 3_600 * _SECOND,
    "hours": 3_600 * _SECOND,
    "d": 86_400 * _SECOND,
    "day": 86_400 * _SECOND,
    "days": 86_400 * _SECOND,
}
_ISO_DURATION = re.compile(
    r"P(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,6})?)S)?)?",
    re.IGNORECASE,
)
_MAX_DIGITS = 12
AGGREGATES = ("count", "sum", "avg", "min", "max")


class StopReading(Exception):  # noqa: N818 - the problem has been reported
    """The query cannot be read on."""


class ClauseReader:
    """Reads the clauses of one query; `language` is its name in messages."""

    def __init__(self, source: Source, options: QueryOptions, language: str) -> None:
        self._source = source
        self._tick = options.tick.microseconds
        self._options = options
        self._language = language
        self._places = Places(source)
        self._tokens = query_tokens(source.text)
        self._at = 0
        self._base = ""
        self._prefixes = self._read_prologue()
        self.query = StreamQuery(source.text, first=options.first)

    # Tokens

    def _read_prologue(self) -> dict[str, str]:
        """The prefixes, and the base that relative IRIs behind it begin with."""
        found: dict[str, str] = {}
        for place, token in enumerate(self._tokens[:-1]):
            following = self._tokens[place + 1 : place + 3]
            if token.word == "base" and following[0].kind == "IRI":
                self._base = self._absolute(following[0].text[1:-1])
            elif token.word == "prefix" and [t.kind for t in following] == ["PREFIXED", "IRI"]:
                name, iri = following
                found[name.text[:-1]] = self._absolute(iri.text[1:-1])
        return found

    def _absolute(self, iri: str) -> str:
        if not self._base:
            return iri
        try:
            joined = urljoin(self._base, iri)
        except ValueError:
            return iri
        # An empty fragment is lost in joining.
        return f"{joined}#" if iri.endswith("#") and not joined.endswith("#") else joined

    def _peek(self, ahead: int = 0) -> QueryToken:
        place = self._at + ahead
        if place < len(self._tokens):
            return self._tokens[place]
        return QueryToken("END", "", len(self._source.text))

    def _before(self) -> str:
        return self._tokens[self._at - 1].word if self._at else ""

    def _next(self) -> QueryToken:
        token = self._peek()
        self._at += 1
        return token

    def report(self, code: str, message: str, token: QueryToken, hint: str = "") -> None:
        end = max(token.end, token.start + 1)
        self._source.report(code, message, self._places.span(token.start, end), hint)

    def _unexpected(self, expected: str) -> NoReturn:
        token = self._peek()
        found = f"found `{token.text[:24]}`" if token.text else "the query ends"
        self.report("L104", f"expected {expected}, {found}", token)
        raise StopReading

    def _word(self, *words: str) -> QueryToken | None:
        return self._next() if self._peek().word in words else None

    def _symbol(self, symbol: str) -> QueryToken:
        if self._peek().text != symbol:
            self._unexpected(f"`{symbol}`")
        return self._next()

    def _iri(self) -> tuple[str, QueryToken]:
        token = self._peek()
        if token.kind == "VARIABLE":
            self.refuse("a variable for a stream", token, "write a query for each stream")
            raise StopReading
        if token.kind == "IRI":
            iri = self._absolute(token.text[1:-1])
        elif token.kind == "PREFIXED":
            prefix, _, local = token.text.partition(":")
            if prefix not in self._prefixes:
                self.report("L151", f"there is no prefix `{prefix}:`", token)
                raise StopReading
            iri = self._prefixes[prefix] + local
        else:
            self._unexpected("an IRI such as `<http://example.org/stream>`")
        return iri, self._next()

    def refuse(self, what: str, token: QueryToken, hint: str = "") -> None:
        message = f"{self._language}: {what} is not supported"
        self.report("L150", message, token, hint)

    def _blank(self, start: int, end: int, by: str = "") -> None:
        self.query.sparql = blanked(self.query.sparql, start, end, by)

    # Durations and windows

    def _number(self, what: str) -> int:
        token = self._peek()
        if token.kind != "NUMBER":
            self._unexpected(what)
        if self._peek(1).text == ".":
            text = f"{token.text[:24]}.{self._peek(2).text[:24]}"
            self.report("L114", f"`{text}` is not a whole number", token)
            raise StopReading
        if len(token.text) > _MAX_DIGITS:
            self.report("L114", f"`{token.text[:24]}` is too large a number", token)
            raise StopReading
        self._next()
        return int(token.text)

    def _duration(self, what: str) -> int:
        """A number of time points, from `30 m`, `30m` or `PT30M`."""
        first = self._peek()
        iso = _ISO_DURATION.match(self._source.text, first.start) if first.kind == "WORD" else None
        if iso is not None and any(iso.groups()) and self._ends_at(iso.end()):
            # A fraction of a second is several tokens.
            while self._next().end < iso.end():
                pass
            days, hours, minutes = (int(part or 0) for part in iso.groups()[:3])
            seconds, _, fraction = (iso.group(4) or "0").partition(".")
            micros = (((days * 24 + hours) * 60 + minutes) * 60 + int(seconds)) * _SECOND
            micros += int(fraction.ljust(6, "0"))
        else:
            number = self._number(what)
            unit = self._peek()
            if unit.word not in _UNITS:
                hint = "the units are ms, s, m, h and d"
                self.report("L116", f"`{unit.text[:24]}` is no unit of time", unit, hint)
                raise StopReading
            self._next()
            micros = number * _UNITS[unit.word]
        points, rest = divmod(micros, self._tick)
        if rest or points == 0:
            tick = f"{self._tick / _SECOND:g} s"
            message = f"this is no whole number of time points, which last {tick}"
            self.report("L117", message, first, "`--tick` changes their length")
        if points >= 10**LONGEST_SIZE:
            self.report("L114", "this is too large a number of time points", first)
            return 1
        return max(points, 1)

    def _ends_at(self, end: int) -> bool:
        """Does a token end there?"""
        return any(token.end == end for token in self._tokens[self._at :])

    def _window(self, stream: str, graph: str | None) -> StreamWindow:
        """What stands in the brackets behind a stream."""
        opening = self._symbol("[")
        size: int | None = None
        slide, triples = 1, None
        if self._word("now"):
            size = 1
        elif self._word("all"):
            pass
        elif self._word("triples"):
            triples = self._number("how many triples")
        elif self._word("range"):
            if self._word("triples"):
                triples = self._number("how many triples")
            else:
                size = self._duration("how long the range is")
            if triples is not None and self._peek().word in ("step", "slide", "tumbling"):
                self.refuse(f"TRIPLES with {self._peek().text.upper()}", self._peek())
                self._skip_window()
            elif self._word("step", "slide"):
                slide = self._duration("how long the step is")
            elif self._word("tumbling"):
                slide = size or 1
        elif self._peek().word in ("elements", "item", "items", "rows", "from"):
            self.refuse(f"the window {self._peek().text.upper()}", self._peek(), "write RANGE")
            self._skip_window()
        else:
            self._unexpected("a window such as `RANGE 10 s`")
        closing = self._symbol("]")
        span = self._places.span(opening.start, closing.end)
        if triples == 0:
            self._source.report("L118", "a window has at least one triple", span)
        return StreamWindow(graph, stream, size, slide, triples, span)

    def _skip_window(self) -> None:
        while self._peek().text not in ("]", ""):
            self._next()

    def _register(self, kinds: tuple[str, ...]) -> str:
        """Blank out `REGISTER kind name [COMPUTED EVERY n u] AS`; returns the kind."""
        first = self._next()
        kind = self._word(*kinds)
        if kind is None:
            self._unexpected(" or ".join(f"`{word.upper()}`" for word in kinds))
        if self._peek().kind in ("IRI", "PREFIXED", "WORD", "STRING"):
            self._next()
        if self._word("computed"):
            self._word("every") or self._unexpected("`EVERY`")
            self.query.step = self._duration("how often it is computed")
        if self._peek().word == "under":
            hint = "add the rules of the regime to the translation"
            self.refuse("an entailment regime", self._peek(), hint)
            while (
                self._peek().word not in ("as", "select", "construct", "ask") and self._peek().text
            ):
                self._next()
        last = self._word("as")
        if last is None:
            self._unexpected("`AS`")
        self._blank(first.start, last.end)
        return kind.word

    def _dataset(self, first: QueryToken) -> None:
        """Blank out `FROM <graph>` or `FROM NAMED <graph>`."""
        named = self._word("named")
        iri, last = self._iri()
        (self.query.graphs if named is None else self.query.named_graphs).append(iri)
        self._blank(first.start, last.end)

    def read(self, clause: Callable[[QueryToken], bool]) -> StreamQuery:
        """Read all clauses; `clause` reads the one at a token, if one begins there."""
        while self._at < len(self._tokens):
            if not clause(self._peek()):
                self._next()
        self._bracket_aggregates()
        return self.query

    def _bracket_aggregates(self) -> None:
        """Put the brackets of SPARQL around `COUNT(?x) AS ?n`, as CQELS writes it."""
        depth, start = 0, None
        for place, token in enumerate(self._tokens):
            if token.text == "{" or token.word in ("from", "where"):
                break
            if depth == 0 and token.word in AGGREGATES:
                start = token.start
            depth += (token.text == "(") - (token.text == ")")
            ends = start is not None and token.kind == "VARIABLE"
            if ends and depth == 0 and self._tokens[place - 1].word == "as":
                self.query.inserted += [start or 0, token.end]
                start = None
        text = self.query.sparql
        for number, at in reversed(list(enumerate(self.query.inserted))):
            text = text[:at] + ")("[number % 2 == 0] + text[at:]
        self.query.sparql = text


class CSparqlClauses(ClauseReader):
    """`REGISTER QUERY q AS`, `FROM STREAM <s> [RANGE 10 s STEP 5 s]`, `FROM <graph>`."""

    def clause(self, token: QueryToken) -> bool:
        if token.word == "register":
            self._register(("query", "stream"))
        elif token.word == "from":
            self._next()
            if self._peek().word == "named" and self._peek(1).word == "stream":
                hint = "all streams are one graph: write FROM STREAM"
                self.refuse("FROM NAMED STREAM", self._next(), hint)
            if self._word("stream"):
                stream, _ = self._iri()
                window = self._window(stream, None)
                self.query.windows.append(window)
                self._blank(token.start, self._tokens[self._at - 1].end)
            else:
                self._dataset(token)
        else:
            return False
        return True

    def finish(self) -> StreamQuery:
        query = self.read(self.clause)
        timed = [window for window in query.windows if window.triples is None]
        if query.step is None:
            # Without COMPUTED EVERY the windows say when.
            query.arriving = [w.stream for w in query.windows if w.triples is not None]
            query.step = min((window.slide for window in timed), default=None)
        # At the time points of the reports a window ends, so that it need not hop.
        query.windows = [
            StreamWindow(w.graph, w.stream, w.size, 1, w.triples, w.span) for w in query.windows
        ]
        return query


class CqelsClauses(ClauseReader):
    """`STREAM <s> [RANGE 10 s] { ... }` in the pattern, `FROM NAMED <graph>`."""

    def clause(self, token: QueryToken) -> bool:
        if token.word == "register":
            self._register(("query", "stream"))
        elif token.word == "from":
            self._next()
            self._dataset(token)
        elif token.word == "stream":
            self._next()
            stream, at = self._iri()
            graph = f"w:{len(self.query.windows)}"
            window = self._window(stream, graph)
            if window.size is not None and window.slide > window.size:
                message = f"the slide leaves time points out: the range has {window.size}"
                self._source.report("L118", message, window.span)
            self.query.windows.append(window)
            self._blank(token.start, token.end, "GRAPH")
            self._blank(at.start, self._tokens[self._at - 1].end, f"<{graph}>")
        else:
            return False
        return True

    def finish(self) -> StreamQuery:
        query = self.read(self.clause)
        query.arriving = [window.stream for window in query.windows]
        query.emission = "rstream" if self._options.report_all else "istream"
        return query


class RspQlClauses(ClauseReader):
    """`REGISTER RSTREAM <out> AS`, `FROM NAMED WINDOW <w> ON <s> [...]`, `WINDOW <w> { ... }`."""

    def clause(self, token: QueryToken) -> bool:
        if token.word == "register":
            kinds: dict[str, Emission] = {
                "rstream": "rstream",
                "istream": "istream",
                "dstream": "dstream",
                "stream": "rstream",
                "query": "rstream",
            }
            self.query.emission = kinds[self._register(tuple(kinds))]
        elif token.word == "from":
            self._next()
            if self._peek().word == "named" and self._peek(1).word == "window":
                self._next()
                self._next()
                graph, _ = self._iri()
                self._word("on") or self._unexpected("`ON`")
                self._word("stream")
                stream, _ = self._iri()
                if any(window.graph == graph for window in self.query.windows):
                    self.report("L151", f"there are two windows `<{graph}>`", token)
                self.query.windows.append(self._window(stream, graph))
                self._blank(token.start, self._tokens[self._at - 1].end)
            else:
                self._dataset(token)
        elif token.word in get_args(Emission) and self._before() in ("select", "construct"):
            self.query.emission = cast(Emission, token.word)
            self._next()
            self._blank(token.start, token.end)
        elif token.word == "window":
            self._next()
            graph, at = self._iri()
            if all(window.graph != graph for window in self.query.windows):
                known = ", ".join(f"<{window.graph}>" for window in self.query.windows) or "none"
                message = f"there is no window `<{graph}>`"
                self.report("L151", message, at, f"the windows are {known}")
            self._blank(token.start, token.end, "GRAPH")
        else:
            return False
        return True

    def finish(self) -> StreamQuery:
        query = self.read(self.clause)
        timed = [window for window in query.windows if window.triples is None]
        if not timed:
            query.arriving = [window.stream for window in query.windows]
        else:
            query.step = min(window.slide for window in timed)
            query.before = query.step
        query.windows = [
            StreamWindow(w.graph, w.stream, w.size, 1, w.triples, w.span) for w in query.windows
        ]
        return query
