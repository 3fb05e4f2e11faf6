"""The answers that all candidates together stand for at a time point."""

from collections.abc import Iterator, Mapping, Sequence

from larspark.base.atoms import Signature
from larspark.base.terms import Constant
from larspark.run.hypothetical.answers import HypotheticalAnswer, shown, values
from larspark.run.hypothetical.candidates import Candidate, Candidates
from larspark.run.hypothetical.dataset import History, Row
from larspark.run.hypothetical.dominance import Rivals, minimal_answers
from larspark.run.hypothetical.horizon import decision_delays, forget_the_past, history_kept
from larspark.run.hypothetical.instances import instances
from larspark.run.hypothetical.literals import Instance
from larspark.run.hypothetical.prepare import Prepared
from larspark.run.hypothetical.prospects import Prospects


class Outlook:
    """The state of a query: candidates, the facts that denials need, and what follows."""

    def __init__(self, prepared: Prepared, keep_certain: bool) -> None:
        if not keep_certain:
            forget_the_past(prepared)
        self._prepared = prepared
        self._delays = decision_delays(prepared.queries)
        self._history = History(history_kept(prepared, forgets=not keep_certain))
        self._prospects = Prospects(prepared.queries, prepared.background, self._history)
        self._rivals = Rivals(prepared.clauses, prepared.background, self._prospects)
        self.candidates = Candidates(prepared.clauses, prepared.background)

    def step(self, t: int, facts: Mapping[Signature, Sequence[Row]]) -> None:
        """Take in the facts of a time point."""
        self._history.add(t, facts)
        self.candidates.step(t, facts)
        self._prospects.forget(t)

    def answers(self, t: int) -> Iterator[HypotheticalAnswer]:
        """The supported answers at t, in no order."""
        groups = self.candidates.groups
        general = [
            instance
            for key in self.candidates.general
            for candidate in groups[key]
            for instance in self.instances(candidate, t)
        ]
        for candidates in groups.values():
            group = [one for candidate in candidates for one in self.instances(candidate, t)]
            for instance in self.minimal(group, general, t):
                yield self.shown(instance, t)

    def instances(self, candidate: Candidate, t: int) -> Iterator[Instance]:
        """What a candidate stands for, minimal or not."""
        return instances(candidate, t, self._prepared.background, self._prospects)

    def minimal(
        self, group: Sequence[Instance], general: Sequence[Instance], t: int
    ) -> list[Instance]:
        """Those that nothing beats, the general ones included."""
        self._rivals.t = t
        return minimal_answers(group, general, self._rivals)

    def shown(self, instance: Instance, t: int) -> HypotheticalAnswer:
        return shown(instance, self._prepared.variables, t, self._delays)

    def values(self, instance: Instance) -> dict[str, Constant | None]:
        return values(instance, self._prepared.variables)
