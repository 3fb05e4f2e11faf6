"""What a shard knows between two micro-batches: our own bytes, checked before anything is used."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from larspark.base.problems import LarsparkError, Problem
from larspark.scale.pack import to_bytes
from larspark.scale.step import Facts
from larspark.scale.streaming.live import Live

_MAGIC = b"larspark shard 2\n"

OPEN = pa.schema([("atom", pa.string()), ("from", pa.int64())])


class Identity(NamedTuple):
    """What a state was made for; a state of something else cannot be gone on from."""

    program: str
    background: str
    engine: str
    start: int | None
    until: int | None
    shards: int
    sources: int


@dataclass(frozen=True, slots=True)
class ShardState:
    """The state of a shard.

    `first` is the earliest time point that was heard of, `latest` the latest of each source.
    The timeline begins at `start`, once that is known, and was answered up to `answered`.
    `held` are facts after that; `holding` is what holds at `answered`, and since when.
    """

    identity: Identity
    first: int | None
    latest: tuple[int | None, ...]
    start: int | None
    answered: int | None
    late: int
    held: tuple[Facts, ...]
    holding: pa.Table
    session: bytes

    def to_bytes(self) -> bytes:
        parts = [self.session, to_bytes(self.holding), *(to_bytes(f.table) for f in self.held)]
        header: dict[str, Any] = {
            "identity": self.identity._asdict(),
            "first": self.first,
            "latest": self.latest,
            "start": self.start,
            "answered": self.answered,
            "late": self.late,
            "held": [(facts.place, facts.predicate) for facts in self.held],
            "lengths": [len(part) for part in parts],
        }
        rest = b"".join((json.dumps(header).encode(), b"\n", *parts))
        return b"".join((_MAGIC, hashlib.sha256(rest).hexdigest().encode(), b"\n", rest))


def fresh_state(live: Live) -> ShardState:
    """The state of a shard that heard of nothing yet."""
    return ShardState(
        identity=identity(live),
        first=None,
        latest=(None,) * live.sources,
        start=None,
        answered=None,
        late=0,
        held=(),
        holding=OPEN.empty_table(),
        session=b"",
    )


def read_state(state: bytes) -> ShardState:
    """The state that these bytes are; anything else is refused."""
    if not state.startswith(_MAGIC):
        raise _damaged("the state of a shard was not written by larspark of this version")
    digest, _, rest = state[len(_MAGIC) :].partition(b"\n")
    if hashlib.sha256(rest).hexdigest().encode() != digest:
        raise _damaged("the state of a shard is damaged")
    text, _, payload = rest.partition(b"\n")
    header = json.loads(text)
    session, holding, *held = _cut(payload, header["lengths"])
    return ShardState(
        identity=Identity(**header["identity"]),
        first=header["first"],
        latest=tuple(header["latest"]),
        start=header["start"],
        answered=header["answered"],
        late=header["late"],
        held=tuple(
            Facts(place, predicate, pa.ipc.open_stream(part).read_all())
            for (place, predicate), part in zip(header["held"], held, strict=True)
        ),
        holding=pa.ipc.open_stream(holding).read_all(),
        session=session,
    )


def identity(live: Live) -> Identity:
    """What a stream's states are made for."""
    job = live.loaded.job
    background = hashlib.sha256("\n".join(job.background).encode()).hexdigest()
    return Identity(
        job.program,
        background,
        job.engine,
        live.start,
        job.until,
        job.grid.shards,
        live.sources,
    )


def _cut(payload: bytes, lengths: Sequence[int]) -> Iterator[bytes]:
    place = 0
    for length in lengths:
        yield payload[place : place + length]
        place += length


def _damaged(message: str) -> LarsparkError:
    hint = "go back to a copy of the checkpoint, or begin with a new one"
    return LarsparkError(Problem("L492", message, hint=hint))
