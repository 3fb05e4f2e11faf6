"""The texts of a table of constants as bytes: columns of them are coded in one compiled call.

It is used as soon as its kernels are compiled. Texts that came in a column become objects of Python
only where they are asked for.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from larspark.base.terms import Constant
from larspark.run.interval.kernels.layout import EntryIds, Ints
from larspark.run.interval.kernels.text_lookup import (
    BEGIN,
    END,
    FREE,
    LINE_SIZE,
    NEXT,
    NOWHERE,
    SECRET,
    STATE_SIZE,
    USED,
    Bytes,
    Offsets,
    code_texts,
    copy_texts,
    fill_slots,
    keep_texts,
)

_FIRST_ROOM = 1 << 10
_NO_PLACES = np.empty(0, np.int64)
# How texts of Python are written as bytes: also those that no file can hold.
_ENCODING = ("utf-8", "surrogatepass")


class TextTable:
    """Places of texts, found by their bytes."""

    __slots__ = ("_arena", "_code", "_copy", "_fill", "_keep", "_lines", "_slots", "_state")

    def __init__(self, kernels: Sequence[Callable[..., None]]) -> None:
        self._code, self._keep, self._fill, self._copy = kernels
        self._state = np.zeros(STATE_SIZE, np.int64)
        self._state[SECRET] = int.from_bytes(os.urandom(8), "little", signed=True)
        self._arena: Bytes = np.empty(_FIRST_ROOM, np.uint8)
        self._slots = np.full(_FIRST_ROOM, NOWHERE, np.int32)
        self._lines = np.full((_FIRST_ROOM, LINE_SIZE), NOWHERE, np.int64)

    @classmethod
    def if_ready(cls) -> "TextTable | None":
        """An empty table, if its kernels are compiled; if not, they will be after a while."""
        offsets, data = text_buffers(pa.array(["", ""], pa.string()))
        arena: Bytes = np.empty(0, np.uint8)
        slots, lines = np.full(2, NOWHERE, np.int32), np.empty((2, LINE_SIZE), np.int64)
        state = np.zeros(STATE_SIZE, np.int64)
        table = (arena, slots, lines)
        ready: list[Callable[..., None] | None] = [
            code_texts.if_ready(offsets, data, *table, _NO_PLACES, state, _NO_PLACES),
            keep_texts.if_ready(offsets, data, *table, _NO_PLACES, state),
            fill_slots.if_ready(slots, lines, 0),
            copy_texts.if_ready(arena, lines, _NO_PLACES, np.zeros(1, np.int32), arena),
        ]
        kernels = [kernel for kernel in ready if kernel is not None]
        return cls(kernels) if len(kernels) == len(ready) else None

    def code(self, texts: pa.Array, free: Ints, free_count: int, count: int) -> tuple[Ints, int]:
        """The codes of texts, and how many of them are new.

        New ones get the last of the free places, then those from `count` on.
        """
        offsets, data = text_buffers(texts)
        self._make_room(count, count + len(texts), int(offsets[-1] - offsets[0]))
        state = self._state
        state[NEXT], state[FREE] = count, free_count
        codes = np.empty(len(texts), np.int64)
        self._code(offsets, data, self._arena, self._slots, self._lines, free, state, codes)
        return codes, int(state[NEXT]) - count + free_count - int(state[FREE])

    def keep(self, texts: pa.Array, places: Ints, count: int) -> None:
        """Take in texts that are new to the table and have these places, below `count`."""
        offsets, data = text_buffers(texts)
        self._make_room(count, count, int(offsets[-1] - offsets[0]))
        self._keep(offsets, data, self._arena, self._slots, self._lines, places, self._state)

    def kept(self, places: Ints, count: int) -> "TextTable":
        """A new table of `count` places, with the texts at those of `places` that hold one."""
        table = TextTable((self._code, self._keep, self._fill, self._copy))
        places = places[self._lines[places, BEGIN] != NOWHERE]
        lines = table._lines = np.full((count + len(places), LINE_SIZE), NOWHERE, np.int64)
        lines[places] = self._lines[places]
        table._state[:] = self._state
        table._arena = self._arena
        sizes = lines[places, END] - lines[places, BEGIN]
        used = int(sizes.sum())
        if 2 * used < self._state[USED]:
            # Old answers read the old bytes.
            ends = np.cumsum(sizes)
            table._arena = np.empty(2 * used, np.uint8)
            starts = (ends - sizes).astype(np.int32)
            self._copy(self._arena, self._lines, places, starts, table._arena)
            lines[places, BEGIN], lines[places, END] = ends - sizes, ends
            table._state[USED] = used
        table._slots = _slots(count + len(places))
        table._fill(table._slots, lines, count)
        return table

    def text(self, place: int) -> str:
        """The text at a place."""
        begin, end = self._lines[place, BEGIN : END + 1].tolist()
        return self._arena[begin:end].tobytes().decode(*_ENCODING)

    def texts(self, places: Ints) -> pa.Array | None:
        """The texts at places; None if there is something else at one."""
        if places.max(initial=0) >= len(self._lines):
            return None
        lines = self._lines[places]
        if (lines[:, BEGIN] == NOWHERE).any():
            return None
        offsets = np.zeros(len(places) + 1, np.int32)
        np.cumsum(lines[:, END] - lines[:, BEGIN], out=offsets[1:])
        data: Bytes = np.empty(int(offsets[-1]), np.uint8)
        self._copy(self._arena, self._lines, places, offsets, data)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.string(), len(places), buffers)

    def _make_room(self, count: int, places: int, size: int) -> None:
        """Let the table hold so many places, `count` of which it has, and so many bytes more."""
        used = int(self._state[USED])
        if used + size > len(self._arena):
            arena: Bytes = np.empty(2 * (used + size), np.uint8)
            arena[:used] = self._arena[:used]
            self._arena = arena
        if places > len(self._lines):
            lines = np.full((2 * places, LINE_SIZE), NOWHERE, np.int64)
            lines[: len(self._lines)] = self._lines
            self._lines = lines
        if 2 * places > len(self._slots):
            self._slots = _slots(places)
            self._fill(self._slots, self._lines, min(count, len(self._lines)))


class LazyConstants(Sequence[Constant]):
    """Constants by their places; a text that came in a column is decoded when it is asked for."""

    __slots__ = ("items", "size", "table")

    def __init__(self, items: dict[int, Constant], size: int, table: TextTable) -> None:
        # Numbers, and texts that were met one by one or asked for.
        self.items = items
        self.size = size
        self.table = table

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, place: int) -> Constant: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Constant]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return self.many(range(*place.indices(self.size)))
        found = self.items.get(place)
        if found is None:
            if not 0 <= place < self.size:
                raise IndexError(place)
            found = self.items[place] = self.table.text(place)
        return found

    def many(self, places: Sequence[int]) -> list[Constant]:
        """The constants at many places."""
        items = self.items
        found = list(map(items.get, places))
        if None in found:
            missing = [place for place, value in zip(places, found, strict=True) if value is None]
            texts = self.table.texts(np.array(missing, np.int64))
            if texts is None:
                raise IndexError(missing)
            items.update(zip(missing, texts.to_pylist(), strict=True))
            found = list(map(items.get, places))
        return found  # type: ignore[return-value]

    def texts(self, places: Ints) -> pa.Array | None:
        """The texts at places as a column; None if there is something else at one."""
        return self.table.texts(places)

    def kept(self, referred: NDArray[np.bool_]) -> "LazyConstants":
        """The same constants without those that nothing refers to; answers may keep the old."""
        items = {place: value for place, value in self.items.items() if referred[place]}
        table = self.table.kept(np.flatnonzero(referred), self.size)
        return LazyConstants(items, self.size, table)


def _slots(places: int) -> EntryIds:
    """Empty slots for so many places and as many again."""
    return np.full(1 << (4 * places).bit_length(), NOWHERE, np.int32)


def text_array(texts: Sequence[str]) -> pa.Array:
    """Texts of Python as a column of their bytes."""
    encoded = [text.encode(*_ENCODING) for text in texts]
    offsets = np.zeros(len(texts) + 1, np.int32)
    np.cumsum([len(each) for each in encoded], out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


def text_buffers(texts: pa.Array) -> tuple[Offsets, Bytes]:
    """Where the texts of a column begin and end, and their bytes."""
    _, ends, data = texts.buffers()
    if ends is None or not len(texts):
        return _frozen(np.zeros(1, np.int32)), _frozen(np.empty(0, np.uint8))
    offsets = np.frombuffer(ends, np.int32, len(texts) + 1, 4 * texts.offset)
    used = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return _frozen(offsets), _frozen(used)


def _frozen(array: Any) -> Any:
    """The array, not to be written: kernels are compiled for either kind of array."""
    view = array.view()
    view.setflags(write=False)
    return view
