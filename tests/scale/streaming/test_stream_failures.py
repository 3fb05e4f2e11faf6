"""What a failed stream is reported as."""

import pytest
from pyspark.errors import PySparkException

from larspark.base.problems import LarsparkError
from larspark.scale.streaming.stream_progress import wait


class Failed:
    """A query that ended with an error of Spark."""

    def __init__(self, message: str) -> None:
        self.message = message

    def awaitTermination(self) -> None:  # noqa: N802 - Spark's name
        raise PySparkException(self.message)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("[CANNOT_LOAD_STATE_STORE] in OperatorStateMetadataV2: java.io.EOFException", "L492"),
        (
            "OperatorStateMetadataV2: java.net.SocketTimeoutException: "
            "Timed out while waiting for the Python worker to connect back",
            "L495",
        ),
        ("Python worker failed to connect back.", "L495"),
    ],
)
def test_a_worker_that_does_not_start_is_no_damaged_checkpoint(message: str, code: str) -> None:
    with pytest.raises(LarsparkError) as raised:
        wait(Failed(message))
    assert [problem.code for problem in raised.value.problems] == [code]
