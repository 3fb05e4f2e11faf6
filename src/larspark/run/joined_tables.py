"""The intervals of a run in pieces, joined in columns."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from larspark.base.arrow_numpy import arrow_array, arrow_mask, numpy_array
from larspark.run.protocol import Answers

SCHEMA = pa.schema([("atom", pa.string()), ("from", pa.int64()), ("to", pa.int64())])
_SORTED = [("from", "ascending"), ("atom", "ascending")]


class JoinedTables:
    """The rows of `JoinedIntervals`, for pieces that are large: each costs some calls of Arrow."""

    def __init__(self) -> None:
        # What reaches to the end of the last piece, without the column `to`.
        self._open = SCHEMA.empty_table().drop_columns(["to"])
        # What is over, from the horizon on: an open interval that begins there comes before it.
        self._waiting: list[pa.Table] = []
        self._horizon: int | None = None

    def of(self, pieces: Iterable[Answers]) -> Iterator[pa.Table]:
        """Maximal intervals over all pieces, sorted by start, then by the atom's text."""
        last = 0
        for piece in pieces:
            last = piece.last
            self._join(piece)
            begins = numpy_array(self._open["from"])
            # Held no longer: an engine copies what it has answered while somebody has it.
            del piece
            yield from self._ready(int(begins.min()) if len(begins) else last + 1)
        self._close(self._open, last)
        yield from self._ready(None)

    def _join(self, piece: Answers) -> None:
        """Join a piece to what is open."""
        table = piece.table()
        begins, ends = numpy_array(table["from"]), numpy_array(table["to"])
        before = self._open
        if before.num_rows:
            first = np.flatnonzero(begins == piece.first)
            atoms = table["atom"].take(arrow_array(first))
            places = numpy_array(pc.index_in(before["atom"], value_set=atoms), -1)
            goes_on = places >= 0
            begins = begins.copy()
            begins[first[places[goes_on]]] = numpy_array(before["from"])[goes_on]
            table = table.set_column(1, "from", arrow_array(begins))
            self._close(before.filter(arrow_mask(~goes_on)), piece.first - 1)
        reaches = ends == piece.last
        self._open = table.filter(arrow_mask(reaches)).drop_columns(["to"])
        self._wait(table.filter(arrow_mask(~reaches)))

    def _close(self, intervals: pa.Table, end: int) -> None:
        """These open intervals end here."""
        ends = arrow_array(np.full(intervals.num_rows, end, np.int64))
        self._wait(intervals.append_column("to", ends))

    def _wait(self, closed: pa.Table) -> None:
        if closed.num_rows:
            self._waiting.append(closed)

    def _ready(self, horizon: int | None) -> Iterator[pa.Table]:
        """Remove what begins before a time point, or all, in order."""
        if not self._waiting or (horizon is not None and horizon == self._horizon):
            return
        self._horizon = horizon
        waiting, self._waiting = pa.concat_tables(self._waiting), []
        if horizon is not None:
            is_ready = numpy_array(waiting["from"]) < horizon
            self._wait(waiting.filter(arrow_mask(~is_ready)))
            waiting = waiting.filter(arrow_mask(is_ready))
        if waiting.num_rows:
            yield waiting.sort_by(_SORTED)


def joined_table(pieces: Iterable[Answers]) -> pa.Table:
    """All intervals of a run."""
    return pa.concat_tables([SCHEMA.empty_table(), *JoinedTables().of(pieces)]).combine_chunks()
