"""What the definitions give: whether a formula holds, the outputs and answer streams of a run."""

from collections.abc import Iterable, Iterator

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom
from larspark.logic.circuit import TRUE
from larspark.meaning.entailment import Structure
from larspark.meaning.grounding import Ground
from larspark.meaning.labelling import Labelling
from larspark.meaning.output_stream import Oracle


def satisfies(structure: Structure, t: int, formula: Ground) -> bool:
    """Whether the structure satisfies the formula at t: M, t ⊨ α."""
    return Labelling(structure).label(formula, t) == TRUE


def output_stream(
    checked: Checked,
    elements: Iterable[tuple[int, Atom]],
    background: Iterable[Atom] = (),
    start: int | None = None,
    to: int | None = None,
    at: int | None = None,
    hindsight: bool = False,
    until: int | None = None,
) -> Iterator[tuple[int, frozenset[Atom] | None]]:
    """The output at every time point from `start` to `to`, or only at `at`.

    At t only the elements up to t are known, unless `hindsight` lets all of them be. The output is
    None at a time point without an answer stream. The program's own elements come first.
    """
    data = [*checked.elements, *elements]
    oracle = _oracle(checked, data, background, start, to, at, hindsight, until)
    if oracle is None:
        return
    last = _last(data, to, at)
    if until is not None and at is None:
        last = min(last, until)
    for t in range(_first_step(oracle, at), last + 1):
        output = oracle.step(data, t)
        if at is None or t == at:
            yield t, output


def models(
    checked: Checked,
    elements: Iterable[tuple[int, Atom]],
    background: Iterable[Atom] = (),
    start: int | None = None,
    at: int | None = None,
    limit: int | None = None,
    hindsight: bool = False,
    until: int | None = None,
) -> list[dict[int, frozenset[Atom]]]:
    """The answer streams at `at` (or at the last element), shown atoms only, sorted by text."""
    data = [*checked.elements, *elements]
    oracle = _oracle(checked, data, background, start, None, at, hindsight, until)
    if oracle is None:
        return []
    t = _last(data, None, at)
    if checked.program.remembered:
        for point in range(oracle.start, t):
            oracle.step(data, point)
    return [oracle.model(answer) for answer in oracle.answers(data, t)[:limit]]


def _oracle(
    checked: Checked,
    data: list[tuple[int, Atom]],
    background: Iterable[Atom],
    start: int | None,
    to: int | None,
    at: int | None,
    hindsight: bool,
    until: int | None,
) -> Oracle | None:
    """An oracle at the start of the timeline; None when there is no time point."""
    marks = [t for t, _ in data]
    first = start if start is not None else min(marks, default=at if at is not None else to)
    if first is None:
        return None
    end = max([*marks, *(t for t in (to, at) if t is not None)], default=first)
    return Oracle(checked, frozenset(background), first, until, hindsight, end)


def _last(data: list[tuple[int, Atom]], to: int | None, at: int | None) -> int:
    if at is not None:
        return at
    return to if to is not None else max((t for t, _ in data), default=0)


def _first_step(oracle: Oracle, at: int | None) -> int:
    """Earlier time points matter to remembered atoms and to the choice among several answers."""
    depends = oracle.checked.program.remembered or oracle.checked.several_models
    return oracle.start if at is None or depends else at
