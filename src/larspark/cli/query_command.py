"""`larspark query`."""

from datetime import datetime
from typing import Annotated

import typer
from rich.markup import escape

from larspark import api
from larspark.base.atoms import Signature
from larspark.cli.app import app
from larspark.cli.inputs import background_facts, open_stream
from larspark.cli.options import (
    AtOption,
    BackgroundFiles,
    ColumnsOption,
    DelimiterOption,
    FormatOption,
    FromOption,
    JsonOption,
    LatenessOption,
    Layout,
    MapOption,
    OnErrorOption,
    StreamFile,
    TimesOption,
    UntilOption,
    ZoneOption,
)
from larspark.language import parse_formula
from larspark.language.nodes import walk
from larspark.language.tree import AtomFormula, Formula
from larspark.show.run_notes import Arrivals, name_notes, unmatched_notes
from larspark.show.terminal import print_notes, print_skipped, writer


@app.command(
    epilog="Example: [bold]larspark query '[5] some tram(A, St)' -s events.jsonl --at 45[/bold]",
    short_help="Evaluate a formula at a time point.",
)
def query(
    formula: Annotated[str, typer.Argument(metavar="FORMULA", help="A LARS formula.")],
    stream: StreamFile,
    at: AtOption = None,
    at_each: Annotated[bool, typer.Option("--at-each", help="At every time point.")] = False,
    background: BackgroundFiles = None,
    start: FromOption = None,
    until: UntilOption = None,
    lateness: LatenessOption = "0",
    on_error: OnErrorOption = None,
    mapping: MapOption = None,
    stream_format: FormatOption = None,
    delimiter: DelimiterOption = None,
    columns: ColumnsOption = None,
    times: TimesOption = None,
    timezone: ZoneOption = None,
    tick: Annotated[str | None, typer.Option(help="The length of a time point: '1 min'.")] = None,
    json: JsonOption = False,
) -> None:
    """Evaluate a formula on a stream: the substitutions for which it holds, {} for yes."""
    if (at is None) is not at_each:
        raise typer.BadParameter("use either --at T or --at-each")
    duration = api.parse_tick(tick) if tick is not None else None
    source = open_stream(
        stream,
        mapping,
        duration,
        on_error,
        lateness,
        Layout(stream_format, delimiter, columns),
        timezone=timezone,
    )
    given = background_facts(background)
    answers = api.query(
        formula,
        source,
        at=at,
        background=given,
        start=start,
        until=until,
        tick=duration,
        times=times,
        timezone=timezone,
    )
    written = api.TimeTexts(source.options.tick, times, timezone).written(source)
    with writer(None, json) as out:
        for found in answers:
            answer = {
                name: written.text(value) if isinstance(value, datetime) else value
                for name, value in found.items()
            }
            if out.people:
                out.line(
                    "  ".join(f"{n} = [cyan]{escape(str(v))}[/]" for n, v in answer.items())
                    or "yes"
                )
            else:
                out.json(answer)
        if not answers and out.people:
            out.line("no")
    print_skipped(source)
    if not answers and source.lasting:
        arrivals = Arrivals()
        for batch in source.batches():
            arrivals.add(batch)
        parsed = parse_formula(formula, tick=duration).formula
        if parsed is not None:
            asked = _predicates(parsed) - {atom.signature for atom in given}
            print_notes(unmatched_notes(asked, arrivals.signatures))
            print_notes(name_notes(parsed))


def _predicates(formula: Formula) -> set[Signature]:
    found = walk(formula)
    return {part.atom.signature for part in found if isinstance(part, AtomFormula)}
