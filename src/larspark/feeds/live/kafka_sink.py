"""Lines to a topic of Kafka, at least once; what it shares with transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from larspark.feeds.live.inbox import POLL_SECONDS, Inbox, Traffic
from larspark.feeds.live.kafka_client import (
    Errors,
    KafkaTopic,
    as_refusals,
    client_settings,
    refused,
)
from larspark.feeds.live.kafka_published import PARTITION, Headers

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Producer

# Beside the number of lines, a commit holds how many are known to be published, up to an offset.
_PUBLISHED, _OFFSET = "published", "offset"
# A transaction outlives a broker that is started again, and is given up after this.
_TRANSACTION_MS = 300_000


class Publisher:
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

    def _publish(self, line: bytes, headers: Headers | None = None) -> None:
        while True:
            try:
                self._producer.produce(
                    self._topic.topic,
                    line,
                    partition=PARTITION,
                    on_delivery=self._on_delivery,
                    headers=headers,
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


class KafkaPublisher(Publisher):
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
