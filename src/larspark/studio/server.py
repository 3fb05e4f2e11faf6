"""The page's server: on this machine alone, and for who knows the token in its address."""

import json
import re
import secrets
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from larspark import __version__
from larspark.base.problems import LarsparkError
from larspark.studio.assets import Assets
from larspark.studio.desk import Desk, problem_fields
from larspark.studio.guard import unexpected
from larspark.studio.requests import ACTIONS, READS, Refused

HOST = "127.0.0.1"
# A stream that is given to the page may be so large.
_LARGEST_REQUEST = 64 << 20
_LENGTH = re.compile("[0-9]{1,12}")
_HEARTBEAT_SECONDS = 15.0
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Studio:
    """A server and the desk that it shows."""

    def __init__(self, desk: Desk, port: int = 0) -> None:
        self.desk = desk
        self.assets = Assets()
        self.token = secrets.token_urlsafe(24)
        self._uploads = TemporaryDirectory(prefix="larspark-studio-")
        self.uploads = self._uploads.name

        class Handler(_Handler):
            studio = self

        self._server = _Server((HOST, port), Handler)
        self.port: int = self._server.server_address[1]

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}/{self.token}/"

    def serve(self) -> None:
        """Answer requests until `stop`."""
        try:
            self._server.serve_forever(poll_interval=0.2)
        finally:
            self.desk.stop()
            self._server.server_close()
            self._uploads.cleanup()

    def stop(self) -> None:
        threading.Thread(target=self._server.shutdown, daemon=True).start()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report what went wrong, unless the page was closed."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    studio: Studio
    server_version = f"larspark/{__version__}"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    # Who says nothing for so many seconds is hung up on.
    timeout = 120

    def do_GET(self) -> None:
        name, query = self._name()
        if name is None:
            return
        if name == "events":
            self._events()
        elif name in READS:
            handler = READS[name]
            self._answer(lambda: handler(self.studio.desk, query))
        elif (found := self.studio.assets.find(name or "index.html")) is not None:
            self._send(200, *found)
        else:
            self._refuse(404, "there is no such page")

    def do_POST(self) -> None:
        name, _ = self._name()
        if name is None:
            return
        handler = ACTIONS.get(name)
        length = self.headers.get("Content-Length", "")
        if handler is None:
            self._refuse(404, "there is no such page")
        elif self.headers.get("Content-Type", "").split(";")[0] != "application/json":
            self._refuse(415, "requests are JSON")
        elif not _LENGTH.fullmatch(length) or int(length) > _LARGEST_REQUEST:
            self._refuse(413, "the request is too large")
        else:
            body = self.rfile.read(int(length))

            def answer() -> Any:
                try:
                    fields = json.loads(body)
                except ValueError as error:
                    raise Refused("the request is no JSON") from error
                if not isinstance(fields, dict):
                    raise Refused("the request is no JSON object")
                return handler(self.studio.desk, fields, self.studio.uploads)

            self._answer(answer)

    def _name(self) -> tuple[str | None, dict[str, str]]:
        """What is asked for below the token, unless somebody else asks."""
        studio = self.studio
        hosts = {f"{HOST}:{studio.port}", f"localhost:{studio.port}"}
        parts = urlsplit(self.path)
        token, slash, name = parts.path.removeprefix("/").partition("/")
        origin = self.headers.get("Origin")
        allowed = (
            self.headers.get("Host") in hosts
            and (origin is None or origin.removeprefix("http://") in hosts)
            and secrets.compare_digest(token.encode(), studio.token.encode())
            and slash
        )
        if not allowed:
            self._refuse(403, "open the address that `larspark studio` has printed")
            return None, {}
        query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        return unquote(name), query

    def _answer(self, found: Callable[[], Any]) -> None:
        try:
            value = found()
        except LarsparkError as error:
            self._send_problems(error)
        except Refused as error:
            self._refuse(400, str(error))
        except Exception as error:
            self._send_problems(unexpected(error))
        else:
            if isinstance(value, str):
                self._send(200, value.encode(), "text/html; charset=utf-8", download=True)
            else:
                self._send(200, _encoded(value), "application/json")

    def _send_problems(self, error: LarsparkError) -> None:
        value = {"problems": [problem_fields(problem) for problem in error.problems]}
        self._send(422, _encoded(value), "application/json")

    def _refuse(self, status: int, why: str) -> None:
        self.close_connection = True
        self._send(status, f"{why}\n".encode(), "text/plain; charset=utf-8")

    def _send(self, status: int, body: bytes, kind: str, *, download: bool = False) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        if download:
            self.send_header("Content-Disposition", 'attachment; filename="timeline.html"')
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _events(self) -> None:
        """A line of JSON for whatever is new, as long as the page listens."""
        self.close_connection = True
        self.send_response(200)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        desk = self.studio.desk
        seen = -1
        try:
            while True:
                news = desk.wait(seen, _HEARTBEAT_SECONDS)
                if news == seen:
                    self.wfile.write(b": still here\n\n")
                else:
                    seen = news
                    self.wfile.write(b"data: " + _encoded(desk.summary()) + b"\n\n")
                self.wfile.flush()
        except OSError:
            # The page was closed.
            return

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - of the base class
        """Nothing: requests carry the token."""


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
