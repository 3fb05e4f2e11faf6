"""Why does an atom hold?"""

from collections.abc import Iterable
from dataclasses import replace

from larspark.base.atoms import Atom, Element
from larspark.meaning.checked import Checked
from larspark.run.protocol import Settings
from larspark.show.knowledge import Derived, find_situation, gather, narrow
from larspark.show.proof import Given, Proof
from larspark.show.proving import prove
from larspark.show.until import find_until


def explain(
    checked: Checked,
    atom: Atom,
    at: int,
    elements: Iterable[tuple[int, Atom]],
    background: Iterable[Atom] = (),
    model: Derived | None = None,
    settings: Settings = Settings(),  # noqa: B008 - a named tuple cannot change
    *,
    when: int | None = None,
) -> Proof | None:
    """Why an atom holds at `at`; None when it does not.

    `elements` is the stream in arrival order; the program's own elements are added to it. `model`
    is the answer stream to explain, its derived atoms by time point, as an engine gives it; without
    one the definitions are asked. `when` is the time point for which the atom is derived, if that
    is not the evaluation time.
    """
    goal = Element(at if when is None else when, atom)
    known = gather(checked, at, elements, background, settings)
    if atom in known.background:
        return Proof(goal, at, (), (), Given.BACKGROUND)
    if goal in known.elements:
        return Proof(goal, at, (), (goal,), Given.STREAM)
    if atom.signature not in checked.derived:
        return None
    known = narrow(known, goal, at)
    situation = find_situation(known, goal, at, model, checked.shown)
    proof = None if situation is None else prove(situation, goal)
    if proof is None:
        return None
    return replace(proof, until=find_until(known, proof))
