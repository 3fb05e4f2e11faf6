"""A year of flights from New York, reasoned over: the main demonstration."""

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from flights import flights_stream
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import larspark as lp
from larspark.run.protocol import Answers
from larspark.run.replay import intervals, replay
from larspark.show.timeline import timeline, timeline_lines

HERE = Path(__file__).parent
DAY = 24 * 60
AIRPORTS = {"EWR": "Newark", "JFK": "Kennedy", "LGA": "LaGuardia"}

Found = list[tuple[lp.Atom, int, int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", choices=("local", "spark"), default="local")
    where = parser.parse_args().on
    console = Console()
    program = lp.Program.load(HERE / "program.lars")
    console.rule("[bold]larspark[/]: a year of flights from New York")
    console.print(
        "All departures of 2013 from three airports, cancellations and hourly weather,\n"
        "a time point a minute. The rules are in [cyan]examples/flights/program.lars[/].\n"
    )
    stream = flights_stream()
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("facts"),
        TimeElapsedColumn(),
        console=console,
    ) as progress:
        begun = time.perf_counter()
        if where == "spark":
            found = _on_spark(program, stream)
        else:
            found = list(intervals(_pieces(program, stream, progress)))
        seconds = time.perf_counter() - begun
    _findings(console, found)
    _worst_day(console, found)
    rate = stream.facts / seconds
    console.print(
        f"\n{stream.facts:,} facts over {stream.last_t - stream.first_t:,} time points in "
        f"{seconds:.1f} s: [bold]{rate:,.0f} facts a second[/], reading included."
    )
    console.print("Next: [cyan].venv/bin/larspark check examples/flights/program.lars[/]")


def _pieces(program: lp.Program, stream: lp.Stream, progress: Progress) -> Iterator[Answers]:
    # The data lies in the package, so the number of facts is known: flights and weather hours.
    task = progress.add_task("reasoning", total=362_887)
    reasoner = lp.Reasoner(program)
    for piece in replay(reasoner.session, stream.batches()):
        progress.update(task, completed=stream.facts)
        yield piece


def _on_spark(program: lp.Program, stream: lp.Stream) -> Found:
    """The same answers from Spark; it needs the extra `spark`, and Java."""
    from larspark.spark import replay

    answers = replay(program, stream)
    return [] if answers is None else list(answers.intervals())


def _findings(console: Console, found: Found) -> None:
    table = Table(title="What the rules found", title_justify="left")
    table.add_column("finding")
    table.add_column("how often", justify="right")
    table.add_column("for example")
    by_predicate: dict[str, Found] = {}
    for row in found:
        by_predicate.setdefault(row[0].predicate, []).append(row)
    explained = (
        ("late", "departures 45 minutes late or more", _most(0, "plane")),
        ("knock_on", "made late by the plane's flight before", _most(0, "plane")),
        ("unexplained", "late without rough weather or a late plane", _most(1, "airport")),
        ("rough", "spells of rough weather", _most(1, "kind")),
        ("stranded", "spells of cancellations in rough weather", _most(0, "airport")),
        ("trouble", "spells of an airport in trouble", _longest),
        ("recovered", "recoveries", _most(0, "airport")),
    )
    for predicate, words, example in explained:
        rows = by_predicate.get(predicate, [])
        table.add_row(words, f"{len(rows):,}", example(rows) if rows else "")
    console.print(table)


def _most(position: int, word: str):
    def example(rows: Found) -> str:
        (value, count), *_ = Counter(atom.args[position] for atom, _, _ in rows).most_common(1)
        return f"{word} {value}: {count:,}"

    return example


def _longest(rows: Found) -> str:
    atom, begin, end = max(rows, key=lambda row: row[2] - row[1])
    return f"{AIRPORTS[atom.args[0]]} for {(end - begin + 1) / 60:.0f} hours from {_when(begin)}"


def _worst_day(console: Console, found: Found) -> None:
    """The day with the most late departures, as a timeline."""
    day = Counter(t // DAY for atom, t, _ in found if atom.predicate == "late").most_common(1)[0][0]
    first, last = day * DAY, (day + 1) * DAY - 1
    shown = {"rough", "stranded", "trouble", "recovered"}
    rows = [
        (atom, max(begin, first), min(end, last))
        for atom, begin, end in found
        if atom.predicate in shown and begin <= last and end >= first
    ]
    console.print(f"\n[bold]The worst day, {_when(first)[:10]}[/]")
    laid_out = timeline((), rows, start=first, end=last, tick=60_000_000)
    for line in timeline_lines(laid_out, width=min(console.width, 130), people=True):
        console.print(line, soft_wrap=True)


def _when(t: int) -> str:
    return datetime.fromtimestamp(t * 60, UTC).strftime("%Y-%m-%d %H:%M UTC")


if __name__ == "__main__":
    main()
