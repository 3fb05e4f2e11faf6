"""What a shard knows between two micro-batches: our own bytes, checked before anything is used."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from larspark.base.problems import LarsparkError, Problem
from larspark.run.state import digest_of
from larspark.scale.pack import to_bytes
from larspark.scale.piece_step import Facts
from larspark.scale.streaming.stream_job import Live

_MAGIC = b"larspark shard 2\n"

OPEN = pa.schema([("atom", pa.string()), ("from", pa.int64())])


class Identity(NamedTuple):
    """What a state was made for; a state of something else cannot be gone on from.

    `key` says where in a predicate its key is, `everywhere` which facts all shards get.
    """

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


@dataclass(frozen=True, slots=True)
class ShardState:
    """The state of a shard.

    `first` is the earliest time point that was heard of before the first answer, `latest` the
    latest of each source. The timeline of the engine begins at `start`, once that is known, and was
    answered up to `answered`. `held` are facts after that, `kept` those from `kept_from` up to it;
    `holding` is what holds at `answered`, and since when. Without a saved session the engine is
    made anew from the facts that are kept.
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
        parts = [to_bytes(self.holding), *(to_bytes(each.table) for each in facts)]
        header: dict[str, Any] = {
            "identity": self.identity._asdict(),
            "first": self.first,
            "latest": self.latest,
            "start": self.start,
            "answered": self.answered,
            "late": self.late,
            "held": [(facts.place, facts.predicate) for facts in self.held],
            "kept_from": self.kept_from,
            "kept": [(facts.place, facts.predicate) for facts in self.kept],
            "lengths": [len(part) for part in parts],
        }
        rest = b"".join((json.dumps(header).encode(), b"\n", *parts))
        front = _digest(rest, self.session), str(len(self.session)).encode()
        return b"".join((_MAGIC, b" ".join(front), b"\n", rest, self.session))


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
        kept_from=None,
        kept=(),
        holding=OPEN.empty_table(),
        session=b"",
    )


def read_state(state: bytes) -> ShardState:
    """The state that these bytes are; anything else is refused.

    A session is only looked at when it is restored, and has a digest of its own for that.
    """
    if not state.startswith(_MAGIC):
        raise damaged("the state of a shard was not written by larspark of this version")
    front, _, body = state[len(_MAGIC) :].partition(b"\n")
    digest, _, length = front.partition(b" ")
    end = len(body) - int(length) if length.isdigit() else 0
    rest, session = body[:end], body[end:]
    if end <= 0 or _digest(rest, session) != digest:
        raise damaged("the state of a shard is damaged")
    text, _, payload = rest.partition(b"\n")
    header = json.loads(text)
    parts = _cut(payload, header["lengths"])
    holding, *facts = (pa.ipc.open_stream(part).read_all() for part in parts)
    names = [*header["held"], *header["kept"]]
    listed = [Facts(place, name, table) for (place, name), table in zip(names, facts, strict=True)]
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
        holding=holding,
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
        job.tick,
        job.key,
        job.everywhere,
    )


def _identity(header: dict[str, Any]) -> Identity:
    lists = {name: tuple(map(tuple, header[name])) for name in ("key", "everywhere")}
    return Identity(**header | lists)


def _digest(rest: bytes, session: bytes) -> bytes:
    """The digest of a state; of a session only its own digest is in it."""
    digest = hashlib.sha256(rest)
    digest.update(digest_of(session))
    return digest.hexdigest().encode()


def _cut(payload: bytes, lengths: Sequence[int]) -> Iterator[bytes]:
    place = 0
    for length in lengths:
        yield payload[place : place + length]
        place += length


def damaged(message: str) -> LarsparkError:
    """The error about a state that cannot be gone on from."""
    hint = "go back to a copy of the checkpoint, or begin with a new one"
    return LarsparkError(Problem("L492", message, hint=hint))
