"""`larspark studio`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from larspark import api
from larspark.cli.app import app
from larspark.cli.inputs import background_facts, open_stream
from larspark.cli.live_run import open_live
from larspark.cli.options import (
    BackgroundFiles,
    ClockOption,
    ColumnsOption,
    DelimiterOption,
    EngineOption,
    FollowOption,
    FormatOption,
    FromOption,
    HindsightOption,
    LatenessOption,
    Layout,
    MapOption,
    MaxMemoryOption,
    OnErrorOption,
    RetryOption,
    UntilOption,
    ZoneOption,
    bytes_of,
    existing,
)
from larspark.feeds import Stream
from larspark.feeds.live import is_live
from larspark.feeds.named_files import split_name
from larspark.run.protocol import Settings
from larspark.run.registry import AUTO
from larspark.show.terminal import errors

if TYPE_CHECKING:
    from larspark.studio.running import Places


@app.command(
    epilog="Example: [bold]larspark studio hot.lars -s readings.csv "
    "--map 'time -> temp(machine, value)'[/bold]",
    short_help="Open a page to write rules and look at their answers.",
)
def studio(
    program: Annotated[
        Path | None,
        typer.Argument(
            metavar="PROGRAM", help="A program; the file is created if it does not exist."
        ),
    ] = None,
    stream: Annotated[
        list[str] | None,
        typer.Option(
            "--stream",
            "-s",
            help="Events: files, tcp://host:port, tcp://:port, mqtt://host/topic, or NAME=FILE.",
        ),
    ] = None,
    background: BackgroundFiles = None,
    mapping: MapOption = None,
    stream_format: FormatOption = None,
    delimiter: DelimiterOption = None,
    columns: ColumnsOption = None,
    engine: EngineOption = AUTO,
    start: FromOption = None,
    until: UntilOption = None,
    hindsight: HindsightOption = False,
    lateness: LatenessOption = "0",
    on_error: OnErrorOption = None,
    clock: ClockOption = None,
    follow: FollowOption = False,
    retry: RetryOption = True,
    timezone: ZoneOption = None,
    max_memory: MaxMemoryOption = None,
    port: Annotated[int, typer.Option(help="The port of the page; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Serve a page on this computer: the program, its problems, the timeline, and the reasons.

    The address has a token in it, without which nothing is answered.
    """
    # The server is loaded for this command alone.
    from larspark.studio.desk import Desk
    from larspark.studio.guard import half_of_memory
    from larspark.studio.running import Opening, Places
    from larspark.studio.server import Studio

    layout = Layout(stream_format, delimiter, columns)
    streams = tuple(stream or ())
    for text in streams:
        place = split_name(text)[1]
        if not is_live(place) and place != "-":
            existing(Path(place))

    def opened(places: "Places", loaded: api.Program) -> Stream:
        tick = loaded.syntax.tick
        if len(places.streams) == 1:
            found = open_live(
                places.streams[0],
                mapping=places.mapping,
                layout=layout,
                record=None,
                clock=clock,
                start=start,
                tick=tick,
                follow=follow,
                retry=retry,
                on_error=on_error,
                lateness=lateness,
                timezone=timezone,
            )
            if found is not None:
                return found
        return open_stream(
            list(places.streams),
            places.mapping,
            tick,
            on_error,
            lateness,
            layout,
            loaded.syntax.named,
            timezone=timezone,
        )

    def settings(texts: api.TimeTexts, loaded: api.Program) -> Settings:
        ahead = hindsight or bool(loaded.syntax.hindsight)
        return Settings(texts.point(start), ahead, texts.point(until))

    opening = Opening(
        opened,
        lambda loaded: background_facts(background, loaded.syntax.named),
        settings,
        engine,
        timezone,
    )
    text = program.read_text("utf-8") if program is not None and program.exists() else ""
    memory = bytes_of(max_memory) or half_of_memory()
    served = Studio(Desk(opening, program, text, Places(streams, mapping), memory), port)
    print(served.address, flush=True)  # noqa: T201 - scripts read it
    errors.print("Ctrl-C ends it; nobody without this address can see it", markup=False)
    if browser:
        import webbrowser

        webbrowser.open(served.address)
    try:
        served.serve()
    except KeyboardInterrupt:
        served.stop()
