"""The saved state of a shard between two micro-batches, verified by digests before use."""

import hashlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from larspark.base.problems import LarsparkError, Problem
from larspark.run.state import MALFORMED, Array, SavedState, State, byte_array, program_identity
from larspark.scale.piece_step import Facts
from larspark.scale.shuffle_payloads import to_bytes
from larspark.scale.streaming.stream_job import StreamJob

_KIND = "shard"

HOLDING = pa.schema([("atom", pa.string()), ("from", pa.int64())])


class Identity(NamedTuple):
    """The program and layout that a state belongs to; a state of another identity is unusable.

    `digest` identifies the program with its background data. `key` gives the position of the key
    argument of predicates, `everywhere` the predicates whose facts go to all shards.
    """

    digest: str
    program: str
    background: str
    engine: str
    start: int | None
    until: int | None
    shards: int
    sources: int
    tick: int | None
    key: tuple[tuple[str, int, int], ...]
    everywhere: tuple[tuple[str, int], ...]
    stage: int | None = None


@dataclass(frozen=True, slots=True)
class ShardState:
    """The state of a shard.

    `first` is the earliest time point received before the first answer, `latest` the latest of each
    source. The timeline of the engine starts at `start`, once that is known, and is answered up to
    `answered`. `held` are the facts after that, `kept` those from `kept_from` up to it; `holding`
    lists the atoms that hold at `answered` with their starts. Without a saved session the engine is
    rebuilt from the kept facts.
    """

    identity: Identity
    first: int | None
    latest: tuple[int | None, ...]
    start: int | None
    answered: int | None
    late: int
    held: tuple[Facts, ...]
    kept_from: int | None
    kept: tuple[Facts, ...]
    holding: pa.Table
    session: bytes

    def to_bytes(self) -> bytes:
        facts = [*self.held, *self.kept]
        tables = {"holding": self.holding}
        tables |= {f"facts {number}": each.table for number, each in enumerate(facts)}
        values: dict[str, Any] = {
            "identity": self.identity._asdict(),
            "first": self.first,
            "latest": self.latest,
            "start": self.start,
            "answered": self.answered,
            "late": self.late,
            "held": [(facts.place, facts.predicate) for facts in self.held],
            "kept_from": self.kept_from,
            "kept": [(facts.place, facts.predicate) for facts in self.kept],
        }
        arrays: dict[str, Array] = {n: byte_array(to_bytes(table)) for n, table in tables.items()}
        state = State(values, arrays)
        return SavedState(_KIND, self.identity.digest, state, self.session).to_bytes()


def fresh_state(stream_job: StreamJob) -> ShardState:
    """The initial state of a shard."""
    return ShardState(
        identity=identity(stream_job),
        first=None,
        latest=(None,) * stream_job.sources,
        start=None,
        answered=None,
        late=0,
        held=(),
        kept_from=None,
        kept=(),
        holding=HOLDING.empty_table(),
        session=b"",
    )


def read_state(state: bytes) -> ShardState:
    """Read a state; damaged bytes and other versions are an error.

    The session in it is verified by its own digest when it is restored.
    """
    try:
        saved = SavedState.from_bytes(state, _KIND)
        return _read(saved.state, saved.attached)
    except LarsparkError as error:
        [problem] = error.problems
        raise damaged(f"the state of a shard cannot be read: {problem.message}") from None
    except (pa.ArrowInvalid, *MALFORMED) as error:
        raise damaged(f"the state of a shard cannot be read: {error}") from error


def _read(state: State, session: bytes) -> ShardState:
    header, arrays = state.values, state.arrays
    names = [*header["held"], *header["kept"]]
    listed = [
        Facts(place, predicate, _table(arrays[f"facts {number}"]))
        for number, (place, predicate) in enumerate(names)
    ]
    count = len(header["held"])
    return ShardState(
        identity=_identity(header["identity"]),
        first=header["first"],
        latest=tuple(header["latest"]),
        start=header["start"],
        answered=header["answered"],
        late=header["late"],
        held=tuple(listed[:count]),
        kept_from=header["kept_from"],
        kept=tuple(listed[count:]),
        holding=_table(arrays["holding"]),
        session=session,
    )


def _table(data: Array) -> pa.Table:
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


def identity(stream_job: StreamJob) -> Identity:
    """The identity of a stream's states."""
    job = stream_job.loaded.job
    background = hashlib.sha256("\n".join(job.background).encode()).hexdigest()
    return Identity(
        program_identity(job.program, job.background),
        job.program,
        background,
        job.engine,
        stream_job.start,
        job.until,
        job.grid.shards,
        stream_job.sources,
        job.tick,
        job.key,
        job.everywhere,
        job.stage,
    )


def _identity(header: dict[str, Any]) -> Identity:
    lists = {name: tuple(map(tuple, header[name])) for name in ("key", "everywhere")}
    return Identity(**header | lists)


def damaged(message: str) -> LarsparkError:
    """The error for an unusable saved state."""
    hint = "restore a copy of the checkpoint, or start with a new one"
    return LarsparkError(Problem("L492", message, hint=hint))
