"""What is output: stores that tell what begins and ends as time passes."""

from collections.abc import Mapping

import numpy as np

from larspark.base.atoms import Signature
from larspark.run.interval.kernels.layout import NONE, Ints
from larspark.run.interval.kernels.settle import settle_stores
from larspark.run.interval.kernels.sheet import address_of
from larspark.run.interval.nodes import Distinct
from larspark.run.interval.store import Store

# What began and what ended, as rows.
Told = tuple[Ints, Ints]


class Outputs:
    """The atoms that hold at the evaluation time, by predicate.

    Time passes for all of them at once: most often little begins or ends in each.
    """

    __slots__ = ("_counts", "_settled", "_sheets", "stores")

    def __init__(self, outputs: Mapping[Signature, Distinct]) -> None:
        self.stores: dict[Signature, Store] = {}
        for signature, distinct in outputs.items():
            distinct.store.tell()
            self.stores[signature] = distinct.store
        sheets = [address_of(store.sheet) for store in self.stores.values()]
        self._sheets = np.array(sheets, np.int64)
        self._counts = np.empty((len(sheets), 2), np.int64)
        self._settled: int | None = None

    def settle(self, upto: int) -> dict[Signature, Told]:
        """Let time pass: what began and what ended before `upto`, where anything did."""
        if self._settled is not None and upto <= self._settled:
            return {}
        self._settled = upto
        found: dict[Signature, Told] = {}
        told = settle_stores.run(self._sheets, upto, self._counts)
        at = 0
        for (signature, store), (began, ended) in zip(
            self.stores.items(), self._counts.tolist(), strict=True
        ):
            if began == NONE:
                found[signature] = store.settle(upto)
            elif began or ended:
                end = at + (began + ended) * store.row_size
                rows = told[at:end].reshape(began + ended, store.row_size)
                found[signature] = (rows[:began], rows[began:])
                at = end
        return found

    def ended(self, upto: int) -> dict[Signature, Ints]:
        """Let time pass: what ended before `upto`."""
        self._settled = upto
        return {name: store.settle(upto, begun=False)[1] for name, store in self.stores.items()}
