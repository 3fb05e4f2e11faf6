"""One simulated run, from a seed: its program, its source, its options, and what befalls it."""

import io
import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import typer
from tests.simulation.disk import SimulatedDisk
from tests.simulation.places import Broker, Log, Server, network
from tests.simulation.world import KilledError, World

from larspark.base.problems import LarsparkError
from larspark.cli import app
from larspark.cli.options import Form
from larspark.cli.run_command import run
from larspark.run.commits import Commits

PROGRAMS = {
    "windows": """hot(M) :- [3] some temp(M, V), V > 90.
alarm(M) :- hot(M), not [5] some serviced(M).
busy(M) :- [2] always temp(M, _).""",
    "tuples": """last(M, V) :- [#2 by M] @T temp(M, V), [40] some temp(M, V).
few(V) :- [#3] some temp(_, V), not [#2] some serviced(_).""",
    "sessions": """on(M) :- [session 2] some temp(M, _).
off(M) :- [ended session 1 by M] some temp(M, _).""",
    "recursion": """near(M, V) :- [4] some temp(M, V).
near(M, W) :- near(M, V), near(N, V), near(N, W). lone :- not near(m1, 85).""",
    "remembered": """#remember up/1. up(M) :- temp(M, V), V > 95.
up(M) :- [4] some up(M), not serviced(M).""",
    "numbers": """n(M, N) :- N = count of [5] temp(M, V) by M.
s(M, S) :- S = sum of V in [#4] temp(M, V) by M.""",
    "future": """@T+3 due(M) :- [2] @T temp(M, _), not serviced(M).
soon(M) :- [1,+1] some temp(M, _).""",
}
CHOICES = "up(M) or down(M) :- [2] some temp(M, _). :- up(M), [1] some serviced(M)."
_TYPER = typer.main.get_command(app)
# When the last fact is there, and how much longer a run with a clock goes on.
_FINISHED, _MORE = 20.0, 30.0
_LAST = '{"t": 1000000}\n'
_MOST_RUNS, _QUIET_RUNS = 22, 10


def lines_of(rng: Random, last: int, timed: bool) -> list[str]:
    """Lines of facts up to a time point, each with its time if they are timed."""
    lines = []
    for t in range(1, last + 1):
        for _ in range(rng.choice((0, 0, 1, 1, 2, 6))):
            atom = f"temp(m{rng.randrange(4)},{rng.randrange(80, 100)})"
            if rng.random() < 0.2:
                atom = f"serviced(m{rng.randrange(4)})"
            lines.append(json.dumps({"t": t, "atom": atom} if timed else {"atom": atom}) + "\n")
    return lines


class Scenario:
    """A run, and the undisturbed one whose output it must have."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = rng = Random(seed)
        self.folder = folder
        self.world = World(rng)
        self.disk = SimulatedDisk(self.world)
        self.said = io.StringIO()
        self.kills = self.faults = 0
        self.engine = rng.choice(("auto",) * 30 + ("asp", "tms", "oracle"))
        name = rng.choice(sorted(PROGRAMS))
        # The oracle is slow, and tms takes no aggregates.
        text = PROGRAMS["windows"] if self.engine in ("tms", "oracle") else PROGRAMS[name]
        if self.engine == "asp" and rng.random() < 0.5:
            text = CHOICES
        (folder / "p.lars").write_text(text)
        self.kind = rng.choice(("file", "follow", "follow", "mqtt", "mqtt", "tcp"))
        self.clock = rng.choice((None, None, 0.5, 2.0)) if self.kind != "file" else None
        self.lateness = rng.choice((0, 0, 2)) if self.clock is None else rng.choice((0, 1))
        self.form = rng.choice((Form.POINTS, Form.CHANGES, Form.INTERVALS))
        self.every = "time"
        if self.form is not Form.INTERVALS and rng.random() < 0.3:
            self.every = rng.choice(("7 signals", "change", "3 time"))
        last = rng.randrange(3, 12 if self.engine == "oracle" else 40)
        self.lines = lines_of(rng, last, timed=self.clock is None)
        if self.lateness and self.clock is None:
            self.lines = _late(self.lines, rng, self.lateness)
        self.to: str | None = None
        if self.clock is not None:
            self.to = str(int((self.world.now + _FINISHED + _MORE) / self.clock))
        elif self.kind != "file":
            self.to = str(last)
            # With a lateness, the first of them is held back.
            self.lines += [_LAST, _LAST.replace("1", "2")]
        self.broker: Broker | None = None
        self.server: Server | None = None
        self.place = self._place("".join(self.lines).encode())

    def _place(self, data: bytes) -> str:
        seconds = self.rng.choice((1.0, 10.0, _FINISHED))
        if self.kind == "file":
            (self.folder / "s.jsonl").write_bytes(data)
            return "s.jsonl"
        if self.kind == "follow":
            Log(self.world, self.folder / "s.jsonl", data, seconds)
            return "s.jsonl"
        if self.kind == "mqtt":
            self.broker = Broker(self.world, self.lines, seconds)
            return "mqtt://broker/facts"
        self.server = Server(self.world, data, seconds, timed=self.clock is None)
        return "tcp://server:9000"

    def __repr__(self) -> str:
        what = (self.kind, self.clock, self.lateness, self.form.value, self.every, self.engine)
        return f"{what}, killed {self.kills} times, {self.faults} faults"

    def simulate(self) -> None:
        """Run until the run has come to its end, whatever happens; then compare."""
        with _in_folder(self.folder), redirect_stderr(self.said), redirect_stdout(self.said):
            self._run_on()
            self._compare()

    def _run_on(self) -> None:
        """Start the run again and again, until it has come to its end."""
        with ExitStack() as stack:
            stack.enter_context(self.world.replacing())
            stack.enter_context(network(self.broker, self.server))
            for place in ("run.commits", "feeds.output_file"):
                stack.enter_context(patch(f"larspark.{place}.Disk", lambda: self.disk))
            # Small files come in several blocks, too.
            size = self.rng.choice((50, 300, 1 << 18))
            stack.enter_context(patch("larspark.feeds.live.growing._READ", size))
            for number in range(_MOST_RUNS):
                # In the end nothing more befalls it.
                if self._process(disturbed=number < _MOST_RUNS - _QUIET_RUNS):
                    return
        raise AssertionError("the run does not come to its end")

    def _process(self, *, disturbed: bool) -> bool:
        """One process of the run; True if the run has come to its end."""
        world, disk, rng = self.world, self.disk, self.rng
        world.begin_process()
        disk.calls, disk.fault_happened = 0, False
        disk.fault_at = world.kill_at = world.interrupt_at = None
        world.interrupt = lambda: signal.raise_signal(signal.SIGINT)
        if disturbed:
            self._disturb(rng.choice(("disk", "disk", "kill", "kill", "interrupt")))
        over = False
        try:
            self._run()
            over = True
        except KilledError:
            self.kills += 1
        except LarsparkError as error:
            if not disk.fault_happened:
                raise
            codes = {problem.code for problem in error.problems}
            assert codes <= {"L324", "L430"}, error
            self.faults += 1
        finally:
            world.end_process()
        if not over and rng.random() < 0.5:
            disk.lose_power()
        disk.forget()
        if over:
            newest = Commits(Path("S")).newest()
            return newest is not None and newest.finished
        world.now += rng.choice((0.0, 0.1, 0.5))
        return False

    def _disturb(self, what: str) -> None:
        when = int(2 ** (self.rng.random() * 9))
        if what == "disk":
            self.disk.fault_at = when
            self.disk.fault = self.rng.choice(("kill", "ENOSPC", "EIO", "short", "torn"))
        elif what == "kill":
            self.world.kill_at = 4 * when
        else:
            self.world.interrupt_at = 4 * when

    def _run(self) -> None:
        context = typer.Context(_TYPER)
        options: dict[str, Any] = {
            "engine": self.engine,
            "lateness": str(self.lateness),
            "state": Path("S"),
            "commit_every": self.rng.choice(("1ms", "100ms", "5s")),
            "form": self.form,
            "every": self.every,
            "to": self.to,
            "output": "out",
            "record": Path("facts.jsonl"),
            "follow": self.kind == "follow",
            "clock": None if self.clock is None else f"{int(self.clock * 1000)}ms",
            "times": "points",
        }
        with context:
            try:
                run(context, Path("p.lars"), [self.place], **options)
            except typer.Exit:
                return

    def _compare(self) -> None:
        out = Path("out").read_text()
        record = Path("facts.jsonl").read_text()
        assert out == self._replayed("facts.jsonl", "0"), "the replay of the recording differs"
        if self.kind == "tcp":
            return
        if self.clock is None:
            Path("all.jsonl").write_text("".join(self.lines))
            assert out == self._replayed("all.jsonl", str(self.lateness)), "the output differs"
            return
        given = Counter(json.loads(line)["atom"] for line in self.lines)
        kept = Counter(json.loads(line).get("atom") for line in record.splitlines())
        del kept[None]
        assert kept == given, "facts are lost or twice"

    def _replayed(self, stream: str, lateness: str) -> str:
        """The output of an undisturbed run over a file."""
        words = {
            "lateness": lateness,
            "form": self.form,
            "every": self.every,
            "engine": self.engine,
        }
        context = typer.Context(_TYPER)
        with context:
            run(
                context,
                Path("p.lars"),
                [stream],
                output="again",
                overwrite=True,
                to=self.to,
                times="points",
                **words,
            )
        return Path("again").read_text()


def _late(lines: list[str], rng: Random, most: int) -> list[str]:
    """The lines in another order, late by so many time points at most."""
    times = [json.loads(line)["t"] + rng.randrange(most + 1) for line in lines]
    return [line for _, line in sorted(zip(times, lines, strict=True), key=lambda pair: pair[0])]


@contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
