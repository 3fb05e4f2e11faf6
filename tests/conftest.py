"""What tests of several packages share: one Kafka broker for all tests of a session."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.feeds.live.kafka_broker import KafkaBroker


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[KafkaBroker]":
    """A broker that runs; tests that use it belong to the xdist group `kafka`."""
    from tests.feeds.live.broker import make_certificate
    from tests.feeds.live.kafka_broker import KafkaBroker, UnavailableError

    try:
        folder = tmp_path_factory.mktemp("kafka")
        broker = KafkaBroker(folder, make_certificate(folder))
    except UnavailableError as reason:
        pytest.skip(str(reason))
    broker.start()
    yield broker
    broker.kill()
