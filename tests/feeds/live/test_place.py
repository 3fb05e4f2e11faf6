"""Live places as they are written."""

import pytest

from larspark.base.problems import LarsparkError
from larspark.feeds.live.mqtt import MqttPlace
from larspark.feeds.live.places import parse_place
from larspark.feeds.live.tcp import TcpPlace


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("tcp://box:9000", TcpPlace("tcp://box:9000", "box", 9000, listen=False)),
        ("tcp://[::1]:9000", TcpPlace("tcp://[::1]:9000", "::1", 9000, listen=False)),
        ("tcp://:9000", TcpPlace("tcp://:9000", "127.0.0.1", 9000, listen=True)),
        (
            "tcp+listen://0.0.0.0:9000",
            TcpPlace("tcp+listen://0.0.0.0:9000", "0.0.0.0", 9000, listen=True),  # noqa: S104
        ),
        ("mqtt://box/a/+/#", MqttPlace("mqtt://box:1883/a/+/#", "box", 1883, "a/+/#")),
        (
            "mqtt://me:pa%40ss@box:1884/a",
            MqttPlace("mqtt://box:1884/a", "box", 1884, "a", False, "me", "pa@ss"),
        ),
        ("mqtts://box/a", MqttPlace("mqtts://box:8883/a", "box", 8883, "a", encrypted=True)),
    ],
)
def test_a_place_is_read_as_it_is_written(text, place):
    assert parse_place(text) == place


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tcp://box", "tcp://box: the port is missing"),
        ("tcp://box:1/x", "tcp://box:1/x: it has more than a host and a port"),
        ("tcp://box:99999", "tcp://box:99999: port out of range 0-65535"),
        ("tcp+listen://:1", "tcp+listen://:1: the address to listen at is missing"),
        ("mqtt://box", "mqtt://box:1883/: the topic is missing"),
        ("mqtt://box/a#", "mqtt://box:1883/a#: `#` stands alone, as the last level of a topic"),
        ("mqtt://box/#/a", "mqtt://box:1883/#/a: `#` stands alone, as the last level of a topic"),
        ("mqtt://box/a+", "mqtt://box:1883/a+: `+` stands alone between the slashes of a topic"),
        ("mqtt:///a", "mqtt://:1883/a: the host is missing"),
        (
            "kafka://me:secret@b/t",
            "kafka://b:9092/t: the user is given by LARSPARK_KAFKA_SASL_USERNAME",
        ),
    ],
)
def test_a_wrong_place_is_told_without_its_password(text, why):
    with pytest.raises(LarsparkError) as caught:
        parse_place(text)
    (problem,) = caught.value.problems
    assert (problem.code, problem.message) == ("L320", why)


def test_a_password_is_never_shown():
    assert "secret" not in repr(parse_place("mqtt://me:secret@box/a"))
