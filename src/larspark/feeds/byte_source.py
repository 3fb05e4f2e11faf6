"""Files and other byte sources: their format, their bytes, and their lines in bounded memory."""

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import IO, BinaryIO, Literal, TypeAlias, cast

import pyarrow as pa

from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.reading import Refused

LINE_LIMIT = 1 << 20
_BLOCK = 1 << 18
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LineSplitter:
    """Splits a sequence of blocks of bytes into lines; None stands for a line over the limit.

    >>> splitter = LineSplitter()
    >>> splitter.feed(b"one\\ntw"), splitter.feed(b"o"), splitter.rest()
    ([b'one'], [], [b'two'])
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._too_long = False
        self._begun = False

    def feed(self, block: bytes) -> list[bytes | None]:
        """The lines that this block completes."""
        if not self._begun:
            block = block.removeprefix(BYTE_ORDER_MARK)
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
        """The last line, if it has no line end; empty if there is none."""
        if self._too_long:
            return [None]
        return [bytes(self._rest)] if self._rest else []


def line_blocks(file: BinaryIO) -> Iterator[list[bytes | None]]:
    """The lines that each read completes; None stands for a line over the limit.

    A read returns the bytes that are available, so that lines in a pipe are not delayed.

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


_LARGE_BLOCK = 1 << 20


def byte_blocks(file: BinaryIO) -> Iterator[bytes | None]:
    """Blocks of complete lines, the last of them ended too; None stands for a line over the limit.

    >>> import io
    >>> list(byte_blocks(io.BytesIO(b"one\\ntwo\\nthree")))
    [b'one\\ntwo\\n', b'three\\n']
    """
    rest, too_long = b"", False
    block = file.read(_LARGE_BLOCK).removeprefix(BYTE_ORDER_MARK)
    while block:
        end = block.find(b"\n") if too_long else block.rfind(b"\n")
        if too_long and end >= 0:
            yield None
            block, too_long = block[end + 1 :], False
            end = block.rfind(b"\n")
        if end >= 0:
            yield rest + block[: end + 1]
            rest, block = b"", block[end + 1 :]
        rest += b"" if too_long else block
        if len(rest) > LINE_LIMIT:
            rest, too_long = b"", True
        block = file.read(_LARGE_BLOCK)
    if too_long:
        yield None
    elif rest:
        yield rest + b"\n"


def text_of(line: bytes | None) -> str:
    """The text of a line; `Refused` if it is too long or not UTF-8."""
    if line is None:
        raise Refused("L306", f"the line is longer than {LINE_LIMIT} bytes")
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise Refused("L307", f"byte {error.start + 1} of the line is not valid UTF-8") from None


Place: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]
Format: TypeAlias = Literal["jsonl", "csv", "tsv", "parquet", "arrow", "lars"]

FORMATS: tuple[Format, ...] = ("jsonl", "csv", "tsv", "parquet", "arrow", "lars")
_SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".lars": "lars",
}


# What reading a damaged file can raise; lengths can be huge, and names in a schema no UTF-8.
_DAMAGED = (
    EOFError,
    zlib.error,
    gzip.BadGzipFile,
    pa.ArrowException,
    UnicodeDecodeError,
    MemoryError,
)


class Source:
    """A file, open file or standard input; pipes can be opened only once."""

    __slots__ = ("_consumed", "_place", "_start", "name")

    def __init__(self, place: Place) -> None:
        self._consumed = False
        self._start: int | None = None
        if isinstance(place, str | os.PathLike):
            self._place: Path | BinaryIO | None = None if place == "-" else Path(place)
            self.name = "<stdin>" if self._place is None else os.fspath(place)
            # Unlike `Path.exists`, this is no error for names that no file can have.
            if isinstance(self._place, Path) and not os.path.exists(self._place):
                raise self._unreadable("there is no such file")
            return
        self._place = _binary(place)
        name = getattr(place, "name", None)
        self.name = name if isinstance(name, str) else "<file>"
        if self._place.seekable():
            self._start = self._place.tell()

    @property
    def lasting(self) -> bool:
        """Whether it can be read more than once."""
        if isinstance(self._place, Path):
            return self._place.is_file()
        return self._start is not None

    def share_of(self, file: BinaryIO) -> float | None:
        """The fraction of the bytes that was read, from 0 to 1; None if their number is unknown."""
        if not isinstance(self._place, Path):
            return None
        # For a compressed file, the position in the compressed bytes counts.
        raw = getattr(file, "fileobj", file)
        try:
            return min(1.0, raw.tell() / max(1, self._place.stat().st_size))
        except OSError:
            return None
        except ValueError:
            # A closed file was read completely.
            return 1.0

    @property
    def stem(self) -> str:
        """The name of the file without directories and suffixes."""
        return PurePath(self.name).name.split(".")[0]

    def format(self, named: str | None) -> Format:
        """The named format, or else the format of the file's suffix."""
        if named is not None:
            return known_format(named)
        if self._place is None:
            return "jsonl"
        if found := suffix_format(PurePath(self.name)):
            return found
        raise LarsparkError(
            Problem(
                "L302",
                f"the format of {self.name} is unknown",
                hint=f"give the format: one of {_FORMATS}",
            )
        )

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The bytes from the beginning; errors while reading become problems with a code."""
        try:
            if isinstance(self._place, Path):
                with self._open_path(self._place) as file:
                    yield file
            else:
                yield self._rewound(self._place or sys.stdin.buffer)
        except _DAMAGED as error:
            why = str(error).split("\n")[0] or "it asks for too much memory"
            raise self._unreadable(why) from None
        except OSError as error:
            raise self._unreadable(error.strerror or str(error)) from None

    def _open_path(self, path: Path) -> BinaryIO:
        if not path.is_file():
            self._consume()
        if path.suffix.lower() == ".gz":
            return cast(BinaryIO, gzip.open(path, "rb"))
        return path.open("rb")

    def _rewound(self, file: BinaryIO) -> BinaryIO:
        if self._start is None:
            self._consume()
        else:
            file.seek(self._start)
        return file

    def _consume(self) -> None:
        if self._consumed:
            raise LarsparkError(
                Problem("L317", f"{self.name} can be read only once, and was read already")
            )
        self._consumed = True

    def _unreadable(self, why: str) -> LarsparkError:
        return LarsparkError(Problem("L301", f"cannot read {self.name}: {why}"))


_FORMATS = ", ".join(FORMATS)


def known_format(named: str) -> Format:
    """The format of this name."""
    for known in FORMATS:
        if named == known:
            return known
    message, hint = f"unknown format `{named}`", f"the formats are {_FORMATS}"
    raise LarsparkError(Problem("L302", message, hint=hint))


def suffix_format(path: PurePath) -> Format | None:
    """The format of a file name, by its suffix."""
    suffixes = [s.lower() for s in path.suffixes if s.lower() != ".gz"]
    return _SUFFIXES.get(suffixes[-1]) if suffixes else None


def _binary(file: IO[bytes] | IO[str]) -> BinaryIO:
    if isinstance(file, io.StringIO):
        # Lone surrogates become invalid UTF-8, which the readers report with its line.
        return io.BytesIO(file.getvalue().encode("utf-8", "surrogatepass"))
    return cast(BinaryIO, getattr(file, "buffer", file))
