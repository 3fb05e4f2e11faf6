"""Topics of Kafka: `kafka://host:9092/topic`, for reading and for writing."""

import re
from dataclasses import dataclass, field
from typing import ClassVar, Self
from urllib.parse import parse_qsl

from larspark.base.problems import LarsparkError
from larspark.feeds.live.address import (
    Address,
    DurableSink,
    DurableSource,
    LineSink,
    LineSource,
    LivePlace,
)
from larspark.feeds.live.kafka_client import KafkaTopic
from larspark.feeds.live.kafka_sink import KafkaPublisher
from larspark.feeds.live.kafka_source import KafkaReader, Selection
from larspark.feeds.live.kafka_transactions import TransactionalPublisher
from larspark.feeds.reading import Refused
from larspark.feeds.time_options import duration_option

_PORT = 9092
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_GROUP = re.compile(r"[\x21-\x7e]{1,255}")
_PARTITIONS = re.compile(r"[0-9]{1,6}(-[0-9]{1,6})?(,[0-9]{1,6}(-[0-9]{1,6})?)*")
_MOST_PARTITIONS = 10_000


@dataclass(frozen=True)
class KafkaPlace(LivePlace):
    """A topic of Kafka; options for reading are behind a `?`."""

    schemes: ClassVar[tuple[str, ...]] = ("kafka",)
    forms: ClassVar[tuple[str, ...]] = ("kafka://host/topic",)
    has_partitions: ClassVar[bool] = True
    name: str
    topic: KafkaTopic
    selection: Selection = field(default_factory=Selection)

    @classmethod
    def parse(cls, address: Address) -> Self:
        topic, _, query = address.path.partition("?")
        name = f"kafka://{address.host}:{address.port or _PORT}/{topic}"
        if not address.host:
            raise Refused("L320", f"{name}: the host is missing")
        if address.user is not None:
            message = f"{name}: the user is given by LARSPARK_KAFKA_SASL_USERNAME"
            raise Refused("L320", message)
        if not _TOPIC.fullmatch(topic) or topic in (".", ".."):
            raise Refused("L320", f"{name}: `{topic}` cannot be the name of a topic")
        servers = f"{address.host}:{address.port or _PORT}"
        return cls(name, KafkaTopic(name, servers, topic), _selection(name, query))

    def source(self, retry: bool) -> LineSource:
        return KafkaReader(self.topic, self.selection, retry)

    def durable_source(self, retry: bool, owner: str) -> DurableSource:
        return KafkaReader(self.topic, self.selection, retry, owner)

    def sink(self) -> LineSink:
        return KafkaPublisher(self.topic)

    def durable_sink(self, owner: str) -> DurableSink:
        return TransactionalPublisher(self.topic, owner)


def _selection(name: str, query: str) -> Selection:
    """What is read of a topic, by the options of its address."""
    try:
        given = dict(parse_qsl(query, strict_parsing=True)) if query else {}
    except ValueError:
        raise Refused("L320", f"{name}: `{query}` is not well written") from None
    if unknown := given.keys() - {"group", "from", "partitions", "idle"}:
        message = f"{name} has no option `{min(unknown)}`: group, from, partitions or idle"
        raise Refused("L320", message)
    group, begin = given.get("group"), given.get("from", "beginning")
    if group is not None and not _GROUP.fullmatch(group):
        raise Refused("L320", f"{name}: `{group}` cannot be the name of a group")
    if begin not in ("beginning", "end"):
        raise Refused("L320", f"{name}: it is read from beginning or end, not from {begin}")
    numbers = given.get("partitions")
    partitions = None if numbers is None else _partitions(name, numbers)
    try:
        idle = duration_option(given.get("idle", "10s"), 1) / 1_000_000
    except LarsparkError as error:
        raise Refused("L320", f"{name}: idle: {error.problems[0].message}") from None
    return Selection(group, begin == "end", partitions, idle)


def _partitions(name: str, text: str) -> frozenset[int]:
    """Partitions by their numbers.

    >>> sorted(_partitions("", "0-2,7"))
    [0, 1, 2, 7]
    """
    if not _PARTITIONS.fullmatch(text):
        raise Refused("L320", f"{name}: partitions are written as 0-3 or 0,2")
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers = range(int(first), int(last or first) + 1)
        if not numbers or len(numbers) > _MOST_PARTITIONS:
            raise Refused("L320", f"{name}: `{part}` is no range of partitions")
        found.update(numbers)
    return frozenset(found)
