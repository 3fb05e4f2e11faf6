"""A year of flights from New York, reasoned over: the main demonstration."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from flights import MINUTE, flights_stream
from outlook import Outlook
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import larspark as lp
from larspark.base.facts import AnyBatch
from larspark.language import parse_formula
from larspark.run.protocol import Answers
from larspark.run.replay import intervals, replay
from larspark.show.timeline.timeline import timeline, timeline_lines

HERE = Path(__file__).parent
PROGRAM = HERE / "program.lars"
WORST_DAY = HERE / "worst-day.jsonl"
DAY, HALF_A_DAY = 24 * 60, 12 * 60
AIRPORTS = {"EWR": "Newark", "JFK": "Kennedy", "LGA": "LaGuardia"}
GALE = parse_formula("@T gale(Origin)").formula
# The data lies in the package, so the number of facts is known: flights and weather hours.
FACTS = 362_887

Found = list[tuple[lp.Atom, int, int]]


def main() -> None:
    console = Console()
    console.rule("[bold]larspark[/]: a year of flights from New York")
    console.print(
        "All departures of 2013 from three airports, cancellations and hourly weather,\n"
        "a time point a minute. The rules are in [cyan]examples/flights/program.lars[/].\n"
    )
    stream = flights_stream()
    batches: list[AnyBatch] = []
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("facts"),
        TimeElapsedColumn(),
        console=console,
    ) as progress:
        begun = time.perf_counter()
        found = list(intervals(_pieces(stream, batches, progress)))
        seconds = time.perf_counter() - begun
    _findings(console, found)
    first = _worst_day(console, found)
    _warnings(console, batches)
    console.print(
        f"\n{stream.facts:,} facts over {stream.last_t - stream.first_t:,} time points in "
        f"{seconds:.1f} s: [bold]{stream.facts / seconds:,.0f} facts a second[/], reading included."
    )
    _what_next(console, found, batches, first)


def _pieces(stream: lp.Stream, batches: list[AnyBatch], progress: Progress) -> Iterator[Answers]:
    """Run the program; the batches are kept for what follows."""
    task = progress.add_task("reasoning", total=FACTS)

    def read() -> Iterator[AnyBatch]:
        for batch in stream.batches():
            batches.append(batch)
            yield batch

    for piece in replay(lp.Reasoner(lp.Program.load(PROGRAM)).session, read()):
        progress.update(task, completed=stream.facts)
        yield piece


def _findings(console: Console, found: Found) -> None:
    table = Table(title="What the rules found", title_justify="left")
    table.add_column("finding")
    table.add_column("how often", justify="right")
    table.add_column("most of all")
    by_predicate: dict[str, Found] = {}
    for row in found:
        by_predicate.setdefault(row[0].predicate, []).append(row)
    explained = (
        ("late", "left 45 minutes late or more", _most(0, "plane")),
        ("knock_on", "late because the plane was", _most(0, "plane")),
        ("unexplained", "late, and nothing explains it", _most(1, "airport")),
        ("rough", "rough weather", _most(1, "kind")),
        ("stranded", "cancellations in rough weather", _most(0, "airport")),
        ("trouble", "an airport in trouble", _longest),
        ("recovered", "an airport recovered", _most(0, "airport")),
    )
    for predicate, words, example in explained:
        rows = by_predicate.get(predicate, [])
        table.add_row(words, f"{len(rows):,}", example(rows) if rows else "")
    console.print(table)


def _most(position: int, word: str) -> Callable[[Found], str]:
    def example(rows: Found) -> str:
        (value, count), *_ = Counter(atom.args[position] for atom, _, _ in rows).most_common(1)
        return f"{word} {value}: {count:,}"

    return example


def _longest(rows: Found) -> str:
    atom, begin, end = max(rows, key=lambda row: row[2] - row[1])
    return f"{AIRPORTS[atom.args[0]]}, {_when(begin)[:10]}: {(end - begin + 1) / 60:.0f} h"


def _worst_day(console: Console, found: Found) -> int:
    """Draw the day with the most late departures; its first time point."""
    day = Counter(t // DAY for atom, t, _ in found if atom.predicate == "late").most_common(1)[0][0]
    first, last = day * DAY, (day + 1) * DAY - 1
    shown = {"rough", "stranded", "trouble", "recovered"}
    rows = [row for row in found if row[0].predicate in shown]
    console.print(f"\n[bold]The worst day, {_when(first)[:10]}[/]")
    laid_out = timeline((), rows, start=first, end=last, tick=MINUTE)
    for line in timeline_lines(laid_out, width=min(console.width, 130), people=True):
        console.print(line, soft_wrap=True)
    return first


def _warnings(console: Console, batches: list[AnyBatch]) -> None:
    """What could have been told ahead: hypothetical answers, and how many of them came true."""
    outlook = Outlook(lp.Program.load(HERE / "warnings.lars"), GALE)
    for batch in batches:
        outlook.read(row for row in batch.rows() if row.atom.predicate == "weather")
    console.print("\n[bold]Told ahead[/]: three windy hours in a row ([cyan]warnings.lars[/])")
    for missing, (told, came_true, lead) in sorted(outlook.record().items()):
        hours = "1 hour" if lead == 60 else f"{lead // 60} hours"
        console.print(
            f"  {hours} ahead, {missing} of 3 readings missing: {told:,} warnings, "
            f"{came_true / told:.0%} of them came true"
        )


def _what_next(console: Console, found: Found, batches: list[AnyBatch], first: int) -> None:
    """Keep the worst day, and say how to ask about it."""
    begin, end = first - HALF_A_DAY, first + DAY
    with WORST_DAY.open("w", encoding="utf-8") as out:
        for row in (row for batch in batches for row in batch.rows() if begin <= row.t < end):
            out.write(json.dumps({"t": row.t, "atom": str(row.atom)}) + "\n")
    day = (row for row in found if row[0].predicate == "knock_on" and first <= row[1] < end)
    atom, t, _ = next(day)
    console.print("\nThe worst day is kept in [cyan]examples/flights/worst-day.jsonl[/]. Ask why:")
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
