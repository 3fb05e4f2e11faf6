"""The kinds of live places: `-`, connections, commands, files that grow."""

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live.address import EXEC, LivePlace, parse_address
from larspark.feeds.live.command_sink import CommandPlace
from larspark.feeds.live.growing import FilePlace
from larspark.feeds.live.kafka import KafkaPlace
from larspark.feeds.live.mqtt import MqttPlace
from larspark.feeds.live.standard_input import StandardPlace
from larspark.feeds.live.tcp import TcpPlace
from larspark.feeds.live.webhook import WebPlace
from larspark.feeds.reading import Refused

KINDS: tuple[type[LivePlace], ...] = (
    StandardPlace,
    FilePlace,
    TcpPlace,
    MqttPlace,
    KafkaPlace,
    WebPlace,
    CommandPlace,
)

_BY_SCHEME = {scheme: kind for kind in KINDS for scheme in kind.schemes}
_FORMS = ", ".join(form for kind in KINDS for form in kind.forms)


def is_live(text: str) -> bool:
    """Whether this names standard input, a connection or a command rather than a file.

    >>> is_live("-"), is_live("mqtt://localhost/machines"), is_live("events.jsonl")
    (True, True, False)
    """
    return text == "-" or "://" in text or text.startswith(f"{EXEC}:")


def parse_place(text: str) -> LivePlace:
    """The live place of an address.

    >>> parse_place("tcp://:9000")
    TcpPlace(name='tcp://:9000', host='127.0.0.1', port=9000, listen=True)
    """
    try:
        address = parse_address(text)
        kind = _BY_SCHEME.get(address.scheme)
        if kind is None:
            message = f"{address.text}: `{address.scheme}` is not a known kind of connection"
            raise Refused("L320", message)
        return kind.parse(address)
    except Refused as refused:
        hint = f"the forms are {_FORMS}"
        raise LarsparkError(Problem(refused.code, refused.message, hint=hint)) from None
