"""The time points that the windows of a program cover at an evaluation time."""

from collections.abc import Iterable, Iterator

from larspark.base.atoms import Atom
from larspark.base.terms import Variable, Wildcard
from larspark.language.nodes import children
from larspark.language.printer import window_text
from larspark.language.tree import Formula, Rule, Windowed
from larspark.meaning.grounding import ground_window
from larspark.meaning.streams import Stream, Universe
from larspark.meaning.window_functions import apply_window
from larspark.show.explain.proof import WindowSpan


def window_spans(
    rules: Iterable[Rule],
    elements: Iterable[tuple[int, Atom]],
    timeline: tuple[int, int | None],
    at: int,
) -> tuple[WindowSpan, ...]:
    """What each window of the bodies covers at `at`; windows below another operator are left out.

    Windows that stand right inside each other are one; a window of groups covers what any of its
    groups covers.
    """
    stream = Universe(elements).whole(*timeline)
    spans: dict[str, WindowSpan] = {}
    for rule in rules:
        for formula in rule.body:
            for windowed in _outermost(formula):
                text, inside = _through(windowed, stream, at)
                spans.setdefault(text, WindowSpan(text, inside.start, inside.end))
    return tuple(spans.values())


def _outermost(formula: Formula) -> Iterator[Windowed]:
    if isinstance(formula, Windowed):
        yield formula
        return
    for child in children(formula):
        yield from _outermost(child)


def _through(windowed: Windowed, stream: Stream, at: int) -> tuple[str, Stream]:
    texts = []
    formula: Formula = windowed
    while isinstance(formula, Windowed):
        texts.append(f"[{window_text(formula.window)}]")
        opened = formula.window.with_filters(_open)
        stream = apply_window(ground_window(opened, formula.body, {}), stream, at)
        formula = formula.body
    return f"{' '.join(texts)} at {at}", stream


def _open(pattern: Atom) -> Atom:
    """The pattern for any values of its variables."""
    args = tuple(Wildcard() if isinstance(arg, Variable) else arg for arg in pattern.args)
    return Atom(pattern.predicate, args)
