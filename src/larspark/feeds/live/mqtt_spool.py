"""MQTT into a file: what a broker delivers is on disk before the broker hears that it arrived."""

import hashlib
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live.address import MqttPlace, parse_place
from larspark.feeds.live.growing import end_of_lines
from larspark.feeds.live.inbox import FIRST_PAUSE, LONGEST_PAUSE
from larspark.feeds.live.mqtt import KEEPALIVE_SECONDS, QOS, make_client

_LOG = logging.getLogger("larspark.spool")
_POLL_SECONDS = 0.1
_PATIENCE_SECONDS = 20.0


@contextmanager
def spool(place: str, path: str | Path) -> Iterator[None]:
    """Write the lines of a topic, such as `mqtt://broker/machines`, to the end of a file meanwhile.

    A message is acknowledged once it is on disk. The broker is asked to keep what comes while
    nobody listens, under a name that belongs to the topic and the file: whoever spools them again
    gets it. So nothing is lost, as far as the broker keeps its word; after a crash the last
    messages may come a second time, which changes no answer as long as they are not late.
    """
    where = parse_place(place)
    if not isinstance(where, MqttPlace):
        hint = "such as mqtt://broker/topic"
        raise LarsparkError(Problem("L320", f"{place} is no topic of an MQTT broker", hint=hint))
    spooling = _Spooling(where, Path(path))
    spooling.start()
    try:
        yield
    finally:
        spooling.stop()


class _Spooling:
    """A thread that listens and writes."""

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
        """Begin, and return when the broker knows of us; what keeps us from that is raised."""
        self._client.on_connect = self._on_connect
        self._client.on_subscribe = self._on_subscribe
        self._client.on_message = self._on_message
        self._thread.start()
        if not self._subscribed.wait(_PATIENCE_SECONDS) or self._refusal is not None:
            self._stopping.set()
            self._thread.join()
            raise self._refusal or self._problem(self._why)

    def stop(self) -> None:
        """End; what went wrong meanwhile is raised."""
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
        """The file, at its end; a line that a crash cut short is taken out: it comes again."""
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
            result = self._client.loop(_POLL_SECONDS)
            self._keep(file)
            if self._refusal is not None:
                raise self._refusal
            if result != 0:
                raise ConnectionError(f"the connection broke: {result.name}")
        self._client.disconnect()

    def _keep(self, file: BinaryIO) -> None:
        """Write what arrived to disk, and then tell the broker."""
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
