"""Lines of a file, block by block, in bounded memory."""

from collections.abc import Iterator
from typing import BinaryIO

from larspark.feeds.refusal import Refused

LINE_LIMIT = 1 << 20
_BLOCK = 1 << 18
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def line_blocks(file: BinaryIO) -> Iterator[list[bytes | None]]:
    """The lines that each read completes; None stands for a line over the limit.

    A read gives what is there, so that lines typed into a pipe are not held back.

    >>> import io
    >>> list(line_blocks(io.BytesIO(b"one\\ntwo")))
    [[b'one'], [b'two']]
    """
    read = getattr(file, "read1", file.read)
    rest = bytearray()
    too_long = False
    block: bytes = read(_BLOCK).removeprefix(_BYTE_ORDER_MARK)
    while block:
        lines: list[bytes | None] = [*block.split(b"\n")]
        rest += lines[0] or b""
        too_long = too_long or len(rest) > LINE_LIMIT
        if too_long:
            rest.clear()
        if len(lines) > 1:
            lines[0] = None if too_long else bytes(rest)
            rest[:] = lines.pop() or b""
            too_long = False
            yield lines
        block = read(_BLOCK)
    if too_long:
        yield [None]
    elif rest:
        yield [bytes(rest)]


def text_of(line: bytes | None) -> str:
    """The text of a line, or why it has none."""
    if line is None:
        raise Refused("L306", f"the line is longer than {LINE_LIMIT} bytes")
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise Refused("L307", f"byte {error.start + 1} of the line is not valid UTF-8") from None
