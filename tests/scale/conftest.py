"""One Spark session for all tests that need one."""

from collections.abc import Iterator
from typing import Any

import pytest

from larspark.scale.spark_session import local_session


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    session = local_session(2, short=True)
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
