"""Lines to a web address: each request is a POST with one or more lines, retried until it works."""

import hashlib
import http.client
import os
import secrets
from dataclasses import dataclass, field
from typing import ClassVar, Self

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.live.address import Address, LineSink, LineSource, LivePlace
from larspark.feeds.live.inbox import POLL_SECONDS, Inbox, Traffic, keep_connected
from larspark.feeds.reading import Refused

# How long a receiver may take to answer.
_PATIENCE_SECONDS = 10.0
_MOST_LINES = 1000
_MOST_BYTES = 1 << 20
# What a later attempt may mend, beside the errors of servers (5xx).
_PASSING = frozenset((408, 425, 429))
# The value of the header `Authorization`, for receivers that ask for one.
_AUTHORIZATION = "LARSPARK_WEBHOOK_AUTHORIZATION"


@dataclass(frozen=True)
class WebPlace(LivePlace):
    """A web address to send lines to. Its path may be a secret, so `name` is without it."""

    schemes: ClassVar[tuple[str, ...]] = ("https", "http")
    forms: ClassVar[tuple[str, ...]] = ("https://host/path",)
    name: str
    host: str
    port: int | None
    path: str = field(repr=False)
    encrypted: bool

    @classmethod
    def parse(cls, address: Address) -> Self:
        name = f"{address.scheme}://{address.host}"
        if address.port is not None:
            name += f":{address.port}"
        if not address.host:
            raise Refused("L320", f"{name}: the host is missing")
        if address.user is not None:
            why = f"a user does not stand in the address; {_AUTHORIZATION} holds the header"
            raise Refused("L320", f"{name}: {why}")
        path = "/" + address.path
        if not path.isascii() or any(c <= " " or c == "\x7f" for c in path):
            raise Refused("L320", f"{name}: its path has characters that must be written as %XX")
        return cls(name, address.host, address.port, path, address.scheme == "https")

    def source(self, retry: bool) -> LineSource:
        raise LarsparkError(Problem("L320", f"{self.name} can only be written to"))

    def sink(self) -> LineSink:
        return WebhookSender(self)


class WebhookSender:
    """Sends lines in requests that are repeated until the receiver takes them.

    A request that is repeated has the same `Idempotency-Key`, by which a receiver tells that it has
    it already.
    """

    def __init__(self, place: WebPlace) -> None:
        self._place = place
        self._run = secrets.token_hex(8)
        self._pending: list[bytes] = []
        self._over = False
        self.delivered = 0

    def carry(self, queue: Inbox, traffic: Traffic) -> None:
        place = self._place
        kind = http.client.HTTPSConnection if place.encrypted else http.client.HTTPConnection

        def talk() -> None:
            link = kind(place.host, place.port, timeout=_PATIENCE_SECONDS)
            is_up = False
            try:
                while not queue.stopping.is_set():
                    if not self._pending and not self._over:
                        self._take(queue)
                    if self._pending:
                        self._send(link)
                        if not is_up:
                            traffic.up(place.name)
                            is_up = True
                    elif self._over:
                        queue.stop()
            except http.client.HTTPException as error:
                why = str(error) or type(error).__name__
                raise ConnectionError(f"it is no answer of a web server: {why}") from None
            finally:
                link.close()

        keep_connected(talk, place.name, queue, traffic, retry=True)

    def _take(self, queue: Inbox) -> None:
        blocks, _, self._over = queue.take(POLL_SECONDS)
        self._pending = [line for _, block in blocks for line in block.lines if line is not None]

    def _send(self, link: http.client.HTTPConnection) -> None:
        """Send the first of the pending lines, and wait for the answer."""
        lines = self._first()
        body = b"".join(lines)
        digest = hashlib.sha256(body).hexdigest()[:16]
        headers = {
            "Content-Type": "application/x-ndjson",
            "User-Agent": "larspark",
            "Idempotency-Key": f"{self._run}-{self.delivered}-{digest}",
        }
        if authorization := os.environ.get(_AUTHORIZATION):
            headers["Authorization"] = authorization
        link.request("POST", self._place.path, body, headers)
        answer = link.getresponse()
        answer.read(_MOST_BYTES)
        said = f"{answer.status} {answer.reason}"
        if answer.status >= 500 or answer.status in _PASSING:
            raise ConnectionError(said)
        if answer.status >= 300:
            problem = Problem("L321", f"{self._place.name} refuses lines: {said}")
            raise LarsparkError(problem)
        self._pending = self._pending[len(lines) :]
        self.delivered += len(lines)

    def _first(self) -> list[bytes]:
        """Pending lines for one request."""
        taken, size = 0, 0
        for line in self._pending[:_MOST_LINES]:
            size += len(line)
            if taken and size > _MOST_BYTES:
                break
            taken += 1
        return self._pending[:taken]
