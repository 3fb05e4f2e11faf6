"""The main demonstration: a year of flights from New York as a Spark pipeline.

python examples/flights/run.py [--days N] [--output FOLDER]
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pipeline
from flights import MINUTE, flights_stream, raw_data
from outlook import Outlook
from pyspark.sql import DataFrame
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import larspark as lp
from larspark.base.facts import AnyBatch
from larspark.feeds.time_format import TimeFormat
from larspark.language import parse_formula
from larspark.run.interval.kernels.warm_up import compile_all
from larspark.run.replay import intervals, replay
from larspark.show.timeline.timeline_text import timeline, timeline_lines
from larspark.spark import local_session, problems

HERE = Path(__file__).parent
DAY, HALF_A_DAY = 24 * 60, 12 * 60
AIRPORTS = {"EWR": "Newark", "JFK": "Kennedy", "LGA": "LaGuardia"}
GALE = parse_formula("@T gale(Origin)").formula

# The findings of the report: predicate, description, and the column to count by.
FINDINGS = (
    ("late", "left 45 minutes late or more", "plane"),
    ("knock_on", "late because the plane was late", "plane"),
    ("unexplained", "late without an explanation", "airport"),
    ("rough", "rough weather", "kind"),
    ("stranded", "cancellations in rough weather", "airport"),
    ("trouble", "an airport in trouble", "airport"),
    ("recovered", "an airport recovered", "airport"),
)

Found = list[tuple[lp.Atom, int, int]]


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    console = Console()
    _introduction(console)
    steps = Steps(console)
    raw, written = options.output / "raw", options.output / "tables"
    with steps("unpack the raw tables"):
        raw_data().write(raw, options.days)
    with steps("compile kernels, the first time"):
        # Otherwise plain Python works until they are compiled in the background.
        for _ in compile_all():
            pass
    with steps("start Spark"):
        spark = local_session(short=True, quiet=True)
    with steps("raw tables to facts"):
        facts = {name: frame.persist() for name, frame in pipeline.read_facts(spark, raw).items()}
        count = sum(frame.count() for frame in facts.values())
    with steps("evaluate the rules on Spark"), problems():
        answers = pipeline.answers(facts).persist()
        found_on_spark = answers.count()
    with steps("write typed tables as Parquet"), problems():
        pipeline.write_tables(pipeline.typed_tables(answers), written)
    with steps("read the tables back"):
        tables = pipeline.read_tables(spark, written)
        findings = _findings(tables)
        found = pipeline.intervals_of(tables)
    with steps("evaluate the rules on one local engine"):
        batches = list(flights_stream(raw).batches())
        session = lp.Reasoner(lp.Program.load(pipeline.PROGRAM)).session
        local = list(intervals(replay(session, batches)))
    steps.total()
    console.print(f"\n{count:,} facts, {found_on_spark:,} answers.")
    console.print(findings)
    worst = _worst_day(tables)
    _timeline(console, found, worst)
    _warnings(console, batches)
    _compare(console, found, local)
    _what_next(console, found, batches, worst, options)
    spark.stop()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A year of flights as a Spark pipeline.")
    parser.add_argument("--days", type=int, help="only the first days of the year")
    parser.add_argument("--output", type=Path, default=HERE / "output", help="folder for all files")
    parser.add_argument("--worst-day", type=Path, default=HERE / "worst-day.jsonl")
    return parser.parse_args(arguments)


def _introduction(console: Console) -> None:
    console.rule("[bold]larspark[/]: a year of flights from New York")
    console.print(
        "All departures of 2013 from three airports, cancellations and hourly weather,\n"
        "one time point per minute, as a Spark pipeline: raw CSV tables become facts by\n"
        "DataFrame transformations, the rules in [cyan]examples/flights/program.lars[/]\n"
        "are evaluated, and the answers are written as typed Parquet tables and read back\n"
        "for this report. Spark runs in this process; without an installed Java it uses\n"
        "the one from PyPI. This takes about a minute on two cores; the first run takes\n"
        "longer, because it compiles kernels.\n"
    )


class Steps:
    """Shows the running step with its elapsed time, then a line with its duration."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._begin = time.perf_counter()

    @contextmanager
    def __call__(self, title: str) -> Iterator[None]:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        begin = time.perf_counter()
        quiet = not self._console.is_terminal
        with Progress(*columns, console=self._console, transient=True, disable=quiet) as progress:
            progress.add_task(title)
            yield
        self._console.print(f"  {title:<42}{time.perf_counter() - begin:6.1f} s")

    def total(self) -> None:
        self._console.print(f"  {'total':<42}{time.perf_counter() - self._begin:6.1f} s")


def _findings(tables: dict[str, DataFrame]) -> Table:
    shown = Table(title="Findings", title_justify="left")
    shown.add_column("finding")
    shown.add_column("count", justify="right")
    shown.add_column("most frequent")
    for predicate, description, column in FINDINGS:
        rows = tables[predicate].groupBy(column).count().collect()
        total = sum(row["count"] for row in rows)
        example = ""
        if rows:
            top = max(rows, key=lambda row: (row["count"], row[column]))
            value = AIRPORTS.get(top[column], top[column])
            example = f"{column} {value}: {top['count']:,}"
        shown.add_row(description, f"{total:,}", example)
    return shown


def _worst_day(tables: dict[str, DataFrame]) -> int:
    """The first time point of the day with the most late departures."""
    late = tables["late"].selectExpr(f"`from` div {DAY} as day").groupBy("day").count()
    worst = late.orderBy("count", "day", ascending=False).first()
    return 0 if worst is None else worst["day"] * DAY


def _timeline(console: Console, found: Found, first: int) -> None:
    shown = {"rough", "stranded", "trouble", "recovered"}
    rows = [row for row in found if row[0].predicate in shown]
    console.print(f"\n[bold]The worst day, {_when(first)[:10]}[/]")
    laid_out = timeline((), rows, start=first, end=first + DAY - 1, times=TimeFormat(MINUTE))
    for line in timeline_lines(laid_out, width=min(console.width, 130), people=True):
        console.print(line, soft_wrap=True)


def _warnings(console: Console, batches: list[AnyBatch]) -> None:
    """Hypothetical answers: warnings ahead of time, and how many came true."""
    outlook = Outlook(lp.Program.load(HERE / "warnings.lars"), GALE)
    for batch in batches:
        outlook.read(row for row in batch.rows() if row.atom.predicate == "weather")
    console.print(
        "\n[bold]Warnings ahead of time[/]: three windy hours in a row ([cyan]warnings.lars[/])"
    )
    for missing, (announced, came_true, lead) in sorted(outlook.record().items()):
        hours = "1 hour" if lead == 60 else f"{lead // 60} hours"
        console.print(
            f"  {hours} ahead, {missing} of 3 readings missing: {announced:,} warnings, "
            f"{came_true / announced:.0%} of them came true"
        )


def _compare(console: Console, found: Found, local: Found) -> None:
    """The Parquet tables have to hold exactly the answers of one local engine."""
    if Counter(found) != Counter(local):
        raise SystemExit("the answers on Spark differ from those of one local engine")
    console.print(
        f"\nThe Parquet tables hold exactly the {len(local):,} answers of one local engine."
    )


def _what_next(
    console: Console,
    found: Found,
    batches: list[AnyBatch],
    first: int,
    options: argparse.Namespace,
) -> None:
    """Keep the worst day, and show how to ask about it."""
    begin, end = first - HALF_A_DAY, first + DAY
    with options.worst_day.open("w", encoding="utf-8") as out:
        for row in (row for batch in batches for row in batch.rows() if begin <= row.t < end):
            out.write(json.dumps({"t": row.t, "atom": str(row.atom)}) + "\n")
    day = (row for row in found if row[0].predicate == "knock_on" and first <= row[1] < end)
    atom, t, _ = next(day)
    console.print(f"The tables are in {options.output / 'tables'}. Ask why something holds:")
    console.print(
        f"  .venv/bin/larspark explain examples/flights/program.lars '{atom}' --at {t} \\\n"
        f"      --stream examples/flights/worst-day.jsonl",
        style="cyan",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _when(t: int) -> str:
    return datetime.fromtimestamp(t * 60, UTC).strftime("%Y-%m-%d %H:%M")


if __name__ == "__main__":
    main()
