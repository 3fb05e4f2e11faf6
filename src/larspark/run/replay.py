"""Run a session over a stream, batch by batch, and put the pieces of the answer together."""

from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile

from larspark.base.atoms import Atom, Signature
from larspark.base.batch_cuts import up_to
from larspark.base.facts import AnyBatch, Row, RowBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live import LiveStream
from larspark.run.admission import derived_in_stream
from larspark.run.answers import JoinedIntervals
from larspark.run.protocol import Answers
from larspark.run.session import Session


def replay(
    session: Session,
    batches: Iterable[AnyBatch],
    *,
    to: int | None = None,
    hindsight: bool = False,
    further: Callable[[], bool] = lambda: True,
    seen: Iterable[Callable[[AnyBatch], None]] = (),
) -> Iterator[Answers]:
    """The answers for the whole timeline, in pieces that follow one another.

    A time point is answered when time moves past it: until then elements may still come.
    With hindsight nothing is answered before everything was read. The last time point is `to`, or
    else that of the batches and of the program's own elements. When the batches are over, `further`
    may say that time has not come further than they have. Every batch is shown to `seen` first.
    A session that was restored goes on from where its input had come to.
    """
    observers = tuple(seen)
    end = session.latest
    for batch in batches:
        for observe in observers:
            observe(batch)
        kept = batch if hindsight or to is None else up_to(batch, to)
        session.append(kept)
        if batch.last_t is not None:
            end = batch.last_t if end is None else max(end, batch.last_t)
        if hindsight or end is None:
            continue
        if to is not None and end > to:
            break
        if session.start is not None and end > session.start:
            yield from _advance(session, end - 1)
    if not further():
        to = end if to is None or end is None else min(to, end)
    elif to is None:
        to = max((t for t in (end, session.last_own) if t is not None), default=None)
    if to is not None:
        yield from _advance(session, to)


def _advance(session: Session, t: int) -> Iterator[Answers]:
    begun = session.start is None or t >= session.start
    if begun and (session.answered is None or t > session.answered):
        yield session.advance(t)


# At 40 bytes for a line, these are four gigabytes.
FURTHEST_JUMP = 100_000_000


def without_jumps(pieces: Iterable[Answers]) -> Iterator[Answers]:
    """The same answers, for a line at every time point; an error where there are too many."""
    for piece in pieces:
        if piece.last - piece.first >= FURTHEST_JUMP:
            count = piece.last - piece.first + 1
            message = f"the stream jumps from {piece.first} to {piece.last}: {count:,} time points"
            hint = "`--as intervals` and `--as changes` write what changes; or is one time wrong?"
            raise LarsparkError(Problem("L432", message, hint=hint))
        yield piece


def intervals(pieces: Iterable[Answers]) -> Iterator[tuple[Atom, int, int]]:
    """Maximal intervals over all pieces, sorted by start, then by the atom's text."""
    return JoinedIntervals().of(pieces)


class PausedError(Exception):
    """The stream was stopped and can be resumed; the answers end here for now."""


def live(
    session: Session,
    stream: LiveStream,
    *,
    to: int | None = None,
    hindsight: bool = False,
    seen: Iterable[Callable[[AnyBatch], None]] = (),
) -> Iterator[Answers]:
    """The answers while the facts come; the same as those of a replay of the same facts.

    When the stream ends, also by an error, all that was accepted before is answered first. An atom
    of a predicate that the program derives ends the stream, or is skipped if the stream skips what
    is wrong. What is accepted is shown to `seen`. A stream that was paused raises `PausedError` in
    the end.
    """
    failed: list[LarsparkError] = []

    def accepted() -> Iterator[AnyBatch]:
        try:
            for batch in stream.batches():
                yield _admitted(batch, session.checked.derived, stream, failed)
                if failed:
                    return
        except LarsparkError as error:
            failed.append(error)
        if stream.paused and not failed:
            raise PausedError

    def over() -> bool:
        """Can time go beyond the last batch? Not where the stream was stopped, or has a clock."""
        return not stream.stopped and not stream.clocked

    yield from replay(session, accepted(), to=to, hindsight=hindsight, further=over, seen=seen)
    if failed:
        raise failed[0]


def _admitted(
    batch: AnyBatch, derived: frozenset[Signature], stream: LiveStream, failed: list[LarsparkError]
) -> AnyBatch:
    """The batch without atoms of derived predicates, or up to the first of them."""

    def allowed(row: Row) -> bool:
        return (row.atom.predicate, len(row.atom.args)) not in derived

    rows = list(batch.rows())
    refused = [row for row in rows if not allowed(row)]
    if not refused:
        return batch
    if stream.options.on_error == "fail":
        failed.append(LarsparkError(derived_in_stream(refused[0].atom.signature)))
        return RowBatch(list(takewhile(allowed, rows)), refused[0].t)
    for row in refused:
        stream.refuse(derived_in_stream(row.atom.signature))
    return RowBatch([row for row in rows if allowed(row)], batch.last_t)
