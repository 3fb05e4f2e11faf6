"""Minimality of answers: an answer is beaten by one that needs fewer hypotheses or less evidence.

Clauses that need only future facts are never candidates, but they can beat an answer (`Rivals`).
"""

from collections.abc import Iterator, Sequence

from larspark.base.terms import Variable, Wildcard
from larspark.run.hypothetical.answer_instances import (
    answer_variables,
    collapsed,
    condensed,
    images,
    is_open,
    places,
    restricted,
    specialised,
    substitute_literal,
)
from larspark.run.hypothetical.clause import Clause, Ends, Premise
from larspark.run.hypothetical.dataset import Background, Undecided, solutions
from larspark.run.hypothetical.patterns import (
    ORIGIN,
    Bindings,
    Instance,
    Literal,
    Prospect,
    Slot,
    Time,
    substitute_condition,
    substitute_pattern,
)
from larspark.run.hypothetical.supported_answers import Absences


class Rivals:
    """Tests whether some hypotheses of an answer suffice without its evidence."""

    def __init__(
        self, clauses: Sequence[Clause], background: Background, absences: Absences
    ) -> None:
        rivals = [one for one in clauses if any(_may_beat(one, other) for other in clauses)]
        self._clauses = [(clause, {p.signature for p in clause.premises}) for clause in rivals]
        self._possible: dict[frozenset[tuple[str, int]], list[Clause]] = {}
        self.background = background
        self._absences = absences
        self.t = 0

    @property
    def exist(self) -> bool:
        return bool(self._clauses)

    def beats(self, instance: Instance) -> bool:
        """Do some of the hypotheses suffice, without additional evidence?"""
        if not instance.hypotheses or not self._clauses:
            return False
        have = frozenset(
            (literal.pattern.predicate, len(literal.pattern.args))
            for literal in instance.hypotheses
            if not literal.negated
        )
        possible = self._possible.get(have)
        if possible is None:
            possible = [clause for clause, wanted in self._clauses if wanted and wanted <= have]
            self._possible[have] = possible
        return any(self._embeds(clause, instance) for clause in possible)

    def _embeds(self, clause: Clause, instance: Instance) -> bool:
        bindings: dict[str, Slot] = {ORIGIN: Time(ORIGIN)}
        ends: tuple[Ends, Ends] | None = (clause.low, clause.high)
        for slot, wanted in zip(clause.goal.answer, instance.answer, strict=True):
            if ends is None:
                return False
            match slot:
                case Variable(name):
                    if bindings.setdefault(name, wanted) != wanted:
                        return False
                case Time(name, offset):
                    if not isinstance(wanted, int):
                        return False
                    number = clause.times.index(name)
                    ends = clause.pinned(*ends, number, wanted - offset)
                case _:
                    if slot != wanted:
                        return False
        if ends is None:
            return False
        return any(self._found(clause, 0, bindings, ends, instance, frozenset()))

    def _found(
        self,
        clause: Clause,
        number: int,
        bindings: dict[str, Slot],
        ends: tuple[Ends, Ends],
        instance: Instance,
        used: frozenset[Literal],
    ) -> Iterator[bool]:
        if number == len(clause.premises):
            yield from self._agrees(clause, bindings, ends, instance, used)
            return
        premise = clause.premises[number]
        for literal in instance.hypotheses:
            if literal.negated or literal.pattern.signature != premise.signature:
                continue
            begun = self._begun(clause, premise, literal, bindings, ends)
            if begun is None:
                continue
            values, then, points = begun
            wanted = self._all_points(premise, values, points, instance)
            if wanted is not None:
                yield from self._found(clause, number + 1, values, then, instance, used | wanted)

    def _begun(
        self,
        clause: Clause,
        premise: Premise,
        literal: Literal,
        bindings: dict[str, Slot],
        ends: tuple[Ends, Ends],
    ) -> tuple[dict[str, Slot], tuple[Ends, Ends], range] | None:
        """The premise matched with its first time point at the literal."""
        if not isinstance(literal.t, int):
            return None
        pinned = clause.pinned(*ends, premise.time, literal.t - premise.first)
        if pinned is None:
            return None
        values = _matched(premise, literal, bindings)
        if values is None:
            return None
        return values, pinned, range(literal.t, literal.t + premise.last - premise.first + 1)

    def _all_points(
        self, premise: Premise, values: dict[str, Slot], points: range, instance: Instance
    ) -> frozenset[Literal] | None:
        found = []
        for point in points:
            at_point = (
                literal
                for literal in instance.hypotheses
                if literal.t == point
                and not literal.negated
                and literal.pattern.signature == premise.signature
                and _matched(premise, literal, values) == values
                and self._fits(premise, literal, values, instance)
            )
            literal = next(at_point, None)
            if literal is None:
                return None
            found.append(literal)
        return frozenset(found)

    def _fits(
        self, premise: Premise, literal: Literal, values: Bindings, instance: Instance
    ) -> bool:
        """Does the literal satisfy the conditions of the premise?"""
        occurrence = premise.occurrence
        own: dict[str, Slot] = {
            slot.name: arg
            for slot, arg in zip(occurrence.pattern.args, literal.pattern.args, strict=True)
            if isinstance(slot, Variable) and slot.name in occurrence.local
        }
        known = {**values, **own}
        conditions = tuple(substitute_condition(c, known) for c in occurrence.conditions)
        rigid = tuple(substitute_pattern(p, known) for p in occurrence.rigid)
        allowed = {restriction.condition for restriction in instance.where}
        return any(
            set(left) <= allowed for _, left in solutions(rigid, conditions, {}, self.background)
        )

    def _agrees(
        self,
        clause: Clause,
        bindings: dict[str, Slot],
        ends: tuple[Ends, Ends],
        instance: Instance,
        used: frozenset[Literal],
    ) -> Iterator[bool]:
        """Do background data, conditions and absences satisfy the clause?"""
        values = {name: slot for name, slot in bindings.items() if name != ORIGIN}
        for moments in clause.moments(*ends):
            timed = clause.timed(values, moments)
            rigid = tuple(substitute_pattern(p, timed) for p in clause.rigid)
            body = clause.goal.body
            checks: list[Undecided] = [substitute_condition(c, timed) for c in body.conditions]
            checks += [substitute_pattern(p, timed) for p in body.missing]
            for _, left in solutions(rigid, checks, {}, self.background):
                if not left and self._absent(clause, timed, instance, used):
                    yield True

    def _absent(
        self,
        clause: Clause,
        bindings: dict[str, Slot],
        instance: Instance,
        used: frozenset[Literal],
    ) -> bool:
        known: set[Literal] = set()
        asked = set(used)
        for denied in clause.denied(bindings):
            if denied.literal in instance.hypotheses:
                asked.add(denied.literal)
            elif self._absences.prospect(denied, self.t) is Prospect.IMPOSSIBLE:
                known.add(denied.literal)
            else:
                return False
        return asked < instance.hypotheses or known < instance.evidence


def _may_beat(clause: Clause, other: Clause) -> bool:
    """Can all premises of a clause match some, but not all, premises of another one?

    For the same clause: only if two of its premises can be the same fact.
    """
    if not clause.premises or not all(map(_may_equal, clause.goal.answer, other.goal.answer)):
        return False
    if clause is other:
        return any(
            one is not two
            and _may_match(one, two)
            and min(clause.ahead(one, two), clause.ahead(two, one)) >= 0
            for one in clause.premises
            for two in clause.premises
        )
    return all(any(_may_match(one, two) for two in other.premises) for one in clause.premises)


def _may_match(one: Premise, other: Premise) -> bool:
    return one.signature == other.signature and all(
        map(_may_equal, one.occurrence.pattern.args, other.occurrence.pattern.args)
    )


def _may_equal(one: Slot, other: Slot) -> bool:
    known = isinstance(one, int | float | str) and isinstance(other, int | float | str)
    return not known or one == other


def _matched(
    premise: Premise, literal: Literal, bindings: dict[str, Slot]
) -> dict[str, Slot] | None:
    """The bindings that match the premise with a literal; local variables match any value."""
    values = dict(bindings)
    local = premise.occurrence.local
    for slot, arg in zip(premise.occurrence.pattern.args, literal.pattern.args, strict=True):
        match slot:
            case Wildcard():
                pass
            case Variable(name):
                if name not in local and values.setdefault(name, arg) != arg:
                    return None
            case Time():
                return None
            case _:
                if slot != arg:
                    return None
    return values


def minimal_answers(
    group: Sequence[Instance], general: Sequence[Instance], rival: Rivals
) -> list[Instance]:
    """The instances that no other one beats.

    `general` are instances with variables in their answers; their instances may beat others.
    """
    by_answer: dict[tuple[Slot, ...], dict[Instance, None]] = {}
    for instance in group:
        instance = condensed(instance, rival.background)
        by_answer.setdefault(instance.answer, {})[instance] = None
    kept: list[Instance] = []
    for answer, own in by_answer.items():
        special = (specialised(other, answer, rival.background) for other in general)
        others = [other for other in special if other is not None]
        kept += _best([*own], [*own, *others], rival)
    return kept


def _best(own: Sequence[Instance], pool: Sequence[Instance], rival: Rivals) -> Iterator[Instance]:
    by_hypotheses: dict[frozenset[Literal], list[Instance]] = {}
    for instance in pool:
        by_hypotheses.setdefault(instance.hypotheses, []).append(instance)
    sets = sorted(by_hypotheses, key=len)
    patterns = []
    if len(pool) > 1:
        patterns = [other for other in pool if any(map(is_open, other.hypotheses))]

    def is_beaten(instance: Instance) -> bool:
        smaller = (
            other
            for hypotheses in sets
            if len(hypotheses) < len(instance.hypotheses) and hypotheses < instance.hypotheses
            for other in by_hypotheses[hypotheses]
        )
        return (
            any(_beats(other, instance, rival.t) for other in smaller)
            or any(
                other.evidence < instance.evidence and other.where <= instance.where
                for other in by_hypotheses.get(instance.hypotheses, ())
            )
            or any(
                other is not instance and _covers(other, instance, rival.background, rival.t)
                for other in patterns
            )
            or rival.beats(instance)
        )

    waiting = dict.fromkeys(own)
    while waiting:
        instance, _ = waiting.popitem()
        if not is_beaten(instance):
            yield instance
        else:
            special = [
                one
                for one in collapsed(instance, rival.background)
                if one.answer == instance.answer
            ]
            waiting.update(dict.fromkeys(condensed(one, rival.background) for one in special))


def _beats(other: Instance, instance: Instance, t: int) -> bool:
    """Does an answer with fewer hypotheses beat another one, for all values of the variables?

    Absence in the past is a hypothesis only while its atom has unbound variables. With values it is
    evidence or false, so the other answer may not need more in the end.
    """
    if not other.where <= instance.where:
        return False
    unknown = frozenset(
        one
        for one in instance.hypotheses
        if one.negated and isinstance(one.t, int) and one.t <= t and is_open(one)
    )
    if not unknown:
        return True
    few, many = other.hypotheses - unknown, instance.hypotheses - unknown
    if few < many:
        return True
    return other.evidence | (other.hypotheses & unknown) < instance.evidence | unknown


def _covers(general: Instance, instance: Instance, background: Background, t: int) -> bool:
    """Is there a substitution with which the general instance needs less than the other?"""
    if not places(general) <= places(instance):
        return False
    for image, bindings in images(
        [*general.hypotheses], instance.hypotheses, answer_variables(general)
    ):
        where = restricted(general, bindings, background)
        if where is None or not where <= instance.where:
            continue
        evidence = frozenset(substitute_literal(one, bindings) for one in general.evidence)
        special = Instance(instance.answer, evidence, image, where)
        if image == instance.hypotheses:
            if evidence < instance.evidence:
                return True
        elif _beats(special, instance, t):
            return True
    return False
