"""Stages: a program that no single key can partition, evaluated with one key after another.

A stage derives some predicates completely before the next one starts, so that every stage may have
a key of its own:

    hot(M)   :- [5] some temp(M, V), V > 90.          by the machine M
    alarm(H) :- [9] some hot(M), in(M, H).            still by M: the results of shards are merged
    calm(H)  :- open(H), not alarm(H).                by the hall H, when all alarms are known

The atoms that a stage derives are exchanged: redistributed by the key of the stage that reads them.
A predicate that no rule of its own stage reads need not have the key: shards derive it in *parts*,
whose union is the result. That is correct if no shard can derive an atom that does not follow from
all data, that is, if each rule either reads nothing of the stream or needs an atom that only the
shard of its key has. All shards know the atoms without arguments of earlier stages, like background
data.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from larspark.analysis.checked import Checked
from larspark.analysis.dependencies import dependency_graph
from larspark.analysis.partition import (
    Key,
    Need,
    conflict,
    counting_windows,
    extended_key,
    free_predicates,
    key_for,
    need_of,
    stream_atoms,
)
from larspark.analysis.signatures import head_predicates, uses
from larspark.base.atoms import Atom, Signature
from larspark.base.terms import Term, Variable
from larspark.language.tree import Rule
from larspark.logic.graph import strongly_connected
from larspark.logic.traversal import is_one_atom, witnesses


@dataclass(frozen=True, slots=True)
class Stage:
    """Predicates that are derived together, after those of the stages before."""

    derives: frozenset[Signature]
    # What follows from background data alone is not exchanged, but derived wherever it is read.
    again: frozenset[Signature]
    # The predicates of the stream that are read; None for all of them, because tuples are counted.
    inputs: frozenset[Signature] | None
    # What is read of earlier stages; atoms without arguments go to all shards.
    exchanged: frozenset[Signature]
    # Without a key everything meets in one shard.
    key: Key | None
    # What shards derive in parts.
    parts: frozenset[Signature]
    # The rules that fit no stage before, each with the reason.
    reasons: tuple[tuple[int, str], ...]

    @property
    def everywhere(self) -> frozenset[Signature]:
        """The predicates whose atoms are sent to all shards."""
        return _without_arguments(self.exchanged)


def find_stages(checked: Checked) -> tuple[Stage, ...]:
    """The stages of a program; none when choices or constraints bind all values together.

    >>> from larspark.language import parse_program
    >>> from larspark.analysis.check import check
    >>> text = "late(S) :- [5] some bus(B, S), slow(B). calm(S) :- stop(S), not late(S)."
    >>> stages = find_stages(check(parse_program(text).program))
    >>> [{str(p): place for p, place in (stage.key or {}).items()} for stage in stages]
    [{'bus/2': 0, 'slow/1': 0}, {'calm/1': 0, 'late/1': 0, 'stop/1': 0}]
    """
    if checked.several_models:
        return ()
    found = tuple(_Search(checked).stages(keyed_first=True))
    if all(stage.key for stage in found):
        return found
    return min(found, tuple(_Search(checked).stages(keyed_first=False)), key=len)


def restricted(checked: Checked, stage: Stage) -> Checked:
    """The part of a program that a stage works on; its time is that of the whole program."""
    derived = stage.derives | stage.again
    rules = tuple(rule for rule in checked.rules if head_predicates(rule.head) & derived)
    return replace(checked, rules=rules, derived=derived, shown=checked.shown & stage.derives)


def kept_apart(checked: Checked, stage: Stage) -> frozenset[Signature]:
    """What a stage derives of a key's value only where the facts with this value are."""
    local = _Search(checked, stage.everywhere).local(stage.derives)
    return (local & stage.derives) - stage.parts


@dataclass(frozen=True, slots=True)
class _Draft:
    """A stage under construction: its groups, and the key that divides them."""

    # What a shard has only if the key's value is its own.
    local: frozenset[Signature]
    key: Key = field(default_factory=dict)
    parts: frozenset[Signature] = frozenset()
    # What each rule asks of the key.
    needs: Mapping[int, Need] = field(default_factory=dict)
    taken: Sequence[frozenset[Signature]] = ()

    def key_with(self, needs: Mapping[int, Need]) -> Key | None:
        """A key for further needs, too; if possible the same, with more predicates."""
        if any(need.obstacle for need in needs.values()):
            return None
        more = extended_key(self.key, list(needs.values()))
        return key_for([*{**self.needs, **needs}.values()]) if more is None else more


class _Search:
    """Puts groups of predicates that depend on each other into stages, as many into each as fit."""

    def __init__(self, checked: Checked, everywhere: Iterable[Signature] = ()) -> None:
        self._checked = checked
        groups = list(_groups(checked))
        self._free = _free(checked, groups)
        # What every shard of the stage at hand has: background data, and atoms without arguments.
        self._shared = self._free.union(everywhere)
        self._groups = [group for group in groups if not group <= self._free]
        self._deriving: dict[Signature, list[int]] = {}
        for number, rule in enumerate(checked.rules):
            for predicate in head_predicates(rule.head):
                self._deriving.setdefault(predicate, []).append(number)
        self._asked = [
            frozenset(atom.signature for atom in stream_atoms(rule.body, self._free))
            for rule in checked.rules
        ]
        self._witnesses = [frozenset().union(*map(witnesses, rule.body)) for rule in checked.rules]

    def stages(self, keyed_first: bool) -> Iterator[Stage]:
        """Stages, as far as there is a choice first those with a key or first those without."""
        waiting = list(self._groups)
        done: set[Signature] = set()
        why: dict[frozenset[Signature], list[tuple[int, str]]] = {}
        before: frozenset[Signature] = frozenset()
        while waiting:
            draft = self._keyed(waiting, done, why)
            alone = [] if draft.taken and keyed_first else self._unkeyed(waiting, done)
            if alone:
                draft = _Draft(draft.local, taken=alone)
            derives = frozenset().union(*draft.taken)
            reasons = [reason for group in draft.taken for reason in why.get(group, ())]
            if done and not reasons:
                reasons = self._waits(derives, before)
            if not done:
                derives |= self._free & self._checked.derived
            yield self._stage(derives, draft, reasons)
            before = derives
            done |= derives
            self._shared |= _without_arguments(derives)
            waiting = [group for group in waiting if group not in draft.taken]

    def local(self, derives: frozenset[Signature]) -> frozenset[Signature]:
        """The predicates whose atoms a shard has only if the key's value is its own."""
        return self._grown(self._given(), derives)

    def _given(self) -> frozenset[Signature]:
        """What only one shard has without deriving it; earlier stages also send to one shard."""
        found = self._checked.inputs - self._checked.background_signatures
        return (found | self._checked.derived) - self._shared

    def _grown(
        self, local: frozenset[Signature], derives: frozenset[Signature]
    ) -> frozenset[Signature]:
        found = local | (derives - self._shared)
        while lost := {p for p in found & derives if not self._is_local(p, found)}:
            found -= lost
        return found

    def _is_local(self, predicate: Signature, local: frozenset[Signature]) -> bool:
        return all(self._needs_own(number, local) for number in self._deriving[predicate])

    def _needs_own(self, number: int, local: frozenset[Signature]) -> bool:
        """Does a rule need an atom that only the shard of its key has?"""
        return not self._witnesses[number].isdisjoint(local)

    def _keyed(
        self,
        waiting: Sequence[frozenset[Signature]],
        done: set[Signature],
        why: dict[frozenset[Signature], list[tuple[int, str]]],
    ) -> "_Draft":
        """All groups that one key divides; of those that would be ready, why they do not fit."""
        draft = _Draft(self._given())
        known = set(done)
        for group in waiting:
            if not self._is_ready(group, known):
                continue
            found = self._with(draft, group)
            if found is None:
                why[group] = self._reasons(draft, group)
            else:
                draft = found
                known |= group
        return draft

    def _unkeyed(
        self, waiting: Sequence[frozenset[Signature]], done: set[Signature]
    ) -> list[frozenset[Signature]]:
        """All groups that are ready, or become so, and have no key even alone."""
        taken: list[frozenset[Signature]] = []
        known = set(done)
        for group in waiting:
            if self._is_ready(group, known) and not self._has_key(group, taken):
                taken.append(group)
                known |= group
        return taken

    def _has_key(self, group: frozenset[Signature], before: Sequence[frozenset[Signature]]) -> bool:
        """Has a group a key, once the atoms derived before are exchanged?"""
        shared = self._shared
        self._shared = shared.union(*map(_without_arguments, before))
        found = self._with(_Draft(self._given()), group)
        self._shared = shared
        return bool(found and found.key)

    def _is_ready(self, group: frozenset[Signature], known: set[Signature]) -> bool:
        asked = frozenset().union(*(self._asked[number] for number in self._rules(group)))
        return (asked & self._checked.derived) - group <= known

    def _read(self, rules: Iterable[int]) -> frozenset[Signature]:
        """What rules read that not all shards have."""
        return frozenset().union(*(self._asked[number] for number in rules)) - self._shared

    def _with(self, draft: "_Draft", group: frozenset[Signature]) -> "_Draft | None":
        """A draft with one more group, if necessary derived in parts; None when it does not fit."""
        rules = self._rules(group)
        read = self._read(rules)
        local = self._grown(draft.local, group)
        can_be = frozenset(p for p in group - read if self._has_sound_parts(p, local))
        # What the group reads has to be whole now, though no other rule has asked for that.
        whole = self._rules(draft.parts & read)
        for new in dict.fromkeys((frozenset[Signature](), can_be)):
            parts = (draft.parts - read) | new
            needs = {need.rule: need for need in self._needs([*whole, *rules], parts)}
            key = draft.key_with(needs)
            if key is not None:
                taken = [*draft.taken, group]
                return _Draft(local, key, parts, {**draft.needs, **needs}, taken)
        return None

    def _has_sound_parts(self, predicate: Signature, local: frozenset[Signature]) -> bool:
        return all(
            not self._read([number]) or self._needs_own(number, local)
            for number in self._deriving[predicate]
        )

    def _needs(self, rules: Sequence[int], in_parts: frozenset[Signature]) -> list[Need]:
        return [
            self._need(number, self._checked.rules[number], in_parts)
            for number in rules
            if self._read([number])
        ]

    def _need(self, number: int, rule: Rule, in_parts: frozenset[Signature]) -> Need:
        read = stream_atoms(rule.body, self._shared)
        heads = stream_atoms((rule.head,), self._shared | in_parts)
        if len(read) == 1 and not heads and self._looks_for_one_atom(rule):
            # Whatever its arguments are: one shard has the atom, and that is enough.
            return need_of(number, rule, (_with_variables(read[0]),))
        return need_of(number, rule, (*heads, *read))

    def _looks_for_one_atom(self, rule: Rule) -> bool:
        reading = [part for part in rule.body if stream_atoms((part,), self._shared)]
        return len(reading) == 1 and is_one_atom(reading[0])

    def _reasons(self, draft: "_Draft", group: frozenset[Signature]) -> list[tuple[int, str]]:
        """The rules that keep a group out of a stage."""
        needs = self._needs(self._rules(group), frozenset())
        obstacles = [(need.rule, need.obstacle) for need in needs if need.obstacle]
        if obstacles:
            return obstacles
        read = draft.parts & self._read(self._rules(group))
        before = {need.rule: need for need in self._needs(self._rules(read), frozenset())}
        for number, need in enumerate(needs):
            known = {**before, **{each.rule: each for each in needs[:number]}}
            key = draft.key_with(known)
            if key is not None and draft.key_with({**known, need.rule: need}) is None:
                return [(need.rule, conflict(need, key))]
        # What was derived in parts so far has to be whole, and then there is no key any more.
        whole = ", ".join(f"`{p}`" for p in sorted(read))
        reading = [n for n in self._rules(group) if self._asked[n] & read]
        return [(n, f"it has to wait until all shards have derived {whole}") for n in reading[:1]]

    def _waits(
        self, derives: frozenset[Signature], before: frozenset[Signature]
    ) -> list[tuple[int, str]]:
        """A rule that waits only for what the stage before derives."""
        for number in self._rules(derives):
            needed = sorted(self._asked[number] & before)
            if needed:
                return [(number, f"it reads `{needed[0]}`, which is derived before")]
        return []

    def _rules(self, derives: frozenset[Signature]) -> list[int]:
        return sorted({number for p in derives for number in self._deriving[p]})

    def _stage(
        self, derives: frozenset[Signature], draft: "_Draft", reasons: Sequence[tuple[int, str]]
    ) -> Stage:
        again: set[Signature] = set()
        pending = set(derives)
        rules: set[int] = set()
        while pending:
            rules |= set(self._rules(frozenset(pending)))
            asked = {use.signature for n in rules for use in uses(self._checked.rules[n])}
            pending = (asked & self._free & self._checked.derived) - again - derives
            again |= pending
        asked = {use.signature for n in rules for use in uses(self._checked.rules[n])}
        counts = not draft.key and any(_counts_all(self._checked.rules[n]) for n in rules)
        return Stage(
            derives=derives,
            again=frozenset(again),
            inputs=None if counts else frozenset(asked) - self._checked.derived - self._free,
            exchanged=(frozenset(asked) & self._checked.derived) - derives - again,
            key=dict(sorted(draft.key.items())) or None,
            parts=draft.parts if draft.key else frozenset(),
            reasons=tuple(reasons),
        )


def _groups(checked: Checked) -> Iterator[frozenset[Signature]]:
    """The derived predicates in groups, each after what it needs; a rule derives into one group."""
    return strongly_connected(dependency_graph(checked))


def _free(checked: Checked, groups: Sequence[frozenset[Signature]]) -> frozenset[Signature]:
    """Background data and what follows from it alone, group by group."""
    free = set(free_predicates(checked))
    for group in groups:
        asked = {edge.body for edge in checked.edges if edge.head in group}
        if not group <= free or not asked <= free | group:
            free -= group
    return frozenset(free)


def _without_arguments(signatures: Iterable[Signature]) -> frozenset[Signature]:
    return frozenset(signature for signature in signatures if not signature.arity)


def _counts_all(rule: Rule) -> bool:
    """Does the rule look through a window that counts elements of any predicate?"""
    return any(
        not window.is_known or (not window.keys and not filters)
        for window, filters, _ in counting_windows(rule)
    )


def _with_variables(atom: Atom) -> Atom:
    """The atom with a variable of its own wherever there is none."""
    args: list[Term] = [
        term if isinstance(term, Variable) else Variable(f"_{place}")
        for place, term in enumerate(atom.args)
    ]
    return Atom(atom.predicate, tuple(args))
