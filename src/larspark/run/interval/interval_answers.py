"""Outputs of a network, and the answers made of them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from larspark.base.atoms import Atom, Signature, atom_text
from larspark.base.terms import Constant
from larspark.run.interval.columns_of_codes import atoms_of, texts_of
from larspark.run.interval.kernels.addressing import address_of
from larspark.run.interval.kernels.expire import expire_stores
from larspark.run.interval.kernels.layout import FROM, NONE, TO, Ints
from larspark.run.interval.network_nodes import Distinct, cut_rows
from larspark.run.interval.store import Store
from larspark.run.interval.tick_changes import Decoder, TickChanges, flat_changes
from larspark.run.protocol import Change, Point

# The rows that began, and those that ended.
BeganEnded = tuple[Ints, Ints]


class Outputs:
    """The atoms that hold at the evaluation time, by predicate.

    All stores are advanced in one call, as usually little begins or ends in each.
    """

    __slots__ = ("_counts", "_headers", "expired_upto", "stores")

    def __init__(self, outputs: Mapping[Signature, Distinct]) -> None:
        self.stores: dict[Signature, Store] = {}
        for signature, distinct in outputs.items():
            distinct.store.add_wheel()
            self.stores[signature] = distinct.store
        headers = [address_of(store.header) for store in self.stores.values()]
        self._headers = np.array(headers, np.int64)
        self._counts = np.empty((len(headers), 2), np.int64)
        # The time point up to which all stores were advanced.
        self.expired_upto: int | None = None

    def expire(self, upto: int) -> dict[Signature, BeganEnded]:
        """Advance to a time point: the rows that began and those that ended before it."""
        if self.expired_upto is not None and upto <= self.expired_upto:
            return {}
        self.expired_upto = upto
        found: dict[Signature, BeganEnded] = {}
        emitted = expire_stores.run(self._headers, upto, self._counts)
        at = 0
        for (signature, store), (began, ended) in zip(
            self.stores.items(), self._counts.tolist(), strict=True
        ):
            if began == NONE:
                found[signature] = store.expire(upto)
            elif began or ended:
                end = at + (began + ended) * store.row_size
                rows = emitted[at:end].reshape(began + ended, store.row_size)
                found[signature] = (rows[:began], rows[began:])
                at = end
        return found

    def ended(self, upto: int) -> dict[Signature, Ints]:
        """Advance to a time point: the rows that ended before it."""
        self.expired_upto = upto
        return {name: store.expire(upto, begun=False)[1] for name, store in self.stores.items()}


Rows = dict[Signature, Ints]


class News(NamedTuple):
    """The rows (from, to, codes of arguments) of one predicate that began, and that ended.

    A row that began has the end that was expected when it was emitted; a row that ended does not
    hold from the time point after its `to`.
    """

    began: Ints
    ended: Ints


class Holding:
    """The atoms that hold at a time point, passed from one answer to the next.

    So reading all time points one after another does not rebuild all atoms at each of them.
    """

    __slots__ = ("_atoms", "_t")

    def __init__(self) -> None:
        self._t: int | None = None
        self._atoms: set[Atom] = set()

    def take(self, t: int) -> set[Atom] | None:
        """Remove and return the atoms at t; None if these are not the ones kept."""
        if self._t != t:
            return None
        atoms, self._t, self._atoms = self._atoms, None, set()
        return atoms

    def give(self, t: int, atoms: set[Atom]) -> None:
        """Keep these atoms, unless later ones are kept."""
        if self._t is None or self._t < t:
            self._t, self._atoms = t, atoms


class IntervalAnswers:
    """The output over [first, last].

    Everything is built on demand: until the engine advances, the rows stay in its stores.
    """

    def __init__(
        self,
        first: int,
        last: int,
        outputs: Outputs,
        ended: Mapping[Signature, list[Ints]],
        values: Sequence[Constant],
        holding: Holding,
        changes: TickChanges | None = None,
    ) -> None:
        self.first = first
        self.last = last
        self._holding = holding
        self._values = values
        self._outputs = outputs
        # Rows that ended on the way, which the stores have dropped.
        self._ended = ended
        self._emitted: Mapping[Signature, BeganEnded] | None = None
        # The changes of a single time point, if these are known already.
        self._tick = changes
        self._news: dict[Signature, News] | None = None
        self._rows: Rows | None = None
        self._table: pa.Table | None = None

    def news(self) -> dict[Signature, News]:
        """The rows that began and ended within [first, last], compared with the time point before.

        After a single step the cost is proportional to the changes.
        """
        if self._news is None:
            emitted = self._last_step()
            self._news = {signature: News(*both) for signature, both in emitted.items()}
            for signature, parts in self._ended.items():
                store = self._outputs.stores[signature]
                ended = np.concatenate([*parts, emitted.get(signature, store.nothing)[1]])
                began = np.concatenate([ended, store.rows()])
                began = began[(began[:, FROM] >= self.first) & (began[:, FROM] <= self.last)]
                self._news[signature] = News(began, ended)
        return self._news

    def rows(self) -> Rows:
        """For every predicate the rows (from, to, codes of arguments), maximal and disjoint."""
        if self._rows is None:
            self._rows = {}
            emitted = self._last_step()
            for signature, store in self._outputs.stores.items():
                _, ended = emitted.get(signature, store.nothing)
                parts = [*self._ended.get(signature, ()), ended, store.rows()]
                rows = cut_rows(parts, self.first, self.last)
                if len(rows):
                    self._rows[signature] = rows
        return self._rows

    def _last_step(self) -> Mapping[Signature, BeganEnded]:
        """What began and ended in the last step, which the stores emit only once."""
        if self._emitted is None and self._tick is not None:
            self._emitted = {name: (new, gone) for name, new, gone in self._tick.blocks()}
        elif self._emitted is None:
            self._emitted = self._outputs.expire(self.last)
        return self._emitted

    def steps(self) -> Iterator[TickChanges]:
        """What changed at every time point, compared with the one before it."""
        if self._tick is not None:
            return iter((self._tick,))
        news = [(name, *both) for name, both in self.news().items()]
        names = [name for name, _, _ in news]
        found = flat_changes(self.first, self.last, news)
        decoder = Decoder(names, self._values)
        return (TickChanges(t, flat, decoder) for t, flat in enumerate(found, self.first))

    def freeze(self) -> None:
        """Take everything out of the stores, before they change."""
        self.news()
        self.rows()
        self._outputs, self._emitted = Outputs({}), {}

    def points(self) -> Iterator[Point]:
        before = self._holding.take(self.first - 1)
        holding, changes = (set(), self.changes()) if before is None else (before, self._steps())
        by_time = {change.t: change for change in changes}
        output = frozenset(holding)
        for t in range(self.first, self.last + 1):
            change = by_time.get(t)
            if change is not None:
                holding.difference_update(change.removed)
                holding.update(change.added)
                output = frozenset(holding)
            yield Point(t, output)
        self._holding.give(self.last, holding)

    def _steps(self) -> Iterator[Change]:
        """What begins and ends, compared with the time point before the first one."""
        begun: list[tuple[Atom, int]] = []
        ended: list[tuple[Atom, int]] = []
        for signature, news in self.news().items():
            for rows, column, found in ((news.began, FROM, begun), (news.ended, TO, ended)):
                atoms = atoms_of(signature, rows[:, TO + 1 :], self._values)
                found.extend(zip(atoms, rows[:, column].tolist(), strict=True))
        return self._changes(begun, ended)

    def changes(self) -> Iterator[Change]:
        intervals = list(self._intervals())
        begun = [(atom, start) for atom, start, _ in intervals]
        return self._changes(begun, [(atom, end) for atom, _, end in intervals])

    def _changes(
        self, begun: Iterable[tuple[Atom, int]], ended: Iterable[tuple[Atom, int]]
    ) -> Iterator[Change]:
        """Changes from when atoms begin and when they end, in the order of time."""
        added: defaultdict[int, list[Atom]] = defaultdict(list)
        removed: defaultdict[int, list[Atom]] = defaultdict(list)
        for atom, start in begun:
            added[start].append(atom)
        for atom, end in ended:
            if end < self.last:
                removed[end + 1].append(atom)
        for t in sorted({*added, *removed}):
            yield Change(t, _sorted(added.get(t, ())), _sorted(removed.get(t, ())))

    def intervals(self) -> Sequence[tuple[Atom, int, int]]:
        return sorted(self._intervals(), key=lambda row: (row[1], atom_text(row[0])))

    def tables(self) -> dict[Signature, pa.Table]:
        """The intervals of every predicate as a table: atom (string), from, to."""
        return {
            signature: pa.table(
                {
                    "atom": texts_of(signature, rows[:, TO + 1 :], self._values),
                    "from": pa.array(rows[:, FROM]),
                    "to": pa.array(rows[:, TO]),
                }
            )
            for signature, rows in self.rows().items()
        }

    def inconsistent(self) -> Iterable[int]:
        """None: a program that this engine runs always has an answer stream."""
        return ()

    def table(self) -> pa.Table:
        if self._table is None:
            empty = pa.schema([("atom", pa.string()), ("from", pa.int64()), ("to", pa.int64())])
            table = pa.concat_tables([empty.empty_table(), *self.tables().values()])
            table = table.sort_by([("from", "ascending"), ("atom", "ascending")])
            self._table = table.combine_chunks()
        return self._table

    def _intervals(self) -> Iterator[tuple[Atom, int, int]]:
        for signature, rows in self.rows().items():
            atoms = atoms_of(signature, rows[:, TO + 1 :], self._values)
            yield from zip(atoms, rows[:, FROM].tolist(), rows[:, TO].tolist(), strict=True)


def atoms_at(outputs: Outputs, t: int, values: Sequence[Constant]) -> frozenset[Atom]:
    """What holds at one time point."""
    return frozenset(
        atom
        for signature, store in outputs.stores.items()
        for atom in atoms_of(signature, cut_rows([store.rows()], t, t)[:, TO + 1 :], values)
    )


def _sorted(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
    return tuple(sorted(atoms, key=atom_text))
