"""The static encoding (Algorithm 1 of the Ticker paper), before it meets a solver.

Every extended atom becomes a relation of its own. What it sees of the input and the background is
known at every tick without the solver: such relations are given. What it sees of derived atoms is
defined by rules over the relations of the predicates. A predicate that some head places at a time
point has the time as its last column; all others hold at the evaluation time alone.

Two things differ from the paper. Input windows are given as their contents, so the encoding does
not grow with them. And `always` is the conjunction over the time points of its window, so it is
exact also in recursion; without recursion it is the absence of a counterexample.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element, Signature
from larspark.base.terms import Constant, Term, Variable, Wildcard
from larspark.logic.graph import component_numbers
from larspark.run.answer_sets.plain_rules import (
    NOW,
    Condition,
    ExtendedAtom,
    InTimeline,
    IsTime,
    Mode,
    PinnedAtom,
    PlainRule,
    TimePoint,
    Windows,
)


class NotEncodableError(Exception):
    """The program is plain, but not covered by this encoding."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A column of a relation, in the pattern of the atoms that it is made from."""

    column: int


@dataclass(frozen=True, slots=True)
class AtomFeed:
    """The rows of an extended atom over the input and the background.

    The pattern's arguments are constants, wildcards, and the columns that they fill.
    """

    signature: Signature
    pattern: tuple[Constant | Wildcard | Slot, ...]
    windows: Windows
    mode: Mode


@dataclass(frozen=True, slots=True)
class NowFeed:
    """The evaluation time, if the windows leave it in the timeline."""

    windows: Windows


@dataclass(frozen=True, slots=True)
class SoleFeed:
    """The evaluation time, if the windows leave nothing but it."""

    windows: Windows


@dataclass(frozen=True, slots=True)
class LastFeed:
    """The last time point that the windows leave."""

    windows: Windows


@dataclass(frozen=True, slots=True)
class PointsFeed:
    """All time points that the windows leave."""

    windows: Windows


Feed: TypeAlias = AtomFeed | NowFeed | SoleFeed | LastFeed | PointsFeed


@dataclass(frozen=True, slots=True)
class Within:
    """The value of a term lies in the timeline that the windows leave."""

    term: Term
    windows: Windows


CoreCondition: TypeAlias = Condition | Within


@dataclass(frozen=True, slots=True)
class CoreAtom:
    """A relation applied to constants, variables and (in positive bodies) wildcards."""

    relation: int
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class CoreRule:
    """Without a head it is a constraint, with several heads a disjunction."""

    heads: tuple[CoreAtom, ...]
    positive: tuple[CoreAtom, ...]
    negative: tuple[CoreAtom, ...] = ()
    conditions: tuple[CoreCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class AlwaysRule:
    """A row is in `head` when it is in `moments` at every time point that the windows leave."""

    head: int
    moments: int
    windows: Windows


@dataclass(slots=True)
class Core:
    """A program over relations; `given` are those whose rows come from outside."""

    arities: list[int] = field(default_factory=list)
    # The given relation that holds the evaluation time alone.
    now: int = -1
    given: dict[int, Feed] = field(default_factory=dict)
    # The relations of derived predicates, each with whether its last column is a time.
    predicates: dict[Signature, tuple[int, bool]] = field(default_factory=dict)
    rules: list[CoreRule | AlwaysRule] = field(default_factory=list)

    def relation(self, arity: int) -> int:
        self.arities.append(arity)
        return len(self.arities) - 1


def element_of(signature: Signature, row: Sequence[Constant], pinned: bool, t: int) -> Element:
    """The element that a row of a predicate's relation stands for at the evaluation time t."""
    if not pinned:
        return Element(t, Atom(signature.predicate, tuple(row)))
    *args, time = row
    return Element(time if isinstance(time, int) else t, Atom(signature.predicate, tuple(args)))


def encode(checked: Checked, rules: Sequence[PlainRule], background: Iterable[Atom]) -> Core:
    """The encoding of a plain program."""
    return _Encoder(checked, rules, background).core


class _Encoder:
    def __init__(
        self, checked: Checked, rules: Sequence[PlainRule], background: Iterable[Atom]
    ) -> None:
        self.core = Core()
        self._remembered = checked.program.remembered & checked.derived
        self._background = checked.background_signatures | {atom.signature for atom in background}
        self._open_end = checked.future_heads
        self._from_outside = (checked.inputs | self._background | self._remembered) - (
            checked.derived - self._remembered
        )
        self._feeds: dict[Feed, int] = {}
        self._aux: dict[AtomFeed, int] = {}
        placed = {
            head.atom.signature for rule in rules for head in rule.heads if head.time is not None
        }
        for signature in sorted(checked.derived):
            pinned = signature in placed or signature in self._remembered
            number = self.core.relation(signature.arity + pinned)
            self.core.predicates[signature] = (number, pinned)
        self.core.now = self._feed(NowFeed(()))
        for rule in rules:
            self._rule(rule)
        offered = {h.atom.signature for rule in rules if len(rule.heads) > 1 for h in rule.heads}
        for signature in sorted(offered & self._remembered):
            self._satisfied(signature)

    def _satisfied(self, signature: Signature) -> None:
        """A disjunction is satisfied where the stream remembers one of its atoms."""
        number, _ = self.core.predicates[signature]
        pattern = _all_columns(signature)
        terms = tuple(Variable(f"#{column}") for column in range(signature.arity + 1))
        known = self._feed(AtomFeed(signature, pattern, (), Mode.AT))
        rule = CoreRule((CoreAtom(number, terms),), (CoreAtom(known, terms),))
        self.core.rules.append(rule)

    def _rule(self, rule: PlainRule) -> None:
        now: dict[CoreAtom, None] = {}
        heads = tuple(self._head(head, now) for head in rule.heads)
        positive = [self._literal(atom, now, negated=False) for atom in rule.positive]
        negative = [self._literal(atom, now, negated=True) for atom in rule.negative]
        # Where a positive atom is looked for in the timeline its time is a point of it.
        times = {atom.time for atom in rule.positive if atom.mode is Mode.AT}
        times |= {point.time for point in rule.points}
        conditions = [
            condition
            for condition in rule.conditions
            if not (isinstance(condition, InTimeline | IsTime) and condition.term in times)
        ]
        body = (*now, *map(self._point, rule.points), *positive)
        self.core.rules.append(CoreRule(heads, body, tuple(negative), tuple(conditions)))

    def _point(self, point: TimePoint) -> CoreAtom:
        if self._open_end and all(window.bounds is None for window in point.windows):
            raise NotEncodableError
        feed = NowFeed(NOW) if point.windows == NOW else PointsFeed(point.windows)
        return CoreAtom(self._feed(feed), (point.time,))

    def _head(self, head: PinnedAtom, now: dict[CoreAtom, None]) -> CoreAtom:
        number, pinned = self.core.predicates[head.atom.signature]
        if not pinned:
            return CoreAtom(number, head.atom.args)
        time = self._now(now) if head.time is None else head.time
        return CoreAtom(number, (*head.atom.args, time))

    def _now(self, now: dict[CoreAtom, None]) -> Term:
        variable = Variable("#now")
        now[CoreAtom(self.core.now, (variable,))] = None
        return variable

    def _literal(
        self, extended: ExtendedAtom, now: dict[CoreAtom, None], *, negated: bool
    ) -> CoreAtom:
        args = extended.atom.args
        wild = any(isinstance(term, Wildcard) for term in args)
        direct = self._direct(extended) if not (wild and negated) else None
        if direct is not None:
            if extended.mode is Mode.AT and extended.time is not None:
                return CoreAtom(direct, (*args, extended.time))
            if len(args) < self.core.arities[direct]:
                return CoreAtom(direct, (*args, self._now(now)))
            return CoreAtom(direct, args)
        names = dict.fromkeys(term for term in args if isinstance(term, Variable))
        slots = {variable: Slot(column) for column, variable in enumerate(names)}
        pattern = tuple(slots[t] if isinstance(t, Variable) else _given(t) for t in args)
        feed = AtomFeed(extended.atom.signature, pattern, extended.windows, extended.mode)
        time = () if extended.time is None else (extended.time,)
        return CoreAtom(self._relation(feed), (*names, *time))

    def _direct(self, extended: ExtendedAtom) -> int | None:
        """The predicate's own relation, where the extended atom sees just that."""
        signature = extended.atom.signature
        if signature not in self.core.predicates or signature in self._from_outside:
            return None
        number, pinned = self.core.predicates[signature]
        if extended.mode is Mode.SOME and extended.windows == NOW:
            return number
        if extended.mode is Mode.AT and not extended.windows and pinned:
            return number
        return None

    def _relation(self, feed: AtomFeed) -> int:
        derived = feed.signature in self.core.predicates and _shows_derived(feed)
        if not derived:
            return self._feed(feed)
        if feed in self._aux:
            return self._aux[feed]
        columns = sum(isinstance(part, Slot) for part in dict.fromkeys(feed.pattern))
        number = self._aux[feed] = self.core.relation(columns + (feed.mode is Mode.AT))
        variables = tuple(Variable(f"#{column}") for column in range(columns))
        args = tuple(variables[p.column] if isinstance(p, Slot) else p for p in feed.pattern)
        base, pinned = self.core.predicates[feed.signature]
        if pinned and feed.mode is Mode.ALWAYS:
            moments = base
            if feed.signature in self._from_outside or feed.pattern != _all_columns(feed.signature):
                at = AtomFeed(feed.signature, feed.pattern, feed.windows, Mode.AT)
                moments = self._relation(at)
            self.core.rules.append(AlwaysRule(number, moments, feed.windows))
            self._feed(LastFeed(feed.windows))
            self._feed(PointsFeed(feed.windows))
            return number
        if feed.signature in self._from_outside:
            given = (*variables, *([Variable("#t")] if feed.mode is Mode.AT else []))
            source = CoreAtom(self._feed(feed), given)
            self.core.rules.append(CoreRule((CoreAtom(number, given),), (source,)))
        if pinned:
            self._from_pinned(number, variables, CoreAtom(base, args), feed)
        else:
            self._from_now(number, variables, CoreAtom(base, args), feed)
        return number

    def _from_pinned(
        self, number: int, variables: tuple[Variable, ...], atom: CoreAtom, feed: AtomFeed
    ) -> None:
        time = Variable("#t")
        source = CoreAtom(atom.relation, (*atom.terms, time))
        head = CoreAtom(number, (*variables, time) if feed.mode is Mode.AT else variables)
        if feed.windows == NOW:
            now = CoreAtom(self.core.now, (time,))
            self.core.rules.append(CoreRule((head,), (now, source)))
        else:
            # Derived atoms lie in the timeline anyway.
            conditions = (Within(time, feed.windows),) if feed.windows else ()
            self.core.rules.append(CoreRule((head,), (source,), (), conditions))

    def _from_now(
        self, number: int, variables: tuple[Variable, ...], atom: CoreAtom, feed: AtomFeed
    ) -> None:
        time = Variable("#t")
        when = SoleFeed if feed.mode is Mode.ALWAYS else NowFeed
        seen = CoreAtom(self._feed(when(feed.windows)), (time,))
        head = CoreAtom(number, (*variables, time) if feed.mode is Mode.AT else variables)
        self.core.rules.append(CoreRule((head,), (seen, atom)))

    def _feed(self, feed: Feed) -> int:
        if feed not in self._feeds:
            if isinstance(feed, AtomFeed) and self._is_endless(feed):
                raise NotEncodableError
            columns = 1
            if isinstance(feed, AtomFeed):
                columns = len({part for part in feed.pattern if isinstance(part, Slot)})
                columns += feed.mode is Mode.AT
            self._feeds[feed] = self.core.relation(columns)
            self.core.given[self._feeds[feed]] = feed
        return self._feeds[feed]

    def _is_endless(self, feed: AtomFeed) -> bool:
        """Would the rows name every time point of an open timeline?

        Background atoms hold at all of them, so it takes a formula that says which to look at.
        """
        unbounded = all(window.filters is not None for window in feed.windows)
        in_background = feed.signature in self._background
        return self._open_end and unbounded and in_background and feed.mode is Mode.AT


def _all_columns(signature: Signature) -> tuple[Slot, ...]:
    """The pattern that every atom of a predicate matches."""
    return tuple(Slot(column) for column in range(signature.arity))


def _given(term: Term) -> Constant | Wildcard:
    if not isinstance(term, int | float | str | Wildcard):
        raise NotEncodableError
    return term


def _shows_derived(feed: AtomFeed) -> bool:
    """Do the windows let derived atoms of the predicate through?"""
    for window in feed.windows:
        if window.filters is not None:
            patterns = [p for p in window.filters if p.signature == feed.signature]
            if not patterns:
                return False
            if not any(all(isinstance(term, Wildcard) for term in p.args) for p in patterns):
                raise NotEncodableError
        elif window.hides_atoms:
            raise NotEncodableError
        elif window.selects_input:
            return False
    return True


def recursive(core: Core) -> frozenset[int]:
    """The relations that can depend on themselves through positive literals."""
    successors = _successors(core, negative=False)
    home = component_numbers(successors)
    size = Counter(home.values())
    return frozenset(n for n, needed in successors.items() if size[home[n]] > 1 or n in needed)


def undetermined(core: Core) -> frozenset[int]:
    """The relations whose rows can differ from answer stream to answer stream.

    Choices come from disjunctions and from circles through negation; what depends on a choice is
    undetermined too.
    """
    successors = _successors(core, negative=True)
    home = component_numbers(successors)
    choosing: set[int] = set()
    for rule in core.rules:
        if isinstance(rule, AlwaysRule):
            continue
        for head in rule.heads:
            circle = any(home[atom.relation] == home[head.relation] for atom in rule.negative)
            if circle or len(rule.heads) > 1:
                choosing.add(home[head.relation])
    # A component's number is above the numbers of all components that it depends on.
    for number in sorted(successors, key=lambda n: home[n]):
        if any(home[other] in choosing for other in successors[number]):
            choosing.add(home[number])
    return frozenset(n for n in successors if home[n] in choosing)


def comparable(core: Core, shown: frozenset[Signature]) -> bool:
    """Can the output of one answer stream be a part of the output of another?

    Answer streams are not; but an output can leave out what makes the difference.
    """
    choices = undetermined(core)
    chosen = {p: pinned for p, (number, pinned) in core.predicates.items() if number in choices}
    return any(pinned or p not in shown for p, pinned in chosen.items())


def _successors(core: Core, *, negative: bool) -> dict[int, dict[int, None]]:
    """The relations that each relation is defined by."""
    successors: dict[int, dict[int, None]] = {number: {} for number in range(len(core.arities))}
    for rule in core.rules:
        if isinstance(rule, AlwaysRule):
            successors[rule.head][rule.moments] = None
            continue
        body = (*rule.positive, *rule.negative) if negative else rule.positive
        for head in rule.heads:
            successors[head.relation].update((atom.relation, None) for atom in body)
    return successors
