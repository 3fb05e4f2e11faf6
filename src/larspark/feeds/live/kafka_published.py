"""Which lines of a run its topic holds: a header of each message numbers them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from larspark.feeds.live.inbox import POLL_SECONDS
from larspark.feeds.live.kafka_client import (
    PATIENCE_SECONDS,
    Errors,
    KafkaTopic,
    client_settings,
    may_be_answered,
    refused,
)

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaException, Message

Headers: TypeAlias = list[tuple[str, str | bytes | None]]
# The header of a message: the name of the run, and the number of the line in its output.
HEADER = "larspark-line"
# Lines stay in their order within a partition only, so that they all go to this one.
PARTITION = 0
# After so long it is said that other transactions are waited for.
_SAY_SECONDS = 10.0


def numbered(owner: str, line: int) -> Headers:
    """The headers of a line of a run; lines are numbered from 1."""
    return [(HEADER, f"{owner} {line}".encode())]


class Place(NamedTuple):
    """Where lines end that are known to be published: how many there are, and the last offset."""

    lines: int
    offset: int


class PublishedLines:
    """Looks up which lines of a run are published, whatever brokers say of its transactions."""

    def __init__(
        self, topic: KafkaTopic, owner: str, errors: Errors, tell: Callable[[], None]
    ) -> None:
        self._topic = topic
        self._owner = owner
        self._errors = errors
        # Reports what the client has reported in the background.
        self._tell = tell

    def since(self, place: Place, say: Callable[[str], None]) -> frozenset[int] | None:
        """The numbers of the published lines from a place on; None where nobody can know.

        All messages that are there now are looked at. Those of other transactions are waited for.
        """
        # The last offset with transactions that are open, and one that sees what is committed.
        everything = self._consumer("read_uncommitted")
        low, high = self._watermarks(everything, PATIENCE_SECONDS)
        everything.close()
        if place.offset > high:
            return None
        found = self._read(max(low, place.offset), high, say)
        if not found and (place.lines or low > place.offset):
            return None
        return frozenset(found)

    def end(self) -> int:
        """The offset behind the last message of the topic."""
        consumer = self._consumer("read_uncommitted")
        _, high = self._watermarks(consumer, 0)
        consumer.close()
        return high

    def _consumer(self, isolation: str) -> Consumer:
        from confluent_kafka import Consumer

        settings = client_settings(
            self._topic,
            self._errors,
            # Brokers want a name; no offsets are committed.
            group_id=f"larspark-{self._owner}-published",
            enable_auto_commit=False,
            enable_partition_eof=True,
            auto_offset_reset="earliest",
            isolation_level=isolation,
        )
        return Consumer(settings)

    def _watermarks(self, consumer: Consumer, patience: float) -> tuple[int, int]:
        from confluent_kafka import KafkaError, KafkaException, TopicPartition

        where = TopicPartition(self._topic.topic, PARTITION)
        missing = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)
        give_up = time.monotonic() + patience
        while True:
            try:
                return consumer.get_watermark_offsets(where, PATIENCE_SECONDS, cached=False)
            except KafkaException as error:
                code = error.args[0].code()
                if code not in (*missing, KafkaError._UNKNOWN_PARTITION):
                    self._wait_for(error)
                elif time.monotonic() >= give_up:
                    # A broker may make it when the first message comes.
                    return 0, 0
                else:
                    # A broker that has just come back may not know it yet.
                    time.sleep(POLL_SECONDS)

    def _wait_for(self, error: KafkaException) -> None:
        """Go on after an error that a retry may mend."""
        if not may_be_answered(error.args[0]):
            raise refused(self._topic, error.args[0].str()) from None
        self._tell()
        time.sleep(POLL_SECONDS)

    def _read(self, first: int, end: int, say: Callable[[str], None]) -> set[int]:
        """The numbers of the lines of this run between two offsets."""
        from confluent_kafka import KafkaError, KafkaException, TopicPartition

        found: set[int] = set()
        consumer = self._consumer("read_committed")
        consumer.assign([TopicPartition(self._topic.topic, PARTITION, first)])
        say_at = time.monotonic() + _SAY_SECONDS
        position = first
        while position < end:
            message = consumer.poll(POLL_SECONDS)
            self._tell()
            if message is None:
                if time.monotonic() > say_at:
                    say(f"{self._topic.name}: waiting for other transactions to end")
                    say_at = float("inf")
                continue
            error = message.error()
            if error is None:
                found.update(self._number(message))
                position = (message.offset() or 0) + 1
            elif error.code() == KafkaError._PARTITION_EOF:
                # Markers of transactions lie behind the last message.
                position = max(position, message.offset() or 0)
            else:
                self._wait_for(KafkaException(error))
        consumer.close()
        return found

    def _number(self, message: Message) -> list[int]:
        """The number of a line, if it is one of this run."""
        numbers = []
        for header in message.headers() or ():
            name, value = header[0], header[1]
            if name == HEADER and isinstance(value, bytes):
                owner, _, number = value.rpartition(b" ")
                if owner == self._owner.encode() and number.isdigit():
                    numbers.append(int(number))
        return numbers
