"""Sinks of other programs: web addresses, commands, and metrics of a run."""

import json
import socket
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.in_process import larspark

from larspark.analysis.check import check
from larspark.base.problems import LarsparkError
from larspark.cli.metrics import Metrics, parse_metrics, served_metrics
from larspark.feeds.live import LiveStream, open_sink
from larspark.feeds.live import inbox as inbox_module
from larspark.feeds.live.places import parse_place
from larspark.language import parse_program
from larspark.run.session import Session
from larspark.show.terminal import Writer

PROGRAM = "hot(M) :- [1] some temp(M, V), V > 90.\n"
FACTS = '{"t": 1, "atom": "temp(\\"-rf $(x)\\",95)"}\n{"t": 9, "atom": "temp(b,95)"}\n'


class Receiver(ThreadingHTTPServer):
    """Takes lines, after having failed in some ways; `refuse` is a status for all requests."""

    def __init__(self, refuse: int = 0) -> None:
        self.requests: list[tuple[str, str | None, str | None, bytes]] = []
        self.failures = [503, 429, -1, 500]
        self.refuse = refuse
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        pass


class _Handler(BaseHTTPRequestHandler):
    server: Receiver
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        key, user = self.headers["Idempotency-Key"], self.headers["Authorization"]
        self.server.requests.append((self.path, key, user, body))
        status = self.server.failures.pop(0) if self.server.failures else 204
        if status == -1:
            # It has taken the lines, and the connection breaks before it can say so.
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(self.server.refuse or status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setattr(inbox_module, "FIRST_PAUSE", 0.01)
    server = Receiver()
    yield server
    server.shutdown()
    server.server_close()


def test_lines_are_posted_again_under_the_same_key_until_they_are_taken(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LARSPARK_WEBHOOK_AUTHORIZATION", "Bearer me")
    said: list[str] = []
    with open_sink(f"http://127.0.0.1:{receiver.server_port}/secret?x=1", said.append) as sink:
        for number in range(2500):
            sink.write(f'{{"n": {number}}}\n')
        sink.flush()
        sink.drain()
    taken: dict[str | None, bytes] = {}
    for path, key, user, body in receiver.requests:
        assert (path, user) == ("/secret?x=1", "Bearer me")
        assert taken.setdefault(key, body) == body
    numbers = [json.loads(line)["n"] for body in taken.values() for line in body.splitlines()]
    assert numbers == list(range(2500))
    assert len(receiver.requests) == len(taken) + 4
    assert "503 Service Unavailable" in said[0]
    assert not any("secret" in text for text in said)


def test_a_receiver_that_refuses_lines_is_an_error(receiver: Receiver) -> None:
    receiver.refuse = 404
    with (
        pytest.raises(LarsparkError) as caught,
        open_sink(f"http://127.0.0.1:{receiver.server_port}/secret", print) as sink,
    ):
        sink.write("{}\n")
        sink.drain()
    message = caught.value.problems[0].message
    assert message == f"http://127.0.0.1:{receiver.server_port} refuses lines: 404 Not Found"


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("https:///x", "the host is missing"),
        ("https://me:pw@host/x", "LARSPARK_WEBHOOK_AUTHORIZATION holds the header"),
        ("https://host/a b", "must be written as %XX"),
        ("https://host/a\r\nX: y", "must be written as %XX"),
        ("exec:", "the command is missing"),
        ("exec:'x", "no closing quotation"),
        ("exec:no-such-command", "there is no such command"),
    ],
)
def test_a_place_that_cannot_be_written_to_is_told(place: str, why: str) -> None:
    with pytest.raises(LarsparkError) as caught:
        parse_place(place).sink()
    assert why in caught.value.problems[0].message
    assert "pw" not in caught.value.problems[0].message


@pytest.mark.parametrize("place", ["https://host/x", "exec:true"])
def test_a_place_to_write_to_is_not_read(place: str) -> None:
    with pytest.raises(LarsparkError, match="can only be written to"):
        LiveStream(place)


def test_a_command_gets_every_change_as_arguments_and_no_shell(tmp_path: Path) -> None:
    (tmp_path / "p.lars").write_text(PROGRAM)
    (tmp_path / "s.jsonl").write_text(FACTS)
    (tmp_path / "note.py").write_text(
        "import sys\n"
        "open('noted', 'a').write(repr(sys.argv[1:]) + '\\n')\n"
        "sys.exit(3 if 'del' in sys.argv else 0)\n"
    )
    words = ("run", "p.lars", "-s", "s.jsonl", "-o", f"exec:'{sys.executable}' note.py 'a b'")
    done = larspark(tmp_path, *words, "--as", "changes")
    assert done.returncode == 0, done.stderr
    atom = 'hot("-rf $(x)")'
    assert (tmp_path / "noted").read_text().splitlines() == [
        repr(["a b", "add", atom, "1"]),
        repr(["a b", "del", atom, "3"]),
        repr(["a b", "add", "hot(b)", "9"]),
    ]
    assert f"del {atom}: it ended with 3" in done.stderr
    refused = larspark(tmp_path, *words)
    assert refused.returncode == 2
    assert "is for --as changes" in refused.stderr


def asked(port: int, path: str) -> tuple[int, str]:
    link = HTTPConnection("127.0.0.1", port, timeout=120)
    link.request("GET", path)
    answer = link.getresponse()
    return answer.status, answer.read().decode()


def test_metrics_and_health_are_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "s.jsonl").write_text(FACTS + "rubbish\n")
    parsed = parse_program(PROGRAM)
    assert parsed.program is not None
    session = Session(check(parsed.program, ()))
    stream = LiveStream(str(tmp_path / "s.jsonl"), retry=False)
    for batch in stream.batches():
        session.append(batch)
    session.advance(9)
    out = Writer(sys.stdout, people=False)
    out.line("{}")
    address = parse_metrics("127.0.0.1:0", live=True)
    with served_metrics(address, Metrics(stream, session, out, None)):
        port = int(capsys.readouterr().err.split(":")[-1].split("/")[0])
        # Clients that say nothing lock nobody out.
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(5)]
        status, text = asked(port, "/metrics")
        assert status == 200
        for line in ("facts_total 2", "skipped_lines_total 1", "time_point 9", "engine_rows"):
            assert f"\nlarspark_{line}" in text
        assert "\nlarspark_answer_lines_total 1\n" in text
        assert asked(port, "/healthz") == (200, "ok\n")
        monkeypatch.setattr(session, "evaluating_since", -1e9)
        assert asked(port, "/healthz") == (503, "an evaluation takes very long\n")
        assert asked(port, "/else")[0] == 404
        for link in silent:
            link.close()


@pytest.mark.parametrize("text", ["9464", ":x", "box:99999"])
def test_an_address_for_metrics_is_a_port(text: str, tmp_path: Path) -> None:
    (tmp_path / "p.lars").write_text(PROGRAM)
    done = larspark(tmp_path, "run", "p.lars", "-s", "tcp://:1", "--metrics", text)
    assert done.returncode == 2
    assert "use :9464" in done.stderr
