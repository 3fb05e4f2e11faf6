"""The compiled network as text: inputs, stores, stages and outputs, in a stable form.

Columns are numbered as in batches: c0 and c1 are the evaluation times from and to. In rows of
elements c2 is the time point.
"""

from collections.abc import Iterable, Iterator

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, term_text
from larspark.base.terms import constant_text
from larspark.plan.build import plan
from larspark.run.interval.aggregate_groups import AggregateGroups
from larspark.run.interval.body_steps import (
    EachStep,
    JoinStep,
    LetStep,
    ReachStep,
    SubtractStep,
    WhereStep,
)
from larspark.run.interval.firing import Firing, Head
from larspark.run.interval.interning import Constants
from larspark.run.interval.kernels.layout import FOREVER, NONE
from larspark.run.interval.kernels.probe import FIRST_KEY, HOW, JOIN_OLD, PAIRED, PICKED
from larspark.run.interval.kernels.scan import (
    CODE,
    EVERY,
    FUTURE,
    LEFT,
    MODE,
    NOW,
    PAST,
    PICK_TIME,
    PINS,
    RIGHT,
    RUN,
    TEST,
    TIME,
    WINDOW,
    WITHIN,
)
from larspark.run.interval.network import Memory, Network, Recomputed, Recursion, Stage
from larspark.run.interval.network_builder import Builder
from larspark.run.interval.network_nodes import Distinct, Fan, Keeper, Runs, ScanNode, Spread, Sweep
from larspark.run.interval.row_programs import RowProgram, Step
from larspark.run.interval.run_clock import Clock
from larspark.run.protocol import Settings

_SYMBOLS = ["=", "!=", "<", ">=", ">", "<="]


def network_text(checked: Checked, background: Iterable[Atom], settings: Settings) -> str:
    """The network that the interval engine compiles a program to; raises what it cannot do."""
    constants = Constants()
    end = settings.until
    if end is None and checked.future_heads:
        end = FOREVER
    clock = Clock(0, end, 0, 0, settings.hindsight)
    atoms = frozenset(background) | checked.background
    builder = Builder(checked, plan(checked), atoms, clock, constants, push=settings.push)
    return "\n".join(_Printer(builder.build(), constants).lines())


class _Printer:
    def __init__(self, network: Network, constants: Constants) -> None:
        self._network = network
        self._constants = constants
        inner = [
            keeper
            for stage in network.stages
            if isinstance(stage, Recomputed)
            for keeper in stage.inner
        ]
        self._keepers: list[Keeper] = [*network.keepers, *inner]
        self._numbers = {id(keeper): number for number, keeper in enumerate(self._keepers, 1)}

    def lines(self) -> Iterator[str]:
        network = self._network
        yield "inputs"
        for signature, fan in network.inputs.items():
            yield f"  {signature}"
            yield from self._consumers(fan.consumers, 4)
        for fan, rows in network.background:
            yield f"  background data, {len(rows)} rows"
            yield from self._consumers(fan.consumers, 4)
        for pinned in network.pinned_background:
            yield f"  background data at time points, {len(pinned.atoms)} rows"
            yield from self._consumers(pinned.fan.consumers, 4)
        for firing in network.starters:
            yield "  start"
            yield from self._consumers([firing], 4)
        yield "stores"
        for number, keeper in enumerate(self._keepers, 1):
            yield f"  {number}. {network.labels[keeper]}{_kind(keeper)}"
            yield from self._consumers(_consumers_of(keeper), 5)
        yield "stages"
        for number, stage in enumerate(network.stages, 1):
            yield f"  {number}. {self._stage(stage)}"
        yield "outputs"
        for signature, store in network.outputs.stores.items():
            found = next(k for k in self._keepers if isinstance(k, Distinct) and k.store is store)
            yield f"  {signature}: {self._store(found)}"

    def _stage(self, stage: Stage) -> str:
        match stage:
            case Head():
                return self._store(stage.distinct)
            case Recursion(heads):
                return f"fixpoint of {self._stores(head.distinct for head in heads)}"
            case Recomputed():
                scratch, given = (
                    self._stores(head.distinct for head in heads)
                    for heads in (stage.scratch, stage.given)
                )
                return f"recompute {scratch} into {given}"
            case Memory(output=output):
                return f"remember {self._store(output)}"
            case AggregateGroups(values=values, present=present):
                stored = [found for found in (values, present) if isinstance(found, Distinct)]
                into = f" into {self._stores(stored)}" if stored else ""
                return f"change {self._store(stage)}{into}"
            case _:
                return type(stage).__name__.lower()

    def _stores(self, keepers: Iterable[object]) -> str:
        return ", ".join(map(self._store, keepers))

    def _store(self, keeper: object) -> str:
        return f"store {self._numbers[id(keeper)]}"

    def _consumers(self, consumers: Iterable[object], indent: int) -> Iterator[str]:
        space = " " * indent
        for consumer in consumers:
            match consumer:
                case Firing():
                    verb = "retract" if consumer.sign < 0 else "derive"
                    steps = [*map(self._step, consumer.steps), self._program(consumer.program)]
                    head = consumer.head
                    into = self._store(head.distinct if isinstance(head, Head) else head)
                    yield f"{space}{verb} {consumer.label} -> {into}"
                    yield from (f"{space}  {step}" for step in steps if step)
                case ScanNode(program, filters, target):
                    words = [f"filter by {len(filters)} patterns"] if filters else []
                    text = "; ".join([*words, *filter(None, [self._program(program)])])
                    if isinstance(target, Fan):
                        yield f"{space}scan {text}"
                        yield from self._consumers(target.consumers, indent + 2)
                    else:
                        yield f"{space}scan {text} -> {self._target(target)}"
                case Spread():
                    yield f"{space}spread to time points"
                    yield from self._consumers(consumer.consumers, indent + 2)
                case _:
                    yield f"{space}-> {self._target(consumer)}"

    def _target(self, target: object) -> str:
        if id(target) in self._numbers:
            return self._store(target)
        return type(target).__name__.strip("_").lower()

    def _step(self, step: Step) -> str:
        match step:
            case RowProgram():
                return self._program(step)
            case JoinStep(index, lookup) | SubtractStep(index, lookup):
                name = self._store_of(index.store)
                paired, picked = lookup[PAIRED], lookup[PICKED]
                pairs = zip(lookup[paired:picked], lookup[FIRST_KEY:paired], strict=True)
                on = ", ".join(f"c{mine} = its c{its}" for mine, its in pairs)
                words = f"{name} on {on}" if on else name
                if isinstance(step, SubtractStep):
                    return f"subtract {words}"
                old = "old rows of " if lookup[HOW] == JOIN_OLD else ""
                picks = [f"c{p}" if p >= 0 else f"its c{~p}" for p in lookup[picked:].tolist()]
                return f"join {old}{words}; keep {', '.join(picks) or 'nothing'}"
            case WhereStep(comparison, left, right, negated):
                words = f"{term_text(left)} {comparison} {term_text(right)}"
                return f"where {'not ' if negated else ''}{words}"
            case LetStep(term):
                return f"let {term_text(term)}"
            case EachStep(_, low, high):
                return f"each from {term_text(low)} to {term_text(high)}"
            case ReachStep(column, reach):
                return f"while c{column} in [{reach.past}, {reach.future}]"
            case _:
                return type(step).__name__

    def _store_of(self, store: object) -> str:
        return next(
            self._store(keeper)
            for keeper in self._keepers
            if isinstance(keeper, Distinct) and keeper.store is store
        )

    def _program(self, program: RowProgram) -> str:
        words = [self._test(*map(int, test)) for test in program.tests]
        words += _window(program)
        picks = [_column(column) for column in program.pick.tolist()]
        if program.frame[PINS]:
            words.append("pin to " + picks[0])
        return "; ".join([*words, f"keep {', '.join(picks) or 'nothing'}"])

    def _test(self, *test: int) -> str:
        left = _column(test[LEFT])
        if test[TEST] == WITHIN:
            return f"where {left} in timeline"
        if test[RIGHT] != NONE:
            right = _column(test[RIGHT])
        elif test[LEFT] == TIME:
            right = str(test[CODE])
        else:
            right = constant_text(self._constants.decode(test[CODE]))
        return f"where {left} {_SYMBOLS[test[TEST]]} {right}"


def _kind(keeper: Keeper) -> str:
    if not isinstance(keeper, Distinct):
        return ""
    width = keeper.store.width
    words = [f"{width} column{'' if width == 1 else 's'}"]
    words += ["counted"] if keeper.is_counted else []
    for columns in keeper.store.indexes:
        words.append("index on " + (", ".join(f"c{column + 2}" for column in columns) or "nothing"))
    return f" ({'; '.join(words)})"


def _consumers_of(keeper: Keeper) -> Iterable[object]:
    if isinstance(keeper, Runs | Sweep):
        return [keeper.target] if not isinstance(keeper.target, Fan) else keeper.target.consumers
    if isinstance(keeper, AggregateGroups):
        found = [keeper.values, keeper.present]
        return [consumer for fan in found if isinstance(fan, Fan) for consumer in fan.consumers]
    fan = getattr(keeper, "fan", keeper)
    consumers: Iterable[object] = getattr(fan, "consumers", ())
    return consumers


def _column(column: int) -> str:
    return "time" if column == PICK_TIME else f"c{column}"


def _window(program: RowProgram) -> Iterator[str]:
    mode, past, future, every = (int(program.frame[n]) for n in (MODE, PAST, FUTURE, EVERY))
    low = "*" if past == NONE else f"t-{past}" if past else "t"
    high = "*" if future == NONE else f"t+{future}" if future else "t"
    hops = f" every {every}" if every > 1 else ""
    if mode == NOW:
        yield "time = t"
    elif mode == WINDOW and (past, future) != (NONE, NONE):
        yield f"time in [{low}, {high}]{hops}"
    elif mode == RUN:
        yield f"some time in [{low}, {high}]{hops}"
