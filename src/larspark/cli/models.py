"""`larspark models`."""

from typing import Annotated

import typer
from rich.markup import escape

from larspark import api
from larspark.base.atoms import atom_text
from larspark.cli.app import app
from larspark.cli.inputs import background_facts, load_program, open_stream
from larspark.cli.options import (
    BackgroundFiles,
    Dialect,
    DialectOption,
    EngineName,
    EngineOption,
    FromOption,
    HindsightOption,
    JsonOption,
    LatenessOption,
    MapOption,
    OnError,
    OnErrorOption,
    ProgramFile,
    StreamFile,
    UntilOption,
)
from larspark.run.protocol import Settings
from larspark.show.terminal import errors, say_notes, say_what_was_skipped, writer


@app.command(
    epilog="Example: [bold]larspark models plan.lars --stream events.jsonl --at 42[/bold]",
    short_help="All answer streams at a time point.",
)
def models(
    program: ProgramFile,
    stream: StreamFile,
    at: Annotated[int, typer.Option("--at", help="The time point.")],
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many.")] = None,
    background: BackgroundFiles = None,
    engine: EngineOption = EngineName.AUTO,
    start: FromOption = None,
    hindsight: HindsightOption = False,
    until: UntilOption = None,
    lateness: LatenessOption = 0,
    on_error: OnErrorOption = OnError.FAIL,
    mapping: MapOption = None,
    dialect: DialectOption = Dialect.LARS,
    json: JsonOption = False,
) -> None:
    """Write every answer stream of a program at a time point, derived atoms by time point."""
    loaded = load_program(program, dialect)
    source = open_stream(stream, mapping, loaded.syntax.tick, on_error, lateness)
    settings = Settings(start, hindsight, until)
    session = api.open_session(loaded, background_facts(background), engine.value, settings)
    found = 0
    with writer(None, json) as out:
        for found, model in enumerate(
            api.models(session, source, at, limit=limit, hindsight=hindsight), 1
        ):
            stream_by_time = {
                str(t): sorted(map(atom_text, atoms)) for t, atoms in sorted(model.stream.items())
            }
            if out.people:
                out.line(f"[bold]model {found}[/]")
                for t, texts in stream_by_time.items():
                    out.line(f"[cyan]{t:>6}[/]  {'  '.join(map(escape, texts))}")
            else:
                out.json({"model": found, "stream": stream_by_time})
    if not found:
        errors.print(f"no answer stream at {at}")
    say_notes(session.notes)
    say_what_was_skipped(source)
