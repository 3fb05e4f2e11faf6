"""Facts that come while a program runs: standard input, sockets, MQTT, files that grow."""

from larspark.feeds.live.place import is_live
from larspark.feeds.live.record import Recording
from larspark.feeds.live.sink import Sink, open_sink
from larspark.feeds.live.stream import LiveStream

__all__ = ["LiveStream", "Recording", "Sink", "is_live", "open_sink"]
