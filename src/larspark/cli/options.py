"""Options and arguments that several commands share."""

import os
import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from larspark.api import TimesAs
from larspark.base.problems import LarsparkError, Problem
from larspark.base.spelling import Vocabulary
from larspark.feeds.byte_source import FORMATS
from larspark.feeds.named_files import split_name
from larspark.feeds.time_options import is_duration, is_time
from larspark.language import DIALECTS
from larspark.run.registry import AUTO, ENGINES


def existing(path: Path | None) -> Path | None:
    """The path, if the file exists; else an error with the closest name as a hint."""
    if path is not None and not os.path.exists(path):
        raise LarsparkError(Problem("L503", f"there is no file {path}", hint=_hint(path)))
    return path


def all_existing(texts: list[str] | None) -> list[str] | None:
    for text in texts or ():
        existing(Path(split_name(text)[1]))
    return texts


def _hint(path: Path) -> str:
    folder = path.parent
    if not os.path.isdir(folder):
        return f"the directory {folder} does not exist"
    meant = Vocabulary(other.name for other in folder.iterdir()).closest(path.name)
    return f"did you mean {folder / meant}?" if meant is not None else ""


class Form(StrEnum):
    POINTS = "points"
    INTERVALS = "intervals"
    CHANGES = "changes"
    BINDINGS = "bindings"
    EVENTS = "events"


class Mode(StrEnum):
    PULL = "pull"
    PUSH = "push"


class OnError(StrEnum):
    FAIL = "fail"
    SKIP = "skip"


class Where(StrEnum):
    LOCAL = "local"
    SPARK = "spark"


_ENGINES = (AUTO, *ENGINES)


def _known_engine(name: str) -> str:
    if name not in _ENGINES:
        raise typer.BadParameter(f"'{name}' is not one of {', '.join(_ENGINES)}")
    return name


# The help of a command shows its options in these groups.
TIMELINE, READING, ENGINE, LIVE = "Timeline", "Reading", "Engine", "Live runs"

ProgramFile = Annotated[
    Path, typer.Argument(metavar="PROGRAM", help="A .lars file.", callback=existing)
]
StreamFile = Annotated[
    list[str],
    typer.Option(
        "--stream", "-s", help="Events: a file, - for stdin, or NAME=FILE, several times."
    ),
]
StreamPlace = Annotated[
    list[str],
    typer.Option(
        "--stream",
        "-s",
        help="Events: a file, -, tcp://host:port, tcp://:port, mqtt://host/topic, "
        "kafka://host/topic, or NAME=FILE.",
    ),
]
FormOption = Annotated[
    Form | None,
    typer.Option(
        "--as",
        help="The format of the answers: by default intervals, changes of a live run, and points "
        "with --at, --every, --mode push and --hypothetical.",
    ),
]
OutputOption = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        help="Where to write: a file, -, tcp://, mqtt://, kafka://, https://, exec:COMMAND.",
    ),
]
MetricsOption = Annotated[
    str | None,
    typer.Option(help="Serve metrics for Prometheus and /healthz at a port, such as :9464."),
]
BackgroundFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--background",
        "-b",
        help="Background data: .lars, .csv, .jsonl or .parquet, NAME=FILE, or with the columns of "
        "a table: 'site(text(id), name)=sites.csv'.",
        callback=all_existing,
    ),
]
EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        "-e",
        help="The engine that evaluates the program.",
        metavar=f"[{'|'.join(_ENGINES)}]",
        callback=_known_engine,
        rich_help_panel=ENGINE,
    ),
]
DialectOption = Annotated[
    str | None,
    typer.Option(
        metavar=f"[{'|'.join(DIALECTS)}]",
        help="The language of the program; by default the file's suffix decides.",
    ),
]
AllowPathOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--allow-path",
        help="A directory that the program may include files and background data from.",
        rich_help_panel=READING,
    ),
]
TickOption = Annotated[
    str | None,
    typer.Option(
        "--tick",
        help="The length of a time point for a query of another language: '1 s'.",
        rich_help_panel=TIMELINE,
    ),
]
RangeOption = Annotated[
    str | None,
    typer.Option(
        "--range",
        metavar="[closed|halfopen]",
        help="Whether CQL's RANGE n holds the time point n before now.",
        rich_help_panel=TIMELINE,
    ),
]
ReadingOption = Annotated[
    str | None,
    typer.Option(
        metavar="[each|prefix|now]",
        help="Temporal formulas: at each time point of the whole stream, of every prefix, or now.",
    ),
]
FirstReportOption = Annotated[
    str | None,
    typer.Option(
        "--t0",
        metavar="T",
        help="When C-SPARQL or RSP-QL reports first; then at every STEP.",
        rich_help_panel=TIMELINE,
    ),
]
ReportOption = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="[new|all]",
        help="Whether a CQELS query reports all answers, or those that are new.",
        rich_help_panel=TIMELINE,
    ),
]


def _time(text: str | None) -> str | None:
    if text is not None and not is_time(text):
        raise typer.BadParameter(f"'{text}' is neither a time point nor an ISO timestamp")
    return text


def time_argument(name: str, help_text: str) -> Any:
    """An option that takes a time point or a timestamp."""
    return typer.Option(
        name, help=help_text, metavar="TIME", callback=_time, rich_help_panel=TIMELINE
    )


FromOption = Annotated[
    str | None, time_argument("--from", "The timeline's first time point, or a timestamp.")
]
ToOption = Annotated[str | None, time_argument("--to", "The last evaluation time.")]
AtOption = Annotated[str | None, time_argument("--at", "Only this time point, or timestamp.")]
AtTime = Annotated[str, time_argument("--at", "The time point, or timestamp.")]
UntilOption = Annotated[str | None, time_argument("--until", "The timeline's last time point.")]
TimesOption = Annotated[
    TimesAs,
    typer.Option(
        "--times",
        metavar="[iso|points]",
        help="Write times as timestamps or as time points; by default as the stream has them.",
        rich_help_panel=TIMELINE,
    ),
]
ZoneOption = Annotated[
    str | None,
    typer.Option(
        "--timezone",
        help="The time zone of timestamps, such as Europe/Vienna, and of those without a zone in "
        "the stream; UTC by default.",
        metavar="ZONE",
        rich_help_panel=TIMELINE,
    ),
]
HindsightOption = Annotated[
    bool,
    typer.Option(
        "--hindsight",
        help="Evaluate with the whole stream known, including later facts.",
        rich_help_panel=TIMELINE,
    ),
]
MapOption = Annotated[
    str | None,
    typer.Option(
        "--map",
        help="Mapping from columns to atoms: 'time -> temp(sensor, value)'.",
        rich_help_panel=READING,
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar=f"[{'|'.join(FORMATS)}]",
        help="The format of the stream; by default the suffix decides.",
        rich_help_panel=READING,
    ),
]
DelimiterOption = Annotated[
    str | None,
    typer.Option(
        help="The delimiter of CSV, such as ';' or tab; by default it is detected.",
        rich_help_panel=READING,
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        help="The columns of CSV without a header: 'time,sensor,value'.", rich_help_panel=READING
    ),
]


class Layout(NamedTuple):
    """The options about the format of a stream."""

    format: str | None = None
    delimiter: str | None = None
    columns: str | None = None


AppendOption = Annotated[
    bool, typer.Option("--append", help="Append to an output file that exists.")
]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace an output file that exists already.")
]
StateOption = Annotated[
    Path | None,
    typer.Option(
        "--state",
        help="A directory for the state: the same command resumes after a crash.",
        rich_help_panel=LIVE,
    ),
]
WatchProgramOption = Annotated[
    bool,
    typer.Option(
        "--watch-program",
        help="Replace the rules when the program's file changes, or on SIGHUP.",
        rich_help_panel=LIVE,
    ),
]
CommitEveryOption = Annotated[
    str, typer.Option(help="How often the state is written.", rich_help_panel=LIVE)
]
OnErrorOption = Annotated[
    OnError | None,
    typer.Option(
        "--on-error",
        help="Whether an invalid line ends the run (default) or is skipped (default of live runs).",
        rich_help_panel=READING,
    ),
]


def _duration(text: str) -> str:
    if not is_duration(text):
        raise typer.BadParameter(f"'{text}' is neither a number of time points nor a duration")
    return text


LatenessOption = Annotated[
    str,
    typer.Option(
        help="Reorder facts that are up to so many time points late, or a duration: 3min.",
        metavar="N",
        callback=_duration,
        rich_help_panel=READING,
    ),
]


def _optional_duration(text: str | None) -> str | None:
    return None if text is None else _duration(text)


KeepOption = Annotated[
    str | None,
    typer.Option(
        "--keep",
        help="Keep facts at least so long for later versions of the program: 60 or 1h.",
        metavar="N",
        callback=_optional_duration,
        rich_help_panel=LIVE,
    ),
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        min=0.001,
        help="The maximum number of seconds for one evaluation.",
        rich_help_panel=ENGINE,
    ),
]
_SIZE = re.compile(r"([0-9]{1,12})\s*([KMGT]?)(i?)B?", re.IGNORECASE)


def _size(text: str | None) -> str | None:
    if text is not None and _SIZE.fullmatch(text.strip()) is None:
        raise typer.BadParameter(f"'{text}' is no size, such as 500MB or 2GiB")
    return text


def bytes_of(text: str | None) -> int | None:
    """The number of bytes of a size, such as 500MB.

    >>> bytes_of("500MB"), bytes_of("2 GiB"), bytes_of(None)
    (500000000, 2147483648, None)
    """
    found = None if text is None else _SIZE.fullmatch(text.strip())
    if found is None:
        return None
    power = " KMGT".index(found[2].upper() or " ")
    return int(int(found[1]) * (1024 if found[3] else 1000) ** power)


MaxMemoryOption = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        help="End the run when it takes more memory: 500MB, 2GiB.",
        metavar="SIZE",
        callback=_size,
        rich_help_panel=ENGINE,
    ),
]
MaxRowsOption = Annotated[
    int | None,
    typer.Option(
        "--max-rows",
        min=1,
        help="End the run when the engine holds more rows or elements.",
        rich_help_panel=ENGINE,
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        min=1,
        help="How many threads evaluate slices of a file; without it one for each core.",
        rich_help_panel=ENGINE,
    ),
]
IncrementalOption = Annotated[
    bool,
    typer.Option(
        "--incremental",
        help="Reuse the solver of `asp` between time points.",
        rich_help_panel=ENGINE,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON Lines, also at a terminal.")]
ClockOption = Annotated[
    str | None,
    typer.Option(
        help="Advance time by the clock, such as '1s'; facts may lack `t`.", rich_help_panel=LIVE
    ),
]
FollowOption = Annotated[
    bool, typer.Option("--follow", help="Read what is appended to a file.", rich_help_panel=LIVE)
]
RetryOption = Annotated[
    bool,
    typer.Option(
        help="Reconnect when a connection ends; otherwise the run ends.",
        rich_help_panel=LIVE,
    ),
]
RecordOption = Annotated[
    Path | None,
    typer.Option(
        help="Write the facts of a live run to this file, for a replay.", rich_help_panel=LIVE
    ),
]
EveryOption = Annotated[
    str,
    typer.Option(
        help="When to write: time, '3 time' (from 0), '3 time from 1', change, '10 signals'.",
        rich_help_panel=LIVE,
    ),
]
