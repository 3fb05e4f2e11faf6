"""The answers that all candidates together stand for at a time point."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from math import inf

from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant
from larspark.run.hypothetical.answers import HypotheticalAnswer, rank, shown, values
from larspark.run.hypothetical.candidate import Candidate
from larspark.run.hypothetical.candidates import Candidates
from larspark.run.hypothetical.clause import Moments
from larspark.run.hypothetical.dataset import History, Row
from larspark.run.hypothetical.dominance import minimal_answers
from larspark.run.hypothetical.horizon import decision_delays, forget_the_past, history_kept
from larspark.run.hypothetical.instances import Grounding
from larspark.run.hypothetical.literals import Instance
from larspark.run.hypothetical.patterns import Pattern, Slot, put_pattern
from larspark.run.hypothetical.prepare import Prepared
from larspark.run.hypothetical.prospects import Prospects
from larspark.run.hypothetical.rivals import Rivals
from larspark.run.hypothetical.specialise import collapsed

# Answers that lack more facts than this altogether are not listed.
MISSING_LIMIT = 1_000_000


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

    def answers(self, t: int, limit: int | None, certain: bool = True) -> list[HypotheticalAnswer]:
        """The supported answers at t, ranked, and only the first ones if there is a limit.

        Those that are certain are left out unless they are wanted.
        """
        groundings = [
            self._grounding(candidate, t)
            for group in self.candidates.groups.values()
            for candidate in group
        ]
        choices = [
            (missing, number, moments)
            for number, grounding in enumerate(groundings)
            for missing, moments in grounding.choices()
        ]
        choices.sort(key=_missing)
        pool: list[Instance] = []
        kept: list[Instance] = []
        done = 0
        while done < len(choices) and (limit is None or len(kept) < limit):
            # Whoever lacks more beats nobody who lacks less: so go from those who lack least.
            end = len(choices) if limit is None else min(len(choices), 2 * done + 4 * limit)
            while end < len(choices) and choices[end][0] == choices[end - 1][0]:
                end += 1
            _refuse_too_many(sum(missing for missing, _, _ in choices[:end]), t)
            for _, number, moments in choices[done:end]:
                pool += self._at(groundings[number], moments)
            done = end
            general = [instance for instance in pool if is_general(instance.answer)]
            next_size = choices[done][0] if done < len(choices) else inf
            minimal = self.minimal(pool, general, t)
            kept = [
                instance
                for instance in minimal
                if len(instance.hypotheses) < next_size and (certain or instance.hypotheses)
            ]
        found = [self.shown(instance, t) for instance in kept]
        return sorted(found, key=rank) if limit is None else nsmallest(limit, found, key=rank)

    def instances(self, candidate: Candidate, t: int) -> Iterator[Instance]:
        """What a candidate stands for, minimal or not."""
        grounding = self._grounding(candidate, t)
        choices = [*grounding.choices()]
        _refuse_too_many(sum(missing for missing, _ in choices), t)
        for _, moments in choices:
            yield from self._at(grounding, moments)

    def _at(self, grounding: Grounding, moments: Moments) -> Iterator[Instance]:
        if not grounding.is_general:
            return grounding.at(moments)
        return self._with_collapsed(grounding.at(moments))

    def _with_collapsed(self, instances: Iterable[Instance]) -> Iterator[Instance]:
        """The instances, and those whose hypotheses coincide for some values of the answer."""
        for instance in instances:
            yield instance
            for special in collapsed(instance, self._prepared.background):
                if special.answer != instance.answer:
                    yield special

    def _grounding(self, candidate: Candidate, t: int) -> Grounding:
        return Grounding(candidate, t, self._prepared.background, self._prospects)

    def is_steady(self, candidate: Candidate, t: int) -> bool:
        """Do its answers change after t only by facts that come, or do not come?"""
        if any(run.last >= t for _, run in candidate.runs()):
            return False
        denials = candidate.clause.denials
        return all(self._prospects.is_input(d.occurrence.pattern.signature) for d in denials)

    def denied_by(self, candidate: Candidate) -> list[Pattern | Signature]:
        """The input atoms whose arrival may matter to what a candidate denies."""
        clause = candidate.clause
        if not clause.denials:
            return []
        known: dict[str, Slot] = {
            name: value
            for name, value in zip(clause.names, candidate.values, strict=True)
            if value is not None
        }
        patterns = [put_pattern(d.occurrence.pattern, known) for d in clause.denials]
        return [
            pattern
            if all(isinstance(arg, int | float | str) for arg in pattern.args)
            else pattern.signature
            for pattern in patterns
        ]

    @property
    def contested(self) -> bool:
        """Can an answer be beaten by one without evidence?"""
        return self._rivals.exist

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


def is_general(answer: tuple[Slot, ...]) -> bool:
    """Does an answer have variables?"""
    return not all(isinstance(slot, int | float | str) for slot in answer)


def _missing(choice: tuple[int, int, Moments]) -> int:
    return choice[0]


def _refuse_too_many(missing: int, t: int) -> None:
    if missing > MISSING_LIMIT:
        message = f"the answers at {t} lack more than {MISSING_LIMIT} facts altogether"
        hint = "ask for the best ones with a limit, do not follow changes, or use smaller windows"
        raise LarsparkError(Problem("L471", message, hint=hint))
