"""Lines from a topic of Kafka: its partitions, in an order that keeps their times together."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from larspark.feeds.byte_source import LINE_LIMIT, LineSplitter
from larspark.feeds.live.inbox import POLL_SECONDS, Block, Inbox, Traffic, keep_connected
from larspark.feeds.live.kafka_client import (
    PATIENCE_SECONDS,
    Errors,
    GroupOffsets,
    KafkaTopic,
    as_connection_errors,
    as_refusals,
    client_settings,
    refused,
)

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

# How many messages are fetched at once.
_FETCHED = 1000
# A partition with more messages waiting is paused until it has fewer than the second number.
_MOST_WAITING, _FEW_WAITING = 5000, 1000
# Messages whose timestamps differ by less, in milliseconds, are not read in turns.
_TURN = 100
# How long the messages of some partitions wait for those of another one that has some, too.
_FETCH_SECONDS = 1.0
# How often it is looked whether the topic has more partitions.
_LOOK_SECONDS = 60.0
_ASK_SECONDS = 1.0
_QUEUED_KILOBYTES = 16 << 10
_A_DAY = 24 * 3600 * 1000


@dataclass(frozen=True)
class Selection:
    """What is read of a topic.

    `group` is the consumer group under which offsets are committed, `at_end` skips what is there
    already, `partitions` are those to read, or all. A partition that has been at its end for `idle`
    seconds does not hold the time of the others back.
    """

    group: str | None = None
    at_end: bool = False
    partitions: frozenset[int] | None = None
    idle: float = 10.0


class KafkaReader:
    """Reads the partitions of a topic; reconnects when no broker answers.

    Every run reads all partitions that it was asked for, and keeps its own offsets; for a durable
    run, that of `owner`, they are also committed to its consumer group, where tools show them.
    Partitions are read in turns, that with the earliest message first, so that none of them gets
    far ahead of the others.
    """

    def __init__(
        self, topic: KafkaTopic, selection: Selection, retry: bool, owner: str | None = None
    ) -> None:
        self._topic = topic
        self._selection = selection
        self._retry = retry
        self._group = selection.group or f"larspark-{owner or token_hex(8)}"
        self._durable = owner is not None
        self._in_transaction = False
        self._to_commit: dict[int, int] | None = None
        self._errors = Errors(topic)
        # A missing package and wrong settings are reported here, not in the reader thread.
        self._consumer = self._new_consumer()
        self._metadata = self._consumer.consumer_group_metadata()
        # The offset of the next message of each partition.
        self._next: dict[int, int] = {}
        # Partitions that may still give earlier facts than others have given.
        self._awaited: frozenset[int] = frozenset()

    def _new_consumer(self) -> Consumer:
        settings = client_settings(
            self._topic,
            self._errors,
            group_id=self._group,
            enable_auto_commit=False,
            enable_partition_eof=True,
            auto_offset_reset="error",
            queued_max_messages_kbytes=_QUEUED_KILOBYTES,
            max_poll_interval_ms=_A_DAY,
        )
        from confluent_kafka import Consumer

        with as_refusals(self._topic):
            return Consumer(settings)

    def resume(self, position: Any) -> None:
        """Go on after a position that was committed."""
        self._next = {int(p): int(offset) for p, offset in position or ()}

    def position(self, after: Any) -> Any:
        """The offset of the next message of each partition."""
        return sorted(after.items())

    @property
    def waiting(self) -> bool:
        """A topic does not wait for commits."""
        return False

    def offsets(self, after: Any) -> GroupOffsets:
        """The offsets after a position, for the transaction of a sink."""
        self._in_transaction = True
        return GroupOffsets(self._topic, dict(after), self._metadata)

    def committed(self, after: Any) -> None:
        """Let the reader thread commit the offsets to the group, so that tools show them."""
        if not self._in_transaction:
            self._to_commit = after

    def commit_offsets(self) -> None:
        """Commit the offsets that the run has committed, in the thread that uses the consumer."""
        from confluent_kafka import KafkaException

        after, self._to_commit = self._to_commit, None
        if after is not None:
            # What counts is the state of the run; the next commit says it again.
            with suppress(KafkaException, RuntimeError):
                offsets = GroupOffsets(self._topic, after, None).partitions("")
                self._consumer.commit(offsets=offsets, asynchronous=True)

    def close(self) -> None:
        """After the reading and the last commit: leave."""
        self.commit_offsets()
        with suppress(RuntimeError):
            self._consumer.close()

    def read(self, inbox: Inbox, traffic: Traffic) -> None:
        def talk() -> None:
            try:
                with as_connection_errors():
                    self._errors.lost = ""
                    _Reading(self, inbox, traffic).run()
            except ConnectionError:
                if self._errors.refusal is not None:
                    raise self._errors.refusal from None
                self._consumer.close()
                self._consumer = self._new_consumer()
                raise

        try:
            keep_connected(talk, self._topic.name, inbox, traffic, self._retry)
        finally:
            if not self._durable:
                self.close()


class _Reading:
    """The reading of one connection: messages that wait for their turn, and quiet partitions."""

    def __init__(self, reader: KafkaReader, inbox: Inbox, traffic: Traffic) -> None:
        self._reader = reader
        self._consumer = reader._consumer
        self._topic = reader._topic
        self._selection = reader._selection
        self._inbox = inbox
        self._traffic = traffic
        self._waiting: dict[int, deque[Message]] = {}
        self._paused: set[int] = set()
        # Partitions that are at their ends, and since when.
        self._quiet: dict[int, float] = {}
        self._delivered = time.monotonic()

    def run(self) -> None:
        self._assign()
        self._traffic.up(self._topic.name)
        look_at = time.monotonic() + _LOOK_SECONDS
        while not self._inbox.stopping.is_set():
            self._receive(POLL_SECONDS)
            self._reader._errors.check()
            self._reader.commit_offsets()
            self._deliver()
            self._pause_and_resume()
            self._look_for_idle()
            if time.monotonic() > look_at:
                self._assign()
                look_at = time.monotonic() + _LOOK_SECONDS

    def _assign(self) -> None:
        """Read the partitions that are not read yet, each from its offset."""
        from confluent_kafka import TopicPartition

        topic = self._topic.topic
        found = self._listed(topic)
        if found.error is not None:
            raise ConnectionError(found.error.str())
        wanted = self._selection.partitions
        missing = sorted((wanted or frozenset()) - found.partitions.keys())
        if missing:
            raise refused(self._topic, f"the topic has no partition {missing[0]}")
        mine = frozenset(found.partitions if wanted is None else wanted)
        new = sorted(mine - self._waiting.keys())
        if not new:
            return
        for partition in new:
            where = TopicPartition(topic, partition)
            low, high = self._consumer.get_watermark_offsets(where, PATIENCE_SECONDS, cached=False)
            self._reader._next[partition] = self._first_offset(partition, low, high)
            self._waiting[partition] = deque()
        self._reader._awaited |= mine
        offsets = self._reader._next
        self._consumer.incremental_assign([TopicPartition(topic, p, offsets[p]) for p in new])
        self._put(new[0], 0, [])

    def _listed(self, topic: str) -> Any:
        """What the brokers know of a topic; ends early where they refuse this user."""
        from confluent_kafka import KafkaException

        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return self._consumer.list_topics(topic, _ASK_SECONDS).topics[topic]
            except KafkaException:
                # Serves the reports of the client.
                self._consumer.poll(0)
                self._reader._errors.check()
                if time.monotonic() > until or self._inbox.stopping.is_set():
                    raise

    def _first_offset(self, partition: int, low: int, high: int) -> int:
        known = self._reader._next.get(partition)
        if known is None:
            return high if self._selection.at_end else low
        if low <= known <= high:
            return known
        name = f"{self._topic.name}[{partition}]"
        why = f"keeps its lines from {low} on" if known < low else f"ends at {high}"
        self._traffic.gap(f"{name} {why}, and {known} is the next one of this run")
        return low

    def _receive(self, seconds: float) -> None:
        """Take messages in, and notice partitions that are at their ends."""
        from confluent_kafka import KafkaError

        for message in self._consumer.consume(_FETCHED, seconds):
            partition, error = message.partition(), message.error()
            if error is None:
                if partition is not None:
                    self._waiting[partition].append(message)
                    self._quiet.pop(partition, None)
            elif error.code() == KafkaError._PARTITION_EOF and partition is not None:
                self._quiet.setdefault(partition, time.monotonic())
                if not self._waiting[partition]:
                    # Markers of transactions lie behind the last message.
                    end = message.offset() or 0
                    self._reader._next[partition] = max(self._reader._next[partition], end)
            else:
                raise ConnectionError(error.str())

    def _deliver(self) -> None:
        """Queue messages, the earliest first, as long as it is known which one that is."""
        waiting = self._waiting
        while ready := [p for p, messages in waiting.items() if messages]:
            unknown = [p for p in waiting if not waiting[p] and p not in self._quiet]
            if unknown and time.monotonic() < self._delivered + _FETCH_SECONDS:
                return
            ready.sort(key=lambda p: _timestamp(waiting[p][0]))
            first = ready[0]
            until = _timestamp(waiting[ready[1]][0]) + _TURN if len(ready) > 1 else None
            taken: list[Message] = []
            while waiting[first] and (until is None or _timestamp(waiting[first][0]) <= until):
                taken.append(waiting[first].popleft())
            self._queue(first, taken)
            self._delivered = time.monotonic()
        self._delivered = time.monotonic()

    def _queue(self, partition: int, messages: list[Message]) -> None:
        """Queue the lines of messages, in blocks of lines that are numbered by their offsets."""
        if partition not in self._reader._awaited:
            self._reader._awaited |= {partition}
        first, lines = 0, list[bytes | None]()
        for message in messages:
            offset = message.offset() or 0
            found = list(_lines(message.value()))
            if lines and (offset != first + len(lines) or len(found) != 1):
                self._put(partition, first, lines)
                lines = []
            if not lines:
                first = offset
            lines += found
            self._reader._next[partition] = offset + 1
            if len(found) != 1:
                self._put(partition, first, lines)
                lines = []
        if lines:
            self._put(partition, first, lines)

    def _put(self, partition: int, first: int, lines: list[bytes | None]) -> None:
        name = f"{self._topic.name}[{partition}]"
        after = dict(self._reader._next)
        self._inbox.put(Block(name, first, lines, after, partition, self._reader._awaited))
        self._traffic.lines += len(lines)

    def _pause_and_resume(self) -> None:
        """Bound the messages that wait for their turn."""
        from confluent_kafka import TopicPartition

        topic = self._topic.topic
        for partition, messages in self._waiting.items():
            if partition not in self._paused and len(messages) > _MOST_WAITING:
                self._consumer.pause([TopicPartition(topic, partition)])
                self._paused.add(partition)
            elif partition in self._paused and len(messages) < _FEW_WAITING:
                self._consumer.resume([TopicPartition(topic, partition)])
                self._paused.discard(partition)

    def _look_for_idle(self) -> None:
        """Do not await partitions any more that have been at their ends for a while."""
        from confluent_kafka import KafkaException, TopicPartition

        reader, now = self._reader, time.monotonic()
        long_ago = now - self._selection.idle
        for partition, since in self._quiet.items():
            if since > long_ago or partition not in reader._awaited or len(self._waiting) == 1:
                continue
            where = TopicPartition(self._topic.topic, partition)
            try:
                _, high = self._consumer.get_watermark_offsets(where, 1.0, cached=False)
            except KafkaException:
                high = -1
            if high != reader._next[partition]:
                # The broker does not answer, or has something that is on its way.
                self._quiet[partition] = now
                continue
            reader._awaited -= {partition}
            self._traffic.say(f"{self._topic.name}[{partition}] is idle: time goes on without it")
            self._put(partition, 0, [])


def _timestamp(message: Message) -> int:
    return message.timestamp()[1]


def _lines(value: bytes | None) -> Iterator[bytes | None]:
    """The lines of a message; None stands for a line that is too long."""
    if value is None:
        return
    if b"\n" not in value and len(value) <= LINE_LIMIT:
        yield value
        return
    splitter = LineSplitter()
    yield from splitter.feed(value)
    yield from splitter.rest()
