"""What a run of a program has found so far, and the questions that it answers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from larspark.analysis.checked import Checked
from larspark.base import facts
from larspark.base.atoms import Atom, Signature, atom_text
from larspark.base.batch_cuts import up_to
from larspark.base.facts import AnyBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.time_format import POINTS, TimeFormat
from larspark.run.answers import OpenIntervals
from larspark.run.hypothetical import Monitor
from larspark.run.protocol import Answers, Model, Settings
from larspark.run.session import Session
from larspark.show.explain.explanation import Explanation, explain_atom, parse_goal
from larspark.show.explain.knowledge import reach_of
from larspark.show.explain.outline import Kind, Row
from larspark.show.explain.proof import Proof
from larspark.show.timeline.interactive import has_clock_times, time_fields
from larspark.show.timeline.levels import Levels
from larspark.show.timeline.picture import window_spans
from larspark.show.timeline.tracks import Track, elements_of, interval_tracks
from larspark.studio.day_times import DayTimes

# More bands than this are hard to find one's way in.
MOST_BANDS = 40
MODELS_SHOWN = 8
_ATOMS_LISTED = 30
# Windows and hypotheses are looked for in so many of the last facts.
_FACTS_SEEN = 20_000


class DerivedRows:
    """The intervals of a run, joined piece by piece; those that go on end where the run stands."""

    def __init__(self, keep: int | None = None) -> None:
        self._closed: list[tuple[Atom, int, int]] = []
        self._open = OpenIntervals()
        self._keep = keep

    def add(self, piece: Answers) -> None:
        """Take in the next piece."""
        self._closed += self._open.join(piece)
        if self._keep is not None and len(self._closed) > 2 * self._keep:
            del self._closed[: -self._keep]

    def tracks(self) -> list[Track]:
        """All intervals so far."""
        return interval_tracks([*self._closed, *self._open.close()])


@dataclass(frozen=True, slots=True)
class Kept:
    """What was worked out for questions: levels by filter and model, models by time point."""

    levels: dict[tuple[str, int | None], Levels] = field(default_factory=dict)
    models: dict[int, list[Model]] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """A run as far as it has come; another one takes its place when it has come further."""

    version: int
    checked: Checked | None = None
    background: tuple[Atom, ...] = ()
    engine: str = "auto"
    settings: Settings = Settings()  # noqa: RUF009 - a named tuple cannot change
    facts: tuple[Track, ...] = ()
    derived: tuple[Track, ...] = ()
    start: int | None = None
    answered: int | None = None
    times: TimeFormat = POINTS
    source: str = ""
    done: bool = False
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    kept: Kept = field(default_factory=Kept)

    @cached_property
    def extent(self) -> tuple[int, int] | None:
        """The first and the last time point of the timeline."""
        first, last = [self.start], [self.answered]
        for track in (*self.facts, *self.derived):
            first.append(int(track.begin[0]))
            last.append(int(track.end.max()))
        firsts, lasts = [t for t in first if t is not None], [t for t in last if t is not None]
        return (min(firsts), max(lasts)) if firsts and lasts else None

    def levels(self, only: str = "", model: tuple[int, int] | None = None) -> Levels:
        """The bands of the timeline, of those atoms that have a text in them.

        `model` is a time point and the number of an answer stream there, which then stands in the
        place of what was derived.
        """
        key = (only, None if model is None else model[0] * MODELS_SHOWN + model[1])
        if key not in self.kept.levels:
            derived: Sequence[Track] = self.derived
            if model is not None:
                derived = _model_tracks(self.kept.models[model[0]][model[1]])
            # What somebody types into the filter is not to be kept for ever.
            if len(self.kept.levels) > 20:
                self.kept.levels.clear()
            self.kept.levels[key] = Levels((*self.facts, *derived), MOST_BANDS, only)
        return self.kept.levels[key]

    def summary(self) -> dict[str, Any]:
        """Where the run stands, as JSON values."""
        return {
            "version": self.version,
            "done": self.done,
            "extent": self.extent,
            "seconds": round(self.seconds, 3),
            "facts": sum(len(track.begin) for track in self.facts),
            "intervals": sum(len(track.begin) for track in self.derived),
            "predicates": sorted({str(track.signature) for track in self.facts}),
            "engine": self.engine,
            "several": self.checked is not None and self.checked.several_models,
            "format": time_fields(self.times, self.extent),
            "notes": list(self.notes),
        }

    def _known(self) -> Checked:
        if self.checked is None:
            raise LarsparkError(Problem("L504", "there is no program that runs yet"))
        return self.checked

    def explained(self, text: str, at: int, model: int | None = None) -> dict[str, Any]:
        """Why an atom holds at a time point, or why not, as rows of a tree."""
        checked = self._known()
        goal, when = parse_goal(text)
        settings = self.settings._replace(start=self.start)
        models = None if model is None else [self.kept.models[at][model].stream]

        def found_in(elements: Sequence[tuple[int, Atom]]) -> Explanation:
            return explain_atom(
                checked,
                goal,
                at,
                elements,
                self.background,
                models,
                settings,
                when=when,
                times=self._times_on(at),
            )

        elements = self._elements(goal.signature, at, every=when not in (None, at))
        found = found_in(elements)
        rows = [_row(row, self.source) for row in found.rows()]
        if not found.holds and goal.signature in {*checked.derived, *checked.inputs}:
            # What nearly was in a window lies before it.
            more, left_out = self._elements_before(goal, at, elements)
            if len(more) > len(elements):
                rows = [_row(row, self.source) for row in found_in(more).rows()]
            if left_out:
                note = f"near misses are looked for in the last {_FACTS_SEEN:,} facts"
                rows.append(_row(Row(0, Kind.NOTE, note), self.source))
        proof = found.answer
        return {
            "atom": atom_text(goal),
            "at": at,
            "holds": found.holds,
            "rows": rows,
            "evidence": [
                {"t": t, "atom": atom_text(atom)}
                for t, atom in (proof.facts if isinstance(proof, Proof) else ())
            ],
            "nearby": self._nearby(goal, at),
        }

    def _nearby(self, atom: Atom, at: int) -> dict[str, int]:
        """When the atom held before a time point and when it holds again, as far as was derived."""
        found: dict[str, int] = {}
        for track in self.derived:
            if track.signature != atom.signature:
                continue
            rows = track.rows_of(atom)
            ends, begins = track.end[rows], track.begin[rows]
            if (ended := ends[ends < at]).size:
                found["before"] = int(ended.max())
            if (begun := begins[begins > at]).size:
                found["after"] = int(begun.min())
        return found

    def _elements(
        self, signature: Signature | None, at: int, *, every: bool = False
    ) -> list[tuple[int, Atom]]:
        """The facts that can matter to the atoms of a predicate at a time point."""
        checked = self._known()
        last = 2**62 if self.settings.hindsight else at
        if not every and not checked.several_models and not self.settings.hindsight:
            reach = checked.lookback
            if signature in checked.derived and signature is not None:
                reach = reach_of(checked, signature)
            if reach.time is not None and reach.tuples is not None:
                first = at - reach.time
                before = elements_of(self.facts, None, first - 1, reach.tuples)
                return before + elements_of(self.facts, first, last)
        return elements_of(self.facts, None, last)

    def _elements_before(
        self, goal: Atom, at: int, known: Sequence[tuple[int, Atom]]
    ) -> tuple[Sequence[tuple[int, Atom]], bool]:
        """More of the facts, those about the arguments of an atom first; were some left out?"""
        last = 2**62 if self.settings.hindsight else at
        if sum(track.within(last, last).stop for track in self.facts) <= _FACTS_SEEN:
            return elements_of(self.facts, None, last), False
        if len(known) >= _FACTS_SEEN:
            return known, True
        before = known[0][0] - 1 if known else last
        about = [track.about(goal.args) for track in self.facts]
        return [*elements_of(about, None, before, _FACTS_SEEN - len(known)), *known], True

    def _times_on(self, at: int) -> TimeFormat:
        """How time points are written around one of them."""
        clock = has_clock_times(self.times, self.extent)
        return DayTimes(self.times, at) if clock else self.times

    def windows(self, predicate: str, at: int) -> list[dict[str, Any]]:
        """What the windows of the rules about a predicate cover at a time point."""
        checked = self._known()
        if self.start is None or not self.start <= at:
            return []
        numbers = {edge.rule for edge in checked.edges if str(edge.head) == predicate}
        if not numbers:
            numbers = {edge.rule for edge in checked.edges if str(edge.body) == predicate}
        rules = [checked.rules[number] for number in sorted(numbers)]
        if not rules:
            return []
        time, tuples = checked.lookback.time, checked.lookback.tuples
        first = None if time is None or tuples else at - time
        last = at if not self.settings.hindsight else (self.answered or at)
        elements = elements_of(self.facts, first, last, _FACTS_SEEN)
        end = None if checked.future_heads else last
        return [
            {"text": span.text, "from": span.start, "to": span.end}
            for span in window_spans(rules, elements, (self.start, end), at)
            if span.end is None or span.start <= span.end
        ]

    def atoms(self, levels: Levels, number: int, at: int) -> dict[str, Any]:
        """The atoms of a band that hold at a time point, and others of it."""
        if not 0 <= number < len(levels.bands):
            return {"holding": [], "others": []}
        band = levels.bands[number]
        holding = list(dict.fromkeys(map(atom_text, band.at(at))))
        others = list(map(atom_text, band.some_atoms(_ATOMS_LISTED)))
        return {
            "holding": holding[:_ATOMS_LISTED],
            "others": [text for text in others if text not in holding],
            "derived": band.track.origin.value == "derived",
        }

    def models(self, at: int, batches: Iterable[AnyBatch]) -> dict[str, Any]:
        """The answer streams at a time point, with what only some of them hold."""
        checked = self._known()
        session = Session(checked, self.background, "auto", self.settings)
        for batch in batches:
            session.append(batch if self.settings.hindsight else up_to(batch, at))
        found = list(session.models(at, MODELS_SHOWN + 1))
        self.kept.models[at] = found[:MODELS_SHOWN]
        streams = [_texts(model) for model in found[:MODELS_SHOWN]]
        common = set.intersection(*map(set, streams)) if streams else set()
        return {
            "at": at,
            "models": [
                [{"t": t, "atom": text, "all": (t, text) in common} for t, text in sorted(stream)]
                for stream in streams
            ],
            "more": len(found) > MODELS_SHOWN,
        }

    def hypotheses(self, at: int, most: int) -> list[dict[str, Any]]:
        """What may come to hold after a time point, and what is missing for it."""
        checked = self._known()
        monitor = Monitor(checked, self.background, start=self.start)
        elements = self._elements(None, at)
        if len(elements) > _FACTS_SEEN:
            message = f"hypotheses over more than {_FACTS_SEEN:,} facts are not looked for here"
            raise LarsparkError(Problem("L504", message, hint="use `larspark hypothesize`"))
        monitor.hear(facts.RowBatch([facts.Row(t, atom, 0) for t, atom in elements], at))
        monitor.advance(at)
        times = self._times_on(at)
        found = []
        for _, holds, answer, _ in monitor.pending(most):
            begins = holds.t if isinstance(holds.t, int) else at + 1
            end = answer.deadline if answer.deadline is not None else begins
            found.append(
                {
                    "label": atom_text(holds.atom),
                    "from": begins,
                    "to": max(begins, end),
                    "certain": answer.certain,
                    "missing": [item.text(times) for item in answer.hypotheses],
                    "seen": [item.text(times) for item in answer.evidence],
                }
            )
        return found


def _texts(model: Model) -> set[tuple[int, str]]:
    return {(t, atom_text(atom)) for t, atoms in model.stream.items() for atom in atoms}


def _model_tracks(model: Model) -> list[Track]:
    """The atoms of an answer stream, as intervals."""
    rows: list[tuple[Atom, int, int]] = []
    times: dict[Atom, list[int]] = {}
    for t, atoms in sorted(model.stream.items()):
        for atom in atoms:
            times.setdefault(atom, []).append(t)
    for atom, listed in times.items():
        points = np.array(listed)
        cuts = np.flatnonzero(np.diff(points) > 1) + 1
        rows += [(atom, int(part[0]), int(part[-1])) for part in np.split(points, cuts)]
    return interval_tracks(rows)


def _row(row: Row, source: str) -> dict[str, Any]:
    """A row of an explanation; with the line of its rule, if that is in the program."""
    text, aside, line = row.text, row.aside, None
    if row.kind is Kind.NOTE and text.startswith(f"{source}:"):
        text = f"line {text.removeprefix(f'{source}:')}"
    if row.kind in (Kind.RULE, Kind.PART) and aside.startswith(f"{source}:"):
        number, _, aside = aside.removeprefix(f"{source}:").partition(", ")
        line = int(number) if number.isdigit() else None
    return {
        "depth": row.depth + (row.kind is Kind.RULE),
        "kind": row.kind.value,
        "text": text,
        "aside": aside,
        "line": line,
    }
