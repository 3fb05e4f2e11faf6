"""A real MQTT broker in a process of its own, which can be killed and started again."""

import socket
import subprocess
import sys
import time

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


class RunningBroker:
    """Start with `start`, end without a farewell with `kill`."""

    def __init__(self) -> None:
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen([sys.executable, "-c", _BROKER, str(self.port)])
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
