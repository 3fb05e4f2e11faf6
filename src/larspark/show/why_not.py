"""Why does an atom not hold? For each rule that could give it, the first thing that is missing."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from larspark.base.atoms import Atom, Element, atom_text
from larspark.base.terms import Constant, Variable
from larspark.language import formula_text
from larspark.language.tree import Comparison, Formula, Implies, Not, Rule
from larspark.meaning.checked import Checked
from larspark.meaning.grounding import ground
from larspark.meaning.horizon import find_horizon
from larspark.meaning.matching import Binding, Matcher
from larspark.meaning.queries import pins_in_timeline
from larspark.meaning.values import NoValueError
from larspark.meaning.walk import term_variables, variables
from larspark.run.protocol import Settings
from larspark.show.instances import head_conditions
from larspark.show.knowledge import (
    Derived,
    Situation,
    answers_at,
    gather,
    lay_over,
    narrow,
)
from larspark.show.near import Near, NearMisses
from larspark.show.substitute import substitute
from larspark.show.support import Support

# So many ways to match the first part of a body are followed to find out what is missing next.
MATCH_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Miss:
    """A rule that could give an atom, as far as its body holds.

    `missing` is the first part of the body that does not hold together with the parts before it,
    `also` are further ones. `near` says how close it was, `below` why a derived atom is missing.
    """

    rule: Rule
    substitution: tuple[tuple[str, Constant], ...]
    holding: tuple[str, ...]
    missing: str
    near: str
    also: tuple[str, ...] = ()
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
    goal = Element(at if when is None else when, atom)
    known = gather(checked, at, elements, background, settings)
    remembered: list[Element] = []
    if model is None or not checked.derived <= checked.shown:
        # Only what can matter to the goal is evaluated, but near misses may lie anywhere.
        answers, remembered = answers_at(narrow(known, goal, at), at)
        if not answers:
            note = f"there is no answer stream at {at}: a constraint or a negation forbids every one"
            return WhyNot(atom, goal.t, at, (), note)
        without = [a for a in answers if atom not in a.at(goal.t)]
        model = (without or answers)[0].derived
    situation = lay_over(known, at, model, remembered)
    support = Support(situation, situation.stream.bits, find_horizon_of_nothing())
    if support.background(atom) or any(support.presences(atom, situation.stream, goal.t)):
        return None
    return _Search(situation).why_not(atom, goal.t, levels=2)
