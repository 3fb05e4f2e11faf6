"""Time order, lateness, numbering and batches, for rows and columns alike."""

import io

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.base.atoms import Atom, Element
from larspark.base.problems import LarsparkError
from larspark.base.terms import Variable
from larspark.feeds import Stream

ARRIVALS = st.lists(st.tuples(st.integers(0, 12), st.sampled_from("abc")), max_size=30)
LATENESS = st.integers(0, 6)
SIZES = st.integers(1, 7)


def as_rows(arrivals, **options):
    return Stream.of([(t, f"p({name})") for t, name in arrivals], **options)


def as_columns(arrivals, **options):
    table = pa.table(
        {
            "time": pa.array([t for t, _ in arrivals], pa.int64()),
            "name": pa.array([name for _, name in arrivals], pa.string()),
        }
    )
    return Stream.from_table(table, map="time -> p(name)", **options)


def as_csv(arrivals, **options):
    text = "time,name\n" + "".join(f"{t},{name}\n" for t, name in arrivals)
    return Stream.read(io.BytesIO(text.encode()), format="csv", map="time -> p(name)", **options)


FORMS = pytest.mark.parametrize("stream_of", [as_rows, as_columns, as_csv])


def shown(stream):
    return [(row.t, row.atom.args[0], row.seq) for row in stream.elements()]


def numbered(arrivals):
    return [(t, name, seq) for seq, (t, name) in enumerate(arrivals)]


def split_late(arrivals, lateness):
    """The obvious way: an arrival is late when it lies too far behind the newest before it."""
    on_time, late, newest = [], [], 0
    for t, name in arrivals:
        (late if t < newest - lateness else on_time).append((t, name))
        newest = max(newest, t)
    return on_time, late


@FORMS
@given(arrivals=ARRIVALS, lateness=LATENESS, size=SIZES)
@settings(deadline=None, max_examples=150)
def test_arrivals_within_the_lateness_come_sorted_and_others_are_left_out(
    stream_of, arrivals, lateness, size
):
    stream = stream_of(arrivals, lateness=lateness, on_error="skip", batch_size=size)
    on_time, late = split_late(arrivals, lateness)
    in_order = sorted(on_time, key=lambda arrival: arrival[0])
    assert shown(stream) == numbered(in_order)
    assert (stream.facts, stream.late, stream.skipped) == (len(on_time), len(late), len(late))
    if on_time:
        assert (stream.first_t, stream.last_t) == (in_order[0][0], in_order[-1][0])


@FORMS
@given(arrivals=ARRIVALS, lateness=LATENESS, size=SIZES)
@settings(deadline=None, max_examples=100)
def test_disorder_within_the_lateness_equals_sorted_input(stream_of, arrivals, lateness, size):
    # Each arrival is delayed by at most the lateness.
    delayed = sorted(
        enumerate(sorted(arrivals, key=lambda arrival: arrival[0])),
        key=lambda item: (item[1][0] + (item[0] * 7919) % (lateness + 1), item[0]),
    )
    disordered = [arrival for _, arrival in delayed]
    stream = stream_of(disordered, lateness=lateness, batch_size=size)
    in_order = sorted(disordered, key=lambda arrival: arrival[0])
    assert shown(stream) == numbered(in_order)


@FORMS
@given(arrivals=ARRIVALS, lateness=LATENESS, size=SIZES)
@settings(deadline=None, max_examples=100)
def test_the_first_late_arrival_ends_a_strict_reading(stream_of, arrivals, lateness, size):
    _, late = split_late(arrivals, lateness)
    stream = stream_of(arrivals, lateness=lateness, batch_size=size)
    if not late:
        assert len(shown(stream)) == len(arrivals)
        return
    before = next(
        number for number in range(len(arrivals)) if split_late(arrivals[: number + 1], lateness)[1]
    )
    rows = []
    with pytest.raises(LarsparkError) as error:
        rows.extend(stream.elements())
    expected = numbered(sorted(arrivals[:before], key=lambda arrival: arrival[0]))
    assert [(row.t, row.atom.args[0], row.seq) for row in rows] == expected
    (problem,) = error.value.problems
    assert problem.code == "L314"
    assert problem.span is not None
    assert problem.span.line == before + (2 if stream_of is as_csv else 1)


@FORMS
@given(arrivals=ARRIVALS, lateness=LATENESS, size=SIZES)
@settings(deadline=None, max_examples=100)
def test_batches_never_go_back_in_time(stream_of, arrivals, lateness, size):
    last = 0
    for batch in stream_of(arrivals, lateness=lateness, on_error="skip", batch_size=size).batches():
        rows = list(batch.rows())
        assert all(last <= row.t <= batch.last_t for row in rows)
        assert [row.t for row in rows] == sorted(row.t for row in rows)
        last = batch.last_t


def test_late_facts_are_told_with_their_line():
    text = b'{"t": 9, "atom": "a"}\n{"t": 5, "atoms": ["b", "c"]}\n{"t": 3}\n'
    stream = Stream.read(io.BytesIO(text), format="jsonl", on_error="skip", lateness=2)
    assert shown_atoms(stream) == ["a"]
    assert (stream.facts, stream.late, stream.skipped) == (1, 2, 3)
    assert [problem.render() for problem in stream.problems] == [
        "<file>:2:1: error L314: the time 5 comes after 9, and the lateness allowed is 2\n"
        "  hint: sort the stream, or allow a lateness of 4 time points",
        "<file>:3:1: error L314: the time 3 comes after 9, and the lateness allowed is 2\n"
        "  hint: sort the stream, or allow a lateness of 6 time points",
    ]


def shown_atoms(stream):
    return [str(row.atom) for row in stream.elements()]


def test_without_lateness_time_does_not_go_back():
    with pytest.raises(LarsparkError) as error:
        shown_atoms(Stream.of([(9, "a"), (8, "b")]))
    assert str(error.value) == (
        "<elements>:2:1: error L314: the time 8 comes after 9, and time does not go back\n"
        "  hint: sort the stream, or allow a lateness of 1 time point"
    )


def test_a_move_of_time_makes_later_facts_late():
    stream = Stream.of([(1, "a"), (50, None), (49, "b"), (50, "c")], on_error="skip")
    assert shown_atoms(stream) == ["a", "c"]
    assert stream.late == 1


def test_moves_of_time_are_put_in_order_too():
    stream = Stream.of([(7, "a"), (5, None), (6, "b"), (9, None)], lateness=3)
    first = next(stream.batches())
    assert (len(first), first.last_t) == (0, 5)
    assert shown_atoms(stream) == ["b", "a"]
    assert (stream.first_t, stream.last_t) == (5, 9)


@given(ARRIVALS, SIZES)
@settings(deadline=None, max_examples=50)
def test_batches_are_no_larger_than_asked_for(arrivals, size):
    arrivals.sort(key=lambda arrival: arrival[0])
    for stream_of in (as_rows, as_columns, as_csv):
        stream = stream_of(arrivals, batch_size=size)
        assert all(len(batch) <= size for batch in stream.batches())
        assert shown(stream) == numbered(arrivals)


@pytest.mark.parametrize(
    ("element", "message"),
    [
        ((1, "p(X)"), "`X` is a variable, and facts have no variables"),
        ((-1, "p"), "the time -1 lies before 0"),
        ((1,), "an element is a time and an atom or its text"),
        (7, "an element is a time and an atom or its text"),
        ((1, 7), "an element is a time and an atom or its text"),
        ((), "an element is a time and an atom or its text"),
    ],
)
def test_a_bad_element_in_memory_is_refused_with_its_number(element, message):
    with pytest.raises(LarsparkError) as error:
        shown_atoms(Stream.of([(1, "a"), element]))
    (problem,) = error.value.problems
    assert problem.message == message
    assert problem.span is not None
    assert (problem.span.source, problem.span.line) == ("<elements>", 2)


def test_a_bad_atom_in_memory_is_shown_with_a_caret():
    with pytest.raises(LarsparkError) as error:
        shown_atoms(Stream.of([(1, "p(a,)")]))
    assert str(error.value) == (
        "<elements>:1:5: error L312: found `)`, not a constant\n  1 | p(a,)\n    |     ^"
    )


def test_atoms_in_memory_are_brought_to_the_one_form():
    atom = Atom("p", (2.0, True, "x"))
    assert shown_atoms(Stream.of([Element(1, atom)])) == ["p(2,true,x)"]
    with pytest.raises(LarsparkError, match="a value of type Variable is not a constant"):
        shown_atoms(Stream.of([(1, Atom("p", (Variable("X"),)))]))


def test_merged_streams_are_in_time_order_and_the_first_named_comes_first() -> None:
    one = Stream.of([(1, "a"), (3, "a")])
    two = Stream.of([(0, "b"), (3, "b"), (9, None)])
    merged = Stream.merge(one, two)
    assert [(row.t, str(row.atom), row.seq) for row in merged.elements()] == [
        (0, "b", 0),
        (1, "a", 1),
        (3, "a", 2),
        (3, "b", 3),
    ]
    assert merged.last_t == 9


@st.composite
def streams(draw):
    """A stream of pairs or of a table, and its facts and bare times in order."""
    kind = draw(st.sampled_from(["pairs", "table", "lines"]))
    times = sorted(draw(st.lists(st.integers(0, 12), max_size=12)))
    names = draw(st.lists(st.sampled_from("ab"), min_size=len(times), max_size=len(times)))
    size = draw(st.integers(1, 5))
    if kind == "table":
        table = pa.table(
            {"time": pa.array(times, pa.int64()), "name": pa.array(names, pa.string())}
        )
        stream = Stream.from_table(table, map="time -> p(name)", batch_size=size)
        return stream, list(zip(times, names, strict=True)), []
    bare = [draw(st.integers(0, 3)) == 0 for _ in times]
    facts = [(t, n) for t, n, only in zip(times, names, bare, strict=True) if not only]
    alone = [t for t, only in zip(times, bare, strict=True) if only]
    if kind == "pairs":
        pairs = [
            (t, None if only else f"p({n})") for t, n, only in zip(times, names, bare, strict=True)
        ]
        return Stream.of(pairs, batch_size=size), facts, alone
    text = "".join(
        f'{{"t": {t}}}\n' if only else f'{{"t": {t}, "atom": "p({n})"}}\n'
        for t, n, only in zip(times, names, bare, strict=True)
    )
    data = io.BytesIO(text.encode())
    return Stream.read(data, format="jsonl", batch_size=size), facts, alone


@given(st.lists(streams(), min_size=1, max_size=4))
@settings(deadline=None, max_examples=300)
def test_merged_streams_are_their_facts_sorted_by_time_and_stream(found):
    expected = sorted(
        (t, place, number, name)
        for place, (_, facts, _) in enumerate(found)
        for number, (t, name) in enumerate(facts)
    )
    merged = Stream.merge(*(stream for stream, _, _ in found))
    rows, reached = [], None
    for batch in merged.batches():
        rows += batch.rows()
        # Nothing comes before a time that was reached, except that time itself.
        assert batch.first_t is None or reached is None or batch.first_t >= reached
        reached = batch.last_t
    assert [(row.t, row.atom.args[0], row.seq) for row in rows] == [
        (t, name, seq) for seq, (t, _, _, name) in enumerate(expected)
    ]
    times = [t for t, _, _, _ in expected] + [t for _, _, alone in found for t in alone]
    assert merged.first_t == min(times, default=None)
    assert merged.last_t == max(times, default=None)
    assert merged.facts == len(expected)


def test_a_problem_of_a_merged_stream_comes_after_the_facts_before_it():
    bad = Stream.read(
        io.BytesIO(b'{"t": 1, "atom": "a"}\n{"t": 4, "atom": "b"}\nnonsense\n'), format="jsonl"
    )
    merged = Stream.merge(Stream.of([(t, f"c({t})") for t in range(9)]), bad)
    rows = []
    with pytest.raises(LarsparkError, match="not JSON"):
        for row in merged.elements():
            rows.append((row.t, str(row.atom)))
    assert [name for _, name in rows] == ["c(0)", "c(1)", "a", "c(2)", "c(3)", "c(4)", "b"]
