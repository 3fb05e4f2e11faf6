"""A timeline in levels of detail: what a picture of some pixels can show, of millions of facts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larspark.base.atoms import Atom, atom_text, term_text
from larspark.base.terms import constant_text
from larspark.show.timeline.lanes import Origin
from larspark.show.timeline.tracks import Track

# How full a part of a bar that is not drawn point by point can be shown to be.
SHADES = 8
# The height of a curve in its coarse form.
HEIGHT = 100


@dataclass(frozen=True)
class Band:
    """A row of the picture: the atoms of a track that share it, as rows of the track."""

    track: Track
    rows: NDArray[np.int64]
    label: str
    # How many atoms share it.
    atoms: int
    # The argument that a curve shows.
    number: int | None = None

    @cached_property
    def spans(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where some atom of the band holds, as maximal intervals; curves keep their steps."""
        begin, end = self.track.begin[self.rows], self.track.end[self.rows]
        if self.number is not None or not len(begin):
            return begin, end
        covered = np.maximum.accumulate(end)
        # Facts stay points of their own, however close they are.
        gap = 0 if self.track.origin is Origin.FACT else 1
        starts = np.flatnonzero(np.concatenate(([True], begin[1:] > covered[:-1] + gap)))
        return begin[starts], np.maximum.reduceat(end, starts)

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The numbers of a curve."""
        assert self.number is not None  # noqa: S101 - only asked for then
        return self.track.numbers(self.number)[self.rows]

    @cached_property
    def filled(self) -> NDArray[np.int64]:
        """How many time points the intervals before each one cover."""
        begin, end = self.spans
        return np.concatenate(([0], np.cumsum(end - begin + 1)))

    @property
    def kind(self) -> str:
        if self.number is not None:
            return "curve"
        return "dots" if self.track.origin is Origin.FACT else "bars"

    def at(self, t: int) -> list[Atom]:
        """The atoms of the band that hold at a time point."""
        last = int(np.searchsorted(self.track.begin[self.rows], t, "right"))
        rows = self.rows[:last]
        return [self.track.atom(int(row)) for row in rows[self.track.end[rows] >= t]]

    def some_atoms(self, most: int) -> list[Atom]:
        """Atoms of the band, at most so many."""
        found: dict[Atom, None] = {}
        for row in self.rows:
            found.setdefault(self.track.atom(int(row)))
            if len(found) == most:
                break
        return list(found)

    def drawn(self, first: int, last: int, per: int) -> dict[str, Any]:
        """What is drawn between two time points when a pixel stands for `per` of them.

        `spans` are drawn as they are; `runs` are pixels as full as their last number says, out of
        `SHADES`, from a pixel on, so many of them; `steps` and `extremes` are those of curves.
        """
        begin, end = self.spans
        low = int(np.searchsorted(end, first))
        high = int(np.searchsorted(begin, last, "right"))
        pixels = (last - first) // per + 1
        if high - low <= pixels // 4 or per == 1:
            if self.number is None:
                spans = np.stack((begin[low:high], end[low:high]), 1)
                return {"spans": spans.tolist()}
            steps = zip(
                begin[low:high].tolist(),
                end[low:high].tolist(),
                self.numbers[low:high].tolist(),
                strict=True,
            )
            return {"steps": list(steps)}
        edges = first + per * np.arange(pixels + 1)
        if self.number is None:
            return {"runs": _runs(self._covered(edges), per)}
        return {"extremes": self._extremes(edges, low, high)}

    def listed(self, most: int) -> dict[str, Any]:
        """All spans or steps; when there are more than `most`, those that are nearest are joined.

        Of the steps of a curve, every so manieth is kept.
        """
        begin, end = self.spans
        if self.number is not None:
            every = -(-len(begin) // most)
            rows = slice(None, None, every)
            columns = (begin[rows].tolist(), end[rows].tolist(), self.numbers[rows].tolist())
            steps = list(zip(*columns, strict=True))
            return {"steps": steps, "low": min(columns[2]), "high": max(columns[2])}
        gaps = begin[1:] - end[:-1]
        if len(begin) > most:
            least = np.partition(gaps, len(gaps) - most)[len(gaps) - most]
            starts = np.flatnonzero(np.concatenate(([True], gaps > least)))
            begin, end = begin[starts], np.maximum.reduceat(end, starts)
        return {"spans": np.stack((begin, end), 1).tolist()}

    def _covered(self, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many time points are covered between the edges."""
        begin, end = self.spans
        before = np.searchsorted(begin, edges)
        last = np.maximum(before - 1, 0)
        # The last interval that begins before an edge may reach beyond it.
        beyond = np.where(before > 0, np.maximum(0, end[last] - edges + 1), 0)
        counted = np.diff(self.filled[before] - beyond)
        return counted.astype(np.int64)

    def _extremes(self, edges: NDArray[np.int64], low: int, high: int) -> list[list[int]]:
        """For each pixel with numbers: which one, its smallest and its largest number.

        Numbers are heights, from 0 for the smallest of the curve to `HEIGHT` for the largest.
        """
        begin, _ = self.spans
        pixels = np.clip((begin[low:high] - edges[0]) // (edges[1] - edges[0]), 0, len(edges) - 2)
        starts = np.flatnonzero(np.concatenate(([True], pixels[1:] > pixels[:-1])))
        numbers = self.numbers[low:high]
        least, most = float(self.numbers.min()), float(self.numbers.max())
        scale = HEIGHT / (most - least) if most > least else 0.0
        heights = np.rint((numbers - least) * scale).astype(np.int64)
        lows, highs = np.minimum.reduceat(heights, starts), np.maximum.reduceat(heights, starts)
        columns = (pixels[starts].tolist(), lows.tolist(), highs.tolist())
        return [list(row) for row in zip(*columns, strict=True)]


def _runs(covered: NDArray[np.int64], per: int) -> list[list[int]]:
    """Neighbouring pixels that are equally full, and not empty."""
    shades = np.minimum(SHADES, -(-covered * SHADES // per))
    starts = np.flatnonzero(np.concatenate(([True], shades[1:] != shades[:-1])))
    lengths = np.diff(np.concatenate((starts, [len(shades)])))
    columns = zip(starts.tolist(), lengths.tolist(), shades[starts].tolist(), strict=True)
    return [[start, length, shade] for start, length, shade in columns if shade]


class Levels:
    """The bands of a timeline, and what is drawn of them.

    >>> from larspark.show.timeline.tracks import interval_tracks
    >>> shown = Levels(interval_tracks([(Atom("p"), 1, 3), (Atom("p"), 5, 90_000)]), 10)
    >>> shown.drawn(0, 99, 100)["rows"][0]["spans"]
    [[1, 3], [5, 90000]]
    """

    def __init__(self, tracks: Sequence[Track], most_bands: int, only: str = "") -> None:
        self.tracks = tracks
        families = [_Family(track, only) for track in tracks]
        left = list(families)
        while left and sum(family.count for family in families) > most_bands:
            largest = max(left, key=lambda family: family.count)
            if not largest.put_together():
                left.remove(largest)
        self.bands = [band for family in families for band in family.bands(most_bands)]

    @cached_property
    def extent(self) -> tuple[int, int] | None:
        """The first and the last time point of anything."""
        if not self.tracks:
            return None
        first = min(int(track.begin[0]) for track in self.tracks)
        return first, max(int(track.end.max()) for track in self.tracks)

    def drawn(self, first: int, last: int, pixels: int) -> dict[str, Any]:
        """All bands between two time points on so many pixels, as JSON values."""
        per = max(1, -(-(last - first + 1) // max(1, pixels)))
        # Pixels begin at the same time points wherever the view begins.
        first = first // per * per
        rows = []
        for number, band in enumerate(self.bands):
            row: dict[str, Any] = {
                "id": number,
                "label": band.label,
                "origin": band.track.origin.value,
                "kind": band.kind,
                "atoms": band.atoms,
                "predicate": str(band.track.signature),
                **band.drawn(first, last, per),
            }
            if band.number is not None:
                row |= {"low": float(band.numbers.min()), "high": float(band.numbers.max())}
            rows.append(row)
        return {"from": first, "to": last, "per": per, "rows": rows}


class _Family:
    """The bands of a track, which become fewer."""

    def __init__(self, track: Track, only: str) -> None:
        self._track = track
        self._chosen: NDArray[np.int64] | None = None
        if only:
            self._chosen = _named(track, only)
        arity = track.signature.arity
        number = track.number
        # The arguments by which bands are told apart: all of them, the first one, none.
        everything = tuple(range(arity))
        self._levels: list[tuple[tuple[int, ...], int | None]] = [(everything, None)]
        if number is not None:
            self._levels = [(tuple(n for n in everything if n != number), number)]
        if arity > 1:
            self._levels.append(((0,), None))
        if arity:
            self._levels.append(((), None))
        self.count = self._counted()

    def put_together(self) -> bool:
        """Let more atoms share a band; False when there is only one left."""
        while len(self._levels) > 1:
            del self._levels[0]
            before, self.count = self.count, self._counted()
            if self.count < before:
                return True
        return False

    def _counted(self) -> int:
        keys, count = self._track.grouped(self._levels[0][0])
        return count if self._chosen is None else len(np.unique(keys[self._chosen]))

    def bands(self, most: int) -> list[Band]:
        places, number = self._levels[0]
        track = self._track
        keys, _ = track.grouped(places)
        rows = np.arange(len(keys)) if self._chosen is None else self._chosen
        if not len(rows):
            return []
        keys = keys[rows]
        ordered = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.concatenate(([True], np.diff(keys[ordered]) > 0)))
        parts = [rows[part] for part in np.split(ordered, starts[1:])]
        # The band that begins first comes first.
        parts.sort(key=lambda part: int(part[0]))
        atoms = track.by_atom[0]
        return [
            Band(track, part, self._label(part, number), len(np.unique(atoms[part])), number)
            for part in parts[:most]
        ]

    def _label(self, rows: NDArray[np.int64], number: int | None) -> str:
        track = self._track
        atom = track.atom(int(rows[0]))
        places, _ = self._levels[0]
        if number is not None:
            texts = [term_text(arg) for arg in atom.args]
            texts[number] = "·"
            return f"{constant_text(atom.predicate)}({','.join(texts)})"
        if len(places) == len(atom.args):
            return atom_text(atom)
        if places:
            return f"{atom_text(Atom(atom.predicate, atom.args[:1]))[:-1]},…)"
        return f"{track.signature} ({len(np.unique(track.by_atom[0][rows])):,})"


def _named(track: Track, wanted: str) -> NDArray[np.int64]:
    """The rows whose atoms have the text in them."""
    keys, _ = track.by_atom
    _, firsts = np.unique(keys, return_index=True)
    wanted = wanted.casefold()
    kept = np.array([wanted in atom_text(track.atom(int(row))).casefold() for row in firsts], bool)
    return np.flatnonzero(kept[keys]) if len(keys) else np.empty(0, np.int64)
