"""Keys in buckets: a column at a time as one at a time."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from larspark.scale.buckets import BUCKETS, bucket, bucket_column

INTEGERS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**54), 2**54).map(float)


@given(st.lists(INTEGERS), st.lists(FLOATS), st.lists(st.text()))
def test_a_column_is_hashed_as_each_of_its_values(
    integers: list[int], floats: list[float], texts: list[str]
) -> None:
    for values, kind in ((integers, pa.int64()), (floats, pa.float64()), (texts, pa.string())):
        whole = pa.chunked_array([values[:2], values[2:]], kind)
        assert bucket_column(whole).tolist() == list(map(bucket, values))


@given(st.integers(-(2**53), 2**53))
def test_numbers_of_the_same_value_are_one_key(number: int) -> None:
    assert bucket(number) == bucket(float(number))


@pytest.mark.parametrize("stride", [1, 2, 233, 1000, 1 << 32, 1 << 54])
def test_keys_with_a_stride_are_spread_over_shards(stride: int) -> None:
    buckets = [bucket(number * stride) for number in range(500)]
    assert max(buckets) < BUCKETS
    for shards in (2, 3, 8):
        loads = [sum(b % shards == n for b in buckets) for n in range(shards)]
        assert max(loads) < 1.5 * 500 / shards
