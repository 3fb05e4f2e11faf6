"""Lines to a topic of Kafka: at least once, or in transactions, which decide over the commits."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from larspark.feeds.live.inbox import FIRST_PAUSE, POLL_SECONDS, Inbox, Traffic
from larspark.feeds.live.kafka_client import (
    PATIENCE_SECONDS,
    Errors,
    GroupOffsets,
    KafkaTopic,
    as_refusals,
    client_settings,
    refused,
)

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Producer

# Lines stay in their order within a partition only, so that they all go to this one.
_PARTITION = 0
# A transaction outlives a broker that is started again, and is given up after this.
_TRANSACTION_MS = 300_000


class _Publisher:
    """A producer, and the lines that were handed over to it."""

    def __init__(self, topic: KafkaTopic, **own: Any) -> None:
        self._topic = topic
        self._errors = Errors(topic)
        settings = client_settings(
            topic, self._errors, enable_idempotence=True, linger_ms=5, compression_type="lz4", **own
        )
        from confluent_kafka import Producer

        with as_refusals(topic):
            self._producer: Producer = Producer(settings)
        self._refused: KafkaError | None = None
        self.delivered = 0

    def _publish(self, line: bytes) -> None:
        while True:
            try:
                self._producer.produce(
                    self._topic.topic, line, partition=_PARTITION, on_delivery=self._on_delivery
                )
                return
            except BufferError:
                # Too many are underway.
                self._producer.poll(POLL_SECONDS)

    def _on_delivery(self, error: KafkaError | None, _: Any) -> None:
        """A line is at the broker, or never will be."""

    def _tell(self, traffic: Traffic) -> None:
        """Report what the client has reported in the background."""
        if self._errors.refusal is not None:
            raise self._errors.refusal
        if self._errors.lost:
            traffic.say(f"{self._topic.name}: {self._errors.lost}; trying again")
            self._errors.lost = ""


class KafkaPublisher(_Publisher):
    """Publishes every line as a message, at least once, in their order."""

    def __init__(self, topic: KafkaTopic) -> None:
        # Lines wait for the broker as long as the run does.
        super().__init__(topic, message_timeout_ms=0)

    def carry(self, queue: Inbox, traffic: Traffic) -> None:
        over = False
        published = 0
        while not (over and self.delivered == published) and not queue.stopping.is_set():
            blocks, _, over = queue.take(0 if over else POLL_SECONDS)
            for _, block in blocks:
                for line in filter(None, block.lines):
                    self._publish(line.removesuffix(b"\n"))
                    published += 1
            self._producer.poll(POLL_SECONDS if over else 0)
            self._tell(traffic)
            if self._refused is not None:
                raise refused(self._topic, self._refused.str())

    def _on_delivery(self, error: KafkaError | None, _: Any) -> None:
        if error is None:
            self.delivered += 1
        else:
            self._refused = error


class TransactionalPublisher(_Publisher):
    """Publishes the lines between two commits of a run in one transaction.

    The transaction also holds the number of the commit, as the metadata of an offset of the output
    that the run's own consumer group commits: whether the transaction was committed decides whether
    the commit counts. Lines are kept until then, so that a transaction can be repeated.
    """

    def __init__(self, topic: KafkaTopic, owner: str) -> None:
        name = f"larspark-{owner}"
        super().__init__(
            topic, transactional_id=f"{name}-output", transaction_timeout_ms=_TRANSACTION_MS
        )
        self._lines: list[bytes] = []
        from confluent_kafka import Consumer

        settings = client_settings(
            topic, self._errors, group_id=f"{name}-output", enable_auto_commit=False
        )
        with as_refusals(topic):
            # The group is known to a consumer, which reads nothing.
            self._group = Consumer(settings)

    def decided(self, say: Callable[[str], None]) -> int | None:
        """The number of the last commit whose transaction counts; None if there is none.

        A transaction that was open when the run was killed is given up.
        """
        from confluent_kafka import TopicPartition

        traffic = Traffic(say)
        self._until_done(lambda: self._producer.init_transactions(PATIENCE_SECONDS), traffic)
        self._producer.begin_transaction()
        marker = [TopicPartition(self._topic.topic, _PARTITION)]
        found = self._until_done(lambda: self._group.committed(marker, PATIENCE_SECONDS), traffic)
        metadata = found[0].metadata
        return int(metadata) if metadata is not None and metadata.isdigit() else None

    def carry(self, queue: Inbox, traffic: Traffic) -> None:
        over = False
        while not over and not queue.stopping.is_set():
            blocks, _, over = queue.take(POLL_SECONDS)
            for _, block in blocks:
                for line in filter(None, block.lines):
                    self.add(line.removesuffix(b"\n"))
            self._producer.poll(0)
            self._tell(traffic)

    def add(self, line: bytes) -> None:
        """Publish a line in the transaction that is open."""
        self._publish(line)
        self._lines.append(line)
        # The commit waits for the broker.
        self.delivered += 1

    def commit(self, number: int, offsets: object, say: Callable[[str], None]) -> None:
        """Commit the lines since the last commit, the number of this one, and offsets of a source
        in the same cluster."""
        from confluent_kafka import KafkaException, TopicPartition

        traffic = Traffic(say)
        marker = [TopicPartition(self._topic.topic, _PARTITION, number, str(number))]
        pairs = [(marker, self._group.consumer_group_metadata())]
        if isinstance(offsets, GroupOffsets) and offsets.topic.servers == self._topic.servers:
            pairs.append((offsets.partitions(str(number)), offsets.group))
        done = False
        while not done:
            try:
                for each, group in pairs:
                    self._until_done(partial(self._send, each, group), traffic)
                self._until_done(
                    lambda: self._producer.commit_transaction(PATIENCE_SECONDS), traffic
                )
                done = True
            except KafkaException as error:
                if not error.args[0].txn_requires_abort():
                    why = f"{error.args[0].str()}; the same command goes on from the last commit"
                    raise refused(self._topic, why) from None
                say(f"{self._topic.name}: {error.args[0].str()}; repeating the transaction")
                self._until_done(
                    lambda: self._producer.abort_transaction(PATIENCE_SECONDS), traffic
                )
                self._producer.begin_transaction()
                for line in self._lines:
                    self._publish(line)
        self._lines = []
        self._producer.begin_transaction()

    def _send(self, offsets: Any, group: Any) -> None:
        self._producer.send_offsets_to_transaction(offsets, group, PATIENCE_SECONDS)

    def _until_done(self, ask: Callable[[], Any], traffic: Traffic) -> Any:
        """Ask the broker until it answers."""
        from confluent_kafka import KafkaException

        while True:
            try:
                return ask()
            except KafkaException as error:
                if not error.args[0].retriable():
                    raise
                self._tell(traffic)
                time.sleep(FIRST_PAUSE)
