"""`larspark verify`."""

import json as jsons
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from larspark import api
from larspark.base.atoms import atom_text
from larspark.cli.app import app
from larspark.cli.inputs import background_facts, given_options, load_program, open_stream
from larspark.cli.options import (
    AllowPathOption,
    AtTime,
    BackgroundFiles,
    DialectOption,
    FirstReportOption,
    FromOption,
    HindsightOption,
    JsonOption,
    MapOption,
    ProgramFile,
    RangeOption,
    ReadingOption,
    ReportOption,
    StreamFile,
    TickOption,
    UntilOption,
    ZoneOption,
    existing,
)
from larspark.feeds import Stream
from larspark.feeds.time_format import TimeFormat
from larspark.language import rule_text
from larspark.meaning.verification import Verdict
from larspark.show.terminal import writer


@app.command(
    epilog="Example: [bold]larspark verify p.lars -s events.jsonl --answer a.jsonl --at 42[/bold]",
    short_help="Check whether an interpretation is an answer stream.",
)
def verify(
    program: ProgramFile,
    stream: StreamFile,
    answer: Annotated[
        Path,
        typer.Option(
            help="All derived atoms by time point: a stream, or a line of `larspark models`.",
            callback=existing,
        ),
    ],
    at: AtTime,
    background: BackgroundFiles = None,
    start: FromOption = None,
    hindsight: HindsightOption = False,
    until: UntilOption = None,
    mapping: MapOption = None,
    timezone: ZoneOption = None,
    dialect: DialectOption = None,
    allow_path: AllowPathOption = None,
    reading: ReadingOption = None,
    tick: TickOption = None,
    span: RangeOption = None,
    first_report: FirstReportOption = None,
    report: ReportOption = None,
    json: JsonOption = False,
) -> None:
    """Say whether an interpretation is an answer stream: if not, why not."""
    options = given_options(reading=reading, tick=tick, range=span, t0=first_report, report=report)
    loaded = load_program(program, dialect, allow_path, options, hindsight=hindsight)
    named = loaded.syntax.named
    length = loaded.syntax.tick
    source = open_stream(stream, mapping, length, None, "0", named=named, timezone=timezone)
    texts = api.TimeTexts(source.options.tick, None, timezone)
    verdict = api.verify(
        loaded,
        source,
        _answer(answer, texts),
        at=at,
        background=background_facts(background, named),
        start=start,
        hindsight=hindsight or bool(loaded.syntax.hindsight),
        until=until,
        timezone=timezone,
    )
    with writer(None, json) as out:
        if out.people:
            out.line(escape(_sentence(verdict, texts.written(source))))
        else:
            out.json(_fields(verdict, texts.written(source)))


def _answer(path: Path, texts: api.TimeTexts) -> dict[int, list[str]] | Stream:
    """The interpretation of a file: a stream, or the first line that `larspark models` wrote."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        first = lines.readline()
    try:
        found = jsons.loads(first)
    except ValueError:
        found = None
    if isinstance(found, dict) and isinstance(found.get("stream"), dict):
        return {texts.known(t): list(map(str, atoms)) for t, atoms in found["stream"].items()}
    return Stream.read(path)


def _fields(verdict: Verdict, times: TimeFormat) -> dict[str, Any]:
    if verdict.violated is not None:
        span = verdict.violated.span
        return {
            "answer": False,
            "violated": rule_text(verdict.violated),
            "place": f"{span.source}:{span.line}",
            "binding": verdict.binding,
        }
    if verdict.smaller is None:
        return {"answer": True}
    smaller: dict[str, list[str]] = {}
    for t, atom in sorted(verdict.smaller, key=lambda e: (e.t, atom_text(e.atom))):
        smaller.setdefault(str(times.text(t)), []).append(atom_text(atom))
    return {"answer": False, "smaller": smaller}


def _sentence(verdict: Verdict, times: TimeFormat) -> str:
    fields = _fields(verdict, times)
    if verdict.holds:
        return "an answer stream"
    if "violated" in fields:
        values = ", ".join(f"{name} = {value}" for name, value in fields["binding"].items())
        where = f", for {values}" if values else ""
        return f"no answer stream: it violates {fields['violated']}   {fields['place']}{where}"
    left = "; ".join(f"{t}: {'  '.join(atoms)}" for t, atoms in fields["smaller"].items())
    return f"no answer stream: the reduct has a smaller model, {left or 'the data alone'}"
