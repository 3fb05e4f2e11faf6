"""`larspark check`."""

from typing import Annotated

import typer
from rich.markup import escape

from larspark import api
from larspark.base.problems import LarsparkError, Severity
from larspark.cli.app import app
from larspark.cli.inputs import background_facts, given_options
from larspark.cli.options import (
    AllowPathOption,
    BackgroundFiles,
    DialectOption,
    FirstReportOption,
    JsonOption,
    ProgramFile,
    RangeOption,
    ReadingOption,
    ReportOption,
    TickOption,
)
from larspark.scale.cuts import explain_cuts
from larspark.show.report import problem_json
from larspark.show.terminal import print_problems, writer


@app.command(
    epilog="Example: [bold]larspark check traffic.lars[/bold]",
    short_help="Check a program and report what is known before it runs.",
)
def check(
    program: ProgramFile,
    background: BackgroundFiles = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show the evaluation plan.")] = False,
    network: Annotated[
        bool, typer.Option("--network", help="Show the network that the rules are compiled to.")
    ] = False,
    spark: Annotated[
        bool, typer.Option("--spark", help="Show how the work can be partitioned on Spark.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also strata, partition key, dependencies.")
    ] = False,
    dialect: DialectOption = None,
    allow_path: AllowPathOption = None,
    reading: ReadingOption = None,
    tick: TickOption = None,
    span: RangeOption = None,
    first_report: FirstReportOption = None,
    report: ReportOption = None,
    json: JsonOption = False,
) -> None:
    """List all problems of a program, and report what is known about it before it runs."""
    options = given_options(reading=reading, tick=tick, range=span, t0=first_report, report=report)
    with writer(None, json) as out:
        try:
            loaded = api.Program.load(program, dialect=dialect, allow=allow_path or (), **options)
        except LarsparkError as error:
            if not out.people:
                out.json({"errors": list(map(problem_json, error.problems))})
            raise
        found = loaded.check(background_facts(background, loaded.syntax.named))
        print_problems([*loaded.warnings, *found.problems])
        if plan or network:
            text = found.network() if network else found.plan()
            for line in text.splitlines():
                out.line(escape(line) if out.people else line)
        elif spark:
            for line in explain_cuts(found.checked):
                out.line(escape(line) if out.people else line)
        elif not out.people:
            fields = found.to_json()
            fields["warnings"] = [*map(problem_json, loaded.warnings), *fields["warnings"]]
            out.json(fields)
        else:
            for line in (str(found) if verbose else found.summary()).splitlines():
                out.line(escape(line))
    if any(problem.severity is Severity.ERROR for problem in found.problems):
        raise typer.Exit(1)
