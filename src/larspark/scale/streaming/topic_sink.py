"""Answers of a stream as lines in a topic of Kafka, each micro-batch once.

Spark's own sink for Kafka repeats the messages of a micro-batch that it repeats after a crash. Here
a micro-batch is one transaction, which also holds its number; readers of committed messages
(`isolation.level=read_committed`) see every answer once.
"""

import logging
from collections.abc import Callable, Iterable
from functools import partial

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live.kafka import KafkaPlace
from larspark.feeds.live.kafka_transactions import TransactionalPublisher
from larspark.feeds.live.places import parse_place
from larspark.scale.spark_session import DataFrame
from larspark.scale.streaming.output import answer_lines
from larspark.scale.streaming.table_sink import query_id

_LOG = logging.getLogger("larspark.stream")
# The publishers of this process, each with the last micro-batch that its topic has.
_OPEN: dict[tuple[str, str], tuple[TransactionalPublisher, int]] = {}


def topic_sink(address: str, *, app: str | None = None) -> Callable[[DataFrame, int], None]:
    """A function for `writeStream.foreachBatch` that publishes the answers, as `json_lines` writes.

    `address` is `kafka://host:9092/topic`; the settings for users and encryption are those of live
    runs, `LARSPARK_KAFKA_...`. `app` names the stream in the transactions, and is the query's own
    id by default.
    """
    if not isinstance(parse_place(address), KafkaPlace):
        message = f"{address} is not a topic of Kafka"
        raise LarsparkError(Problem("L490", message, hint="kafka://host:9092/topic"))
    return partial(_publish_batch, address=address, app=app)


def _publish_batch(answers: DataFrame, batch: int, address: str, app: str | None) -> None:
    # One action only: each action would evaluate the micro-batch again.
    rows = answers.toArrow().to_pylist()
    lines = answer_lines(row for row in rows if not row.get("late"))
    publish(lines, batch, address, app or query_id(answers))


def publish(lines: Iterable[str], batch: int, address: str, app: str) -> None:
    """Publish the lines of a micro-batch, unless the topic has them already."""
    # A failure leaves a publisher of no use: the next attempt makes a new one.
    publisher, last = _OPEN.pop((address, app), (None, -1))
    if publisher is None:
        place = parse_place(address)
        assert isinstance(place, KafkaPlace)  # noqa: S101 - `topic_sink` checks
        publisher = TransactionalPublisher(place.topic, app)
        decided = publisher.decided(_LOG.warning)
        last = -1 if decided is None else decided
    # Otherwise the transaction was committed, and Spark had not heard of it.
    if batch > last:
        for line in lines:
            publisher.add(line.encode())
        publisher.commit(batch, None, _LOG.warning)
    _OPEN[address, app] = publisher, max(batch, last)
