"""The output stream by the definitions: timelines, memory, choice among answer streams."""

import pytest
from tests.definitions import models, output_stream

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, atom_text
from larspark.base.problems import LarsparkError
from larspark.language import parse_program


def program(text: str) -> Checked:
    parsed = parse_program(text).program
    assert parsed is not None, parse_program(text).problems
    return check(parsed)


def stream(text: str) -> list[tuple[int, Atom]]:
    """Elements written as `3:p 4:q`."""
    words = (word.split(":") for word in text.split())
    return [(int(t), Atom(predicate)) for t, predicate in words]


def outputs(text: str, data: str, **options: object) -> dict[int, str]:
    """The output at each time point as words; `-` without an answer stream."""
    found = output_stream(program(text), stream(data), **options)
    return {
        t: "-" if atoms is None else " ".join(sorted(map(atom_text, atoms))) for t, atoms in found
    }


def test_only_data_up_to_t_is_known_without_hindsight() -> None:
    text = "soon :- [+2] some p."
    assert outputs(text, "0:x 3:p") == {0: "", 1: "", 2: "", 3: "soon"}
    assert outputs(text, "0:x 3:p", hindsight=True) == {0: "", 1: "soon", 2: "soon", 3: "soon"}


def test_hindsight_lets_the_timeline_reach_to_the_end_of_the_stream() -> None:
    assert outputs("q :- always p.", "0:p 1:p 2:x", hindsight=True) == {0: "", 1: "", 2: ""}
    assert outputs("q :- always p.", "0:p 1:p 2:x") == {0: "q", 1: "q", 2: ""}


def test_the_timeline_begins_with_the_first_element_or_where_it_is_said_to() -> None:
    text = "q :- [5] always p."
    assert outputs(text, "3:p 4:p") == {3: "q", 4: "q"}
    assert outputs(text, "3:p 4:p", start=2) == {2: "", 3: "", 4: ""}
    assert outputs(text, "1:x 3:p 4:p", start=3, to=5) == {3: "q", 4: "q", 5: ""}


def test_until_ends_the_timeline_whatever_the_mode() -> None:
    assert outputs("q :- @T true, @T p, not @5 true.", "3:p", until=4, to=9) == {3: "q", 4: "q"}
    assert outputs("q :- [+9] always p.", "3:p 4:p", until=4) == {3: "", 4: "q"}


def test_only_one_time_point_can_be_asked_for() -> None:
    assert outputs("q :- [2] some p.", "0:p", at=2) == {2: "q"}
    with pytest.raises(LarsparkError, match="L251"):
        outputs("q :- [2] some p.", "0:p", at=7, until=5)


def test_plain_heads_are_forgotten_and_pinned_ones_are_derived_anew() -> None:
    forgotten = "q :- p. r :- [5] some q."
    assert outputs(forgotten, "0:p", to=2) == {0: "q r", 1: "", 2: ""}
    pinned = "@T q :- @T p. r :- [1] some q."
    assert outputs(pinned, "0:p", to=2) == {0: "q r", 1: "r", 2: ""}


def test_what_is_remembered_is_seen_by_later_windows_but_not_counted() -> None:
    text = "#remember q/0. q :- p. r :- [2] some q. last :- [#1] some p."
    assert outputs(text, "0:p", to=3) == {0: "last q r", 1: "last r", 2: "last r", 3: "last"}


def test_hidden_atoms_are_remembered_and_not_shown() -> None:
    text = "#show r/0. #remember q/0. q :- p. r :- [2] some q."
    assert outputs(text, "0:p", to=3) == {0: "r", 1: "r", 2: "r", 3: ""}
    assert outputs(text, "0:p", at=2) == {2: "r"}


def test_of_several_answer_streams_the_closest_to_the_last_output_is_followed() -> None:
    text = "a :- x, not b. b :- x, not a. :- a, no_a. :- b, no_b."
    # By text a comes first; once b had to be chosen, b is kept while it can be.
    assert outputs(text, "0:x 1:x 1:no_a 2:x 3:x 3:no_b 4:x") == {
        0: "a", 1: "b", 2: "b", 3: "a", 4: "a",
    }  # fmt: skip


def test_without_an_answer_stream_the_output_is_none_and_life_goes_on() -> None:
    text = "a :- x, not b. b :- x, not a. :- a, no_a. :- stop."
    assert outputs(text, "0:x 0:no_a 1:stop 2:x") == {0: "b", 1: "-", 2: "b"}


def test_models_are_listed_in_the_order_of_their_text() -> None:
    text = "a or b :- x. @0 c or @1 c :- x."
    found = models(program(text), stream("0:y 1:x"), at=1)
    texts = [{t: sorted(map(atom_text, atoms)) for t, atoms in model.items()} for model in found]
    assert texts == [
        {0: ["c"], 1: ["a"]}, {0: ["c"], 1: ["b"]}, {1: ["a", "c"]}, {1: ["b", "c"]},
    ]  # fmt: skip
    assert models(program(text), stream("0:y 1:x"), at=1, limit=2) == found[:2]


def test_heads_into_the_future_are_output_only_when_their_time_is_derived_again() -> None:
    assert outputs("@T+2 q :- [3] @T p.", "0:p", to=4) == {0: "", 1: "", 2: "q", 3: "", 4: ""}
    assert outputs("@T+2 q :- @T p.", "0:p", to=3) == {0: "", 1: "", 2: "q", 3: ""}


def test_an_endless_program_needs_an_end() -> None:
    text = "@T+1 q :- @T q. q :- p."
    with pytest.raises(LarsparkError, match="L252"):
        outputs(text, "0:p")
    assert outputs(text, "0:p", to=2, until=5) == {0: "q", 1: "", 2: ""}


def test_a_disjunction_binds_what_all_of_its_parts_bind() -> None:
    text = "q(Y) :- (p(X) or not r), Y = X + 1, [9] some k(X). k(3)."
    assert outputs(text, "0:x 1:r") == {0: "q(4)", 1: ""}


def test_facts_of_the_program_come_first() -> None:
    text = "@1 p. first :- [#1] some q. q2 :- p."
    assert outputs(text, "0:x 1:q") == {0: "", 1: "first q2"}


def test_an_empty_stream_has_no_output() -> None:
    assert outputs("q :- p.", "") == {}
    assert outputs("q :- not p.", "", start=3, to=4) == {3: "q", 4: "q"}


def test_too_many_answer_streams_are_refused_with_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("larspark.meaning.output_stream.MODEL_LIMIT", 100)
    text = "".join(f"a{i} :- not b{i}. b{i} :- not a{i}." for i in range(14))
    with pytest.raises(LarsparkError, match="L256: there are more than 100 answer streams at 0"):
        outputs(text, "0:p")
