"""What mutated inputs are given to, and what must hold of whatever comes back."""

import io
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch
from warnings import catch_warnings, simplefilter

import typer
from tests.fuzz.mutation import mutated

from larspark.analysis.check import check
from larspark.base.atoms import fact
from larspark.base.facts import Row, RowBatch
from larspark.base.problems import LarsparkError
from larspark.cli.live_run import parse_every
from larspark.cli.metrics import parse_metrics
from larspark.cli.options import bytes_of
from larspark.feeds import Stream
from larspark.feeds.live.places import parse_place
from larspark.feeds.mapping import parse_mappings
from larspark.feeds.time_options import duration_option, is_duration, is_time, time_option
from larspark.language import parse_program, program_text
from larspark.run.session import Session, read_session

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SUFFIXES = {".lars": "lars", ".laser": "laser", ".cql": "cql", ".ltl": "ltl", ".event": "etalis"}
MAPPINGS = (
    "time -> temp(sensor, value)",
    "ms(ts) -> temp(`Sensor ID`, number(device.value), 3); ts -> up(text(id), 'x', -1.5e3)",
    "temp(integer(n))",
)
OPTIONS = (
    *("7 signals", "3 time from 1", "change", "1s", "500ms", "1 min", "2 h", "600MiB", "1G", "17"),
    *("2026-03-01T10:00:00Z", "2026-03-01", "-5", ":9464", "0.0.0.0:9464", "tcp://[::1]:9000"),
    *("tcp+listen://:1", "mqtt://me:pa%40ss@box:1884/a/+/#", "kafka://b:9092/t?group=x&idle=1min"),
    *("https://host:8443/a?b=c", "exec:true 'a b'", "partitions=0-3,7", "from=end", "-"),
)
LINES = (
    '{"t": 1, "atom": "temp(m1,95)"}',
    '{"t": 2, "atoms": ["temp(m1,95.5)", "up", "p(\\"a b\\",-3)"]}',
    '{"t": "2026-03-01T10:00:20Z", "atom": "temp(m2, 1)"}',
    '{"t": 3, "predicate": "temp", "args": ["m1", 95, 1e300, "x\\u00e4"]}',
    '{"t": 4}',
    '{"atom": "p(x)", "from": 5, "to": 9}',
)
CSV = 'time,machine,value\n1,m1,95\n2,m2,88.5\n3,"a, b",007\n4,,\n'


class Target(NamedTuple):
    """A parser, good inputs of it, and the errors that it may raise."""

    name: str
    samples: Sequence[str]
    run: Callable[[str, Random], Any]
    refusals: tuple[type[BaseException], ...] = (LarsparkError,)


def programs() -> list[str]:
    """The programs of the cases and examples, each after the name of its dialect."""
    found = []
    for folder in (ROOT / "tests" / "cases", ROOT / "examples", HERE / "corpus"):
        for path in sorted(folder.rglob("*")):
            if path.suffix in SUFFIXES:
                found.append(f"{SUFFIXES[path.suffix]}\n{path.read_text()[:4000]}")
    return found


def read_program(text: str, rng: Random) -> None:
    """Parse, check, print and parse again; small programs also run, and engines agree."""
    dialect, _, rest = text.partition("\n")
    if dialect not in SUFFIXES.values():
        dialect = "lars"
    with no_files():
        parsed = parse_program(rest, dialect=dialect, read=_no_include)
    for problem in parsed.problems:
        problem.render()
    if parsed.program is None or parsed.problems:
        return
    printed = program_text(parsed.program)
    with no_files():
        again = parse_program(printed)
    if again.program is not None:
        assert program_text(again.program) == printed
    checked = check(parsed.program, ())
    if checked.problems or not _is_small(rest):
        return
    answers = {name: _answers(checked, name) for name in ("auto", "oracle")}
    if None not in answers.values():
        assert answers["auto"] == answers["oracle"], printed


def _no_include(name: str) -> str:
    raise FileNotFoundError(name)


@contextmanager
def no_files() -> Iterator[None]:
    """In this context, a program reads no file; it fails as if there were none."""
    with patch("larspark.language.parser.open", side_effect=FileNotFoundError, create=True):
        yield


def _is_small(text: str) -> bool:
    numbers = "".join(c if c.isdigit() else " " for c in text).split()
    large = any(len(number) > 1 for number in numbers)
    return not large and len(text) < 300 and "#" not in text


_FACTS = [
    (t, fact(name, *values))
    for t in range(1, 6)
    for name, values in (("p", (t,)), ("a", ("x",)), ("temp", ("m", 90 + t)), ("b", ("x", t % 2)))
]


def _answers(checked: Any, engine: str) -> list[Any] | None:
    """The answers over a few facts; None if the engine refuses the program."""
    try:
        session = Session(checked, (), engine)
        kept = [pair for pair in _FACTS if pair[1].signature not in checked.derived]
        session.append(RowBatch([Row(t, atom, n) for n, (t, atom) in enumerate(kept)], 5))
        if session.kind.name == "asp":
            # Which of several answers is followed is up to the engine.
            return None
        return [(point.t, point.atoms) for point in session.advance(5).points()]
    except LarsparkError:
        return None


def read_lines(text: str, rng: Random) -> None:
    """Block by block as columns, and line by line, the same facts and problems are read."""
    mapping = rng.choice((None, "t -> temp(atom)"))
    found = [_facts(text, "jsonl", mapping, size) for size in (1, 1 << 16)]
    assert found[0] == found[1]


def read_csv(text: str, rng: Random) -> None:
    _facts(text, "csv", "time -> temp(machine, value)", 1 << 16)


def _facts(text: str, form: str, mapping: str | None, size: int) -> Any:
    data = text.encode(errors="surrogatepass")
    stream = Stream.read(
        io.BytesIO(data),
        format=form,
        map=mapping,
        tick=1_000_000,
        on_error="skip",
        lateness=3,
        batch_size=size,
    )
    rows = [(row.t, row.atom) for batch in stream.batches() for row in batch.rows()]
    assert all(0 <= t < 1 << 62 for t, _ in rows)
    assert all(math.isfinite(a) for _, atom in rows for a in atom.args if isinstance(a, float))
    return rows, stream.skipped, [problem.render() for problem in stream.problems]


def read_mapping(text: str, rng: Random) -> None:
    parse_mappings(text, optional_time=rng.random() < 0.5)


def read_option(text: str, rng: Random) -> None:
    """Every option that is a text of its own takes it, or says what is wrong."""
    which = rng.randrange(6)
    if which == 0:
        parse_every(text, None)
    elif which == 1:
        bytes_of(text)
    elif which == 2:
        parse_metrics(text, live=True)
    elif which == 3 and is_duration(text):
        duration_option(text, 1_000_000)
    elif which == 4 and is_time(text):
        time_option(text, 1_000_000)
    else:
        parse_place(text)


def read_state(text: str, rng: Random) -> None:
    """The bytes of a state, as Latin-1."""
    read_session(text.encode("latin-1", errors="replace"))


def _states() -> list[str]:
    session = Session(check(parse_program("q(X) :- [3] some p(X).").program, ()), ())
    session.append(RowBatch([Row(1, fact("p", "x"), 0)], 2))
    session.advance(1)
    return [session.save().decode("latin-1")]


def targets() -> list[Target]:
    """All of them; what was found before is in the corpus, a file for each input."""
    found = {
        name: [
            path.read_bytes().decode() for path in sorted((HERE / "corpus").glob(f"{name}-*.txt"))
        ]
        for name in ("lines", "csv", "mapping", "option", "state")
    }
    lines = ["\n".join(LINES), *LINES, *found["lines"]]
    return [
        Target("program", programs(), read_program),
        Target("lines", lines, read_lines),
        Target("csv", [CSV, *found["csv"]], read_csv),
        Target("mapping", [*MAPPINGS, *found["mapping"]], read_mapping),
        Target(
            "option",
            [*OPTIONS, *found["option"]],
            read_option,
            (LarsparkError, typer.BadParameter),
        ),
        Target("state", [*_states(), *found["state"]], read_state),
    ]


def attack(target: Target, rng: Random) -> str:
    """Give one mutated input to a target; anything but a result or a refusal is an error."""
    sample = rng.choice(target.samples)
    text = mutated(sample, target.samples, rng)
    seed = rng.random()
    with catch_warnings():
        simplefilter("ignore")
        try:
            target.run(text, Random(seed))
        except target.refusals as refusal:
            str(refusal)
        except BaseException as error:
            error.add_note(f"target {target.name}, seed {seed}, input {text!r}")
            raise
    return text
