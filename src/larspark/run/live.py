"""Run a session over a stream that is still coming."""

from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile

from larspark.base.atoms import Signature
from larspark.base.facts import AnyBatch, Row, RowBatch
from larspark.base.problems import LarsparkError
from larspark.feeds.live import LiveStream
from larspark.run.protocol import Answers
from larspark.run.replay import replay
from larspark.run.session import Session, derived_in_stream


def live(
    session: Session,
    stream: LiveStream,
    *,
    to: int | None = None,
    hindsight: bool = False,
    seen: Iterable[Callable[[AnyBatch], None]] = (),
) -> Iterator[Answers]:
    """The answers while the facts come; the same as those of a replay of the same facts.

    What ends the stream, a problem too, ends it in order: all that was accepted before is
    answered first. Atoms that the program derives are refused one by one, and not the run with
    them when the stream skips what is wrong. What is accepted is shown to `seen`.
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

    def over() -> bool:
        """Is the stream at its end, and not just stopped, or is it the clock that decides?"""
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
