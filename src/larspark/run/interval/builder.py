"""From a plan to the network that runs it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from larspark.base.atoms import Atom, Signature
from larspark.base.terms import Constant
from larspark.language.tree import NOWHERE
from larspark.meaning.checked import Checked
from larspark.plan.literals import cannot
from larspark.plan.operators import Derive, Group, Mode, Plan, Tuples
from larspark.plan.operators import term_variables as variables_of
from larspark.run.interval.clock import Clock
from larspark.run.interval.constants import Constants
from larspark.run.interval.firing import (
    Firing,
    Head,
    Stored,
    Tally,
    compile_firing,
    formulas,
)
from larspark.run.interval.kernels.layout import FOREVER, FROM, TO, Ints
from larspark.run.interval.kernels.scan import KEEP, NOW, RUN, WINDOW
from larspark.run.interval.network import Eternity, Flow, Memory, Network, Recomputed
from larspark.run.interval.nodes import Distinct, Fan, Keeper, Node, Runs, Spread, Sweep
from larspark.run.interval.profiles import Profile, WindowSize
from larspark.run.interval.shapes import Shape, Slot, patterns_of, scanner, shape_of, whole
from larspark.run.interval.tuples import Among, LastOfGroups, LastTuples

Source: TypeAlias = Fan | Distinct | Spread | LastTuples | LastOfGroups


class Channel(NamedTuple):
    """Rows of a predicate as they come, in one of these kinds:

    - pinned: atoms with a time point of their own, of the stream or of `@T` heads;
    - plain: atoms at the evaluation time;
    - memory: what was output at every time point of an interval;
    - background: what holds always.

    Can rows be taken back? Does each come only once?
    """

    kind: str
    source: Source
    retracts: bool
    unique: bool


@dataclass(slots=True)
class Predicate:
    """The channels of a predicate, and the heads of the rules that derive it."""

    channels: list[Channel] = field(default_factory=list)
    heads: dict[bool, Head] = field(default_factory=dict)
    spread: Spread | None = None


class Formula(NamedTuple):
    """A formula in the network: where its bindings come out."""

    sink: Fan | Distinct
    retracts: bool
    unique: bool


class Builder:
    """Builds the network of a program whose timeline begins with the clock's start."""

    def __init__(
        self,
        checked: Checked,
        plan: Plan,
        background: Iterable[Atom],
        clock: Clock,
        constants: Constants,
        *,
        push: bool,
    ) -> None:
        self._checked = checked
        self._plan = plan
        self._clock = clock
        self._constants = constants
        self._push = push
        self._tally = Tally()
        self._network = Network(clock, self._tally)
        self._predicates: dict[Signature, Predicate] = {}
        # In the recursion at hand, predicates as its own rules see them.
        self._inner: dict[Signature, Predicate] = {}
        self._inner_keepers: list[Keeper] = []
        self._formulas: dict[tuple[Shape, int, bool], Formula] = {}
        self._tuple_nodes: dict[tuple[Signature, Tuples], LastTuples | LastOfGroups] = {}
        self._stored: set[Shape] = set()
        self._origin = NOWHERE
        self._background: dict[Signature, list[Atom]] = {}
        for atom in background:
            self._background.setdefault(atom.signature, []).append(atom)

    def build(self) -> Network:
        """The whole network; nothing flows yet."""
        rules = [rule for group in self._plan.groups for rule in group.rules]
        for group in self._plan.groups:
            for rule in group.rules:
                parts = formulas(rule)
                if len(parts) > 1 or group.recursive or any(negated for _, negated in parts):
                    self._stored.update(shape_of(seen) for seen, _ in parts)
                if rule.time is not None:
                    # It has to be known when such an atom holds now.
                    self._stored.add(whole(rule.atom.signature))
        derived = {rule.atom.signature for rule in rules}
        asked = {seen.atom.signature for rule in rules for seen, _ in formulas(rule)}
        for signature in sorted(asked - derived):
            self._given(signature)
        for group in self._plan.groups:
            self._group(group)
        for signature in sorted(self._checked.shown & derived):
            self._network.outputs[signature] = self._output(signature)
        self._network.formula_count = len(self._formulas)
        self._network.single_steps = any(memory.late for memory in self._network.memories)
        return self._network

    def _given(self, signature: Signature) -> None:
        """A predicate that no rule derives: of the stream, background, or both."""
        predicate = self._predicates.setdefault(signature, Predicate())
        fan = self._network.inputs[signature] = Fan()
        predicate.channels.append(Channel("pinned", fan, retracts=False, unique=False))
        atoms = self._background.get(signature)
        if atoms:
            fan = Fan()
            rows = np.array([[self._code(arg) for arg in atom.args] for atom in atoms], np.int64)
            rows = rows.reshape(len(atoms), signature.arity)
            batch = np.empty((len(rows), TO + 1 + signature.arity), np.int64)
            batch[:, FROM], batch[:, TO] = self._clock.start, FOREVER
            batch[:, TO + 1 :] = rows
            self._network.background.append((fan, batch))
            predicate.channels.append(Channel("background", fan, retracts=False, unique=False))

    def _code(self, term: object) -> int:
        if not isinstance(term, int | float | str):
            raise TypeError(f"{term!r} is no constant")
        return self._constants.code(term)

    # Groups of predicates

    def _group(self, group: Group) -> None:
        self._inner, self._inner_keepers = {}, []
        retracts = [self._rule_retracts(rule, group) for rule in group.rules]
        if group.recursive and any(retracts):
            if self._checked.program.remembered & set(group.predicates):
                raise cannot(
                    "remember what a recursion over negation or tuple windows derives",
                    group.rules[0].origin,
                    "remember another predicate, which a rule of its own derives from it",
                )
            self._recomputed(group)
        else:
            self._flow(group, retracts)
        for signature in group.predicates:
            if signature in self._checked.program.remembered:
                self._remember(signature, late=group.recursive or self._push)

    def _rule_retracts(self, rule: Derive, group: Group) -> bool:
        """Can what the rule derives be taken back, as far as other groups are concerned?"""
        return any(
            negated
            or seen.tuples is not None
            and not self._clock.hindsight
            or seen.atom.signature not in group.predicates
            and any(c.retracts for c in self._predicates[seen.atom.signature].channels)
            for seen, negated in formulas(rule)
        )

    def _flow(self, group: Group, retracts: Sequence[bool]) -> None:
        heads: list[Head] = []
        rules: dict[tuple[Signature, bool], list[tuple[Derive, bool]]] = {}
        for rule, can_retract in zip(group.rules, retracts, strict=True):
            key = (rule.atom.signature, rule.time is not None)
            rules.setdefault(key, []).append((rule, can_retract))
        for signature in group.predicates:
            self._predicates.setdefault(signature, Predicate())
        # A recursion refers to heads that are not there yet, so these come first.
        if group.recursive:
            for (signature, pinned), _ in rules.items():
                heads.append(self._head(signature, pinned, counted=False, retracts=False))
            for rule in group.rules:
                self._fire(rule, exactly=False)
        else:
            for (signature, pinned), members in rules.items():
                can_retract = any(can for _, can in members)
                parts = [self._parts(rule, exactly=can_retract) for rule, _ in members]
                once = len(members) == 1 and self._derives_once(members[0][0], parts[0])
                counted = can_retract and not once
                head = self._head(signature, pinned, counted=counted, retracts=can_retract)
                heads.append(head)
                for (rule, _), formulas_ in zip(members, parts, strict=True):
                    self._connect(rule, formulas_, head)
        self._network.stages.append(Flow(heads, group.recursive))

    def _head(
        self, signature: Signature, pinned: bool, *, counted: bool, retracts: bool
    ) -> Head:
        distinct = Distinct(signature.arity + pinned, self._clock, counted=counted)
        self._network.keepers.append(distinct)
        head = Head(distinct)
        predicate = self._predicates[signature]
        predicate.heads[pinned] = head
        kind = "pinned" if pinned else "plain"
        predicate.channels.append(Channel(kind, distinct, retracts=retracts, unique=True))
        return head

    def _recomputed(self, group: Group) -> None:
        kinds = dict.fromkeys((rule.atom.signature, rule.time is not None) for rule in group.rules)
        scratch: dict[tuple[Signature, bool], Head] = {}
        given: list[Head] = []
        for signature in group.predicates:
            self._predicates.setdefault(signature, Predicate())
            self._inner[signature] = Predicate()
        for signature, pinned in kinds:
            given.append(self._head(signature, pinned, counted=False, retracts=self._push))
            distinct = Distinct(signature.arity + pinned, self._clock, counted=False)
            self._inner_keepers.append(distinct)
            scratch[signature, pinned] = Head(distinct)
            kind = "pinned" if pinned else "plain"
            channel = Channel(kind, distinct, retracts=False, unique=True)
            self._inner[signature].channels.append(channel)
        starts: list[tuple[Firing, Distinct | None]] = []
        for rule in group.rules:
            head = scratch[rule.atom.signature, rule.time is not None]
            parts = self._parts(rule, exactly=False)
            stored = self._as_stored(rule, parts)
            inner = [
                number
                for number, (seen, negated) in enumerate(formulas(rule))
                if seen.atom.signature in self._inner and not negated
            ]
            for number in inner:
                firing = self._firing(rule, stored, number, head)
                parts[number].sink.consumers.append(firing)
            if not inner:
                positive = [n for n, (_, negated) in enumerate(formulas(rule)) if not negated]
                first = positive[0] if positive else None
                source = None if first is None else stored[first].distinct
                starts.append((self._firing(rule, stored, first, head), source))
        self._network.stages.append(
            Recomputed(self._clock, list(scratch.values()), given, self._inner_keepers, starts)
        )
        # Later rules see what is given, not the scratch.
        self._inner = {}

    def _remember(self, signature: Signature, *, late: bool) -> None:
        fan = Fan()
        memory = Memory(self._clock, self._output(signature), fan, late)
        self._network.memories.append(memory)
        self._network.stages.append(memory)
        channel = Channel("memory", fan, retracts=False, unique=True)
        self._predicates[signature].channels.append(channel)

    def _output(self, signature: Signature) -> Distinct:
        """Where it comes out when an atom holds at the evaluation time."""
        predicate = self._predicates[signature]
        if list(predicate.heads) == [False]:
            return predicate.heads[False].distinct
        sink = self._formula(whole(signature)).sink
        if not isinstance(sink, Distinct):
            raise TypeError("an output needs a store")
        return sink

    # Rules

    def _fire(self, rule: Derive, *, exactly: bool) -> None:
        head = self._predicates[rule.atom.signature].heads[rule.time is not None]
        self._connect(rule, self._parts(rule, exactly=exactly), head)

    def _parts(self, rule: Derive, *, exactly: bool) -> list[Formula]:
        """The formulas of a rule.

        Where derivations are counted, formulas of one shape in one rule must not share a store:
        what is new in both of them would be counted twice.
        """
        copies: dict[Shape, int] = {}
        found: dict[int, Formula] = {}
        parts = list(enumerate(formulas(rule)))
        # Negated formulas come first, so that less is derived only to be taken back.
        for number, (seen, _) in sorted(parts, key=lambda part: not part[1][1]):
            shape = shape_of(seen)
            copy = copies.get(shape, 0) if exactly else 0
            copies[shape] = copy + 1
            self._origin = seen.origin
            found[number] = self._formula(shape, copy)
        return [found[number] for number, _ in parts]

    def _derives_once(self, rule: Derive, parts: Sequence[Formula]) -> bool:
        """Does every atom that the rule derives come from one combination of rows?"""
        if not all(isinstance(part.sink, Distinct) or part.unique for part in parts):
            return False
        terms = (*rule.atom.args, *(() if rule.time is None else (rule.time,)))
        told = {variable for term in terms for variable in variables_of(term)}
        return all(
            variable in told
            for seen, negated in formulas(rule)
            if not negated
            for variable in seen.variables
        )

    def _connect(self, rule: Derive, parts: Sequence[Formula], head: Head) -> None:
        stored = self._as_stored(rule, parts)
        for number, part in enumerate(parts):
            part.sink.consumers.append(self._firing(rule, stored, number, head))
        if all(part.negated for part in stored):
            self._network.starters.append(self._firing(rule, stored, None, head))

    def _as_stored(self, rule: Derive, parts: Sequence[Formula]) -> list[Stored]:
        return [
            Stored(seen, negated, part.sink if isinstance(part.sink, Distinct) else None)
            for (seen, negated), part in zip(formulas(rule), parts, strict=True)
        ]

    def _firing(
        self, rule: Derive, stored: Sequence[Stored], trigger: int | None, head: Head
    ) -> Firing:
        steps = compile_firing(rule, stored, trigger, self._clock, self._constants)
        negated = trigger is not None and stored[trigger].negated
        return Firing(steps, -1 if negated else 1, head, self._tally)

    # Formulas

    def _formula(self, shape: Shape, copy: int = 0) -> Formula:
        inner = shape.signature in self._inner
        key = (shape, copy, inner)
        if inner:
            # Stores of a recursion are its own: no other group may share them.
            return self._inner_formula(shape, key)
        if key not in self._formulas:
            self._formulas[key] = self._new_formula(shape, self._predicates[shape.signature])
        return self._formulas[key]

    def _inner_formula(self, shape: Shape, key: tuple[Shape, int, bool]) -> Formula:
        if key not in self._formulas:
            predicate = self._inner[shape.signature]
            self._formulas[key] = self._new_formula(shape, predicate, self._inner_keepers)
        return self._formulas[key]

    def _new_formula(
        self, shape: Shape, predicate: Predicate, keepers: list[Keeper] | None = None
    ) -> Formula:
        channels = [
            channel
            for channel in self._channels(shape, predicate)
            if channel.kind != "memory" or shape.mode is not Mode.NOW
        ]
        keepers = self._network.keepers if keepers is None else keepers
        retracts = any(channel.retracts for channel in channels)
        unique = len(channels) == 1 and channels[0].unique and self._keeps(shape, channels[0])
        sink: Fan | Distinct
        if shape in self._stored:
            sink = Distinct(shape.width, self._clock, counted=retracts and not unique)
            keepers.append(sink)
        else:
            sink = Fan()
        self._attach(shape, channels, predicate, sink, keepers)
        return Formula(sink, retracts, unique)

    def _channels(self, shape: Shape, predicate: Predicate) -> list[Channel]:
        """The channels of the predicate, those of the stream behind the tuple window."""
        if shape.tuples is None:
            return predicate.channels
        node = self._tuple_window(shape.signature, shape.tuples)
        return [Channel("pinned", node, retracts=not self._clock.hindsight, unique=True)]

    def _keeps(self, shape: Shape, channel: Channel) -> bool:
        """Do different rows of the channel stay different bindings, at every evaluation time?"""
        if shape.mode is Mode.ALWAYS:
            return True
        drops_time = shape.mode is Mode.SOME and channel.kind != "plain"
        return shape.keeps_arguments and not drops_time

    def _attach(
        self,
        shape: Shape,
        channels: Sequence[Channel],
        predicate: Predicate,
        sink: Fan | Distinct,
        keepers: list[Keeper],
    ) -> None:
        always: Node | None = None
        for channel in channels:
            if channel.kind == "background":
                self._attach_background(shape, channel, sink)
                continue
            if shape.mode is Mode.ALWAYS:
                if always is None:
                    always = self._always(shape, channels, sink, keepers)
                mode = NOW if isinstance(always, Runs) else WINDOW
                target, sweep = always, not isinstance(always, Runs)
            else:
                mode = NOW if shape.mode is Mode.NOW else WINDOW
                target, sweep = sink, False
            source: Source = channel.source
            slides = shape.reach.every == 1
            if channel.kind == "plain" and shape.mode in (Mode.NOW, Mode.SOME) and slides:
                mode = KEEP
            elif channel.kind == "memory" and shape.mode is Mode.SOME:
                mode = RUN
            elif channel.kind in ("plain", "memory"):
                source = self._spread(channel, predicate)
            scanned = self._scanner(shape, mode, target, sweep=sweep)
            if scanned is not None:
                source.consumers.append(scanned)

    def _scanner(self, shape: Shape, mode: int, target: Node, *, sweep: bool) -> Node | None:
        if mode == NOW and shape.mode is Mode.ALWAYS:
            # Runs look at every time point by itself; the window comes afterwards.
            shape = shape._replace(reach=whole(shape.signature).reach)
        return scanner(shape, mode, self._constants, target, sweep=sweep)

    def _spread(self, channel: Channel, predicate: Predicate) -> Spread:
        if channel.kind == "memory":
            spread = Spread(self._clock, None, remembered=True)
            channel.source.consumers.append(spread)
            return spread
        if predicate.spread is None:
            if not isinstance(channel.source, Distinct):
                raise TypeError("plain atoms come from a head")
            predicate.spread = Spread(self._clock, channel.source)
            channel.source.consumers.append(predicate.spread)
            if predicate not in self._inner.values():
                self._network.spreads.append(predicate.spread)
        return predicate.spread

    def _always(
        self,
        shape: Shape,
        channels: Sequence[Channel],
        sink: Fan | Distinct,
        keepers: list[Keeper],
    ) -> Node:
        reach, clock = shape.reach, self._clock
        streamed = [channel for channel in channels if channel.kind != "background"]
        only_input = all(isinstance(channel.source, Fan) for channel in streamed)
        only_input &= all(channel.kind == "pinned" for channel in streamed)
        if only_input and reach.every == 1 and (clock.end is None or reach.future == 0):
            runs = Runs(shape.width, clock, reach.past, sink)
            keepers.append(runs)
            return runs
        if reach.every > 1 and reach.past is None:
            raise cannot("ask for `always` over a whole past that hops", self._origin)
        window = WindowSize(clock.start, reach.past, reach.future, reach.every, clock.end)
        profile = Profile(shape.width, clock.floor - 1, window)
        sweep = Sweep(profile, clock, sink)
        keepers.append(sweep)
        unique = len(streamed) == 1 and streamed[0].unique and shape.keeps_arguments
        if unique:
            return sweep
        counted = any(channel.retracts for channel in streamed)
        each = Distinct(shape.width + 1, clock, counted=counted)
        each.consumers.append(sweep)
        keepers.append(each)
        return each

    def _attach_background(
        self, shape: Shape, channel: Channel, sink: Fan | Distinct
    ) -> None:
        # Background atoms hold whatever a window filters.
        shape = shape._replace(only=())
        if shape.mode is Mode.AT:
            fan = Fan()
            node = scanner(shape, WINDOW, self._constants, sink)
            if node is not None:
                fan.consumers.append(node)
            if self._clock.is_open and shape.reach.future is None:
                raise cannot("pin background data to a timeline without an end", self._origin)
            rows = next(rows for fan, rows in self._network.background if fan is channel.source)
            ahead = shape.reach.future or 0
            atoms = np.ascontiguousarray(rows[:, TO + 1 :])
            self._network.eternities.append(Eternity(self._clock, atoms, fan, ahead))
            return
        node = scanner(shape, KEEP, self._constants, sink)
        if node is None:
            return
        if shape.mode is not Mode.NOW and shape.reach.every > 1:
            channel.source.consumers.append(_NotBefore(self._first_window(shape), node))
        else:
            channel.source.consumers.append(node)

    def _first_window(self, shape: Shape) -> int:
        """The first evaluation time whose window has a time point."""
        every, future = shape.reach.every, shape.reach.future
        start = self._clock.start
        return start if future is None else max(start, -((future - start) // every) * every)

    def _tuple_window(self, signature: Signature, tuples: Tuples) -> LastTuples | LastOfGroups:
        key = (signature, tuples)
        if key not in self._tuple_nodes:
            among = self._among(tuples)
            past, future = tuples.past, tuples.future
            node = (
                LastTuples(signature, among, past, future, self._clock)
                if tuples.by is None
                else LastOfGroups(signature, among, tuples.by, past, future, self._clock)
            )
            self._tuple_nodes[key] = node
            self._network.windows.append(node)
            self._network.keepers.append(node)
        return self._tuple_nodes[key]

    def _among(self, tuples: Tuples) -> Among:
        if not tuples.among:
            return Among(None)
        passing = {}
        for signature in {atom.signature for atom in tuples.among[0]}:
            patterns = patterns_of(tuples.among, signature, TO + 2, self._constants)
            if patterns is not None:
                passing[signature] = patterns
        return Among(passing)


class _NotBefore:
    """Lets rows begin no earlier than a time point."""

    def __init__(self, first: int, target: Node) -> None:
        self._first = first
        self._target = target

    def receive(self, sign: int, batch: Ints) -> None:
        batch = batch.copy()
        batch[:, FROM] = np.maximum(batch[:, FROM], self._first)
        self._target.receive(sign, batch)
