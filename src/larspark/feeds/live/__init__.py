"""Live sources and sinks: standard input, TCP, MQTT, files that grow."""

from larspark.feeds.live.live_stream import LiveStream
from larspark.feeds.live.places import is_live
from larspark.feeds.live.sink import Recording, Sink, open_sink

__all__ = ["LiveStream", "Recording", "Sink", "is_live", "open_sink"]
