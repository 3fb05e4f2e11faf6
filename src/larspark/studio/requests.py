"""The requests of the page by name: reads and actions. Values of requests are checked here."""

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, TypeAlias

from larspark.lsp.document import Document
from larspark.show.timeline.interactive import timeline_page
from larspark.studio.desk import (
    Desk,
    checked_fields,
    completion_fields,
    formatted,
    hover_text,
)
from larspark.studio.running import Places

_WIDEST = 20_000
_HYPOTHESES_SHOWN = 12


class Refused(Exception):  # noqa: N818 - it is an answer
    """A request that no page of ours makes."""


Query: TypeAlias = Mapping[str, str]
Fields: TypeAlias = Mapping[str, Any]


def _number(query: Query, name: str) -> int:
    try:
        return int(query[name])
    except (KeyError, ValueError) as error:
        raise Refused(f"`{name}` is no time point") from error


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise Refused(f"`{name}` is no text")
    return value


def _integer(fields: Fields, name: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Refused(f"`{name}` is no number")
    return value


def _model(query: Query) -> tuple[int, int] | None:
    """The answer stream that is shown in the place of what the run follows."""
    return (_number(query, "at_model"), _number(query, "model")) if "model" in query else None


def _state(desk: Desk, query: Query) -> Any:
    return {
        "text": desk.document.text,
        "saved": desk.saved,
        "path": None if desk.path is None else str(desk.path),
        "streams": list(desk.places.streams),
        "map": desk.places.mapping,
        **desk.summary(),
        "program": checked_fields(desk.document),
    }


def _timeline(desk: Desk, query: Query) -> Any:
    outcome = desk.outcome
    levels = outcome.levels(query.get("only", ""), _model(query))
    pixels = max(1, min(_WIDEST, _number(query, "pixels")))
    first, last = _number(query, "from"), _number(query, "to")
    return {"version": outcome.version, **levels.drawn(first, max(first, last), pixels)}


def _windows(desk: Desk, query: Query) -> Any:
    return desk.outcome.windows(query.get("predicate", ""), _number(query, "at"))


def _atoms(desk: Desk, query: Query) -> Any:
    outcome = desk.outcome
    levels = outcome.levels(query.get("only", ""), _model(query))
    return outcome.atoms(levels, _number(query, "row"), _number(query, "at"))


def _models(desk: Desk, query: Query) -> Any:
    return desk.models(_number(query, "at"))


def _hypotheses(desk: Desk, query: Query) -> Any:
    return desk.hypotheses(_number(query, "at"), _HYPOTHESES_SHOWN)


def _share(desk: Desk, query: Query) -> str:
    outcome = desk.outcome
    title = "timeline" if desk.path is None else desk.path.name
    tracks = (*outcome.facts, *outcome.derived)
    return timeline_page(tracks, outcome.times, title, desk.document.text)


def _program(desk: Desk, fields: Fields, uploads: str) -> Any:
    return desk.edit(_text(fields, "text"))


def _complete(desk: Desk, fields: Fields, uploads: str) -> Any:
    line, column = _place(fields)
    stream = {track.signature for track in desk.outcome.facts}
    return completion_fields(_document(desk, fields), line, column, stream)


def _hover(desk: Desk, fields: Fields, uploads: str) -> Any:
    line, column = _place(fields)
    return {"text": hover_text(_document(desk, fields), line, column)}


def _format(desk: Desk, fields: Fields, uploads: str) -> Any:
    return {"text": formatted(_document(desk, fields))}


def _document(desk: Desk, fields: Fields) -> Document:
    """The text that the page has, which may be newer than the one that runs."""
    text = _text(fields, "text")
    known = desk.document
    return known if known.text == text else Document(text, desk.path, known)


def _place(fields: Fields) -> tuple[int, int]:
    line, column = _integer(fields, "line"), _integer(fields, "column")
    lines = _text(fields, "text").count("\n") + 1
    if not 1 <= line <= lines or column < 1:
        raise Refused("there is no such place")
    return line, column


def _explain(desk: Desk, fields: Fields, uploads: str) -> Any:
    model = None if fields.get("model") is None else _integer(fields, "model")
    return desk.explained(_text(fields, "atom"), _integer(fields, "at"), model)


def _save(desk: Desk, fields: Fields, uploads: str) -> Any:
    desk.edit(_text(fields, "text"))
    name = fields.get("name")
    return {"path": desk.save(name if isinstance(name, str) else None)}


def _data(desk: Desk, fields: Fields, uploads: str) -> Any:
    """Read a stream that the page has, or the same one by another mapping."""
    mapping = _text(fields, "map").strip() or None
    streams = desk.places.streams
    if "text" in fields:
        # Only the suffix of its name counts.
        suffix = Path(_text(fields, "name")).suffix
        if suffix not in (".csv", ".tsv", ".jsonl", ".ndjson", ".lars"):
            raise Refused("the file is neither CSV nor JSON Lines nor facts")
        with NamedTemporaryFile(
            "w", encoding="utf-8", dir=uploads, suffix=suffix, delete=False
        ) as file:
            file.write(_text(fields, "text"))
        streams = (file.name,)
    wanted = desk.use(Places(streams, mapping))
    return {"streams": list(streams), "map": mapping, "wanted": wanted}


READS: dict[str, Callable[[Desk, Query], Any]] = {
    "api/state": _state,
    "api/timeline": _timeline,
    "api/windows": _windows,
    "api/atoms": _atoms,
    "api/models": _models,
    "api/hypotheses": _hypotheses,
    "api/share": _share,
}
ACTIONS: dict[str, Callable[[Desk, Fields, str], Any]] = {
    "api/program": _program,
    "api/complete": _complete,
    "api/hover": _hover,
    "api/format": _format,
    "api/explain": _explain,
    "api/save": _save,
    "api/data": _data,
}
