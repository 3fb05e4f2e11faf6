"""The checksum tells equal answers from different ones."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from larspark.base.atoms import Atom, Signature
from larspark.bench.workload import Rows, at_times, checksum, of_atoms, size

CONSTANTS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not x.is_integer()),
    st.text(max_size=3),
)
ATOMS = st.builds(Atom, st.sampled_from("pq"), st.tuples(CONSTANTS, CONSTANTS))
INTERVALS = st.lists(st.tuples(ATOMS, st.integers(0, 9), st.integers(0, 9)), unique=True)


@given(INTERVALS, st.randoms())
def test_the_order_of_intervals_does_not_matter(intervals, random) -> None:
    shuffled = random.sample(intervals, len(intervals))
    assert checksum(of_atoms(intervals)) == checksum(of_atoms(shuffled))


@given(INTERVALS.filter(bool), st.data())
def test_a_missing_interval_changes_the_checksum(intervals, data) -> None:
    gone = data.draw(st.integers(0, len(intervals) - 1))
    fewer = intervals[:gone] + intervals[gone + 1 :]
    assert checksum(of_atoms(intervals)) != checksum(of_atoms(fewer))


@given(INTERVALS, INTERVALS)
def test_checksums_are_equal_only_for_equal_answers(one, other) -> None:
    assert (checksum(of_atoms(one)) == checksum(of_atoms(other))) == (set(one) == set(other))


def test_exchanged_ends_change_the_checksum() -> None:
    p, q = Atom("p", (1,)), Atom("p", (2,))
    assert checksum(of_atoms([(p, 1, 2), (q, 1, 3)])) != checksum(of_atoms([(p, 1, 3), (q, 1, 2)]))


def test_columns_of_any_type_and_atoms_give_the_same_checksum() -> None:
    begin, end = np.array([1, 2]), np.array([5, 6])
    texts = np.array(["a", "b"], object)
    numbers = np.array([2.0, 2.5])
    rows = {Signature("p", 2): Rows(begin, end, (texts, numbers))}
    atoms = [(Atom("p", ("a", 2)), 1, 5), (Atom("p", ("b", 2.5)), 2, 6)]
    assert checksum(rows) == checksum(of_atoms(atoms))


def test_an_answer_can_be_asked_for_some_time_points() -> None:
    p, q = Atom("p", (1,)), Atom("q")
    answer = of_atoms([(p, 1, 3), (q, 3, 4)])
    found = at_times(answer, (1, 3))
    assert checksum(found) == checksum(of_atoms([(p, 1, 1), (p, 3, 3), (q, 3, 3)]))
    assert size(found) == 3
