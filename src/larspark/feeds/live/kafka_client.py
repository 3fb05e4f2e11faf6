"""What the source and the sink of Kafka share: topics, settings, and errors of the client."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from larspark.base.problems import LarsparkError, Problem

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, TopicPartition

# How long the broker may take to answer one question.
PATIENCE_SECONDS = 10.0
_PREFIX = "LARSPARK_KAFKA_"
# The settings of the client that the environment may give.
_FROM_ENVIRONMENT = ("security.", "sasl.", "ssl.")


@dataclass(frozen=True)
class KafkaTopic:
    """A topic of the cluster that a broker belongs to; `name` is its address."""

    name: str
    servers: str
    topic: str


class GroupOffsets(NamedTuple):
    """The offsets of a consumer group after a commit, by partition; `group` is its metadata."""

    topic: KafkaTopic
    offsets: dict[int, int]
    group: Any

    def partitions(self, metadata: str) -> list[TopicPartition]:
        """The offsets as the client takes them."""
        from confluent_kafka import TopicPartition

        pairs = sorted(self.offsets.items())
        return [TopicPartition(self.topic.topic, p, offset, metadata) for p, offset in pairs]


@dataclass
class Errors:
    """What the client reports in the background: lost brokers, and what no retry can mend."""

    topic: KafkaTopic
    lost: str = ""
    refusal: LarsparkError | None = field(default=None)

    def report(self, error: KafkaError) -> None:
        from confluent_kafka import KafkaError as Codes

        if error.code() in (Codes._AUTHENTICATION, Codes._SSL) or error.fatal():
            self.refusal = refused(self.topic, error.str())
        elif error.code() == Codes._ALL_BROKERS_DOWN:
            self.lost = "no broker answers"

    def check(self) -> None:
        """Raise what was reported."""
        if self.refusal is not None:
            raise self.refusal
        if self.lost:
            why, self.lost = self.lost, ""
            raise ConnectionError(why)


def refused(topic: KafkaTopic, why: str) -> LarsparkError:
    """The error for a topic that cannot be read or written to."""
    return LarsparkError(Problem("L321", f"{topic.name}: {why}"))


def client_settings(topic: KafkaTopic, errors: Errors, **own: Any) -> dict[str, Any]:
    """The settings of a client: its own, and those of the environment for encryption and users."""
    if find_spec("confluent_kafka") is None:
        hint = "install it with `pip install 'larspark[kafka]'`"
        message = f"{topic.name} needs the package confluent-kafka"
        raise LarsparkError(Problem("L323", message, hint=hint))
    logger = logging.getLogger("larspark.kafka")
    if not logger.handlers:
        # Otherwise the client writes to standard error itself.
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
    given: dict[str, Any] = {}
    for variable, value in os.environ.items():
        if not variable.startswith(_PREFIX):
            continue
        name = variable.removeprefix(_PREFIX).lower().replace("_", ".")
        if not name.startswith(_FROM_ENVIRONMENT):
            hint = f"variables begin with {_PREFIX}SECURITY_, {_PREFIX}SASL_ or {_PREFIX}SSL_"
            raise LarsparkError(Problem("L320", f"{variable} sets nothing", hint=hint))
        given[name] = value
    return {
        "bootstrap.servers": topic.servers,
        "client.id": "larspark",
        "logger": logger,
        "error_cb": errors.report,
        **given,
        **{name.replace("_", "."): value for name, value in own.items()},
    }


def may_be_answered(error: KafkaError) -> bool:
    """Whether a broker may answer when it is asked again: it is away, or has just come back."""
    from confluent_kafka import KafkaError as Codes

    return error.retriable() or error.code() in (
        *(Codes._TIMED_OUT, Codes._TRANSPORT, Codes._RESOLVE, Codes._ALL_BROKERS_DOWN),
        *(Codes._WAIT_COORD, Codes.COORDINATOR_LOAD_IN_PROGRESS, Codes.NOT_COORDINATOR),
        *(Codes.COORDINATOR_NOT_AVAILABLE, Codes.LEADER_NOT_AVAILABLE, Codes.REQUEST_TIMED_OUT),
        *(Codes.NOT_LEADER_FOR_PARTITION, Codes.BROKER_NOT_AVAILABLE, Codes.NETWORK_EXCEPTION),
    )


@contextmanager
def as_connection_errors() -> Iterator[None]:
    """In this context, errors of the client that a retry may mend are `ConnectionError`."""
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        raise ConnectionError(error.args[0].str()) from None


@contextmanager
def as_refusals(topic: KafkaTopic) -> Iterator[None]:
    """In this context, settings that the client does not take are an error."""
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        raise refused(topic, error.args[0].str()) from None
