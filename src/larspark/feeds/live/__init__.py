"""Facts that come while a program runs: standard input, sockets, MQTT, files that grow."""

from larspark.feeds.live.address import is_live
from larspark.feeds.live.live_stream import LiveStream
from larspark.feeds.live.sink import Recording, Sink, open_sink

__all__ = ["LiveStream", "Recording", "Sink", "is_live", "open_sink"]
