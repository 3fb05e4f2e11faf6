"""Opening of programs, streams and background data by the options of a command."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from larspark import api
from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem
from larspark.base.rdf_terms import STREAMED, iri_text
from larspark.cli.options import Layout, OnError, existing
from larspark.feeds import Stream, read_background
from larspark.feeds.mapping import Kind
from larspark.feeds.named_files import column_mapping, relation_columns, split_name
from larspark.feeds.rdf_files import is_rdf, read_graph, read_triples
from larspark.feeds.time_options import zone_option
from larspark.language import DIALECTS
from larspark.language.dialects import dialect_of
from larspark.language.tree import NamedData, Tick
from larspark.show.terminal import print_problems


def given_options(**options: str | None) -> dict[str, str]:
    """The options of a dialect that the user has given."""
    return {name: value for name, value in options.items() if value is not None}


def load_program(
    path: Path,
    dialect: str | None,
    allow: list[Path] | None = None,
    options: Mapping[str, str | None] | None = None,
    *,
    hindsight: bool = False,
) -> api.Program:
    """The program of a command; `options` are those of the dialect that the user has given.

    With hindsight, a language that has readings is read for that.
    """
    given = given_options(**(options or {}))
    known = dialect_of(path) if dialect is None else DIALECTS.get(dialect)
    if hindsight and known is not None and "reading" in known.options:
        given.setdefault("reading", "each")
    loaded = api.Program.load(path, dialect=dialect, allow=allow or (), **given)
    print_problems(loaded.warnings)
    return loaded


def background_facts(files: list[str] | None, named: Sequence[NamedData] = ()) -> list[Atom]:
    """The facts of background files, `site(text(id), name)=FILE` with names and types of columns.

    `NAME=FILE` is the data of a relation that a query names.
    """
    atoms: list[Atom] = []
    for text in files or ():
        name, place = split_name(text)
        if is_rdf(place):
            atoms += read_graph(place, _graph(name, place, named))
            continue
        if name is not None and "(" in name:
            atoms += api.facts(place, name)
            continue
        data = _relation(name, place, named)
        if data is None:
            atoms += read_background(Path(place))
            continue
        atoms += read_background(
            Path(place),
            data.signature,
            columns=relation_columns(place, data.columns),
            kinds=tuple(map(Kind, data.kinds)),
        )
    return atoms


def open_stream(
    places: list[str],
    mapping: str | None,
    tick: Tick | None,
    on_error: OnError | None,
    lateness: str,
    layout: Layout = Layout(),  # noqa: B008 - a named tuple cannot change
    named: Sequence[NamedData] = (),
    *,
    timezone: str | None = None,
) -> Stream:
    """The stream of the options; several files are merged by time.

    Timestamps without a zone are local times of `timezone`.
    """
    zone = zone_option(timezone)
    streams: list[Stream] = []
    for text in places:
        name, place = split_name(text)
        if place != "-":
            existing(Path(place))
        if mapping is None and place != "-" and _holds_triples(place, named):
            stream = _triples_of(name, named)
            duration = tick.microseconds if tick is not None else None
            triples = read_triples(
                place,
                stream,
                tick=duration,
                on_error=(on_error or OnError.FAIL).value,
                lateness=lateness,
            )
            streams.append(triples)
            continue
        own, data = mapping, None
        if mapping is None and place != "-":
            data = _data(name, named)
        if data is not None:
            own = column_mapping(place, data.signature.predicate, data.columns, data.kinds)
        microseconds = tick.microseconds if tick is not None else None
        streams.append(
            Stream.read(
                place,
                format=layout.format,
                map=own,
                delimiter=layout.delimiter,
                columns=layout.columns,
                tick=microseconds,
                on_error=(on_error or OnError.FAIL).value,
                lateness=lateness,
            )
        )
    if len(streams) == 1:
        return streams[0].in_zone(zone)
    merged = Stream.merge(*streams).with_tick(None if tick is None else tick.microseconds)
    return merged.in_zone(zone)


def _data(name: str | None, named: Sequence[NamedData]) -> NamedData | None:
    """The stream of a name; without a name that of a query that has only one."""
    if name is not None:
        return _named(name, named, is_stream=True)
    streams = [data for data in named if data.is_stream and data.columns]
    return streams[0] if len(streams) == 1 else None


def _relation(name: str | None, place: str, named: Sequence[NamedData]) -> NamedData | None:
    """The relation of a file: the one that is named, or the one with the name of the file."""
    if name is not None:
        return _named(name, named, is_stream=False)
    known = {data.name: data for data in named if not data.is_stream and data.columns}
    return known.get(Path(place).stem.lower())


def _holds_triples(place: str, named: Sequence[NamedData]) -> bool:
    """Is the file read as triples: RDF, or JSON Lines for a query over streams of triples?"""
    asked = any(data.is_stream and data.signature == STREAMED for data in named)
    return is_rdf(place) or (asked and Path(place).suffix in (".jsonl", ".ndjson"))


def _triples_of(name: str | None, named: Sequence[NamedData]) -> str | None:
    """The stream of a file of triples: the one that is named, or the only one of the query."""
    if name is not None:
        return _named(name, named, is_stream=True).name
    streams = [data.name for data in named if data.is_stream]
    return streams[0] if len(streams) == 1 else None


def _graph(name: str | None, place: str, named: Sequence[NamedData]) -> str:
    """The static graph of a file: the one that is named, or the only one of the query."""
    graphs = [data.name for data in named if not data.is_stream]
    if name is None and len(graphs) == 1:
        name = graphs[0]
    elif name is None:
        listed = ", ".join(f"`{graph}`" for graph in graphs)
        message = f"it is not clear which graph {place} is"
        hint = f"name it: --background NAME={place}; the program has {listed or 'none'}"
        raise LarsparkError(Problem("L327", message, hint=hint))
    else:
        name = _named(name, named, is_stream=False).name
    return name if name == "default" else iri_text(name)


def _named(name: str, named: Sequence[NamedData], *, is_stream: bool) -> NamedData:
    """The stream or relation of this name; an error names those that the program has."""
    of_kind = [data for data in named if data.is_stream is is_stream]
    for data in of_kind:
        if data.name.lower() == name.lower():
            return data
    kind = "stream" if is_stream else "relation"
    message = f"the program has no {kind} `{name}`"
    listed = ", ".join(f"`{data.name}`" for data in of_kind)
    hint = f"its {kind}s are {listed}" if listed else f"give the {kind} without a name"
    if not is_stream and not listed:
        hint += f", or with its columns: `--background '{name}(id, name)=FILE'`"
    raise LarsparkError(Problem("L327", message, hint=hint))
