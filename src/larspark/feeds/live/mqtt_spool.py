"""MQTT into a file: messages are acknowledged after they are written to disk."""

import hashlib
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live.growing import end_of_lines
from larspark.feeds.live.inbox import FIRST_PAUSE, LONGEST_PAUSE, POLL_SECONDS
from larspark.feeds.live.mqtt import KEEPALIVE_SECONDS, QOS, MqttPlace, make_client
from larspark.feeds.live.places import parse_place

_LOG = logging.getLogger("larspark.spool")
_PATIENCE_SECONDS = 20.0


@contextmanager
def spool(place: str, path: str | Path) -> Iterator[None]:
    """Append the lines of a topic, such as `mqtt://broker/machines`, to a file in the background.

    A message is acknowledged once it is on disk. The client id is derived from the topic and the
    file, and the session is persistent: the broker keeps messages while no client is connected,
    and delivers them to the next spool of the same topic and file. After a crash the last messages
    may be delivered twice, which changes no answer as long as they are not late.
    """
    where = parse_place(place)
    if not isinstance(where, MqttPlace):
        hint = "such as mqtt://broker/topic"
        raise LarsparkError(Problem("L320", f"{place} is not a topic of an MQTT broker", hint=hint))
    spooling = _Spooling(where, Path(path))
    spooling.start()
    try:
        yield
    finally:
        spooling.stop()


class _Spooling:
    """The thread that receives messages and writes them."""

    def __init__(self, place: MqttPlace, path: Path) -> None:
        self._place = place
        self._path = path
        name = hashlib.sha256(f"{place.name} {path.absolute()}".encode()).hexdigest()[:16]
        self._client = make_client(place, name=f"larspark-{name}", clean=False)
        self._client.manual_ack_set(True)
        # Number, quality of service and content of each message.
        self._arrived: list[tuple[int, int, bytes]] = []
        self._why = "the broker does not answer"
        self._subscribed = threading.Event()
        self._stopping = threading.Event()
        self._refusal: LarsparkError | None = None
        self._thread = threading.Thread(target=self._run, name="larspark-spool", daemon=True)

    def start(self) -> None:
        """Start, and return when the subscription stands; raises if the broker refuses it."""
        self._client.on_connect = self._on_connect
        self._client.on_subscribe = self._on_subscribe
        self._client.on_message = self._on_message
        self._thread.start()
        if not self._subscribed.wait(_PATIENCE_SECONDS) or self._refusal is not None:
            self._stopping.set()
            self._thread.join()
            raise self._refusal or self._problem(self._why)

    def stop(self) -> None:
        """Stop the thread; raises the error that ended it, if any."""
        self._stopping.set()
        self._thread.join()
        if self._refusal is not None:
            raise self._refusal

    def _run(self) -> None:
        try:
            with self._opened() as file:
                pause = FIRST_PAUSE
                while not self._stopping.is_set():
                    try:
                        self._talk(file)
                    except ConnectionError as error:
                        self._why = str(error)
                        _LOG.warning("%s: %s", self._place.name, error)
                    self._stopping.wait(pause)
                    pause = min(2 * pause, LONGEST_PAUSE)
        except LarsparkError as error:
            self._refusal = error
        except OSError as error:
            why = error.strerror or str(error)
            self._refusal = LarsparkError(Problem("L324", f"cannot write {self._path}: {why}"))
        finally:
            if self._refusal is not None:
                _LOG.error("%s", self._refusal)
            self._subscribed.set()

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """The file, opened for appending; an incomplete last line is removed: it is sent again."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.truncate(end_of_lines(self._path))
            yield file

    def _talk(self, file: BinaryIO) -> None:
        try:
            self._client.connect(self._place.host, self._place.port, KEEPALIVE_SECONDS)
        except OSError as error:
            raise ConnectionError(f"cannot connect: {error.strerror or error}") from None
        while not self._stopping.is_set():
            result = self._client.loop(POLL_SECONDS)
            self._keep(file)
            if self._refusal is not None:
                raise self._refusal
            if result != 0:
                raise ConnectionError(f"the connection broke: {result.name}")
        self._client.disconnect()

    def _keep(self, file: BinaryIO) -> None:
        """Write received messages to disk, then acknowledge them."""
        if not self._arrived:
            return
        arrived, self._arrived = self._arrived, []
        file.write(b"".join(content.rstrip(b"\n") + b"\n" for *_, content in arrived if content))
        file.flush()
        os.fsync(file.fileno())
        for number, quality, _ in arrived:
            self._client.ack(number, quality)

    def _on_connect(self, _: Any, __: Any, flags: Any, reason: Any, ___: Any) -> None:
        if reason.is_failure:
            self._refusal = self._problem(f"the broker refuses the connection: {reason}")
        elif flags.session_present:
            self._subscribed.set()
        else:
            self._client.subscribe(self._place.topic, QOS)

    def _on_subscribe(self, _: Any, __: Any, ___: int, reasons: Any, ____: Any) -> None:
        if any(reason.is_failure for reason in reasons):
            self._refusal = self._problem("the broker refuses the subscription")
        self._subscribed.set()

    def _on_message(self, _: Any, __: Any, message: Any) -> None:
        self._arrived.append((message.mid, message.qos, bytes(message.payload)))

    def _problem(self, why: str) -> LarsparkError:
        return LarsparkError(Problem("L321", f"{self._place.name}: {why}"))
