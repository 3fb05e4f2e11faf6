"""The files that a run writes: which of them may be written, and how they are opened."""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import typer

from larspark.base.problems import LarsparkError, Problem
from larspark.cli.durable_run import DurableRun
from larspark.cli.options import Form, Where
from larspark.feeds.live import Recording, Sink, is_live
from larspark.feeds.output_file import Existing, OutputFile
from larspark.feeds.time_format import TimeFormat
from larspark.show.terminal import print_notes

# Of tables, which `--output` does not write.
_TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".arrow", ".feather")


class Outputs:
    """Opens the output and the record of a run, unless that would destroy something."""

    def __init__(self, *, append: bool, overwrite: bool, inputs: Sequence[str | Path]) -> None:
        if append and overwrite:
            raise typer.BadParameter("--append and --overwrite exclude each other")
        self._existing = Existing.REFUSE
        if append:
            self._existing = Existing.APPEND
        elif overwrite:
            self._existing = Existing.OVERWRITE
        self._inputs = [Path(each) for each in inputs if not is_live(str(each))]
        self._opened: list[Path] = []

    def open(self, place: str | None, durable: DurableRun | None) -> str | OutputFile | Sink | None:
        """The output: a file if the place is one, a sink with commits if a durable run has one."""
        if place is None or is_live(place):
            return place if durable is None or durable.sink is None else durable.sink
        if Path(place).suffix.lower() in _TABLE_SUFFIXES:
            print_notes([f"{place} gets JSON Lines; `lp.outputs` writes tables, in Python"])
        return self.file("output", Path(place), durable)

    def file(self, name: str, path: Path, durable: DurableRun | None) -> OutputFile:
        """A file that is written; one that is read by the same run is refused."""
        for other in (*self._inputs, *self._opened):
            if _is_same(path, other):
                what = "written to twice" if other in self._opened else "read by this run"
                raise LarsparkError(Problem("L328", f"{path} cannot be written: it is {what}"))
        self._opened.append(path)
        length = None if durable is None else durable.length(name)
        file = OutputFile(path, self._existing, length=length)
        if durable is not None:
            durable.add_file(name, file)
        return file

    @contextmanager
    def recording(
        self, path: Path, times: TimeFormat, start: int | None, durable: DurableRun | None
    ) -> Iterator[Recording]:
        """The file that the facts of a live run are recorded in, from its first time point on."""
        with closing(self.file("record", path, durable)) as file:
            recording = Recording(file, times, start)
            if durable is not None:
                durable.add_recording(recording)
            yield recording


def _is_same(path: Path, other: Path) -> bool:
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):
        return os.path.abspath(path) == os.path.abspath(other)


def check_output(place: str | None, form: Form, *, hypothetical: bool) -> None:
    """Refuse a command for anything but changes."""
    if (
        place is not None
        and place.startswith("exec:")
        and (form is not Form.CHANGES or hypothetical)
    ):
        raise typer.BadParameter(
            "--output exec: is for --as changes: the command gets each of them"
        )


def check_state(
    state: Path | None, where: Where, place: str, *, hypothetical: bool, hindsight: bool
) -> None:
    """Refuse options that a run with a state does not support."""
    if state is None:
        return
    if where is Where.SPARK:
        raise typer.BadParameter("--state is for local runs; streams on Spark have a checkpoint")
    if not place:
        raise typer.BadParameter("--state goes with one stream, not with several")
    if hypothetical or hindsight:
        raise typer.BadParameter("--state goes with neither --hypothetical nor --hindsight")
