"""The numbers of a live run for Prometheus, and whether it is well, over HTTP."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import typer

from larspark.base.problems import LarsparkError, Problem
from larspark.cli.durable_run import DurableRun
from larspark.feeds.live import LiveStream
from larspark.run.session import Session
from larspark.show.terminal import Writer, say

_THIS_MACHINE = "127.0.0.1"
# A client that says nothing for so long is disconnected; so many are served at a time.
_CLIENT_SECONDS = 5.0
_MOST_CLIENTS = 20
# A run is unwell when an evaluation or a commit takes so much longer than it should.
_UNWELL_SECONDS = 60.0
# What an engine holds is asked for between two evaluations.
_LOCK_SECONDS = 0.5

Metric = tuple[str, str, str, float | None]


class Metrics:
    """What there is to tell about a run."""

    def __init__(
        self, stream: LiveStream, session: Session, out: Writer, durable: DurableRun | None
    ) -> None:
        self._stream, self._session, self._out, self._durable = stream, session, out, durable

    def text(self) -> str:
        """All metrics in the format of Prometheus."""
        lines: list[str] = []
        for name, kind, text, value in (*self._source(), *self._answers(), *self._commits()):
            if value is not None:
                full = f"larspark_{name}"
                lines += [f"# HELP {full} {text}", f"# TYPE {full} {kind}", f"{full} {value}"]
        return "\n".join(lines) + "\n"

    def _source(self) -> Iterator[Metric]:
        stream, traffic = self._stream, self._stream.traffic
        yield "facts_total", "counter", "Facts that were accepted.", stream.facts
        yield "late_facts_total", "counter", "Facts that came too late.", stream.late
        skipped = stream.skipped - stream.late
        yield "skipped_lines_total", "counter", "Lines that are no facts, or not allowed.", skipped
        yield "queue_ratio", "gauge", "How full the queue before the run is.", stream.queue
        yield "connection_breaks_total", "counter", "Broken connections.", traffic.breaks
        yield "connection_down_seconds_total", "counter", "Time without one.", traffic.down
        yield "gaps_total", "counter", "Events after which lines may be lost.", traffic.gaps

    def _answers(self) -> Iterator[Metric]:
        session = self._session
        yield "answer_lines_total", "counter", "Lines of output.", self._out.lines
        yield "time_point", "gauge", "The time point answered last.", session.answered
        if session.lock.acquire(timeout=_LOCK_SECONDS):
            try:
                held = session.stats()
            finally:
                session.lock.release()
            for name, unit in (("rows", "rows"), ("bytes", "bytes")):
                yield (
                    f"engine_{unit}",
                    "gauge",
                    f"The {unit} that the engine holds.",
                    held.get(name),
                )

    def _commits(self) -> Iterator[Metric]:
        durable = self._durable
        if durable is None or durable.committed_at is None:
            return
        age = time.monotonic() - durable.committed_at
        yield "commits_total", "counter", "Commits since the run began.", durable.number
        yield "commit_age_seconds", "gauge", "Time since the last commit.", age
        yield "state_bytes", "gauge", "The size of the last commit.", durable.state_bytes

    def illness(self) -> str:
        """Why the run is unwell; empty if it is well."""
        since = self._session.evaluating_since
        if since is not None and time.monotonic() - since > _UNWELL_SECONDS:
            return "an evaluation takes very long"
        if self._durable is not None and self._durable.overdue > _UNWELL_SECONDS:
            return "nothing was committed for a long time"
        return ""


class _Server(ThreadingHTTPServer):
    """Serves each client in a thread of its own, as long as there are not too many."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], metrics: Metrics) -> None:
        self.metrics = metrics
        self._free = threading.BoundedSemaphore(_MOST_CLIENTS)
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is gone is no concern of the run."""


class _Handler(BaseHTTPRequestHandler):
    """Answers `/metrics` and `/healthz`."""

    server: _Server
    timeout = _CLIENT_SECONDS

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/metrics":
            kind = "text/plain; version=0.0.4; charset=utf-8"
            self._answer(200, self.server.metrics.text(), kind)
        elif path == "/healthz":
            illness = self.server.metrics.illness()
            self._answer(503 if illness else 200, f"{illness or 'ok'}\n")
        else:
            self._answer(404, "there are /metrics and /healthz\n")

    def _answer(self, status: int, text: str, kind: str = "text/plain; charset=utf-8") -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has there
        """Nothing is logged."""


def parse_metrics(text: str | None, *, live: bool) -> tuple[str, int] | None:
    """The address that `--metrics` gives: `:9464` is a port of this machine only."""
    if text is None:
        return None
    if not live:
        raise typer.BadParameter("--metrics is for live runs")
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise typer.BadParameter(f"--metrics {text}: use :9464 or 0.0.0.0:9464")
    return host.strip("[]") or _THIS_MACHINE, int(port)


@contextmanager
def served_metrics(address: tuple[str, int] | None, metrics: Metrics) -> Iterator[None]:
    """In this context the metrics are served."""
    if address is None:
        yield
        return
    try:
        server = _Server(address, metrics)
    except OSError as error:
        why = error.strerror or str(error)
        place = f"{address[0]}:{address[1]}"
        raise LarsparkError(Problem("L321", f"cannot listen at {place}: {why}")) from None
    say(f"metrics are at http://{address[0]}:{server.server_address[1]}/metrics")
    thread = threading.Thread(target=server.serve_forever, name="larspark metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
