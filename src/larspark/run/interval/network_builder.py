"""Compilation of a plan to the network that runs it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Signature
from larspark.base.terms import Variable
from larspark.language.tree import AggregateFunction
from larspark.plan.operators import (
    Collect,
    Derive,
    Each,
    Group,
    Mode,
    Plan,
    formulas,
    is_recomputed,
    retracting_rules,
    steps,
)
from larspark.plan.printed import derive_text
from larspark.run.interval.aggregate_groups import AggregateGroups
from larspark.run.interval.body_steps import JoinStep
from larspark.run.interval.firing import (
    Firing,
    Head,
    Stored,
    Tally,
    Target,
    compile_firing,
)
from larspark.run.interval.formula_nodes import Channel, Formula, FormulaBuilder, Kind, Predicate
from larspark.run.interval.formula_shapes import Shape, shape_of, whole
from larspark.run.interval.interning import Constants
from larspark.run.interval.interval_answers import Outputs
from larspark.run.interval.kernels.layout import FOREVER, FROM, TO
from larspark.run.interval.network import Memory, Network, Recomputed, Recursion, RememberedRows
from larspark.run.interval.network_nodes import Distinct, Fan, Keeper
from larspark.run.interval.run_clock import Clock
from larspark.run.interval.stage_exchange import StageExchange
from larspark.run.protocol import Derived


def read_twice(plan: Plan) -> set[Signature]:
    """The predicates that some rule reads in two places."""
    found: set[Signature] = set()
    for group in plan.groups:
        for rule in group.rules:
            reads = Counter(seen.atom.signature for seen, _ in formulas(rule.source))
            found.update(signature for signature, times in reads.items() if times > 1)
    return found


def looked_up_shapes(plan: Plan) -> set[Shape]:
    """The formulas that need a store: those joined, negated, recomputed from, or output."""
    shapes: set[Shape] = set()
    for group in plan.groups:
        for rule in group.rules:
            parts = formulas(rule.source)
            if len(parts) > 1 or group.recursive or any(negated for _, negated in parts):
                shapes.update(shape_of(seen) for seen, _ in parts)
            if rule.time is not None:
                shapes.add(whole(rule.atom.signature))
    return shapes


def derives_once(rule: Derive, parts: Sequence[Formula]) -> bool:
    """Does every atom that the rule derives come from one combination of rows?"""
    if not all(part.unique for part in parts):
        return False
    named = {term for term in (*rule.atom.args, rule.time) if isinstance(term, Variable)}
    ranging = {step.variable for step in steps(rule.source) if isinstance(step, Each)}
    return ranging <= named and all(
        variable in named
        for seen, negated in formulas(rule.source)
        if not negated
        for variable in seen.variables
    )


def stored_parts(rule: Derive, parts: Sequence[Formula]) -> list[Stored]:
    """The formulas of a rule, with the stores of those that have one."""
    return [
        Stored(seen, negated, part.sink if isinstance(part.sink, Distinct) else None)
        for (seen, negated), part in zip(formulas(rule.source), parts, strict=True)
    ]


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
        exchange: StageExchange | None = None,
    ) -> None:
        self._checked = checked
        self._plan = plan
        self._clock = clock
        self._constants = constants
        self._push = push
        self._exchange = exchange
        self._tally = Tally()
        self._network = Network(clock, self._tally)
        self._predicates: dict[Signature, Predicate] = {}
        # In a recomputed recursion: its predicates as its own rules read them.
        self._inner: dict[Signature, Predicate] = {}
        self._inner_keepers: list[Keeper] = []
        self._formulas: dict[tuple[Shape, int], Formula] = {}
        # The groups of tuples of aggregates, by the predicate of the tuples.
        self._aggregates: dict[tuple[Signature, AggregateFunction], AggregateGroups] = {}
        # The predicates of tuples, and the rules of those that need no store.
        self._tuples = {
            seen.atom.signature
            for group in plan.groups
            for rule in group.rules
            if isinstance(rule.source, Collect)
            for seen, _ in formulas(rule.source)
        }
        self._passed_on: dict[Signature, tuple[Derive, bool]] = {}
        looked_up = looked_up_shapes(plan)
        self._looked_up = {shape.signature for shape in looked_up}
        if exchange is not None:
            looked_up |= {whole(derived.signature) for derived in exchange.waiting}
        self._read_twice = read_twice(plan)
        self._background: dict[Signature, list[Atom]] = {}
        for atom in (*sorted(background, key=str), Atom(plan.moment.predicate)):
            self._background.setdefault(atom.signature, []).append(atom)
        self._formula_builder = FormulaBuilder(
            self._network, clock, constants, looked_up, self._background
        )

    def build(self) -> Network:
        """The network, before any row is inserted."""
        derived = {predicate for group in self._plan.groups for predicate in group.predicates}
        asked = {
            seen.atom.signature
            for group in self._plan.groups
            for rule in group.rules
            for seen, _ in formulas(rule.source)
        }
        imported = self._imported()
        for signature in sorted(asked - derived - imported):
            self._given(signature)
        retracting = retracting_rules(self._plan, hindsight=self._clock.hindsight, push=self._push)
        for group, rules in zip(self._plan.groups, retracting, strict=True):
            self._predicates.update((signature, Predicate()) for signature in group.predicates)
            collect = group.rules[0].source
            if isinstance(collect, Collect):
                self._aggregate(group.rules[0], collect)
                continue
            if self._derives_tuples_once(group):
                self._passed_on[group.predicates[0]] = (group.rules[0], rules[0])
                continue
            memories = self._memories(group)
            if is_recomputed(group, rules):
                self._recomputed(group, memories)
            elif group.recursive:
                self._recursion(group)
            else:
                self._layer(group, rules)
            for signature, fan in memories.items():
                self._remember(signature, fan, late=group.recursive or self._push)
        shown = sorted(self._checked.shown & derived)
        self._network.outputs = Outputs({name: self._output(name) for name in shown})
        for signature in sorted(derived):
            self._network.heads[signature] = {
                pinned: head.distinct for pinned, head in self._predicates[signature].heads.items()
            }
        self._formula_builder.fuse_scans()
        self._network.single_steps = any(memory.late for memory in self._network.memories)
        if self._exchange is not None:
            self._exchange.record(self._network.heads)
        for keeper in self._network.keepers:
            if isinstance(keeper, Distinct):
                keeper.let_stores_follow()
        return self._network

    def _imported(self) -> frozenset[Signature]:
        """The predicates derived by other stages; they are read like derived ones."""
        if self._exchange is None:
            return frozenset()
        for signature in sorted(self._exchange.imported):
            self._predicates[signature] = Predicate()
            for pinned in self._exchange.kinds(signature):
                head = self._head(signature, pinned, counted=False, retracts=False)
                self._network.imported[Derived(signature, pinned)] = head.distinct
            if signature in self._checked.program.remembered:
                self._remember(signature, self._memory(signature), late=False)
        return self._exchange.imported

    def _given(self, signature: Signature) -> None:
        """A predicate that no rule derives: of the stream, of the background data, or both."""
        fan = self._network.inputs[signature] = Fan()
        atoms = self._background.get(signature)
        unique = not atoms and self._is_collected(signature)
        if unique:
            self._network.distinct_inputs.add(signature)
        channels = [Channel(Kind.PINNED, fan, retracts=False, unique=unique)]
        if atoms:
            fan = Fan()
            rows = np.empty((len(atoms), TO + 1 + signature.arity), np.int64)
            rows[:, FROM], rows[:, TO] = self._clock.start, FOREVER
            for line, atom in enumerate(atoms):
                rows[line, TO + 1 :] = [self._constants.code_term(term) for term in atom.args]
            self._network.background.append((fan, rows))
            channels.append(Channel(Kind.BACKGROUND, fan, retracts=False, unique=False))
        self._predicates[signature] = Predicate(channels)

    def _is_collected(self, signature: Signature) -> bool:
        """Does an aggregate collect elements of the predicate as they are?

        Then it pays to look for duplicates, as the tuples need no store.
        """
        return any(
            formulas(rule.source)[0][0].atom.signature == signature
            and formulas(rule.source)[0][0].mode is Mode.AT
            for group in self._plan.groups
            for rule in group.rules
            if rule.atom.signature in self._tuples and len(formulas(rule.source)) == 1
        )

    # Groups of predicates

    def _layer(self, group: Group, retracting: Sequence[bool]) -> None:
        """A predicate that does not depend on itself."""
        heads: list[Head] = []
        for pinned in (False, True):
            members = [
                (rule, can)
                for rule, can in zip(group.rules, retracting, strict=True)
                if (rule.time is not None) == pinned
            ]
            if not members:
                continue
            retracts = any(can for _, can in members)
            parts = [self._parts(rule, exactly=retracts) for rule, _ in members]
            once = len(members) == 1 and derives_once(members[0][0], parts[0])
            head = self._head(
                group.predicates[0], pinned, counted=retracts and not once, retracts=retracts
            )
            for (rule, _), each in zip(members, parts, strict=True):
                self._connect(rule, each, head)
            heads.append(head)
        self._network.stages.extend(heads)

    def _aggregate(self, rule: Derive, collect: Collect) -> None:
        """The values of an aggregate, or the groups that have a tuple."""
        signature, tuples = rule.atom.signature, collect.source.atom.signature
        found: Fan | Distinct = Fan()
        if signature in self._looked_up:
            found = self._head(signature, False, counted=False, retracts=True).distinct
        else:
            channel = Channel(Kind.PLAIN, found, retracts=True, unique=True)
            self._predicates[signature].channels.append(channel)
        # Whether there is a tuple is known where tuples are counted or added up.
        function = collect.function or self._counting_function(tuples)
        groups = self._aggregates.get((tuples, function))
        if groups is None:
            groups = self._groups(tuples, function, len(collect.group))
            self._aggregates[tuples, function] = groups
        if collect.function is None:
            groups.present = found
        else:
            groups.values = found

    def _groups(
        self, tuples: Signature, function: AggregateFunction, width: int
    ) -> AggregateGroups:
        """The groups of tuples, connected to the rule or the store that they come from."""
        passed = self._passed_on.get(tuples)
        retracts = self._predicates[tuples].channels[0].retracts if passed is None else passed[1]
        groups = AggregateGroups(function, width, self._clock, self._constants, retracts=retracts)
        if passed is None:
            self._predicates[tuples].heads[False].distinct.consumers.append(groups)
        else:
            self._connect(passed[0], self._parts(passed[0], exactly=retracts), groups)
        self._network.keepers.append(groups)
        self._network.labels[groups] = f"{function} of {tuples}"
        self._network.stages.append(groups)
        return groups

    def _derives_tuples_once(self, group: Group) -> bool:
        """Are these tuples of an aggregate, each of which comes from one row of one formula?"""
        rule = group.rules[0]
        if len(group.rules) > 1 or rule.atom.signature not in self._tuples:
            return False
        if len(formulas(rule.source)) != 1 or formulas(rule.source)[0][1]:
            return False
        return derives_once(rule, self._parts(rule, exactly=False))

    def _counting_function(self, tuples: Signature) -> AggregateFunction:
        sources = [rule.source for group in self._plan.groups for rule in group.rules]
        functions = {
            source.function
            for source in sources
            if isinstance(source, Collect) and source.source.atom.signature == tuples
        }
        return "sum" if "sum" in functions else "count"

    def _recursion(self, group: Group) -> None:
        """Predicates that depend on each other, and on nothing that is ever retracted."""
        kinds = dict.fromkeys((rule.atom.signature, rule.time is not None) for rule in group.rules)
        heads = {
            (signature, pinned): self._head(signature, pinned, counted=False, retracts=False)
            for signature, pinned in kinds
        }
        for rule in group.rules:
            head = heads[rule.atom.signature, rule.time is not None]
            self._connect(rule, self._parts(rule, exactly=False), head)
        self._network.stages.append(Recursion(list(heads.values())))

    def _recomputed(self, group: Group, memories: Mapping[Signature, Fan]) -> None:
        """Predicates that depend on each other, and on rows that can be retracted."""
        kinds = dict.fromkeys((rule.atom.signature, rule.time is not None) for rule in group.rules)
        given: list[Head] = []
        scratch: dict[tuple[Signature, bool], Head] = {}
        self._inner = {signature: Predicate() for signature in group.predicates}
        self._inner_keepers = []
        for signature, pinned in kinds:
            given.append(self._head(signature, pinned, counted=False, retracts=self._push))
            distinct = Distinct(signature.arity + pinned, self._clock, counted=False)
            self._inner_keepers.append(distinct)
            self._network.labels[distinct] = f"{'@T ' if pinned else ''}{signature}, recomputed"
            scratch[signature, pinned] = Head(distinct)
            kind = Kind.PINNED if pinned else Kind.PLAIN
            channel = Channel(kind, distinct, retracts=False, unique=True)
            self._inner[signature].channels.append(channel)
        remembered = [self._remembered_rows(group, name, fan) for name, fan in memories.items()]
        starts = [
            start
            for rule in group.rules
            for start in self._connect_inner(
                rule, scratch[rule.atom.signature, rule.time is not None]
            )
        ]
        # Nothing is derived ahead of time inside, so nothing has to be spread as time advances.
        inner = [predicate.spread for predicate in self._inner.values()]
        self._network.spreads = [s for s in self._network.spreads if s not in inner]
        heads = list(scratch.values())
        self._network.stages.append(
            Recomputed(self._clock, heads, given, self._inner_keepers, starts, remembered)
        )
        self._formulas = {
            key: formula
            for key, formula in self._formulas.items()
            if key[0].signature not in self._inner
        }
        self._inner = {}

    def _remembered_rows(self, group: Group, signature: Signature, memory: Fan) -> RememberedRows:
        reaches = [
            seen.reach.past if seen.reach.past is None else seen.reach.past + seen.reach.every
            for rule in group.rules
            for seen, _ in formulas(rule.source)
            if seen.atom.signature == signature
        ]
        known = [reach for reach in reaches if reach is not None]
        longest = max(known, default=0) if len(known) == len(reaches) else None
        remembered_rows = RememberedRows(signature.arity, longest, self._clock)
        memory.consumers.append(remembered_rows)
        self._network.keepers.append(remembered_rows)
        self._network.labels[remembered_rows] = f"remembered {signature}"
        channel = Channel(Kind.MEMORY, remembered_rows.fan, retracts=False, unique=True)
        self._inner[signature].channels.append(channel)
        return remembered_rows

    def _connect_inner(self, rule: Derive, head: Head) -> Iterable[tuple[Firing, Distinct | None]]:
        """Let the recursion fire a rule; otherwise yield the firing and the formula that does."""
        parts = self._parts(rule, exactly=False)
        stored = stored_parts(rule, parts)
        inner = [n for n, part in enumerate(stored) if part.seen.atom.signature in self._inner]
        for number in inner:
            parts[number].sink.consumers.append(self._firing(rule, stored, number, head))
        if not inner:
            first = next((n for n, part in enumerate(stored) if not part.negated), None)
            source = None if first is None else stored[first].distinct
            yield self._firing(rule, stored, first, head), source

    def _head(self, signature: Signature, pinned: bool, *, counted: bool, retracts: bool) -> Head:
        distinct = Distinct(signature.arity + pinned, self._clock, counted=counted)
        self._network.keepers.append(distinct)
        self._network.labels[distinct] = f"{'@T ' if pinned else ''}{signature}"
        head = Head(distinct)
        predicate = self._predicates[signature]
        predicate.heads[pinned] = head
        kind = Kind.PINNED if pinned else Kind.PLAIN
        predicate.channels.append(Channel(kind, distinct, retracts=retracts, unique=True))
        return head

    def _memories(self, group: Group) -> dict[Signature, Fan]:
        """The inputs of remembered atoms; the rules of a recursion read them, too."""
        remembered = self._checked.program.remembered
        return {name: self._memory(name) for name in group.predicates if name in remembered}

    def _memory(self, signature: Signature) -> Fan:
        fan = Fan()
        channel = Channel(Kind.MEMORY, fan, retracts=False, unique=True)
        self._predicates[signature].channels.append(channel)
        return fan

    def _remember(self, signature: Signature, fan: Fan, *, late: bool) -> None:
        memory = Memory(self._clock, self._output(signature), fan, late)
        self._network.memories.append(memory)
        self._network.stages.append(memory)

    def _output(self, signature: Signature) -> Distinct:
        """The rows of a predicate that hold at the evaluation time."""
        predicate = self._predicates[signature]
        if list(predicate.heads) == [False]:
            return predicate.heads[False].distinct
        sink = self._formula(whole(signature)).sink
        if not isinstance(sink, Distinct):
            raise TypeError("an output needs a store")
        return sink

    # Rules

    def _parts(self, rule: Derive, *, exactly: bool) -> list[Formula]:
        """The formulas of a rule.

        Where derivations are counted, formulas of one shape in one rule must not share a store: a
        row that is new in both would be counted twice.
        """
        copies: dict[Shape, int] = {}
        found: dict[int, Formula] = {}
        parts = list(enumerate(formulas(rule.source)))
        # Negated formulas come first, so that less is derived only to be retracted.
        for number, (seen, _) in sorted(parts, key=lambda part: not part[1][1]):
            shape = shape_of(seen)
            copy = copies.get(shape, 0) if exactly else 0
            copies[shape] = copy + 1
            found[number] = self._formula(shape, copy)
        return [found[number] for number, _ in parts]

    def _formula(self, shape: Shape, copy: int = 0) -> Formula:
        key = (shape, copy)
        if key not in self._formulas:
            inner = self._inner.get(shape.signature)
            predicate = inner or self._predicates[shape.signature]
            keepers = self._inner_keepers if inner else self._network.keepers
            if shape == whole(shape.signature) and self._is_kept(shape.signature):
                self._formulas[key] = Formula(predicate.heads[False].distinct, unique=True)
            else:
                self._formulas[key] = self._formula_builder.formula(shape, predicate, keepers)
        return self._formulas[key]

    def _is_kept(self, signature: Signature) -> bool:
        """Does the head of a predicate keep all that holds at the evaluation time?

        A rule that reads it in two places needs stores of its own: a new row would be new in both
        places at once.
        """
        if signature in self._inner or signature in self._read_twice:
            return False
        if False not in self._predicates[signature].heads:
            return False
        kinds = [channel.kind for channel in self._predicates[signature].channels]
        return [kind for kind in kinds if kind is not Kind.MEMORY] == [Kind.PLAIN]

    def _connect(self, rule: Derive, parts: Sequence[Formula], head: Target) -> None:
        stored = stored_parts(rule, parts)
        for number, part in enumerate(parts):
            part.sink.consumers.append(self._firing(rule, stored, number, head))
        if all(part.negated for part in stored):
            self._network.starters.append(self._firing(rule, stored, None, head))

    def _firing(
        self, rule: Derive, stored: Sequence[Stored], trigger: int | None, head: Target
    ) -> Firing:
        fired, program = compile_firing(rule, stored, trigger, self._clock, self._constants)
        sign = -1 if trigger is not None and stored[trigger].negated else 1
        needs = tuple(step.index.store for step in fired if isinstance(step, JoinStep))
        label = derive_text(rule)
        return Firing(fired, program, sign, head, self._tally, self._clock, needs, label)
