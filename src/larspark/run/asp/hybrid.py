"""Labels for what has one answer, a solver for what has several.

Ground rules whose heads are the same in all answer streams go to a truth maintenance network, which
needs no search for them. All other rules go to the solver, without the literals that the network
decides: a rule is switched on while those hold. So the solver sees the choices and nothing else.
"""

from collections.abc import Callable, Iterable

from larspark.run.asp.live import LiveProgram
from larspark.run.tms.network import Network


class HybridRule:
    """A rule for the solver; `wanted` is what the grounder says, `obstacles` what the labels do."""

    __slots__ = (
        "conditions",
        "heads",
        "lasting",
        "live",
        "negative",
        "obstacles",
        "positive",
        "wanted",
    )

    def __init__(
        self,
        heads: tuple[int, ...],
        positive: tuple[int, ...],
        negative: tuple[int, ...],
        conditions: dict[int, bool],
        lasting: bool,
    ) -> None:
        self.heads = heads
        self.positive = positive
        self.negative = negative
        # The atoms that labels decide, with the truth that the rule needs.
        self.conditions = conditions
        self.lasting = lasting
        self.obstacles = 0
        self.wanted = True
        # Its number in the solver, once it was on.
        self.live: int | None = None


class HybridRules:
    """Ground rules, shared out between network and solver; see `GroundRules`."""

    def __init__(
        self, network: Network, live: LiveProgram, is_settled: Callable[[int], bool]
    ) -> None:
        self._network = network
        self._live = live
        self._is_settled = is_settled
        self._labelled: dict[int, int] = {}
        self._rules: dict[int, HybridRule] = {}
        self._watchers: dict[int, dict[HybridRule, None]] = {}
        self._holding: set[int] = set()
        self._touched: dict[HybridRule, None] = {}
        self._next = 0

    def add(
        self,
        heads: tuple[int, ...],
        positive: tuple[int, ...],
        negative: tuple[int, ...],
        *,
        lasting: bool,
    ) -> int:
        self._next += 1
        if len(heads) == 1 and self._is_settled(heads[0]):
            self._labelled[self._next] = self._network.add(heads, positive, negative)
            return self._next
        conditions = {atom: True for atom in positive if self._is_settled(atom)}
        denied = [atom for atom in negative if self._is_settled(atom)]
        rule = HybridRule(
            heads,
            tuple(atom for atom in positive if atom not in conditions),
            tuple(atom for atom in negative if atom not in denied),
            conditions | dict.fromkeys(denied, False),
            lasting and not conditions and not denied,
        )
        # An atom that is needed and denied at once is an obstacle whatever its label.
        rule.obstacles = len(conditions.keys() & denied)
        for atom, needed in rule.conditions.items():
            self._watchers.setdefault(atom, {})[rule] = None
            rule.obstacles += (atom in self._holding) is not needed
        self._rules[self._next] = rule
        self._touched[rule] = None
        return self._next

    def suspend(self, rule: int) -> None:
        self._want(rule, False)

    def resume(self, rule: int) -> None:
        self._want(rule, True)

    def drop(self, rule: int) -> None:
        labelled = self._labelled.pop(rule, None)
        if labelled is not None:
            self._network.drop(labelled)
            return
        gone = self._rules.pop(rule)
        self._touched.pop(gone, None)
        for atom in gone.conditions:
            watchers = self._watchers[atom]
            del watchers[gone]
            if not watchers:
                del self._watchers[atom]
        if gone.live is not None:
            self._live.drop(gone.live)

    def forget(self, atom: int) -> None:
        self._network.forget(atom)
        self._live.forget(atom)

    def flush(self) -> Iterable[int]:
        """Bring labels and solver up to date; gives the atoms whose label may have changed."""
        self._network.relabel()
        changed = list(self._network.changes())
        for atom in changed:
            self._relabelled(atom)
        for rule in self._touched:
            self._switch(rule)
        self._touched.clear()
        self._live.flush()
        return changed

    def _want(self, number: int, wanted: bool) -> None:
        labelled = self._labelled.get(number)
        if labelled is not None:
            (self._network.resume if wanted else self._network.suspend)(labelled)
            return
        rule = self._rules[number]
        rule.wanted = wanted
        self._touched[rule] = None

    def _relabelled(self, atom: int) -> None:
        holds = self._network.holds(atom)
        if holds is (atom in self._holding):
            return
        (self._holding.add if holds else self._holding.discard)(atom)
        for rule in self._watchers.get(atom, ()):
            rule.obstacles += -1 if rule.conditions[atom] is holds else 1
            self._touched[rule] = None

    def _switch(self, rule: HybridRule) -> None:
        on = rule.wanted and not rule.obstacles
        if rule.live is None:
            if on:
                rule.live = self._live.add(
                    rule.heads, rule.positive, rule.negative, lasting=rule.lasting
                )
        elif on is not self._live.is_active(rule.live):
            (self._live.resume if on else self._live.suspend)(rule.live)
