"""The interval engine: stratified programs, whose atoms hold over intervals of time."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias
from weakref import ref

import pyarrow as pa

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Signature
from larspark.base.facts import AnyBatch, PointBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.plan.build import plan
from larspark.run.answers import ListedModels, PointAnswers
from larspark.run.diagnostics import Diagnostics
from larspark.run.interval.arrivals import (
    Arrivals,
    Chunk,
    Sieve,
    Source,
    distinct_elements,
    one_by_one,
    slices,
    split_times,
    stretches,
)
from larspark.run.interval.interning import Constants
from larspark.run.interval.interval_answers import Holding, IntervalAnswers, atoms_at
from larspark.run.interval.kernels.layout import FOREVER, Ints
from larspark.run.interval.network import Network
from larspark.run.interval.network_builder import Builder
from larspark.run.interval.restored import (
    check_arrays,
    check_clock,
    check_constants,
    check_times,
)
from larspark.run.interval.run_clock import Clock
from larspark.run.interval.stage_exchange import StageExchange, exported_table, imported_chunks
from larspark.run.interval.tick_changes import TickChanges
from larspark.run.interval.tick_driver import TickDriver, tick_driver
from larspark.run.interval.tuple_windows import Arrived
from larspark.run.protocol import Answers, Derived, Model, Point, Settings
from larspark.run.state import State, nested, of_part

# After so many steps everything is looked through for what can be forgotten.
_HOUSEKEEPING = 128
_COUNTED = ("rows", "bytes", "time_points", "fired", "joined", "derived", "skipped")

# Elements of the stream; and in a stage also what others derived.
Given: TypeAlias = Signature | Derived


class IntervalEngine(ListedModels):
    """Evaluates a stratified program as intervals of evaluation time.

    Elements wait until time comes to them; then they flow through the network, slice by slice.
    """

    def __init__(self, checked: Checked, background: Iterable[Atom], settings: Settings) -> None:
        self._checked = checked
        self._background = frozenset(background) | checked.background
        self._settings = settings
        self._plan = plan(checked)
        self._constants = Constants()
        self._arrivals = Arrivals(self._constants)
        self._start = settings.start
        self._network: Network | None = None
        self._answered: int | None = None
        self._latest_answers: ref[IntervalAnswers] | None = None
        self._holding = Holding()
        self._exchange: StageExchange | None = None
        self._arrived = 0
        self._steps = 0
        self._sieve = Sieve()
        # Runs a time point in one call, if the kernel knows the network and is compiled.
        self._driver: TickDriver | None = None
        self._waiting_driver: TickDriver | None = None
        self._has_looked = False
        # The atoms of the next time point that the driver took, with the number of the first one.
        self._point: tuple[int, Sequence[Atom], int] | None = None

    def __deepcopy__(self, memo: dict[int, object]) -> "IntervalEngine":
        other = IntervalEngine(self._checked, self._background, self._settings)
        other.restore(self.save())
        return other

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing: there is one answer stream, and no limit."""
        return ()

    @property
    def warnings(self) -> list[str]:
        """Comparisons and arithmetic that a user should know of."""
        return self.diagnostics.warnings()

    @property
    def diagnostics(self) -> Diagnostics:
        """The counts behind the warnings."""
        return self._constants.diagnostics

    def append(self, batch: AnyBatch) -> None:
        """Take elements in; they wait until `advance` comes to their time."""
        if self._settings.hindsight and self._network is not None and len(batch):
            message = "with hindsight every element has to be there before the first answer"
            raise LarsparkError(Problem("L402", message))
        self._queue_point()
        first = self._arrivals.append(batch)
        if self._start is None:
            self._start = first

    def take(
        self, t: int, atoms: Sequence[Atom], seq: int, check: Callable[[Iterable[Atom]], None]
    ) -> bool:
        """Take in what happens at the next time point, if that is run in one call."""
        driver, arrivals = self._driver, self._arrivals
        if driver is None or self._answered != t - 1 or self._point or not arrivals.is_empty:
            return False
        driver.take(atoms, check)
        self._point = (t, atoms, seq)
        arrivals.latest = t
        return True

    def import_derived(
        self,
        imported: Iterable[Signature],
        tables: Iterable[tuple[Derived, pa.Table]],
        exported: Iterable[Signature],
    ) -> None:
        """Before the start: rows that other stages have derived, and predicates to export."""
        waiting = imported_chunks(tables, self._constants)
        self._exchange = StageExchange(frozenset(imported), waiting, frozenset(exported))

    def receive_derived(self, tables: Iterable[tuple[Derived, pa.Table]]) -> None:
        """More rows of the imported predicates, which begin after the last answer."""
        if self._exchange is None:
            raise ValueError("nothing is imported")
        self._exchange.add(imported_chunks(tables, self._constants))

    def export_derived(self, first: int, last: int) -> Iterator[tuple[Derived, pa.Table]]:
        """The rows of the exported predicates that were derived within [first, last]."""
        recorders = {} if self._exchange is None else self._exchange.recorders
        for derived, recorder in recorders.items():
            rows = recorder.take(first, last)
            if rows is not None and len(rows):
                yield derived, exported_table(derived, rows, self._constants.values)

    def advance(self, t: int) -> Answers:
        """The answers after the last advance, up to t; in push mode one for each tick."""
        self._close_answers()
        # A step may forget texts of rows that ended, which its answers still have.
        values = self._constants.values
        changes = self.step(t)
        if changes is not None and self._network is not None:
            outputs = self._network.outputs
            tick = IntervalAnswers(t, t, outputs, {}, values, self._holding, changes)
            self._latest_answers = ref(tick)
            return tick
        self._queue_point()
        self._forget_constants()
        network = self._network or self._begin(t)
        first = network.clock.start if self._answered is None else self._answered + 1
        last = t if self._settings.until is None else min(t, self._settings.until)
        if last < first:
            return PointAnswers(first, last, [])
        self._answered = last
        # With hindsight everything is known, as far as the timeline goes.
        taken = self._arrivals.take(self._settings.until if network.clock.hindsight else last)
        if self._settings.push:
            return PointAnswers(first, last, list(self._ticks(network, taken, first, last)))
        ended: dict[Signature, list[Ints]] = {}
        floor = first
        everything: dict[Given, Chunk] = {}
        everything.update(taken.items())
        if self._exchange is not None:
            everything.update(self._exchange.take(None if network.clock.hindsight else last))
        for boundary, part in self._slices(network, everything, first, last):
            self._step(network, part, floor, boundary)
            if boundary < last:
                for signature, gone in network.outputs.ended(boundary).items():
                    ended.setdefault(signature, []).append(gone)
            floor = boundary + 1
        values, outputs = self._constants.values, network.outputs
        answers = IntervalAnswers(first, last, outputs, ended, values, self._holding)
        self._latest_answers = ref(answers)
        if first == last and self._driver is None:
            self._find_driver(network)
        return answers

    def _find_driver(self, network: Network) -> None:
        """Let single time points be run in one call from now on, if that is possible."""
        if not self._has_looked:
            self._has_looked = True
            self._waiting_driver = tick_driver(network, self._constants) if self._is_plain else None
        if self._waiting_driver is not None and self._waiting_driver.is_ready():
            self._driver, self._waiting_driver = self._waiting_driver, None

    @property
    def _is_plain(self) -> bool:
        """Does the timeline end with the evaluation time, and does the engine run alone?"""
        return self._exchange is None and self._settings.until is None and not self._settings.push

    def _queue_point(self) -> None:
        """Let the atoms of the next time point wait with everything else that arrives."""
        point, self._point = self._point, None
        if point is not None and self._driver is not None:
            self._driver.take_back()
            self._arrivals.append(PointBatch(*point))

    def step(self, t: int) -> TickChanges | None:
        """What changes at the next time point, run in one call; None if that is impossible."""
        driver = self._driver
        if driver is None or self._answered != t - 1:
            return None
        if self._latest_answers is not None:
            self._close_answers()
        network, arrivals = driver.network, self._arrivals
        outputs = network.outputs
        if outputs.expired_upto != t - 1:
            outputs.expire(t - 1)
        if self._point is not None:
            self._point = None
        elif not arrivals.is_empty:
            for signature, chunk in arrivals.take(t).items():
                driver.give(signature, chunk.rows)
        changes = driver.run(t)
        outputs.expired_upto = t
        self._answered = t
        self._steps += 1
        if not self._steps % _HOUSEKEEPING:
            # Not sooner: codes of the facts that were taken are in no row.
            self._forget_constants()
            network.expire()
        return changes

    def holding(self) -> frozenset[Atom]:
        """The atoms that hold at the time point up to which was answered."""
        if self._network is None or self._answered is None:
            return frozenset()
        return atoms_at(self._network.outputs, self._answered, self._constants.values)

    def models(self, at: int, limit: int | None = None) -> Iterator[Model]:
        """The one answer stream at a time point that was not passed yet."""
        if limit is not None and limit < 1:
            return
        other = IntervalEngine(self._checked, self._background, self._settings)
        other.restore(self.save())
        other.advance(at)
        if other._network is not None:
            yield Model(other._network.derived_at(at, self._checked.shown, other._constants.values))

    def save(self) -> State:
        """The whole state: elements that lie ahead, and the rows of all stores."""
        self._close_answers()
        self._queue_point()
        if self._network is not None:
            self._network.rest()
        waiting = self._arrivals.waiting()
        values: dict[str, object] = {
            "start": self._start,
            "answered": self._answered,
            "arrived": self._arrived,
            "constants": self._constants.saved(),
            "own": self._constants.own,
            "free": self._constants.free,
            "latest": self._arrivals.latest,
            "waiting": [list(signature) for signature in waiting],
        }
        parts: dict[str, Mapping[str, Ints]] = {
            f"waiting {number}": chunk._asdict() for number, chunk in enumerate(waiting.values())
        }
        if self._network is not None:
            clock = self._network.clock
            values["clock"] = [clock.end, clock.floor, clock.last]
            for number, keeper in enumerate(self._network.keepers):
                parts[f"store {number}"] = keeper.state()
        return State(values, nested(parts))

    def restore(self, state: State) -> None:
        """Continue from a state; one that cannot be read changes nothing."""
        values, arrays = state.values, state.arrays
        check_times(values)
        check_constants(values["constants"], values["free"], values["own"])
        start, answered, arrived = values["start"], values["answered"], values["arrived"]
        constants = Constants()
        arrivals = Arrivals(constants)
        network = None
        constants.load(values["constants"], values["free"], values["own"])
        chunks = {
            Signature(*signature): Chunk(**of_part(arrays, f"waiting {number}"))
            for number, signature in enumerate(values["waiting"])
        }
        arrivals.load(chunks, values["latest"])
        if "clock" in values:
            first, reached, _ = check_clock(values)
            stores = {n: a for n, a in arrays.items() if not n.startswith("waiting")}
            check_arrays(stores, first, reached)
            end, floor, last = values["clock"]
            clock = Clock(start, end, floor, last, self._settings.hindsight)
            network = self._build(clock, constants)
            network.resume(floor, last)
            for number, keeper in enumerate(network.keepers):
                keeper.load(of_part(arrays, f"store {number}"))
            if self._exchange is not None and answered is not None:
                self._exchange.resume(answered)
        self._close_answers()
        self._holding = Holding()
        self._constants, self._arrivals, self._network = constants, arrivals, network
        self._driver = self._waiting_driver = self._point = None
        self._has_looked = False
        self._start, self._answered, self._arrived = start, answered, arrived

    def stats(self) -> dict[str, int]:
        """Rows in all stores and their bytes; time points answered; the work done and avoided.

        `fired` are rules, `joined` formulas looked up with a result, `derived` rows; `skipped` are
        firings that a rule-by-rule evaluation at every time point would have tried in vain.
        """
        network = self._network
        if network is None:
            return dict.fromkeys(_COUNTED, 0)
        if self._driver is not None:
            self._driver.count()
        network.expire()
        sizes = [keeper.size() for keeper in network.keepers]
        tally = network.tally
        heads = [head for found in network.heads.values() for head in found.values()]
        possible = tally.time_points * len(self._checked.rules)
        counted = (
            sum(rows for rows, _ in sizes),
            sum(size for _, size in sizes),
            tally.time_points,
            tally.fired,
            tally.joined,
            sum(head.store.read for head in heads),
            max(0, possible - tally.fired),
        )
        return dict(zip(_COUNTED, counted, strict=True))

    def _close_answers(self) -> None:
        """Copy the rows of the last answers, if they are still in use, before they change."""
        if self._latest_answers is not None:
            answers = self._latest_answers()
            if answers is not None:
                answers.freeze()
            self._latest_answers = None

    def _forget_constants(self) -> None:
        """Free the places of texts that no row holds any more, when there may be many."""
        constants, network = self._constants, self._network
        if network is None or len(constants) < constants.patience:
            return
        codes = [array for keeper in network.keepers for array in keeper.state().values()]
        codes += [chunk.rows for chunk in self._arrivals.waiting().values()]
        codes += [] if self._exchange is None else self._exchange.codes()
        constants.forget(codes)
        if self._driver is not None:
            self._driver.records.forget()

    def _begin(self, t: int) -> Network:
        """The timeline begins, now that it is known when."""
        start = t if self._start is None else self._start
        settings = self._settings
        end: int | None = None
        if settings.until is not None:
            end = settings.until
        elif self._checked.future_heads:
            end = FOREVER
        elif settings.hindsight:
            latest = self._arrivals.latest
            end = t if latest is None else max(t, latest)
        self._start = start
        clock = Clock(start, end, start, start, settings.hindsight)
        self._network = self._build(clock, self._constants)
        self._constants.own = len(self._constants.values)
        self._network.begin()
        return self._network

    def _build(self, clock: Clock, constants: Constants) -> Network:
        push = self._settings.push
        builder = Builder(
            self._checked,
            self._plan,
            self._background,
            clock,
            constants,
            push=push,
            exchange=self._exchange,
        )
        return builder.build()

    def _slices(
        self, network: Network, taken: Mapping[Source, Chunk], first: int, last: int
    ) -> Iterator[tuple[int, Mapping[Source, Chunk]]]:
        if first == last:
            return iter([(last, taken)])
        if not network.single_steps:
            # With hindsight everything is known from the beginning, so it comes in at once.
            if network.clock.hindsight:
                return iter([(last, taken)])
            # Where every time point counts, a gap is work like any other.
            return (
                stretches(taken, first, last) if network.counts_time_points else slices(taken, last)
            )
        parts = {first: taken} if network.clock.hindsight else split_times(taken)
        return ((t, parts.get(t, {})) for t in range(first, last + 1))

    def _step(
        self,
        network: Network,
        given: Mapping[Given, Chunk] | Mapping[Signature, Chunk],
        floor: int,
        last: int,
    ) -> None:
        """Let time come to [floor, last], with the elements that arrive there."""
        network.move(floor, last)
        if network.clock.hindsight:
            start = network.clock.start
            given = {
                n: c if isinstance(n, Derived) else c.known_from(start) for n, c in given.items()
            }
        elements: Arrived = {}
        if network.windows:
            elements = {
                name: distinct_elements(chunk)
                for name, chunk in given.items()
                if not isinstance(name, Derived)
            }
            network.arrive(elements)
        for name, chunk in given.items():
            if isinstance(name, Derived):
                network.import_derived(name, chunk.rows)
            elif name in elements:
                network.feed(name, elements[name].rows)
            elif name in network.distinct_inputs:
                network.feed(name, distinct_elements(chunk).rows)
            else:
                network.feed(name, self._sieve.rows(name, chunk))
        network.work()
        self._steps += 1
        if self._steps % _HOUSEKEEPING == 0:
            network.expire()

    def _ticks(
        self, network: Network, taken: Mapping[Signature, Chunk], first: int, last: int
    ) -> Iterator[Point]:
        """One output when a time point begins, and one after each of its elements.

        With hindsight all elements are known from the beginning, and there is nothing to tick.
        """
        hindsight = network.clock.hindsight
        parts = split_times(taken)
        for t in range(first, last + 1):
            here = [] if hindsight else list(one_by_one(parts.get(t, {})))
            self._step(network, taken if hindsight and t == first else {}, t, t)
            yield Point(t, atoms_at(network.outputs, t, self._constants.values), self._arrived)
            for signature, elements in here:
                network.arrive({signature: elements})
                network.feed(signature, elements.rows)
                network.work()
                self._arrived += 1
                atoms = atoms_at(network.outputs, t, self._constants.values)
                yield Point(t, atoms, self._arrived)
