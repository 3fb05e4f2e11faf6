"""Why an atom does not hold: for each rule that could derive it, the first missing part."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element, atom_text
from larspark.base.terms import Constant
from larspark.language import formula_text
from larspark.language.nodes import variables
from larspark.language.tree import AtomFormula, Formula, Rule
from larspark.logic.binding import binds_all
from larspark.logic.matching import Binding
from larspark.logic.substitution import substitute
from larspark.logic.traversal import formulas
from larspark.logic.values import NoValueError
from larspark.meaning.grounding import GroundAt, GroundAtom, pins_in_timeline
from larspark.meaning.open_timeline import NO_HORIZON, find_horizon
from larspark.meaning.queries import ground_literal, stream_matcher
from larspark.run.protocol import Settings
from larspark.show.explain.derivation import head_conditions
from larspark.show.explain.knowledge import (
    Derived,
    Evaluation,
    answers_at,
    gather,
    lay_over,
    narrow,
)
from larspark.show.explain.near_miss import Near, NearMisses
from larspark.show.explain.support import Support
from larspark.show.time_text import time_text

# So many ways to match the first part of a body are followed to find out what is missing next.
MATCH_LIMIT = 200


class Missing(NamedTuple):
    """A part of a rule's body that does not hold, and how close it came to it."""

    text: str
    near: str


@dataclass(frozen=True, slots=True)
class Miss:
    """A rule that could give an atom, as far as its body holds.

    The first part of `missing` does not hold together with those before it, which are `holding`;
    `below` is why a derived atom is missing there.
    """

    rule: Rule
    substitution: tuple[tuple[str, Constant], ...]
    holding: tuple[str, ...]
    missing: tuple[Missing, ...]
    below: "WhyNot | None" = None


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why an atom does not hold; `t` is None when no time point was asked for.

    Without misses the note says what else is the reason.
    """

    atom: Atom
    t: int | None
    at: int
    misses: tuple[Miss, ...]
    note: str = ""


def why_not(
    checked: Checked,
    atom: Atom,
    at: int,
    elements: Iterable[tuple[int, Atom]],
    background: Iterable[Atom] = (),
    model: Derived | None = None,
    settings: Settings = Settings(),  # noqa: B008 - a named tuple cannot change
    *,
    when: int | None = None,
) -> WhyNot | None:
    """Why an atom does not hold at `at`; None when it does.

    The arguments are those of `explain`; the atom may have wildcards.
    """
    t = at if when is None else when
    known = gather(checked, at, elements, background, settings)
    remembered: list[Element] = []
    if model is None or checked.program.remembered or not checked.derived <= checked.shown:
        # Only what can matter to the goal is evaluated, but near misses may lie anywhere.
        answers, remembered = answers_at(narrow(known, Element(t, atom), at), at, t)
        if not answers:
            forbidden = "constraints or negation forbid all of them"
            note = f"there is no answer stream at {time_text(at)}: {forbidden}"
            return WhyNot(atom, t, at, (), note)
        model = next((a for a in answers if atom not in a.at(t)), answers[0]).derived
    evaluation = lay_over(known, at, model, remembered)
    support = Support(evaluation, evaluation.stream.bits, NO_HORIZON)
    if support.holds(GroundAt(t, GroundAtom(atom))):
        return None
    return _Search(evaluation).why_not(atom, t, levels=2)


class _Search:
    """Follows rule bodies as far as they hold."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        background = frozenset[Atom]().union(*evaluation.background.values())
        self._matcher = stream_matcher(evaluation.stream, background)
        self._near = NearMisses(evaluation)

    def why_not(self, atom: Atom, t: int | None, levels: int) -> WhyNot:
        """Why the atom is not derived at t; atoms below are followed for `levels` levels."""
        at = self._evaluation.at
        misses = [
            miss
            for rule in self._evaluation.checked.rules
            for conditions in head_conditions(rule, atom, t, at)
            if (miss := self._miss(rule, conditions, levels)) is not None
        ]
        misses.sort(key=lambda miss: len(miss.missing))
        return WhyNot(atom, t, at, tuple(misses), "" if misses else self._note(atom, t))

    def _note(self, atom: Atom, t: int | None) -> str:
        """Why no rule can give the atom."""
        checked = self._evaluation.checked
        signature, text = atom.signature, atom_text(atom)
        if signature in checked.inputs:
            near = self._near.find(AtomFormula(atom), {})
            return f"{signature} is input, and {near.text}"
        if signature in checked.background_signatures:
            return f"{signature} is background data, which has no {text}"
        if signature in checked.derived:
            place = "" if t is None or t == self._evaluation.at else f" at {time_text(t)}"
            return f"no rule has a head that can be {text}{place}"
        known = [str(other) for other in (*checked.derived, *checked.inputs)]
        close = get_close_matches(str(signature), known, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        return f"no rule and no fact is about {signature}{hint}"

    def _miss(self, rule: Rule, conditions: Sequence[Formula], levels: int) -> Miss | None:
        """What a rule misses; None when its head cannot be the atom, or nothing is missing."""
        bindings = self._matcher.bindings(conditions, self._evaluation.at)
        if not bindings:
            return None
        holding: list[Formula] = []
        missing: list[tuple[Formula, list[Binding]]] = []
        for part in _in_order(rule.body, bindings[0].keys()):
            extended = self._extend(part, bindings)
            if extended:
                bindings = extended
                holding += [] if missing else [part]
            elif not missing or binds_all(part, bindings[0]):
                missing.append((part, bindings))
        if not missing:
            return None
        near, binding = self._nearest(*missing[0])
        below = None
        if near.atom is not None and levels > 1:
            below = self.why_not(near.atom, near.t, levels - 1)
        nears = [near, *(self._near.find(part, binding) for part, _ in missing[1:])]
        names = [v.name for f in formulas(rule) for v in variables(f) if v.name in binding]
        return Miss(
            rule,
            tuple((name, binding[name]) for name in dict.fromkeys(names)),
            tuple(_text(part, binding) for part in holding),
            tuple(
                Missing(_text(part, binding), found.text)
                for (part, _), found in zip(missing, nears, strict=True)
            ),
            below,
        )

    def _nearest(self, part: Formula, bindings: Sequence[Binding]) -> tuple[Near, Binding]:
        found = [(self._near.find(part, binding), binding) for binding in bindings]
        return min(found, key=lambda pair: pair[0].rank)

    def _extend(self, part: Formula, bindings: Sequence[Binding]) -> list[Binding]:
        """The ways to make one more part hold."""
        found: list[Binding] = []
        for binding in bindings[:MATCH_LIMIT]:
            for candidate in self._matcher.bindings((part,), self._evaluation.at, binding):
                if len(found) < MATCH_LIMIT and self._holds(part, candidate):
                    found.append(candidate)
        return found

    def _holds(self, part: Formula, binding: Binding) -> bool:
        evaluation = self._evaluation
        if any(v.name not in binding for v in variables(part)):
            return False
        if not pins_in_timeline((part,), binding, evaluation.stream):
            return False
        try:
            stream, at = evaluation.stream, evaluation.at
            formula = ground_literal(part, binding, self._matcher, stream, at)
        except NoValueError:
            return False
        horizon = find_horizon(evaluation.stream, evaluation.at, formula)
        return Support(evaluation, evaluation.stream.bits, horizon).holds(formula)


def _text(part: Formula, binding: Binding) -> str:
    return formula_text(substitute(part, binding))


def _in_order(parts: Sequence[Formula], known: Iterable[str]) -> Iterator[Formula]:
    """The parts as they are written, but none before its variables can have values."""
    bound = set(known)
    waiting = list(parts)
    while waiting:
        ready = next((part for part in waiting if binds_all(part, bound)), waiting[0])
        waiting.remove(ready)
        bound.update(variable.name for variable in variables(ready))
        yield ready
