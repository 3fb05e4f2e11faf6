"""A table of texts gives the codes that a dictionary would, and texts back, also old ones."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.base.terms import Constant
from larspark.run.interval import interning
from larspark.run.interval.interning import Constants, constants_at
from larspark.run.interval.kernels import text_lookup
from larspark.run.interval.text_table import TextTable

# Few short texts, so that they meet again; some longer than a word of eight bytes.
texts = st.sampled_from(
    ["", "a", "b", "ab", "abcdefgh", "abcdefghi", "Straße", "日本", "a\0", "x" * 70]
)
names = st.one_of(texts, st.integers(0, 400).map("n{}".format))
columns = st.lists(names, max_size=40).map(lambda column: ("column", column))
single = st.one_of(names, st.just("\ud800"), st.sampled_from([2**62, 1e300, 7, 2.5]))
steps = st.one_of(
    columns,
    columns.map(lambda step: ("dictionary", step[1])),
    columns.map(lambda step: ("slice", step[1])),
    single.map(lambda value: ("single", [value])),
    st.integers(0, 3).map(lambda every: ("forget", [every])),
    st.just(("saved", [])),
)


@pytest.fixture
def tables(way: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every table of constants use a table of texts from its first column on."""
    kernels = (
        text_lookup.code_texts.run,
        text_lookup.keep_texts.run,
        text_lookup.fill_slots.run,
        text_lookup.copy_texts.run,
    )
    monkeypatch.setattr(TextTable, "if_ready", lambda: TextTable(kernels))
    monkeypatch.setattr(interning, "has_work", lambda: True)


@pytest.mark.usefixtures("tables")
@given(script=st.lists(steps, max_size=25))
@settings(max_examples=80, deadline=None)
def test_codes_are_equal_where_constants_are_and_answers_keep_their_texts(
    script: Sequence[tuple[str, list[Constant]]],
) -> None:
    constants, live = Constants(), dict[Constant, int]()
    kept: list[tuple[Sequence[Constant], dict[Constant, int]]] = []
    for kind, values in script:
        if kind == "forget":
            kept.append((constants.values, dict(live)))
            live = {v: code for n, (v, code) in enumerate(live.items()) if n % 4 > values[0]}
            constants.forget([np.array(list(live.values()), np.int64)])
            continue
        if kind == "saved":
            saved = constants.saved(), constants.free, constants.own
            constants = Constants()
            constants.load(*saved)
            continue
        codes = [constants.code(values[0])] if kind == "single" else coded(constants, kind, values)
        for value, code in zip(values, codes, strict=True):
            assert live.setdefault(value, code) == code
            assert constants.decode(code) == value
        assert len(set(live.values())) == len(live)
    for values_then, then in (*kept, (constants.values, live)):
        placed = {v: code >> 2 for v, code in then.items() if code & 3 == interning.TABLE}
        assert constants_at(list(placed.values()), values_then) == list(placed)


def coded(constants: Constants, kind: str, values: Sequence[Constant]) -> list[int]:
    """The codes of texts, given as a column of a kind."""
    column = pa.array(["before", *values, "after"], pa.string()).slice(1, len(values))
    if kind != "slice":
        column = pa.array(values, pa.string())
    if kind == "dictionary":
        column = column.dictionary_encode()
    rows = np.zeros((len(values), 2), np.int64)
    constants.code_column(pa.chunked_array([column]), rows, 1)
    found: list[int] = rows[:, 1].tolist()
    return found


@pytest.mark.usefixtures("tables")
def test_a_growing_table_finds_all_its_texts() -> None:
    constants = Constants()
    column = [f"name {number}" for number in range(5000)]
    found = [coded(constants, "column", column[at : at + 700]) for at in range(0, 5000, 700)]
    codes = [code for part in found for code in part]
    assert coded(constants, "column", column) == codes
    assert constants_at([code >> 2 for code in codes], constants.values) == column
    constants.forget([np.array(codes[::50], np.int64)])
    assert coded(constants, "column", column[::50]) == codes[::50]
    assert len(constants) == 100
