"""`larspark run`."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Annotated

import typer

from larspark import api
from larspark.base.atoms import Atom
from larspark.cli.answer_format import AnswerFormat
from larspark.cli.app import app, end_at_once
from larspark.cli.durable_run import durable_answers, durable_run
from larspark.cli.inputs import background_facts, given_options, load_program, open_stream
from larspark.cli.live_run import Watch, flushed, open_live, parse_every, report_end
from larspark.cli.metrics import Metrics, parse_metrics, served_metrics
from larspark.cli.options import (
    AllowPathOption,
    AppendOption,
    AtOption,
    BackgroundFiles,
    ClockOption,
    ColumnsOption,
    CommitEveryOption,
    DelimiterOption,
    DialectOption,
    EngineOption,
    EveryOption,
    FirstReportOption,
    FollowOption,
    Form,
    FormatOption,
    FormOption,
    FromOption,
    HindsightOption,
    IncrementalOption,
    JobsOption,
    JsonOption,
    KeepOption,
    LatenessOption,
    Layout,
    MapOption,
    MaxMemoryOption,
    MaxRowsOption,
    MetricsOption,
    Mode,
    OnErrorOption,
    OutputOption,
    OverwriteOption,
    ProgramFile,
    RangeOption,
    ReadingOption,
    RecordOption,
    ReportOption,
    RetryOption,
    StateOption,
    StreamPlace,
    TickOption,
    TimeLimitOption,
    TimesOption,
    ToOption,
    UntilOption,
    WatchProgramOption,
    Where,
    ZoneOption,
    bytes_of,
)
from larspark.cli.outputs import Outputs, check_output, check_state
from larspark.cli.program_watch import ProgramSource, begin_watch, check_watch, program_watch
from larspark.cli.spark_run import answers_on_spark
from larspark.feeds.live import is_live
from larspark.feeds.named_files import split_name
from larspark.feeds.time_format import POINTS
from larspark.run.budget import Budget
from larspark.run.emit_policy import EmitPolicy, Every
from larspark.run.protocol import Answers, Settings
from larspark.run.registry import AUTO
from larspark.run.replay import live
from larspark.run.session import Session
from larspark.run.slices import replay_in_slices, usable_cores
from larspark.show.run_notes import (
    Arrivals,
    MergedFacts,
    MissingAnswers,
    no_answer_notes,
    unmatched_notes,
)
from larspark.show.terminal import (
    print_notes,
    print_problems,
    print_skipped,
    reading_progress,
    writer,
)
from larspark.show.type_notes import ArgumentTypes


@app.command(
    epilog="Example: [bold]larspark run hot.lars --stream readings.csv "
    "--map 'time -> temp(machine, value)'[/bold]",
    short_help="Run a program over a stream.",
)
def run(
    context: typer.Context,
    program: ProgramFile,
    stream: StreamPlace,
    background: BackgroundFiles = None,
    engine: EngineOption = AUTO,
    start: FromOption = None,
    to: ToOption = None,
    at: AtOption = None,
    hindsight: HindsightOption = False,
    until: UntilOption = None,
    lateness: LatenessOption = "0",
    on_error: OnErrorOption = None,
    append: AppendOption = False,
    overwrite: OverwriteOption = False,
    state: StateOption = None,
    commit_every: CommitEveryOption = "1s",
    watch_program: WatchProgramOption = False,
    keep: KeepOption = None,
    form: FormOption = None,
    mode: Annotated[
        Mode, typer.Option(help="Answer after each time point (pull) or each fact (push).")
    ] = Mode.PULL,
    output: OutputOption = None,
    time_limit: TimeLimitOption = None,
    max_memory: MaxMemoryOption = None,
    max_rows: MaxRowsOption = None,
    metrics: MetricsOption = None,
    incremental: IncrementalOption = False,
    jobs: JobsOption = None,
    mapping: MapOption = None,
    stream_format: FormatOption = None,
    delimiter: DelimiterOption = None,
    columns: ColumnsOption = None,
    times: TimesOption = None,
    timezone: ZoneOption = None,
    clock: ClockOption = None,
    follow: FollowOption = False,
    retry: RetryOption = True,
    record: RecordOption = None,
    where: Annotated[Where, typer.Option("--on", help="Run locally or on Spark.")] = Where.LOCAL,
    every: EveryOption = "time",
    hypothetical: Annotated[
        bool, typer.Option("--hypothetical", help="Also write answers that may come to hold.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="The maximum number of hypothetical answers per time point."),
    ] = None,
    dialect: DialectOption = None,
    allow_path: AllowPathOption = None,
    reading: ReadingOption = None,
    tick_length: TickOption = None,
    span: RangeOption = None,
    first_report: FirstReportOption = None,
    report: ReportOption = None,
    json: JsonOption = False,
) -> None:
    """Run a program over a stream and write the answers."""
    if at is not None and to is not None:
        raise typer.BadParameter("--at and --to exclude each other")
    when = parse_every(every, form)
    place = stream[0] if len(stream) == 1 and split_name(stream[0])[0] is None else ""
    options = given_options(
        reading=reading, tick=tick_length, range=span, t0=first_report, report=report
    )
    load = partial(load_program, program, dialect, allow_path, options, hindsight=hindsight)
    loaded = load()
    hindsight = hindsight or bool(loaded.syntax.hindsight)
    form = _form_of_events(loaded, form, hypothetical=hypothetical)
    if form is None and loaded.syntax.bindings is not None and not hypothetical:
        form = Form.BINDINGS if mode is Mode.PULL else Form.POINTS
    if form is None:
        needs_points = at is not None or mode is Mode.PUSH or hypothetical or when != Every()
        form = _default_form(needs_points, ends=not follow and not is_live(place))
    _check_push(mode, form, where)
    if hypothetical:
        _check_hypothetical(form, mode, where, hindsight)
    if limit is not None and not (hypothetical and form is Form.POINTS):
        raise typer.BadParameter("--limit is for --hypothetical and points")
    check_output(output, form, hypothetical=hypothetical)
    check_state(state, where, place, hypothetical=hypothetical, hindsight=hindsight)
    inputs = [str(program), *(split_name(s)[1] for s in (*stream, *(background or ())))]
    files = Outputs(append=append, overwrite=overwrite, inputs=inputs)
    # What a run must have in common with the one that it goes on from.
    same: list[object] = [place, engine, start, to, at, until, form, mode, every, clock]
    same += [lateness, mapping, time_limit, incremental, times, timezone, output, record]
    common = dict(zip(_COMMON, map(_plain, same), strict=True))
    durable = context.with_resource(durable_run(state, commit_every, common, output))
    tick = loaded.syntax.tick
    live_source = open_live(
        place,
        mapping=mapping,
        layout=Layout(stream_format, delimiter, columns),
        record=record,
        clock=clock,
        start=start,
        tick=tick,
        follow=follow,
        retry=retry,
        on_error=on_error,
        lateness=lateness,
        timezone=timezone,
        durable=durable,
    )
    metrics_at = parse_metrics(metrics, live=live_source is not None)
    if live_source is not None and where is Where.SPARK:
        raise typer.BadParameter("a live run is local; `larspark.spark.stream` is for Spark")
    source = live_source or open_stream(
        stream,
        mapping,
        tick,
        on_error,
        lateness,
        Layout(stream_format, delimiter, columns),
        loaded.syntax.named,
        timezone=timezone,
    )
    texts = api.TimeTexts(source.options.tick, times, timezone)
    written = texts.written(source)
    first = texts.point(start)
    if first is None and live_source is not None:
        first = live_source.begin()
    push = mode is Mode.PUSH
    settings = Settings(first, hindsight, texts.point(until), push, time_limit, incremental)
    settings = settings if durable is None else durable.settings(settings)
    given = background_facts(background, loaded.syntax.named)
    moment = texts.point(at)
    last = moment if moment is not None else texts.point(to)
    policy, arrivals, missing = EmitPolicy(when), Arrivals(), MissingAnswers()
    merged, types = MergedFacts(), ArgumentTypes()
    monitor = _monitor(loaded, given, first, form) if hypothetical else None
    seen = [
        arrivals.add,
        merged.add,
        types.add,
        policy.hear,
        *([] if monitor is None else [monitor.hear]),
    ]
    session: Session | None = None
    notes: Sequence[str] = ()
    if where is Where.LOCAL:
        session = api.open_session(loaded, given, engine, settings)
    check_watch(watch_program, keep, live=live_source is not None, plain=not (hypothetical or push))
    watched = program_watch(
        watch_program,
        session,
        ProgramSource(program, load, background, engine),
        loaded,
        (keep, source.options.tick),
        saved=durable is not None,
    )
    checked = loaded.check(given, settings=settings).checked if session is None else session.checked
    print_problems(checked.warnings)
    pieces: Iterable[Answers]
    budget = Budget(max_rows, bytes_of(max_memory), time_limit)
    with ExitStack() as stack:
        stack.enter_context(budget.watched(session, report_end))
        if session is None:
            out = stack.enter_context(writer(files.open(output, None), json))
            pieces, notes = answers_on_spark(loaded, source, given, engine, settings, last, seen)
        elif live_source is None:
            end_at_once()
            batches = stack.enter_context(reading_progress(source, source.batches()))
            out = stack.enter_context(writer(files.open(output, None), json))
            # A limit is on one session, and some lines need the stream read no further than they.
            in_one = budget != Budget() or not source.lasting or monitor or when != Every()
            threads = 1 if in_one else jobs or usable_cores()
            tables = form is Form.INTERVALS
            pieces = replay_in_slices(
                session, batches, threads, to=last, seen=seen, in_tables=tables
            )
        else:
            watch = Watch(
                live_source,
                session,
                written,
                quiet=place == "-" and clock is None,
                hang_up=None if watched is None else watched.ask,
            )
            stack.enter_context(watch.watching())
            # Inside the watch, because delivering the last lines may take time.
            out = stack.enter_context(writer(files.open(output, durable), json))
            seen.append(watch.draw)
            if record is not None:
                # Timestamps can be read again only where the program has a tick.
                replayable = written if tick is not None else POINTS
                recording = files.recording(record, replayable, settings.start, durable)
                seen.append(stack.enter_context(recording).add)
            numbers = Metrics(live_source, session, out, durable)
            stack.enter_context(served_metrics(metrics_at, numbers))
            answers = live(session, live_source, to=last, hindsight=hindsight, seen=seen)
            pieces = flushed(answers, out)
        pieces = budget.counted(pieces, session)
        chosen = None if when == Every() else policy
        names = loaded.syntax.bindings or ()
        shown = AnswerFormat(
            form, moment, chosen, monitor, limit, written, names, in_columns=source.lasting
        )
        if form is not Form.POINTS:
            pieces = missing.watched(pieces)
        with durable_answers(durable, live_source, session, shown, out):
            begin_watch(watched, live_source, shown, durable)
            answered = False
            for line in shown.lines(pieces, out.people):
                out.line(line)
                answered = True
    print_notes(missing.notes(written))
    print_notes(notes if session is None else [*session.notes, *session.warnings])
    asked = checked.inputs - {atom.signature for _, atom in checked.elements}
    # A run that was resumed has not seen what came before.
    asked = asked if durable is None or durable.found is None else frozenset()
    unmatched = unmatched_notes(asked, arrivals.signatures)
    answered = answered or live_source is not None
    print_notes(unmatched or no_answer_notes(answered, arrivals.signatures))
    print_skipped(source)
    print_notes(merged.note())
    data = given if session is None else session.background
    print_notes(types.notes(checked.rules, data))


_COMMON = (
    *("--stream", "--engine", "--from", "--to", "--at", "--until", "--as", "--mode", "--every"),
    *("--clock", "--lateness", "--map", "--time-limit", "--incremental", "--times", "--timezone"),
    *("--output", "--record"),
)


def _plain(value: object) -> object:
    """The value of an option as a JSON value."""
    return value if isinstance(value, int | float | None) else str(value)


def _default_form(needs_points: bool, ends: bool) -> Form:
    """The format of the answers where none is chosen."""
    if needs_points:
        return Form.POINTS
    return Form.INTERVALS if ends else Form.CHANGES


def _monitor(
    program: api.Program, background: list[Atom], start: int | None, form: Form
) -> api.Monitor:
    monitor = api.Monitor(program, background, start=start, follow=form is Form.CHANGES)
    print_problems(monitor.warnings)
    return monitor


def _form_of_events(program: api.Program, form: Form | None, *, hypothetical: bool) -> Form | None:
    """The answers of a program about events are events unless another format is chosen."""
    if program.syntax.events:
        return Form.EVENTS if form is None and not hypothetical else form
    if form is Form.EVENTS:
        raise typer.BadParameter("--as events is for programs about events, such as ETALIS's")
    return form


def _check_push(mode: Mode, form: Form, where: Where) -> None:
    if mode is Mode.PUSH and form is not Form.POINTS:
        raise typer.BadParameter("--mode push gives points")
    if mode is Mode.PUSH and where is Where.SPARK:
        raise typer.BadParameter("--mode push runs locally")


def _check_hypothetical(form: Form, mode: Mode, where: Where, hindsight: bool) -> None:
    """Refuse options that hypothetical answers do not support."""
    if form is Form.INTERVALS:
        raise typer.BadParameter("--hypothetical goes with points or changes")
    if mode is Mode.PUSH or where is Where.SPARK:
        raise typer.BadParameter("--hypothetical answers after time points, and locally")
    if hindsight:
        raise typer.BadParameter("--hypothetical and --hindsight exclude each other")
