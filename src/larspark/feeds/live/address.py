"""Live places as they are written: `-`, `tcp://host:port`, `mqtt://host/topic`, a file."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit

from larspark.base.problems import LarsparkError, Problem

_MQTT_PORTS = {"mqtt": 1883, "mqtts": 8883}
_FORMS = "tcp://host:port, tcp://:port, tcp+listen://host:port, mqtt://host/topic, mqtts://..."
_THIS_MACHINE = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class StandardPlace:
    """Standard input, or standard output."""

    name: str = "<stdin>"


@dataclass(frozen=True, slots=True)
class TcpPlace:
    """A port: of a host to connect to, or of an address to listen at."""

    name: str
    host: str
    port: int
    listen: bool


@dataclass(frozen=True, slots=True)
class MqttPlace:
    """A topic of a broker; to read from, it may have wildcards. `encrypted`: by TLS."""

    name: str
    host: str
    port: int
    topic: str
    encrypted: bool = False
    user: str | None = None
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A file to which others write."""

    name: str
    path: Path


LivePlace: TypeAlias = StandardPlace | TcpPlace | MqttPlace | FilePlace


def is_live(text: str) -> bool:
    """Does this name standard input or a connection, and not a file?

    >>> is_live("-"), is_live("mqtt://localhost/machines"), is_live("events.jsonl")
    (True, True, False)
    """
    return text == "-" or "://" in text


def parse_place(text: str) -> LivePlace:
    """What a text names.

    >>> parse_place("tcp://:9000")
    TcpPlace(name='tcp://:9000', host='127.0.0.1', port=9000, listen=True)
    """
    if text == "-":
        return StandardPlace()
    if "://" not in text:
        return FilePlace(text, Path(text))
    scheme, _, rest = text.partition("://")
    # The topic is taken as it is written: `#` and `+` are its wildcards.
    authority, _, topic = rest.partition("/")
    try:
        parts = urlsplit(f"//{authority}")
        port = parts.port
    except ValueError as error:
        raise _wrong(_without_password(text), str(error).lower()) from None
    match scheme:
        case "tcp" | "tcp+listen":
            return _tcp(text, scheme, parts, port, topic)
        case "mqtt" | "mqtts":
            return _mqtt(scheme, parts, port, topic)
        case _:
            raise _wrong(_without_password(text), f"`{scheme}` is no kind of connection known here")


def _tcp(text: str, scheme: str, parts: SplitResult, port: int | None, rest: str) -> TcpPlace:
    host = parts.hostname or ""
    if port is None:
        raise _wrong(text, "the port is missing")
    if rest or parts.username is not None:
        raise _wrong(text, "it has more than a host and a port")
    if scheme == "tcp+listen" and not host:
        raise _wrong(text, "the address to listen at is missing")
    return TcpPlace(text, host or _THIS_MACHINE, port, scheme == "tcp+listen" or not host)


def _mqtt(scheme: str, parts: SplitResult, port: int | None, topic: str) -> MqttPlace:
    host = parts.hostname or ""
    port = _MQTT_PORTS[scheme] if port is None else port
    name = f"{scheme}://{host}:{port}/{topic}"
    if not host:
        raise _wrong(name, "the host is missing")
    if not topic:
        raise _wrong(name, "the topic is missing")
    *above, last = topic.split("/")
    if "\0" in topic or any("#" in level for level in above) or ("#" in last and last != "#"):
        raise _wrong(name, "`#` stands alone, in the last place of a topic")
    if any("+" in level and level != "+" for level in (*above, last)):
        raise _wrong(name, "`+` stands alone between the slashes of a topic")
    password = os.environ.get("LARSPARK_MQTT_PASSWORD")
    if parts.password is not None:
        password = unquote(parts.password)
    user = None if parts.username is None else unquote(parts.username)
    return MqttPlace(name, host, port, topic, scheme == "mqtts", user, password)


def _without_password(text: str) -> str:
    scheme, _, rest = text.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _wrong(text: str, why: str) -> LarsparkError:
    return LarsparkError(Problem("L320", f"{text}: {why}", hint=f"the forms are {_FORMS}"))
