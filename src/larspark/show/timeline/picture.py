"""A run as a timeline: text, SVG, JSON and notebook display."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom
from larspark.base.batch_cuts import up_to
from larspark.base.facts import AnyBatch, Row, RowBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.base.spelling import Vocabulary
from larspark.base.terms import Variable, Wildcard
from larspark.feeds.time_format import POINTS, TimeFormat
from larspark.language.nodes import children
from larspark.language.printer import window_text
from larspark.language.tree import Formula, Rule, Windowed
from larspark.meaning.grounding import ground_window
from larspark.meaning.streams import Stream, Universe
from larspark.meaning.window_functions import apply_window
from larspark.run.protocol import Settings
from larspark.run.replay import intervals, replay
from larspark.run.session import Session
from larspark.show.explain.proof import WindowSpan
from larspark.show.terminal import PLAIN_WIDTH
from larspark.show.timeline.interactive import timeline_cell, timeline_page
from larspark.show.timeline.timeline_svg import timeline_svg
from larspark.show.timeline.timeline_text import Timeline, timeline, timeline_lines
from larspark.show.timeline.tracks import Track, fact_tracks, interval_tracks


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
    return " ".join(texts), stream


def _open(pattern: Atom) -> Atom:
    """The pattern for any values of its variables."""
    args = tuple(Wildcard() if isinstance(arg, Variable) else arg for arg in pattern.args)
    return Atom(pattern.predicate, args)


@dataclass(frozen=True, slots=True, repr=False)
class Picture:
    """Facts as dots, what is derived as bars, numbers as curves, windows as shades below them."""

    timeline: Timeline
    # Everything that was read and derived, for pictures that show parts of it.
    facts: Sequence[tuple[int, Atom]] = field(default=(), compare=False)
    derived: Sequence[tuple[Atom, int, int]] = field(default=(), compare=False)
    program: str = field(default="", compare=False)

    def lines(self, people: bool, width: int = PLAIN_WIDTH) -> Iterator[str]:
        """Lines of text, for people with Rich's markup."""
        return timeline_lines(self.timeline, width, people)

    def to_json(self) -> list[dict[str, Any]]:
        """The rows as data: intervals for atoms, values for curves, one interval for a window."""
        t = self.timeline.times.json_value
        rows: list[dict[str, Any]] = []
        for lane in self.timeline.lanes:
            spans = [(t(first), t(last)) for first, last in lane.intervals]
            rows.append({"lane": lane.label, "origin": lane.origin.value, "intervals": spans})
            if lane.curve:
                rows[-1]["values"] = [
                    (t(first), t(last), value) for first, last, value in lane.curve
                ]
        for span in self.timeline.windows:
            end = None if span.end is None else t(span.end)
            rows.append({"window": span.text, "from": t(span.start), "to": end})
        return rows

    def to_svg(self) -> str:
        return timeline_svg(self.timeline)

    def to_html(self, title: str = "timeline") -> str:
        """An interactive timeline as one HTML file that needs nothing else."""
        return timeline_page(self._tracks(), self.timeline.times, title, self.program)

    def _tracks(self) -> list[Track]:
        facts = RowBatch([Row(t, atom, seq) for seq, (t, atom) in enumerate(self.facts)])
        return [*fact_tracks([facts]), *interval_tracks(self.derived)]

    def __str__(self) -> str:
        return "\n".join(self.lines(people=False))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return timeline_cell(self._tracks(), self.timeline.times)

    def _repr_svg_(self) -> str:
        # For notebooks that run no scripts.
        return self.to_svg()


@dataclass(frozen=True, slots=True)
class Scene:
    """Which part of a run is drawn.

    `to` is the last time point that is read and evaluated, `view` the first and the last one that
    are drawn, `at` the time point whose windows are drawn, `only` the predicates, all if empty.
    """

    to: int | None = None
    view: tuple[int, int] | None = None
    at: int | None = None
    only: Sequence[str] = ()


def picture_run(
    session: Session,
    checked: Checked,
    batches: Iterable[AnyBatch],
    settings: Settings,
    scene: Scene,
    times: TimeFormat = POINTS,
) -> Picture:
    """The facts of a stream and what a program derives from them."""
    read = list(batches)
    found = list(intervals(replay(session, read, to=scene.to, hindsight=settings.hindsight)))
    own = [element for element in checked.elements if scene.to is None or element.t <= scene.to]
    elements = [*own, *_elements(read, scene)]
    windows: tuple[WindowSpan, ...] = ()
    if scene.at is not None and session.start is not None:
        known = elements if settings.hindsight else [e for e in elements if e[0] <= scene.at]
        end = scene.at
        if settings.hindsight and session.answered is not None:
            end = max(end, session.answered)
        timeline_end = None if checked.future_heads else end
        spans = window_spans(checked.rules, known, (session.start, timeline_end), scene.at)
        # The axis says which day it is.
        at = times.text(scene.at).rpartition("T")[2]
        windows = tuple(replace(span, text=f"{span.text} at {at}") for span in spans)
    names = {signature.predicate for signature in (*checked.inputs, *checked.derived)}
    return _draw(
        elements,
        found,
        scene,
        (session.start, session.answered),
        names,
        windows,
        times,
        "\n".join(checked.program.texts.values()),
    )


def picture_stream(
    batches: Iterable[AnyBatch], scene: Scene, times: TimeFormat = POINTS
) -> Picture:
    """The facts of a stream alone."""
    read = list(batches)
    last = max((batch.last_t for batch in read if batch.last_t is not None), default=None)
    end = last if scene.to is None else scene.to
    return _draw(_elements(read, scene), (), scene, (None, end), set(), (), times)


def _draw(
    elements: Sequence[tuple[int, Atom]],
    found: Iterable[tuple[Atom, int, int]],
    scene: Scene,
    extent: tuple[int | None, int | None],
    names: set[str],
    windows: Sequence[WindowSpan],
    times: TimeFormat,
    program: str = "",
) -> Picture:
    _check_names(scene.only, names | {atom.predicate for _, atom in elements})
    start, end = extent if scene.view is None else scene.view
    facts = [(t, atom) for t, atom in elements if _wanted(atom, scene)]
    derived = [row for row in found if _wanted(row[0], scene)]
    drawn = timeline(facts, derived, start=start, end=end, windows=windows, times=times)
    return Picture(drawn, facts, derived, program)


def _elements(batches: Sequence[AnyBatch], scene: Scene) -> list[tuple[int, Atom]]:
    kept = batches if scene.to is None else [up_to(batch, scene.to) for batch in batches]
    return [(row.t, row.atom) for batch in kept for row in batch.rows()]


def _wanted(atom: Atom, scene: Scene) -> bool:
    return not scene.only or atom.predicate in scene.only


def _check_names(asked: Sequence[str], known: set[str]) -> None:
    for name in asked:
        if name not in known:
            meant = Vocabulary(known).closest(name)
            hint = f"did you mean `{meant}`?" if meant else f"there are {', '.join(sorted(known))}"
            message = f"there is no predicate `{name}` to show"
            raise LarsparkError(Problem("L501", message, hint=hint))
