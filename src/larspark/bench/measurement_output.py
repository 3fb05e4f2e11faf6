"""`larspark bench`: a table at a terminal, JSON Lines in pipes, progress on standard error."""

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table

from larspark.bench.contest import Measurement, missing_packages
from larspark.bench.suite import chosen
from larspark.run.interval.kernels.compile import compile_at_once
from larspark.show.terminal import errors, writer

# How numbers of some benchmarks are shown as remarks.
_REMARKS = {
    "rules": "{:,} rules",
    "flatness": "{} times the smaller window",
    "evaluated": "{:,} rule evaluations",
    "evaluated_without_skipping": "{:,} without skipping",
    "milliseconds": "{:,} ms in all",
    "part": "part {}",
    "ground_rules": "{:,} ground rules",
    "slowest_milliseconds": "{} ms the slowest",
    "bytes_per_row": "{} bytes a row",
    "pending": "{:,} pending",
    "init_seconds": "{} s to begin",
    "total_seconds": "{} s in all",
    "facts_per_second": "{:,} facts/s",
}


def bench_command(names: Sequence[str], quick: bool, json: bool) -> None:
    """Run all or the named benchmarks, and write the measurements."""
    wanted = chosen(names)
    compile_at_once()
    for package in missing_packages():
        errors.print(f"{package} is not installed: its benchmarks are left out", style="yellow")
    with writer(None, json) as out, errors.status("measuring") as status:
        for benchmark in wanted:
            found = benchmark.run(quick, status.update)
            if not out.people:
                for measurement in found:
                    out.json(measurement.to_json())
                continue
            console = Console()
            for bench, measured in groupby(found, lambda measurement: measurement.bench):
                console.print(table(f"{bench}: {benchmark.title}", list(measured)))


def table(title: str, measured: Sequence[Measurement]) -> Table:
    """Measurements as a table; a column gives the time relative to the interval engine.

    A line separates the workloads.
    """
    shown = Table(title=title, title_justify="left", title_style="bold")
    shown.add_column("window", justify="right")
    shown.add_column("rate", justify="right")
    shown.add_column("engine")
    for name in ("ns/fact", "of which CPU", "us/time point", "state", "times interval"):
        shown.add_column(name, justify="right")
    shown.add_column("remarks")
    before: tuple[int, int] | None = None
    for one in measured:
        if before not in (None, (one.window, one.rate)):
            shown.add_section()
        before = one.window, one.rate
        shown.add_row(
            str(one.window),
            str(one.rate),
            one.engine,
            f"{one.ns_per_fact:,.0f}",
            f"{one.more.get('cpu_ns_per_fact', 0):,.0f}",
            f"{one.us_per_time_point:,.1f}",
            "" if one.bytes is None else _size(one.bytes),
            "" if one.ratio is None else f"{one.ratio:,.2f}",
            ", ".join(
                text.format(one.more[key]) for key, text in _REMARKS.items() if key in one.more
            ),
        )
    return shown


def _size(count: int) -> str:
    """A size in memory.

    >>> _size(512), _size(13_625_456)
    ('512 B', '13.0 MiB')
    """
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
