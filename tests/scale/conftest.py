"""One Spark session for all tests that need one."""

from collections.abc import Iterator
from typing import Any

import pytest

from larspark.base.problems import LarsparkError


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark")
    from larspark.scale.session import local_session

    try:
        session = local_session(2, short=True)
    except LarsparkError as error:
        pytest.skip(str(error))
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
