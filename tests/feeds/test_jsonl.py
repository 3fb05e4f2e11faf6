"""Streams in JSON Lines."""

import gzip
import io
import json
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.base.problems import LarsparkError
from larspark.feeds import Stream


def stream_of(text, **options):
    data = text.encode() if isinstance(text, str) else text
    return Stream.read(io.BytesIO(data), format="jsonl", **options)


def shown(stream):
    return [(row.t, str(row.atom), row.seq) for row in stream.elements()]


def test_all_three_shapes_are_read_in_arrival_order():
    stream = stream_of(
        '{"t": 36, "atom": "tram(a1,b)"}\n'
        '{"t": 36, "atoms": ["tram(a1,b)", "bus(b1, 2.0)"]}\n'
        '{"t": 37, "predicate": "temp", "args": ["New York", -3.5, 2.0, true, 9007199254740993]}\n'
        '{"predicate": "done", "t": 40}\n'
        '{"t": 41.0, "atoms": []}\n'
    )
    assert shown(stream) == [
        (36, "tram(a1,b)", 0),
        (36, "tram(a1,b)", 1),
        (36, "bus(b1,2)", 2),
        (37, 'temp("New York",-3.5,2,true,9007199254740993)', 3),
        (40, "done", 4),
    ]
    assert (stream.facts, stream.skipped, stream.late) == (5, 0, 0)
    assert (stream.first_t, stream.last_t) == (36, 41)


def test_time_only_moves_without_an_atom():
    batches = list(stream_of('{"t": 36, "atom": "a"}\n{"t": 50}\n').batches())
    assert [(len(batch), batch.last_t) for batch in batches] == [(1, 50)]


def test_time_that_moves_before_the_first_fact_comes_in_a_batch_of_its_own():
    batches = list(stream_of('{"t": 30}\n{"t": 36, "atom": "a"}\n').batches())
    assert [(len(batch), batch.last_t) for batch in batches] == [(0, 30), (1, 36)]


def test_blank_lines_carriage_returns_and_a_byte_order_mark_do_no_harm():
    stream = stream_of(b'\xef\xbb\xbf{"t": 1, "atom": "a"}\r\n\r\n  \n\n{"t": 2, "atom": "b"}')
    assert shown(stream) == [(1, "a", 0), (2, "b", 1)]


def test_an_empty_file_is_an_empty_stream():
    stream = stream_of("")
    assert list(stream.batches()) == []
    assert (stream.facts, stream.first_t, stream.last_t) == (0, None, None)


def test_iso_timestamps_become_time_points_with_a_tick():
    text = '{"t": "1970-01-01T00:01:00Z", "atom": "a"}\n{"t": 2, "atom": "b"}\n'
    assert shown(stream_of(text, tick=60_000_000)) == [(1, "a", 0), (2, "b", 1)]
    assert shown(stream_of(text).with_tick(60_000_000)) == [(1, "a", 0), (2, "b", 1)]
    assert stream_of(text, tick=7).with_tick(60_000_000).options.tick == 7


GOOD = b'{"t": 36, "atom": "ok"}\n'
EXAMPLE = '\n  hint: write {"t": 36, "atom": "tram(a1,b)"}'
BAD_LINES = [
    ("{", 2, "L308: not JSON: unexpected end of data"),
    ('{"t": NaN}', 7, "L308: not JSON: unexpected character, expected a JSON value"),
    ('{"t": 1e999}', 7, "L308: not JSON: number is infinity when parsed as double"),
    ('{"t": 36} x', 11, "L308: not JSON: unexpected content after document"),
    ("[36]", 1, f"L308: a list is not an object{EXAMPLE}"),
    ("36", 1, f"L308: a number is not an object{EXAMPLE}"),
    ("null", 1, f"L308: null is not an object{EXAMPLE}"),
    (
        '{"atom": "a"}',
        1,
        f"L309: the key `t` is missing{EXAMPLE}; in a live run, `--clock 1s` takes the time of"
        " arrival",
    ),
    (
        '{"t": 4, "triple": ["a", "b", "c"]}',
        11,
        "L309: unknown key `triple`\n  hint: triples are read from files; in a live run write "
        '{"t": 1, "predicate": "i", "args": [subject, predicate, object, stream]}',
    ),
    ('{"t": 40, "atmo": "a"}', 12, "L309: unknown key `atmo`\n  hint: did you mean `atom`?"),
    (
        '{"t": 40, "x": 1}',
        12,
        "L309: unknown key `x`\n  hint: the keys are t, atom, atoms, predicate, args; "
        "a mapping reads others: `--map 'time -> temp(sensor, value)'`",
    ),
    ('{"t": 40, "atom": "a", "atoms": []}', 25, "L309: `atom` and `atoms` exclude each other"),
    ('{"t": 40, "args": []}', 12, "L309: `args` needs a `predicate`"),
    ('{"t": 40, "atom": 7}', 12, "L309: an atom is a text, not a number"),
    ('{"t": 40, "atom": null}', 12, "L309: an atom is a text, not null"),
    ('{"t": 40, "atoms": "a"}', 12, "L309: `atoms` is a text, not a list"),
    ('{"t": 40, "atoms": ["a", {}]}', 12, "L309: an atom is a text, not an object"),
    ('{"t": 40, "predicate": "p", "args": "a"}', 30, "L309: `args` is a text, not a list"),
    ('{"t": 40, "predicate": 7}', 12, "L312: the predicate is not a text"),
    (
        '{"t": 40, "predicate": ""}',
        12,
        "L312: the predicate is empty"
        "\n  hint: a predicate is a lowercase letter, then letters, digits and `_`, or quoted",
    ),
    (
        '{"t": 40, "predicate": "p", "args": [1, null]}',
        30,
        "L313: argument 2: null is not a constant",
    ),
    (
        '{"t": 40, "predicate": "p", "args": [[]]}',
        30,
        "L313: argument 1: a value of type list is not a constant",
    ),
    (
        '{"t": 40, "predicate": "p", "args": [1e300, 18446744073709551616]}',
        30,
        "L313: argument 2: 18446744073709551616 does not fit a 64-bit integer",
    ),
    (
        '{"t": 40, "predicate": "p", "args": [9223372036854775808]}',
        30,
        "L313: argument 1: 9223372036854775808 does not fit a 64-bit integer",
    ),
    (
        '{"t": 40, "atom": "tram(a1,St)"}',
        28,
        "L312: `St` is a variable, and facts have no variables"
        '\n  hint: quote a text that does not begin with a lowercase letter: "St"',
    ),
    ('{"t": 40, "atoms": ["a", "p(1e999)"]}', 29, "L313: `1e999` does not fit a 64-bit float"),
    (r'{"t": 40, "atom": "p(\"a b\",)"}', 1, "L312: found `)`, not a constant"),
    ('{"t": -1, "atom": "a"}', 3, "L310: the time -1 lies before 0\n  hint: time begins at 0"),
    ('{"t": 40.5}', 3, "L310: the time 40.5 is not an integer"),
    (
        '{"t": 18446744073709551616}',
        3,
        "L310: the time 1.8446744073709552e+19 is too large to be exact",
    ),
    (
        '{"t": 9223372036854775808}',
        3,
        "L310: the time 9223372036854775808 does not fit a 64-bit integer",
    ),
    ('{"t": null}', 3, "L310: the time is missing"),
    ('{"t": true}', 3, "L310: the time is true or false, not a number"),
    ('{"t": [1]}', 3, "L310: the time is of type list, not a number"),
    (
        '{"t": "40"}',
        3,
        'L310: the time "40" is neither a number nor an ISO timestamp'
        "\n  hint: write 36 or 2013-01-01T05:00:00Z",
    ),
    (
        '{"t": "2013-01-01"}',
        3,
        'L311: the time "2013-01-01" is a timestamp, but the length of a time point is not known'
        "\n  hint: set it in the program, e.g. `#tick 1 s.`, or as `--tick 1s`, `tick=1_000_000`",
    ),
]


@pytest.mark.parametrize(("line", "column", "message"), BAD_LINES)
def test_a_bad_line_is_refused_with_its_place_and_a_caret(line, column, message):
    what, *hint = message.split("\n")
    expected = "\n".join(
        [
            f"<file>:2:{column}: error {what}",
            f"  2 | {line}",
            "    | " + " " * (column - 1) + "^",
            *hint,
        ]
    )
    skipping = stream_of(GOOD + line.encode() + b"\n" + GOOD, on_error="skip")
    assert shown(skipping) == [(36, "ok", 0), (36, "ok", 1)]
    assert (skipping.facts, skipping.skipped, skipping.late) == (2, 1, 0)
    assert [problem.render() for problem in skipping.problems] == [expected]

    failing = stream_of(GOOD + line.encode() + b"\n" + GOOD)
    delivered = []
    with pytest.raises(LarsparkError) as error:
        delivered.extend(failing.elements())
    assert str(error.value) == expected
    assert (len(delivered), failing.facts, failing.skipped) == (1, 1, 0)


def test_everything_before_a_bad_line_is_delivered_before_it_is_raised():
    batches = stream_of(GOOD * 3 + b"[]\n" + GOOD).batches()
    assert [row.seq for row in next(batches).rows()] == [0, 1, 2]
    with pytest.raises(LarsparkError, match="4:1: error L308"):
        next(batches)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            b'{"t": 40, "atom": "\xff"}',
            "<file>:2:1: error L307: byte 20 of the line is not valid UTF-8",
        ),
        (b"[" * 5000, "<file>:2:1026: error L308: not JSON: depth limit exceeded"),
        (b"x" * ((1 << 20) + 1), "<file>:2:1: error L306: the line is longer than 1048576 bytes"),
        (b"x" * (5 << 20), "<file>:2:1: error L306: the line is longer than 1048576 bytes"),
        (b"9" * 5000, "<file>:2:1: error L308: not JSON: number is infinity when parsed as double"),
    ],
)
def test_lines_that_cannot_be_shown_are_refused_all_the_same(line, message):
    stream = stream_of(GOOD + line + b"\n" + GOOD, on_error="skip")
    assert len(shown(stream)) == 2
    assert stream.problems[0].render().split("\n")[0] == message


def test_a_line_of_just_the_allowed_length_is_read():
    atom = b'{"t": 1, "atom": "a"}'
    stream = stream_of(atom.rjust(1 << 20) + b"\n" + atom)
    assert stream.facts == 0
    assert len(shown(stream)) == 2


def test_the_last_line_may_be_too_long():
    stream = stream_of(GOOD + b"x" * (2 << 20), on_error="skip")
    assert len(shown(stream)) == 1
    assert stream.skipped == 1


def test_only_the_first_problems_are_kept_and_all_are_counted():
    stream = stream_of("[]\n" * 1000 + '{"t": 1}', on_error="skip")
    assert shown(stream) == []
    assert (stream.skipped, len(stream.problems)) == (1000, 100)


def test_a_file_is_read_again_for_each_iteration(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(GOOD * 3)
    stream = Stream.read(path)
    assert shown(stream) == shown(stream)
    path.write_bytes(GOOD)
    assert len(shown(stream)) == 1
    assert stream.facts == 1


def test_a_compressed_file_is_known_by_its_suffix(tmp_path):
    path = tmp_path / "events.jsonl.gz"
    path.write_bytes(gzip.compress(GOOD * 1000))
    assert len(shown(Stream.read(path))) == 1000


def test_a_compressed_file_that_is_cut_off_is_an_error_after_what_could_be_read(tmp_path):
    path = tmp_path / "events.jsonl.gz"
    lines = b"".join(b'{"t": %d, "atom": "p(%d)"}\n' % (t, t * 7919) for t in range(100_000))
    path.write_bytes(gzip.compress(lines)[:-2000])
    stream = Stream.read(str(path))
    with pytest.raises(LarsparkError) as error:
        shown(stream)
    assert str(error.value) == (
        f"error L301: cannot read {path}: "
        "Compressed file ended before the end-of-stream marker was reached"
    )
    assert stream.facts > 50_000


def test_a_file_that_is_not_compressed_says_so(tmp_path):
    path = tmp_path / "events.jsonl.gz"
    path.write_bytes(GOOD)
    with pytest.raises(LarsparkError, match=r"error L301: cannot read .*: Not a gzipped file"):
        shown(Stream.read(path))


def test_standard_input_is_read_once(monkeypatch):
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Pipe(GOOD)))
    stream = Stream.read("-")
    assert shown(stream) == [(36, "ok", 0)]
    with pytest.raises(LarsparkError) as error:
        shown(stream)
    assert str(error.value) == "error L317: <stdin> can be read only once, and was read already"


def test_lines_from_a_pipe_are_not_held_back():
    class Pipe(io.RawIOBase):
        """Gives one line at a time, and remembers how many were asked for."""

        def __init__(self):
            self.reads = 0

        def read1(self, size):
            self.reads += 1
            return GOOD if self.reads <= 3 else b""

    pipe = Pipe()
    batches = Stream.read(pipe, format="jsonl").batches()
    next(batches)
    assert pipe.reads == 1
    assert [len(batch) for batch in batches] == [1, 1]


def test_text_files_and_open_files_are_read_from_where_they_stand(tmp_path):
    assert shown(Stream.read(io.StringIO(GOOD.decode()), format="jsonl")) == [(36, "ok", 0)]
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"# a remark\n" + GOOD)
    with path.open("rb") as file:
        file.readline()
        stream = Stream.read(file)
        assert shown(stream) == shown(stream) == [(36, "ok", 0)]
    with path.open() as file:
        assert Stream.read(file, on_error="skip").name == str(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_error": "stop"}, "error L318: on_error cannot be stop\n  hint: it is fail or skip"),
        (
            {"lateness": -1},
            "error L318: lateness cannot be -1\n  hint: it is 0 or more time points",
        ),
        ({"batch_size": 0}, "error L318: batch_size cannot be 0\n  hint: it is 1 or more"),
        (
            {"tick": 0},
            "error L318: tick cannot be 0\n  hint: it is from 1 to 9223372036854775 microseconds",
        ),
    ],
)
def test_wrong_options_are_refused_at_once(options, message):
    with pytest.raises(LarsparkError) as error:
        stream_of(GOOD, **options)
    assert str(error.value) == message


def test_facts_of_the_language_have_no_mapping():
    with pytest.raises(LarsparkError) as error:
        Stream.read(io.StringIO("@1 p."), format="lars", map="t -> a")
    assert str(error.value) == (
        "error L303: <file> holds facts, but a mapping is for tables and JSON objects\n"
        "  hint: leave the mapping out"
    )


def test_unknown_files_and_formats_are_refused_at_once(tmp_path):
    missing = tmp_path / "none.jsonl"
    with pytest.raises(LarsparkError) as error:
        Stream.read(missing)
    assert str(error.value) == f"error L301: cannot read {missing}: there is no such file"
    odd = tmp_path / "events.xlsx"
    odd.write_bytes(b"")
    with pytest.raises(LarsparkError) as error:
        Stream.read(odd)
    assert str(error.value) == (
        f"error L302: the format of {odd} is unknown\n"
        "  hint: give the format: one of jsonl, csv, tsv, parquet, arrow, lars"
    )
    with pytest.raises(LarsparkError) as error:
        Stream.read(odd, format="xlsx")
    assert str(error.value) == (
        "error L302: unknown format `xlsx`\n"
        "  hint: the formats are jsonl, csv, tsv, parquet, arrow, lars"
    )
    folder = tmp_path / "folder.jsonl"
    folder.mkdir()
    with pytest.raises(LarsparkError) as error:
        shown(Stream.read(folder))
    assert str(error.value) == f"error L301: cannot read {folder}: Is a directory"


@given(st.lists(st.binary(max_size=60).map(lambda line: line.replace(b"\n", b"")), max_size=5))
@settings(deadline=None)
def test_any_bytes_are_facts_or_problems(lines):
    stream = stream_of(b"\n".join(lines), on_error="skip", tick=1)
    facts = len(shown(stream))
    assert facts == stream.facts
    assert len(stream.problems) <= len(lines)


JSON_LIKE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from(["t", "atom", "atoms", "predicate", "args", "x"]), JSON_LIKE)
)
@settings(deadline=None)
def test_any_json_is_facts_or_problems(record):
    stream = stream_of(json.dumps(record), on_error="skip", tick=1)
    assert len(shown(stream)) == stream.facts
    assert stream.facts == 0 or stream.skipped == 0


def test_a_hostile_line_takes_no_longer_than_its_length():
    many = ",".join(["1e300"] * 100_000)
    start = time.process_time()
    stream = stream_of(
        f'{{"t": 1, "predicate": "p", "args": [{many},18446744073709551616]}}', on_error="skip"
    )
    assert shown(stream) == []
    assert time.process_time() - start < 2
