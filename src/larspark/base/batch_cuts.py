"""Parts of batches: the elements up to a time point, or from one on."""

import numpy as np

from larspark.base.arrow_numpy import numpy_array
from larspark.base.facts import AnyBatch, ColumnBatch, RowBatch, Segment


def up_to(batch: AnyBatch, t: int) -> AnyBatch:
    """The elements of a batch that lie not after t."""
    if batch.last_t is None or batch.last_t <= t:
        return batch
    if isinstance(batch, RowBatch):
        return RowBatch([row for row in batch.rows() if row.t <= t], t)
    kept = (
        Segment(
            signature, table.slice(0, int(np.searchsorted(numpy_array(table["t"]), t, "right")))
        )
        for signature, table in batch.segments()
    )
    return ColumnBatch([segment for segment in kept if segment.table.num_rows], t)


def from_on(batch: AnyBatch, t: int) -> AnyBatch:
    """The elements of a batch that do not lie before t."""
    if batch.first_t is None or batch.first_t >= t:
        return batch
    if isinstance(batch, RowBatch):
        return RowBatch([row for row in batch.rows() if row.t >= t], batch.last_t)
    kept = (
        Segment(signature, table.slice(int(np.searchsorted(numpy_array(table["t"]), t))))
        for signature, table in batch.segments()
    )
    return ColumnBatch([segment for segment in kept if segment.table.num_rows], batch.last_t)
