"""Lines of a file, block by block, in bounded memory."""

from collections.abc import Iterator
from typing import BinaryIO

from larspark.feeds.refusal import Refused

LINE_LIMIT = 1 << 20
_BLOCK = 1 << 18
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LineSplitter:
    """Cuts bytes into lines as they come; None stands for a line over the limit.

    >>> splitter = LineSplitter()
    >>> splitter.feed(b"one\\ntw"), splitter.feed(b"o"), splitter.rest()
    ([b'one'], [], [b'two'])
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._too_long = False
        self._begun = False

    def feed(self, block: bytes) -> list[bytes | None]:
        """The lines that these bytes complete."""
        if not self._begun:
            block = block.removeprefix(_BYTE_ORDER_MARK)
            self._begun = True
        lines: list[bytes | None] = [*block.split(b"\n")]
        self._rest += lines[0] or b""
        self._too_long = self._too_long or len(self._rest) > LINE_LIMIT
        if self._too_long:
            self._rest.clear()
        if len(lines) == 1:
            return []
        lines[0] = None if self._too_long else bytes(self._rest)
        self._rest[:] = lines.pop() or b""
        self._too_long = False
        return lines

    def rest(self) -> list[bytes | None]:
        """The last line, which no end of line has completed; none if it is empty."""
        if self._too_long:
            return [None]
        return [bytes(self._rest)] if self._rest else []


def line_blocks(file: BinaryIO) -> Iterator[list[bytes | None]]:
    """The lines that each read completes; None stands for a line over the limit.

    A read gives what is there, so that lines typed into a pipe are not held back.

    >>> import io
    >>> list(line_blocks(io.BytesIO(b"one\\ntwo")))
    [[b'one'], [b'two']]
    """
    read = getattr(file, "read1", file.read)
    splitter = LineSplitter()
    while block := read(_BLOCK):
        if lines := splitter.feed(block):
            yield lines
    if rest := splitter.rest():
        yield rest


def text_of(line: bytes | None) -> str:
    """The text of a line, or why it has none."""
    if line is None:
        raise Refused("L306", f"the line is longer than {LINE_LIMIT} bytes")
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise Refused("L307", f"byte {error.start + 1} of the line is not valid UTF-8") from None
