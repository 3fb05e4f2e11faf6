"""Facts that equal another one at their time point are counted, whatever the batches."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.base.facts import RowBatch
from larspark.feeds import Stream
from larspark.show.run_notes import MergedFacts

VALUES = st.one_of(
    st.sampled_from([0, 1, 2]), st.sampled_from([0.0, -0.0, 1.0, 0.5]), st.sampled_from(["a", "b"])
)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab"), VALUES), max_size=30),
    st.integers(1, 8),
)
@settings(deadline=None, max_examples=300)
def test_merged_facts_are_those_beyond_the_distinct_ones(facts, size):
    facts.sort(key=lambda fact: fact[0])
    kinds = {type(value) for _, _, value in facts}
    merged = MergedFacts()
    expected = len(facts) - len({(t, s, v) for t, s, v in facts})
    if len(kinds) <= 1:
        columns = zip(*facts, strict=True) if facts else ([], [], [])
        table = pa.table(dict(zip(("t", "s", "v"), map(list, columns), strict=True)))
        if not facts:
            return
        stream = Stream.from_table(table, map="t -> p(s, v)", batch_size=size)
    else:
        pairs = [(t, f"p({s},{v!r})".replace("'", '"')) for t, s, v in facts]
        stream = Stream.of(pairs, batch_size=size)
    rows = list(stream.batches())
    for batch in rows:
        merged.add(batch)
    assert merged.count == expected
    again = MergedFacts()
    for batch in rows:
        again.add(RowBatch(list(batch.rows()), batch.last_t))
    assert again.count == expected


def test_segments_of_several_types_are_compared_by_value():
    table = pa.table({"t": [1, 1, 1, 2], "v": ["1", "1.0", "x", "1"]})
    stream = Stream.from_table(table, map="t -> p(number(v))", on_error="skip")
    merged = MergedFacts()
    for batch in stream.batches():
        merged.add(batch)
    assert merged.count == 1
    (note,) = merged.note()
    assert note == "1 fact equals another one at the same time point; equal facts count once"
