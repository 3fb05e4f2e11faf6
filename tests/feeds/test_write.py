"""Answers as JSON Lines."""

import json
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.base.atoms import Atom
from larspark.feeds import change_line, interval_line, point_line
from larspark.feeds.time_format import POINTS, TimeFormat
from larspark.feeds.write import interval_texts

ATOMS = st.lists(st.builds(Atom, st.just("p"), st.tuples(st.text())), max_size=4)


def as_python_writes(record):
    return json.dumps(record, ensure_ascii=False)


def texts(atoms):
    return sorted(map(str, atoms))


@given(st.integers(0, 2**63 - 1), ATOMS, st.one_of(st.none(), st.integers(0, 9)))
@settings(deadline=None)
def test_points_are_written_as_python_writes_json(t, atoms, c):
    tick = {} if c is None else {"c": c}
    assert point_line(t, atoms, c) == as_python_writes({"t": t} | tick | {"atoms": texts(atoms)})


@given(st.integers(0, 99), ATOMS, ATOMS)
@settings(deadline=None)
def test_changes_and_intervals_are_written_as_python_writes_json(t, added, removed):
    expected = as_python_writes({"t": t, "add": texts(added), "del": texts(removed)})
    assert change_line(t, added, removed) == expected
    for atom in added:
        expected = as_python_writes({"atom": str(atom), "from": t, "to": t + 1})
        assert interval_line(atom, t, t + 1) == interval_line(str(atom), t, t + 1) == expected


def test_the_lines_of_the_contract():
    atoms = [Atom("q", ("x2", "y", "z")), Atom("q", ("x1", "y", "z"))]
    assert point_line(38, atoms) == '{"t": 38, "atoms": ["q(x1,y,z)", "q(x2,y,z)"]}'
    assert point_line(38, []) == '{"t": 38, "atoms": []}'
    assert point_line(38, [], c=3) == '{"t": 38, "c": 3, "atoms": []}'
    assert point_line(42, None) == '{"t": 42, "atoms": null, "inconsistent": true}'
    assert interval_line(atoms[1], 38, 39) == '{"atom": "q(x1,y,z)", "from": 38, "to": 39}'


@pytest.mark.parametrize(
    "times", [POINTS, TimeFormat(60_000_000), TimeFormat(1_000, ZoneInfo("Europe/Vienna"))]
)
def test_many_intervals_are_written_as_each_of_them(times):
    texts = ["p", 'q("a b")', 'q("\\\\","\\n")', 'r("ä\x01\x7f\u2028")', "p(1.5)"]
    rows = [(texts[n % len(texts)], n // 7 - 20, n // 7 + n % 3) for n in range(120_000)]
    rows += [("far", 0, 10**15)]
    names = ("atom", "from", "to")
    table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    written = "\n".join(interval_texts(table, times))
    assert written.split("\n") == [interval_line(*row, times) for row in rows]


def test_no_intervals_are_no_lines():
    table = pa.table({"atom": pa.array([], pa.string()), "from": [], "to": []})
    assert list(interval_texts(table)) == []
