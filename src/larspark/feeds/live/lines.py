"""Bytes of one connection or file as blocks of lines in the inbox."""

import orjson

from larspark.feeds.lines import LineSplitter
from larspark.feeds.live.inbox import Block, Inbox
from larspark.feeds.live.traffic import Traffic


class Lines:
    """Lines of one origin, numbered from 1."""

    def __init__(self, source: str, inbox: Inbox, traffic: Traffic) -> None:
        self._source = source
        self._inbox = inbox
        self._traffic = traffic
        self._splitter = LineSplitter()
        self._next = 1

    def feed(self, received: bytes) -> None:
        if lines := self._splitter.feed(received):
            self._put(lines)

    def end(self) -> None:
        """The last line may lack its end: it is a line if it is whole, and else it was cut."""
        for line in self._splitter.rest():
            if _is_whole(line):
                self._put([line])
            else:
                self._traffic.cut += 1

    def close(self) -> None:
        """The same where a file ends: its last line is a line, whole or not."""
        if rest := self._splitter.rest():
            self._put(rest)

    def _put(self, lines: list[bytes | None]) -> None:
        self._inbox.put(Block(self._source, self._next, lines))
        self._next += len(lines)
        self._traffic.lines += len(lines)


def _is_whole(line: bytes | None) -> bool:
    """An object that was cut lacks its last brace, so it is no JSON."""
    try:
        orjson.loads(line or b"")
    except orjson.JSONDecodeError:
        return False
    return True
