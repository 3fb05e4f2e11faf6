"""Facts from a real Kafka broker and answers to it."""

import pytest

pytestmark = pytest.mark.xdist_group("kafka")


def test_what_is_published_is_there_when_the_broker_comes_back_after_a_crash(kafka):
    kafka.create("kept", 2)
    kafka.publish("kept", ["a", "b"], 1)
    kafka.kill()
    kafka.start()
    kafka.publish("kept", ["c"])
    assert kafka.read("kept", (0, 1)) == ["c", "a", "b"]
