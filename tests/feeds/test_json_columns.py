"""Blocks of JSON lines as columns: the same facts and problems as line by line."""

import io
import os
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.base.facts import ColumnBatch
from larspark.base.problems import LarsparkError
from larspark.feeds import Stream, byte_source, parse_ground_atom
from larspark.feeds.formats import json_columns
from larspark.feeds.formats.atom_columns import atom_columns
from larspark.feeds.formats.json_columns import MappedBlocks, NativeBlocks

EXAMPLES = int(os.environ.get("LARSPARK_EXAMPLES", "300"))


class LineByLine:
    """A reader of blocks that leaves all of them to the reader of lines."""

    timestamps = False

    def read(self, block, newest, first_seq):
        return None


def outcome(data, fast, size, **options):
    """All that a reading of these bytes gives."""
    reader = json_columns.block_reader if fast else lambda *_: LineByLine()
    with (
        patch("larspark.feeds.stream.block_reader", reader),
        patch.object(byte_source, "_LARGE_BLOCK", size),
    ):
        stream = Stream.read(io.BytesIO(data), format="jsonl", **options)
        rows, failure, stamped = [], None, False
        try:
            for row in stream.elements():
                rows.append((row.t, row.atom, row.seq, [type(arg) for arg in row.atom.args]))
        except LarsparkError as error:
            failure = str(error)
        stamped = stream.timestamps
    counts = (stream.facts, stream.skipped, stream.late, stream.first_t, stream.last_t)
    # A time that was read before its line was refused counts, too, when lines are read one by one.
    stamped = stamped and not stream.skipped and failure is None
    return rows, failure, counts, [problem.render() for problem in stream.problems], stamped


def assert_alike(data, size, **options):
    for on_error in ("skip", "fail"):
        slow = outcome(data, False, size, on_error=on_error, **options)
        assert outcome(data, True, size, on_error=on_error, **options) == slow


NUMBERS = ["7", "-3", "007", "2.50", "-0.5", "1e3", "1e-05", "9007199254740993", "5.", ".5", "-.5"]
NUMBERS += ["9223372036854775808", "1e999", "0x1F", "--5", "1-2", "+3", "-", "1.2.3", "0", "-0"]
NAMES = ["a1", "b", "s_2", "aBc", "New", "_x", "ü", "a b", '\\"New York\\"', "", " c", "inf", "nan"]
ARGUMENT = st.one_of(st.sampled_from(NUMBERS[:4]), st.sampled_from(NAMES[:3]))
ODD_ARGUMENT = st.one_of(st.sampled_from(NUMBERS), st.sampled_from(NAMES))
ATOM = st.builds(
    lambda name, args: f"{name}({','.join(args)})" if args else name,
    st.sampled_from(["p", "temp", "p"]),
    st.lists(ARGUMENT, max_size=2),
)
ODD_ATOM = st.one_of(
    st.builds(
        lambda name, args: f"{name}({','.join(args)})",
        st.sampled_from(["p", "Temp", "1p", '\\"my p\\"', " q", ""]),
        st.lists(ODD_ARGUMENT, max_size=3),
    ),
    st.sampled_from(["p(a", "p(a))", "p((a))", "p)a(", "(p)", "p(a)b", "p(,)", "a,b", "p(a)(b)"]),
)
TIME = st.one_of(
    st.integers(0, 9).map(str),
    st.integers(0, 9).map(str),
    st.sampled_from(
        ["-1", "1.0", '"1970-01-01T00:00:03"', "1e1", "99999999999999999999", "null", "true", '"7"']
    ),
)


def native(t, shape, atoms):
    if shape == "atom":
        return f'{{"t": {t}, "atom": "{atoms[0]}"}}'
    if shape == "atoms":
        listed = ", ".join(f'"{atom}"' for atom in atoms)
        return f'{{"t": {t}, "atoms": [{listed}]}}'
    if shape == "args":
        args = ", ".join(atoms)
        return f'{{"t": {t}, "predicate": "p", "args": [{args}]}}'
    if shape == "interval":
        return f'{{"atom": "{atoms[0]}", "from": {t}, "to": {len(atoms[0])}}}'
    return f'{{"t": {t}}}'


VALUES = st.sampled_from(
    [
        *("1", "2.5", '"a"', '"x y"', "-3", '"\\u00fc"', '"ü"', "true", "null", "[1]", '{"a": 1}'),
        *("1e999", "9007199254740993", "18446744073709551615", '"\\ud800"', "NaN", "1.0", '"7"'),
        *("-0.0", "1e16"),
    ]
)


@st.composite
def native_lines(draw):
    shape = draw(st.sampled_from(["atom", "atoms", "args", "mixed"]))
    odd = draw(st.booleans())
    lines, t = [], 0
    for _ in range(draw(st.integers(0, 12))):
        kind = (
            draw(st.sampled_from(["atom", "atoms", "args", "interval", ""]))
            if shape == "mixed"
            else shape
        )
        t += draw(st.integers(-1 if odd else 0, 2))
        atoms = draw(
            st.lists(VALUES, max_size=2)
            if kind == "args"
            else st.lists(ODD_ATOM if odd and draw(st.booleans()) else ATOM, min_size=1, max_size=3)
        )
        time = draw(TIME) if odd and draw(st.integers(0, 4)) == 0 else str(max(t, 0))
        lines.append(native(time, kind, atoms))
    return lines


@st.composite
def mutated(draw, lines):
    """The bytes of lines, some of them damaged."""
    ends = draw(st.sampled_from(["\n", "\n", "\n", "\r\n"]))
    text = ends.join(draw(lines)) + draw(st.sampled_from([ends, ends, "", "\n\n"]))
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        if data:
            place = draw(st.integers(0, len(data) - 1))
            piece = draw(
                st.sampled_from([b"", b"\n", b"{", b"}", b'"', b",", b"}{", b"\xff", b"\\", b" "])
            )
            data[place : place + draw(st.integers(0, 2))] = piece
    return bytes(data)


@given(mutated(native_lines()), st.sampled_from([16, 64, 1 << 20]), st.sampled_from([0, 0, 2, 9]))
@settings(deadline=None, max_examples=EXAMPLES)
def test_blocks_of_atoms_give_what_lines_give(data, size, lateness):
    assert_alike(data, size, lateness=lateness)
    assert_alike(data, size, lateness=lateness, tick=1_000_000, batch_size=3)


@st.composite
def objects(draw):
    keys = ["t", "x", "d", "other", "d.y"]
    kinds = {key: draw(st.one_of(st.none(), VALUES)) for key in keys}
    lines, t = [], 0
    for _ in range(draw(st.integers(0, 10))):
        t += draw(st.integers(0, 2))
        fields = [f'"t": {t if draw(st.integers(0, 9)) else draw(TIME)}']
        for key in keys[1:]:
            value = kinds[key]
            if draw(st.integers(0, 9)) == 0:
                value = draw(VALUES)
            if value is not None:
                value = f'{{"y": {value}}}' if key == "d" and draw(st.integers(0, 9)) else value
                fields.append(f'"{key}": {value}')
        if draw(st.integers(0, 9)) == 0:
            fields = draw(st.permutations([*fields, fields[0]]))
        lines.append(f"{{{', '.join(fields)}}}")
    return lines


MAPPINGS = ["t -> p(x)", "t -> p(d.y); t -> q(text(x))", "ms(t) -> p(number(x), integer(d.y))"]


@given(
    mutated(objects()),
    st.sampled_from(MAPPINGS),
    st.sampled_from([16, 64, 1 << 20]),
    st.sampled_from([0, 2]),
)
@settings(deadline=None, max_examples=EXAMPLES)
def test_blocks_of_objects_give_what_lines_give(data, mapping, size, lateness):
    assert_alike(data, size, map=mapping, lateness=lateness, tick=1000)


@given(st.lists(st.one_of(ATOM, ODD_ATOM.map(lambda text: text.replace("\\", ""))), max_size=6))
@settings(deadline=None, max_examples=EXAMPLES)
def test_texts_of_atoms_as_columns_are_those_of_the_definition(texts):
    import pyarrow as pa

    found = atom_columns(pa.array(texts, pa.string()))
    if found is None:
        return
    atoms = dict.fromkeys(range(len(texts)))
    for predicate, rows, arguments in found:
        places = range(len(texts)) if rows is None else rows.tolist()
        columns = [column.to_pylist() for column in arguments]
        for number, place in enumerate(places):
            atoms[place] = (predicate, tuple(column[number] for column in columns))
    expected = [parse_ground_atom(text) for text in texts]
    assert [atoms[place] for place in range(len(texts))] == [tuple(atom) for atom in expected]


LINES = {
    "atom": '{{"t": {t}, "atom": "temp(s{s},{v})"}}',
    "reversed": '{{"atom": "temp(s{s},{v})", "t": {t}}}',
    "bare": '{{"t": {t}, "atom": "tick"}}',
    "atoms": '{{"t": {t}, "atoms": ["temp(s{s},{v})", "seen(s{s})", "tick"]}}',
    "args": '{{"t": {t}, "predicate": "temp", "args": ["s{s}", {v}]}}',
    "stamped": '{{"t": "1970-01-01T00:00:0{t}Z", "atom": "temp(s{s},{v})"}}',
}
PLAIN = [(t, s, v) for t in range(5) for s, v in ((1, 2), (2, 2.5), (3, -7))]


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_plain_blocks_are_read_as_columns(line, end):
    """What is meant to be fast is not read line by line."""
    data = "".join(line.format(t=t, s=s, v=v) + end for t, s, v in PLAIN).encode()
    with patch.object(json_columns.NativeBlocks, "read", autospec=True) as read:
        found = []
        read.side_effect = lambda *args: found.append(ORIGINAL(*args)) or found[-1]
        stream = Stream.read(io.BytesIO(data), format="jsonl", tick=1_000_000)
        assert all(isinstance(batch, ColumnBatch) for batch in stream.batches())
    assert all(each is not None for each in found)
    assert_alike(data, 64, tick=1_000_000)


ORIGINAL = NativeBlocks.read


def test_plain_objects_are_read_as_columns():
    data = "".join(
        f'{{"t": {t}, "meta": {{"at": [1, {{}}]}}, "d": {{"y": "ü\\"{s}"}}, "x": {v}}}\n'
        for t, s, v in PLAIN
    ).encode()
    stream = Stream.read(io.BytesIO(data), format="jsonl", map="t -> p(d.y, x)")
    with patch("larspark.feeds.formats.json_objects.MappedObjects.arrivals") as arrivals:
        assert [(row.t, row.atom.args) for row in stream.elements()] == [
            (t, (f'ü"{s}', v)) for t, s, v in PLAIN
        ]
    arrivals.assert_not_called()
    assert isinstance(json_columns.block_reader(stream_mappings(), stream.options), MappedBlocks)


def stream_mappings():
    from larspark.feeds.mapping import parse_mappings

    return parse_mappings("t -> p(x)")


def test_lines_over_the_limit_are_problems_wherever_blocks_end():
    line = '{"t": 1, "atom": "p"}\n'
    for long in (byte_source.LINE_LIMIT + 10, 3 * byte_source.LINE_LIMIT):
        text = line + f'{{"t": 1, "atom": "p({"x" * long})"}}\n' + line
        for end in ("", '{"t": 2' + " " * long):
            rows, _, counts, problems, _ = outcome(
                (text + end).encode(), True, 1 << 20, on_error="skip"
            )
            assert len(rows) == 2
            assert counts[:2] == (2, 1 + bool(end))
            assert problems[0].startswith("<file>:2:1: error L306: the line is longer than")
