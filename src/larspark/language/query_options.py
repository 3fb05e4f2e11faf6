"""Options of the dialects for queries: what their texts leave open."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from larspark.base.problems import Problem
from larspark.language.collector import Collector, Form
from larspark.language.dialect import ProgramText
from larspark.language.tree import Tick


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """How a query is read.

    `tick` is the length of a time point. `half_open` leaves the first time point of a `RANGE` out.
    `first` is the time of the first report by the clock. `report_all` makes a query that reports
    new answers report all.
    """

    tick: Tick = field(default_factory=lambda: Tick(1_000_000))
    half_open: bool = False
    first: int = 0
    report_all: bool = False


def query_options(given: Mapping[str, str]) -> tuple[QueryOptions, tuple[Problem, ...]]:
    """The options by their texts, and what is wrong with these."""
    problems: list[Problem] = []
    tick = Tick(1_000_000)
    if "tick" in given:
        collector = Collector(ProgramText(f"#tick {given['tick']}.", "<tick>"), Form())
        tick = collector.program().tick or tick
        problems += collector.problems()
    span = given.get("range", "closed")
    if span not in ("closed", "halfopen"):
        message = f"the range cannot be `{span}`"
        problems.append(Problem("L126", message, hint="it is closed or halfopen"))
    first = given.get("t0", "0")
    if not (first.isascii() and first.isdigit() and len(first) < 19):
        message = f"the first report cannot be at `{first}`"
        problems.append(Problem("L126", message, hint="write a time point, such as 0"))
        first = "0"
    report = given.get("report", "new")
    if report not in ("new", "all"):
        message = f"the query cannot report `{report}`"
        problems.append(Problem("L126", message, hint="it reports new or all answers"))
    options = QueryOptions(tick, span == "halfopen", int(first), report == "all")
    return options, tuple(problems)
