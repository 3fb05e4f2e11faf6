"""A real MQTT broker in a process of its own, which can be killed and started again.

It is amqtt, or the mosquitto whose path is in `LARSPARK_MOSQUITTO`.
"""

import os
import select
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

MOSQUITTO = os.environ.get("LARSPARK_MOSQUITTO")
_BROKER = """
import asyncio, logging, sys
from amqtt.broker import Broker
logging.disable(logging.CRITICAL)
async def serve():
    plugins = {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}}
    listener = {"type": "tcp", "bind": f"127.0.0.1:{sys.argv[1]}"}
    broker = Broker({"listeners": {"default": listener}, "plugins": plugins})
    await broker.start()
    await asyncio.Event().wait()
asyncio.run(serve())
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def make_certificate(folder: Path) -> tuple[str, str] | None:
    """A certificate for this machine, signed by itself, and its key; None without openssl."""
    openssl = shutil.which("openssl")
    if openssl is None:
        return None
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*command, "-out", cert, "-keyout", key], check=True, capture_output=True)
    return cert, key


class RunningBroker:
    """Start with `start`, end without a farewell with `kill`."""

    def __init__(self, mosquitto: str | None = MOSQUITTO, *words: str) -> None:
        self._mosquitto = mosquitto
        self._words = words
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = (
            [self._mosquitto, *self._words, "-p"]
            if self._mosquitto
            else [sys.executable, "-c", _BROKER]
        )
        self._process = subprocess.Popen([*command, str(self.port)], stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("the broker does not start")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None


class Gate:
    """A way to a port that can be cut and opened again while both ends live on.

    With a TLS context it is the encrypted way.
    """

    def __init__(self, port: int, context: ssl.SSLContext | None = None) -> None:
        self._target = port
        self._context = context
        self.port = free_port()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        self._stop.clear()
        server = socket.create_server(("127.0.0.1", self.port))
        self._thread = threading.Thread(target=self._pass_on, args=(server,), daemon=True)
        self._thread.start()

    def cut(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(10)

    def _pass_on(self, server: socket.socket) -> None:
        other: dict[socket.socket, socket.socket] = {}
        while not self._stop.is_set():
            ready, _, _ = select.select([server, *other], [], [], 0.02)
            for link in ready:
                if link is not server:
                    self._pass_data_on(link, other[link])
                elif (one := self._accepted(server)) is not None:
                    two = socket.create_connection(("127.0.0.1", self._target))
                    other |= {one: two, two: one}
        for link in (server, *other):
            link.close()

    def _accepted(self, server: socket.socket) -> socket.socket | None:
        link = server.accept()[0]
        if self._context is None:
            return link
        try:
            return self._context.wrap_socket(link, server_side=True)
        except OSError:
            return None

    @staticmethod
    def _pass_data_on(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            target.sendall(source.recv(1 << 16))
            while isinstance(source, ssl.SSLSocket) and source.pending():
                target.sendall(source.recv(1 << 16))
