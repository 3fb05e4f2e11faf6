"""Live sources and sinks: standard input, TCP, MQTT, Kafka, web addresses, files that grow."""

from larspark.feeds.live.address import LINES, DurableSink
from larspark.feeds.live.live_stream import LiveStream
from larspark.feeds.live.places import is_live
from larspark.feeds.live.sink import CommittingSink, Recording, Sink, durable_sink, open_sink

__all__ = [
    "LINES",
    "CommittingSink",
    "DurableSink",
    "LiveStream",
    "Recording",
    "Sink",
    "durable_sink",
    "is_live",
    "open_sink",
]
