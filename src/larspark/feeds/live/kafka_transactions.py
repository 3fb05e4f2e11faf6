"""Lines to a topic of Kafka in transactions: every line once, whatever crashes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from larspark.feeds.live.address import LINES
from larspark.feeds.live.inbox import FIRST_PAUSE, POLL_SECONDS, Inbox, Traffic
from larspark.feeds.live.kafka_client import (
    PATIENCE_SECONDS,
    GroupOffsets,
    KafkaTopic,
    as_refusals,
    client_settings,
    may_be_answered,
    refused,
)
from larspark.feeds.live.kafka_published import PARTITION, Place, PublishedLines, numbered
from larspark.feeds.live.kafka_sink import Publisher

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

# Beside the number of lines, a commit holds how many are known to be published, up to an offset.
_PUBLISHED, _OFFSET = "published", "offset"
# A transaction outlives a broker that is started again, and is given up after this.
_TRANSACTION_MS = 300_000


class TransactionalPublisher(Publisher):
    """Publishes the lines between two commits of a run in one transaction.

    A header numbers the lines of the run. Those that are there after a crash decide which commit
    counts, and which lines after it are published already: brokers that crash may commit a
    transaction and not say so, or a part of it. The transaction also holds the number of the
    commit, as the metadata of an offset of the output that the run's own consumer group commits: it
    decides where the lines are gone, because topics forget. Lines are kept until the commit, so
    that a transaction can be repeated.
    """

    def __init__(self, topic: KafkaTopic, owner: str) -> None:
        name = f"larspark-{owner}"
        super().__init__(
            topic, transactional_id=f"{name}-output", transaction_timeout_ms=_TRANSACTION_MS
        )
        self._owner = owner
        # The number of the last line, those since the last commit, and which of these are there.
        self._line = 0
        self._lines: dict[int, bytes] = {}
        self._there: frozenset[int] = frozenset()
        # Where the lines of the last commit end, and the offset of the last line at the broker.
        self._place = Place(0, 0)
        self._offset: int | None = None
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
        self._place = Place(0, self._published(traffic).end())
        self._producer.begin_transaction()
        marker = [TopicPartition(self._topic.topic, PARTITION)]
        found = self._until_done(lambda: self._group.committed(marker, PATIENCE_SECONDS), traffic)
        metadata = found[0].metadata
        return int(metadata) if metadata is not None and metadata.isdigit() else None

    def lengths(self) -> dict[str, int]:
        """How many lines there are, and how many are known to be published up to an offset."""
        lines, offset = self._place
        return {LINES: self._line, _PUBLISHED: lines, _OFFSET: offset}

    def published(
        self, lengths: Mapping[str, int], say: Callable[[str], None]
    ) -> frozenset[int] | None:
        """The numbers of lines that are published, the last one among them; None if unknown."""
        if not {_PUBLISHED, _OFFSET} <= lengths.keys():
            return None
        place = Place(lengths[_PUBLISHED], lengths[_OFFSET])
        return self._published(Traffic(say)).since(place, say)

    def resume(self, lengths: Mapping[str, int], there: frozenset[int]) -> None:
        """Go on after the lines of a commit; those that are there are not published again."""
        self._line = lengths.get(LINES, 0)
        self._there = there
        if {_PUBLISHED, _OFFSET} <= lengths.keys():
            self._place = Place(lengths[_PUBLISHED], lengths[_OFFSET])

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
        """Publish a line in the transaction that is open, unless it is there."""
        self._line += 1
        self._lines[self._line] = line
        self._publish_numbered(self._line)
        # The commit waits for the broker.
        self.delivered += 1

    def _publish_numbered(self, number: int) -> None:
        if number not in self._there:
            self._publish(self._lines[number], numbered(self._owner, number))

    def _on_delivery(self, error: KafkaError | None, message: Any) -> None:
        if error is None:
            self._offset = message.offset()

    def commit(self, number: int, offsets: object, say: Callable[[str], None]) -> None:
        """Commit the lines since the last commit, the number of this one, and offsets of a source
        in the same cluster."""
        from confluent_kafka import KafkaException, TopicPartition

        traffic = Traffic(say)
        marker = [TopicPartition(self._topic.topic, PARTITION, number, str(number))]
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
                self._repeat(traffic)
        if self._offset is not None:
            self._place, self._offset = Place(self._line, self._offset), None
        self._lines = {}
        self._there = frozenset(line for line in self._there if line > self._line)
        self._producer.begin_transaction()

    def _repeat(self, traffic: Traffic) -> None:
        """Begin the transaction again, with the lines that are not there."""
        self._until_done(lambda: self._producer.abort_transaction(PATIENCE_SECONDS), traffic)
        self._offset = None
        there = self._published(traffic).since(self._place, traffic.say)
        self._there |= there or frozenset()
        self._producer.begin_transaction()
        for number in self._lines:
            self._publish_numbered(number)

    def _published(self, traffic: Traffic) -> PublishedLines:
        return PublishedLines(self._topic, self._owner, self._errors, lambda: self._tell(traffic))

    def _send(self, offsets: Any, group: Any) -> None:
        self._producer.send_offsets_to_transaction(offsets, group, PATIENCE_SECONDS)

    def _until_done(self, ask: Callable[[], Any], traffic: Traffic) -> Any:
        """Ask the broker until it answers."""
        from confluent_kafka import KafkaException

        while True:
            try:
                return ask()
            except KafkaException as error:
                if not may_be_answered(error.args[0]):
                    raise
                self._tell(traffic)
                time.sleep(FIRST_PAUSE)
