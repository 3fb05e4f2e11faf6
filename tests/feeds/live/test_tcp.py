"""Lines over TCP: connections that break, senders that cut lines, many senders at once."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

import pytest

from larspark.base.problems import LarsparkError
from larspark.feeds.live import LiveStream, tcp

HOUR = 3_600_000_000


@contextmanager
def server(*visits: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that treats each connection as its visit says, and then is gone."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listener:
            for visit in visits:
                link, _ = listener.accept()
                with link:
                    visit(link)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    thread.join(300)


def sends(data: bytes) -> Callable[[socket.socket], None]:
    return lambda link: link.sendall(data)


def resets(data: bytes) -> Callable[[socket.socket], None]:
    """Send, wait until it was read, and break the connection off hard."""

    def visit(link: socket.socket) -> None:
        link.sendall(data)
        threading.Event().wait(0.3)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return visit


def texts(stream: LiveStream) -> list[tuple[int, str]]:
    return [(row.t, str(row.atom)) for row in stream.elements()]


def test_lines_are_read_to_the_end_of_the_connection_whatever_their_pieces():
    def visit(link: socket.socket) -> None:
        for piece in (b'{"t": 1, "at', b'om": "p(a)"}\n\n{"t": 2', b', "atom": "p(b)"}'):
            link.sendall(piece)
            threading.Event().wait(0.05)

    with server(visit) as port:
        stream = LiveStream(f"tcp://127.0.0.1:{port}", retry=False)
        assert texts(stream) == [(1, "p(a)"), (2, "p(b)")]
    assert (stream.facts, stream.traffic.cut, stream.traffic.breaks) == (2, 0, 0)


def test_objects_and_csv_are_mapped_and_one_bad_line_ends_nothing():
    objects = b'{"ts": 60000, "dev": {"id": "a"}, "v": 3}\nnonsense\n{"ts": 120000, "dev": 1}\n'
    with server(sends(objects + b'{"ts": 121000, "dev": {"id": "b"}, "v": 4}\n')) as port:
        stream = LiveStream(
            f"tcp://127.0.0.1:{port}",
            map="ms(ts) -> temp(dev.id, number(v))",
            tick=60_000_000,
            retry=False,
        )
        assert texts(stream) == [(1, "temp(a,3)"), (2, "temp(b,4)")]
    assert [problem.code for problem in stream.problems] == ["L308", "L313"]
    assert (stream.facts, stream.skipped) == (2, 2)
    table = b"time;sensor;value\n1;007;95\n2;b\n3;c;2.5\n"
    with server(sends(table), sends(table)) as port:
        stream = LiveStream(
            f"tcp://127.0.0.1:{port}",
            format="csv",
            map="time -> temp(sensor, value)",
            retry=False,
        )
        assert texts(stream) == [(1, 'temp("007",95)'), (3, "temp(c,2.5)")]
        assert stream.skipped == 1
        strict = LiveStream(
            f"tcp://127.0.0.1:{port}",
            format="csv",
            map="time -> temp(sensor, value)",
            on_error="fail",
            retry=False,
        )
        with pytest.raises(LarsparkError, match="the record has 2 values, not 3"):
            texts(strict)


def test_a_header_that_cannot_be_read_is_a_problem_of_its_lines():
    with server(sends(b'a\r"b\ntime,sensor\n1,x\n')) as port:
        stream = LiveStream(
            f"tcp://127.0.0.1:{port}", format="csv", map="time -> on(sensor)", retry=False
        )
        # A header is the first line of a connection.
        assert texts(stream) == []
    assert [problem.code for problem in stream.problems] == ["L304"] * 3


def test_a_connection_that_breaks_is_made_again_and_a_cut_line_is_counted():
    said: list[str] = []
    first, second = b'{"t": 1, "atom": "p"}\n{"t": 1, "at', b'{"t": 2, "atom": "p"}\n{"t": 9}\n'
    with server(sends(first), resets(second), sends(b'{"t": 9, "atom": "q"}\n')) as port:
        stream = LiveStream(f"tcp://127.0.0.1:{port}", say=said.append)
        found = []
        for row in stream.elements():
            found.append((row.t, str(row.atom)))
            if found[-1][1] == "q":
                stream.stop()
    assert found == [(1, "p"), (2, "p"), (9, "q")]
    traffic = stream.traffic
    # Whether the third one, too, was seen to end depends on who was faster.
    assert (traffic.cut, traffic.connections) == (1, 3)
    assert traffic.breaks in (2, 3)
    assert said[0] == (
        f"lost the connection to tcp://127.0.0.1:{port}: the peer closed it; trying again"
    )


def test_without_retry_a_connection_that_cannot_be_made_is_a_problem():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(LarsparkError) as caught:
        texts(LiveStream(f"tcp://127.0.0.1:{port}", retry=False))
    assert caught.value.problems[0].code == "L321"


@pytest.mark.parametrize("host", ["a" * 70, "a..b", "no-such-host.invalid"])
def test_a_host_that_cannot_be_is_a_problem(host):
    for place in (f"tcp://{host}:9", f"tcp+listen://{host}:9"):
        with pytest.raises(LarsparkError) as caught:
            texts(LiveStream(place, retry=False))
        assert caught.value.problems[0].code == "L321"


def test_without_retry_a_reset_is_a_problem_after_everything_before_was_delivered():
    with server(resets(b'{"t": 1, "atom": "p"}\n')) as port:
        stream = LiveStream(f"tcp://127.0.0.1:{port}", retry=False)
        found = []
        with pytest.raises(LarsparkError) as caught:
            for row in stream.elements():
                found.append((row.t, str(row.atom)))
    assert found == [(1, "p")]
    assert caught.value.problems[0].code == "L321"


def listen(**options: object) -> tuple[LiveStream, "threading.Event", list[int]]:
    ready, ports = threading.Event(), []

    def say(text: str) -> None:
        if text.startswith("listening on"):
            ports.append(int(text.rpartition(":")[2]))
            ready.set()

    return LiveStream("tcp://:0", say=say, **options), ready, ports


def stop_after(stream: LiveStream, lines: int) -> None:
    while stream.traffic.lines < lines:
        threading.Event().wait(0.02)
    stream.stop()


def test_everybody_may_send_and_lines_stay_whole():
    stream, ready, ports = listen(lateness=1000)

    def send(name: int) -> None:
        with socket.create_connection(("127.0.0.1", ports[0])) as link:
            for number in range(200):
                line = f'{{"t": {number}, "atom": "p({name},{number})"}}\n'.encode()
                link.sendall(line[:9])
                link.sendall(line[9:])

    def send_all() -> None:
        ready.wait(300)
        senders = [threading.Thread(target=send, args=(name,)) for name in range(5)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        stop_after(stream, 1000)

    threading.Thread(target=send_all).start()
    found = texts(stream)
    expected = [(number, f"p({name},{number})") for number in range(200) for name in range(5)]
    assert sorted(found) == sorted(expected)
    assert [t for t, _ in found] == sorted(t for t, _ in found)


def test_a_sender_has_to_wait_while_nothing_is_taken_and_then_all_arrives():
    stream, ready, ports = listen(queue=10_000)
    total, text = 3000, "x" * 10_000
    sent, begun = threading.Event(), threading.Event()

    def send() -> None:
        ready.wait(300)
        with socket.create_connection(("127.0.0.1", ports[0])) as link:
            for number in range(total):
                link.sendall(
                    f'{{"t": 1, "predicate": "p", "args": [{number}, "{text}"]}}\n'.encode()
                )
        sent.set()
        stop_after(stream, total)

    threading.Thread(target=send).start()
    numbers: list[int] = []
    for batch in stream.batches():
        if not begun.is_set():
            begun.set()
            # 30 MB fit neither into the queue nor into the buffers of the sockets.
            assert not sent.wait(1)
            assert stream.traffic.lines < total
        numbers += [row.atom.args[0] for row in batch.rows()]
    assert numbers == list(range(total))


def test_a_bad_line_is_told_with_who_sent_it_and_its_number_there():
    stream, ready, ports = listen(on_error="skip", clock=HOUR)
    names: list[str] = []

    def send() -> None:
        ready.wait(300)
        with socket.create_connection(("127.0.0.1", ports[0])) as link:
            names.append(f"tcp://127.0.0.1:{link.getsockname()[1]}")
            link.sendall(b'{"atom": "p"}\n{"atom": "p(X)"}\nexec("x")\n' + b"x" * 3_000_000)
            link.sendall(b'\n{"atom": "q"}\n')
        stop_after(stream, 5)

    threading.Thread(target=send).start()
    assert [text for _, text in texts(stream)] == ["p", "q"]
    places = [
        (problem.code, problem.span.source, problem.span.line)
        for problem in stream.problems
        if problem.span
    ]
    assert places == [("L312", names[0], 2), ("L308", names[0], 3), ("L306", names[0], 4)]
    assert (stream.facts, stream.skipped) == (2, 3)


def test_a_live_stream_is_read_once():
    with server(sends(b'{"t": 1, "atom": "p"}\n')) as port:
        stream = LiveStream(f"tcp://127.0.0.1:{port}", retry=False)
        assert len(texts(stream)) == 1
    with pytest.raises(LarsparkError, match="can be read only once"):
        texts(stream)


@pytest.mark.parametrize("seed", range(5))
def test_bytes_of_any_kind_leave_the_facts_among_them_alone(seed):
    stream, ready, ports = listen(on_error="skip", clock=HOUR)
    random = Random(seed)
    junk = [
        random.choice(
            [
                random.randbytes(random.randint(0, 300)).replace(b"\n", b""),
                b'{"t": ' + b"9" * random.randint(1, 400) + b', "atom": "p"}',
                b"[" * random.randint(1, 100_000),
                b'{"atom": "' + b"p(" * random.randint(1, 5000) + b'"}',
                b'{"predicate": "p", "args": [{"__class__": "os.system"}, null]}',
                b'{"t": -1}',
                b'{"atoms": []}',
            ]
        )
        for _ in range(60)
    ]
    lines = [line for number, piece in enumerate(junk) for line in (piece, fact_line(number))]

    def send() -> None:
        ready.wait(300)
        with socket.create_connection(("127.0.0.1", ports[0])) as link:
            link.sendall(b"\n".join(lines) + b"\n")
        stop_after(stream, len(lines))

    threading.Thread(target=send).start()
    assert [text for _, text in texts(stream)] == [f"q({number})" for number in range(60)]


def fact_line(number: int) -> bytes:
    return f'{{"atom": "q({number})"}}'.encode()


def test_clients_that_say_nothing_do_not_lock_others_out(monkeypatch):
    monkeypatch.setattr(tcp, "MOST_CONNECTIONS", 5)
    monkeypatch.setattr(tcp, "SILENT_SECONDS", 0.2)
    stream, ready, ports = listen()
    found: list[str] = []
    reading = threading.Thread(target=lambda: found.extend(text for _, text in texts(stream)))
    reading.start()
    assert ready.wait(300)
    address = ("127.0.0.1", ports[0])
    silent = [socket.create_connection(address) for _ in range(12)]
    with socket.create_connection(address) as client:
        client.sendall(b'{"t": 1, "atom": "p(1)"}\n')
        stop_after(stream, 1)
    reading.join(300)
    assert found == ["p(1)"]
    for link in silent:
        link.close()
