"""Timelines in levels of detail, and as one file."""

import json
import random
import re

import numpy as np
import pytest

import larspark as lp
from larspark.base.atoms import Atom, atom_text
from larspark.base.facts import Row, RowBatch
from larspark.show.timeline.levels import SHADES, Levels
from larspark.show.timeline.tracks import elements_of, fact_tracks, interval_tracks


def random_rows(rng: random.Random) -> list[tuple[Atom, int, int]]:
    rows = []
    for name in ("p", "q"):
        for arg in range(rng.randrange(1, 5)):
            t = rng.randrange(5)
            while t < 200:
                end = t + rng.randrange(6)
                rows.append((Atom(name, (f"a{arg}", rng.choice("xy"))), t, end))
                t = end + rng.randrange(2, 9)
    rng.shuffle(rows)
    return rows


@pytest.mark.parametrize("seed", range(30))
def test_what_is_drawn_is_what_holds(seed: int) -> None:
    rng = random.Random(seed)
    rows = random_rows(rng)
    levels = Levels(interval_tracks(rows), rng.choice((1, 2, 5, 40)))
    first, last = sorted((rng.randrange(-10, 220), rng.randrange(-10, 220)))
    drawn = levels.drawn(first, last, rng.choice((5, 17, 60, 400)))
    per, begin = drawn["per"], drawn["from"]
    names = {atom_text(atom): atom for atom, _, _ in rows}
    for row, band in zip(drawn["rows"], levels.bands, strict=True):
        members = {atom_text(a) for t in range(210) for a in band.at(t)}
        held = {
            t
            for text in members
            for atom, start, end in rows
            if atom == names[text]
            for t in range(start, end + 1)
        }
        shown = {
            t
            for start, end in row.get("spans", ())
            for t in range(start, end + 1)
            if first <= t <= last
        }
        if "spans" in row:
            assert shown == {t for t in held if first <= t <= last}
            continue
        shades = np.zeros((last - begin) // per + 1, int)
        for start, length, shade in row["runs"]:
            shades[start : start + length] = shade
        for pixel, shade in enumerate(shades):
            covered = sum(begin + pixel * per + n in held for n in range(per))
            assert shade == -(-covered * SHADES // per)


@pytest.mark.parametrize("seed", range(10))
def test_facts_come_back_in_the_order_of_their_arrival(seed: int) -> None:
    rng = random.Random(seed)
    times = sorted(rng.randrange(20) for _ in range(60))
    values = [1, 2.5, "x", "1", 7, "Wien Mitte"]
    facts = [
        (t, Atom(rng.choice("pq"), tuple(rng.choice(values) for _ in range(rng.randrange(3)))))
        for t in times
    ]
    cut = rng.randrange(len(facts))
    parts = (facts[:cut], facts[cut:])
    tracks = fact_tracks([RowBatch([Row(t, a, n) for n, (t, a) in enumerate(p)]) for p in parts])
    assert elements_of(tracks, None, 99) == facts
    assert elements_of(tracks, 5, 9) == [row for row in facts if 5 <= row[0] <= 9]
    assert elements_of(tracks, None, 9, 4) == [row for row in facts if row[0] <= 9][-4:]


def test_bands_are_put_together_until_they_are_few_enough() -> None:
    rows = [(Atom("late", (f"n{n}", f"f{n % 3}")), n, n) for n in range(30)]
    rows += [(Atom("calm"), 1, 5)]
    labels = [[band.label for band in Levels(interval_tracks(rows), n).bands] for n in (40, 20)]
    assert len(labels[0]) == 31
    assert labels[1] == ["late/2 (30)", "calm"]
    assert [band.label for band in Levels(interval_tracks(rows), 20, "N7").bands] == ["late(n7,f1)"]


def test_numbers_are_curves_with_their_extremes() -> None:
    rows = [(Atom("n", ("a", v)), 2 * t, 2 * t + 1) for t, v in enumerate([3, 9, 4] * 40)]
    levels = Levels(interval_tracks(rows), 10)
    [row] = levels.drawn(0, 239, 10)["rows"]
    assert (row["label"], row["kind"], row["low"], row["high"]) == ("n(a,·)", "curve", 3.0, 9.0)
    assert row["extremes"] == [[pixel, 0, 100] for pixel in range(10)]
    [row] = levels.drawn(0, 239, 400)["rows"]
    assert row["steps"][:2] == [(0, 1, 3.0), (2, 3, 9.0)]


def test_the_file_needs_nothing_else_and_its_texts_stay_texts() -> None:
    hostile = "</script><script>alert(1)</script>"
    stream = lp.Stream.of([(1, Atom("p", (hostile,))), (3, "p(b)")])
    page = lp.show("q(X) :- [2] some p(X). % </pre><b>", stream).to_html("<i>title</i>")
    assert "alert(1)</script>" not in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert not re.search(r"""(?:src|href)\s*=|url\(|@import|https?://""", page)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page).group(1))
    assert data["extent"] == [1, 3]
    assert {row["label"] for row in data["rows"]} >= {"p(b)", "q(b)"}
