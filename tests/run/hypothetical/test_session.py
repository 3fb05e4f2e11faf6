"""Hypothetical answers online: changes, ranking, limits, forgetting, and what is refused."""

import json
import os
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.run.hypothetical.definition import (
    Definition,
    Token,
    checked,
    definitions,
    elements,
    formula,
    streams,
)

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError
from larspark.base.terms import Variable
from larspark.language import parse_atom
from larspark.run.hypothetical import (
    ChangeKind,
    Hypotheses,
    HypotheticalAnswer,
    answer_line,
    hypothesize,
)

QUERY = formula("@T r(X)")
EXAMPLES = int(os.environ.get("LARSPARK_EXAMPLES", "60"))
BEARINGS = "alarm(B) :- [2] always hot(B)."


def session(program: str, query: str = "@T alarm(B)", **options: bool | int) -> Hypotheses:
    return Hypotheses(checked(program), formula(query), **options)


def feed(hypotheses: Hypotheses, t: int, *atoms: str) -> list[tuple[str, object]]:
    """What changes at a time point, with the time of each answer."""
    hypotheses.append(t, map(parse_atom, atoms))
    return [(str(c.kind), c.values["T"]) for c in hypotheses.advance(t).changes]


def best(answers: Iterable[HypotheticalAnswer]) -> dict[str, tuple[bool, int]]:
    """For each answer whether it is not certain, and how many facts it lacks at least."""
    found: dict[str, tuple[bool, int]] = {}
    for answer in answers:
        name = json.dumps(answer.answer)
        facts = sum(not item.negated for item in answer.hypotheses)
        found[name] = min(found.get(name, (True, 99)), (not answer.certain, facts))
    return found


def expected_changes(
    before: dict[str, tuple[bool, int]], now: dict[str, tuple[bool, int]]
) -> set[tuple[str, str]]:
    changes = set()
    for name, (open_now, lacking) in now.items():
        if name not in before:
            changes.add((name, "new" if open_now else "confirmed"))
        elif not open_now and before[name][0]:
            changes.add((name, "confirmed"))
        elif lacking < before[name][1]:
            changes.add((name, "strengthened"))
    return changes | {(name, "refuted") for name in before.keys() - now.keys() if before[name][0]}


@pytest.mark.parametrize("negation", [False, True])
@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_changes_are_the_difference_between_the_answers_of_time_points(
    negation: bool, data: st.DataObject
) -> None:
    definition: Definition = data.draw(definitions(negation=negation))
    facts: frozenset[Token] = data.draw(streams())
    online = Hypotheses(definition.checked(), QUERY, start=0)
    whole = Hypotheses(definition.checked(), QUERY, start=0, follow=False, keep_certain=True)
    before: dict[str, tuple[bool, int]] = {}
    for t in range(8):
        atoms = [atom for moment, atom in elements(facts) if moment == t]
        online.append(t, atoms)
        whole.append(t, atoms)
        whole.advance(t)
        now = best(whole.answers())
        changes = online.advance(t).changes
        assert {(json.dumps(c.values), str(c.kind)) for c in changes} == expected_changes(
            before, now
        ), definition.text
        assert all(c.t == t and c.answer.answer == c.values for c in changes)
        before = now


@pytest.mark.parametrize("negation", [False, True])
@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_forgetting_certain_answers_loses_no_pending_one(
    negation: bool, data: st.DataObject
) -> None:
    definition: Definition = data.draw(definitions(negation=negation))
    facts: frozenset[Token] = data.draw(streams())
    forgetful = Hypotheses(definition.checked(), QUERY, start=0, follow=False)
    whole = Hypotheses(definition.checked(), QUERY, start=0, follow=False, keep_certain=True)
    for t in range(8):
        for one in (forgetful, whole):
            one.append(t, [atom for moment, atom in elements(facts) if moment == t])
            one.advance(t)
        pending = [answer for answer in whole.answers() if not answer.certain]
        assert [answer for answer in forgetful.answers() if not answer.certain] == pending


@given(definitions(negation=True), streams(), st.integers(0, 3))
@settings(max_examples=EXAMPLES, deadline=None)
def test_gaps_and_pieces_do_not_matter(
    definition: Definition, facts: frozenset[Token], gap: int
) -> None:
    data = elements(facts)
    last = max((t for t, _ in data), default=0) + gap
    piecewise = Hypotheses(definition.checked(), QUERY, start=0, keep_certain=True)
    for t, atom in data:
        piecewise.append(t, [atom])
    given = piecewise.advance(last).answers
    assert list(given) == list(hypothesize(definition.checked(), QUERY, data, at=last, start=0))


def test_an_alarm_builds_up_and_breaks_down() -> None:
    bearings = session(BEARINGS, start=0)
    assert feed(bearings, 5, "hot(b1)") == [("new", 7)]
    assert feed(bearings, 6, "hot(b1)") == [("new", 8), ("strengthened", 7)]
    assert feed(bearings, 7, "hot(b1)") == [("confirmed", 7), ("new", 9), ("strengthened", 8)]
    assert feed(bearings, 8) == [("refuted", 8), ("refuted", 9)]
    assert bearings.pending <= 1
    bearings.advance(20)
    assert bearings.pending == 0


def test_a_refuted_answer_is_shown_as_it_was() -> None:
    bearings = session(BEARINGS, start=0)
    feed(bearings, 5, "hot(b1)")
    bearings.append(6, [])
    (change,) = bearings.advance(6).changes
    assert change.kind is ChangeKind.REFUTED
    assert [str(item) for item in change.answer.hypotheses] == ["@6 hot(b1)", "@7 hot(b1)"]
    assert change.answer.t == 5


def test_answers_are_ranked_by_what_is_missing_and_by_when_it_is_decided() -> None:
    program = "alarm(B) :- [2] always hot(B). alarm(B) :- [5] some smoke(B), dark(B)."
    ranked = session(program, start=0, follow=False)
    ranked.append(4, [parse_atom("hot(b1)")])
    ranked.append(5, [parse_atom("hot(b1)"), parse_atom("smoke(b2)")])
    ranked.advance(5)
    order = [(len(a.hypotheses), a.deadline) for a in ranked.answers()]
    assert order == sorted(order)
    assert order[0] == (1, 6)
    assert ranked.answers(limit=3) == ranked.answers()[:3]


def test_the_fraction_that_was_seen_and_the_deadline_are_given() -> None:
    bearings = session(BEARINGS, start=0, follow=False)
    bearings.append(5, [parse_atom("hot(b1)")])
    bearings.advance(5)
    (answer,) = bearings.answers()
    assert answer.seen == pytest.approx(1 / 3)
    assert answer.deadline == 7


def test_a_line_holds_answer_evidence_and_hypotheses() -> None:
    (answer,) = hypothesize(
        checked(BEARINGS), formula("@T alarm(B)"), [(5, parse_atom("hot(b1)"))], start=0, at=5
    )
    assert answer_line(answer) == (
        '{"t": 5, "answer": {"B": "b1", "T": 7}, "evidence": ["@5 hot(b1)"], '
        '"hypotheses": ["@6 hot(b1)", "@7 hot(b1)"], "deadline": 7, "seen": 0.333}'
    )


def test_values_that_depend_on_facts_to_come_are_null_and_restricted() -> None:
    program = "alarm(B) :- [1] some smoke, temp(B, V), V > 90."
    (line,) = (
        json.loads(answer_line(answer))
        for answer in hypothesize(
            checked(program), formula("@T alarm(B)"), [(5, parse_atom("smoke"))], start=0, at=5
        )
    )
    assert line["answer"] == {"B": None, "T": 6}
    assert line["hypotheses"] == ["@6 temp(B,V6)"]
    assert line["where"] == ["V6>90"]


def test_every_time_point_is_answered_without_at() -> None:
    stream = [(0, parse_atom("hot(b1)")), (3, parse_atom("hot(b1)"))]
    answers = hypothesize(checked(BEARINGS), formula("@T alarm(B)"), stream, to=4)
    assert sorted({answer.t for answer in answers}) == [0, 1, 2, 3, 4]


def test_the_timeline_starts_at_the_first_fact() -> None:
    bearings = session(BEARINGS)
    assert feed(bearings, 5, "hot(b1)") == [("confirmed", 5), ("new", 6), ("new", 7)]


def test_elements_of_the_program_come_at_their_time() -> None:
    bearings = session(BEARINGS + "@6 hot(b1).", start=0)
    assert feed(bearings, 5, "hot(b1)") == [("new", 7)]
    assert feed(bearings, 6) == [("new", 8), ("strengthened", 7)]


def test_a_late_fact_is_an_error() -> None:
    bearings = session(BEARINGS, start=0)
    bearings.advance(5)
    with pytest.raises(LarsparkError, match="L402"):
        bearings.append(5, [parse_atom("hot(b1)")])


def test_a_fact_of_a_derived_predicate_is_an_error() -> None:
    with pytest.raises(LarsparkError, match="L401"):
        session(BEARINGS, start=0).append(5, [parse_atom("alarm(b1)")])


def test_a_fact_with_variables_is_an_error() -> None:
    with pytest.raises(LarsparkError, match="L477"):
        session(BEARINGS, start=0).append(5, [Atom("hot", (Variable("B"),))])


def test_answers_of_the_past_are_gone() -> None:
    bearings = session(BEARINGS, start=0)
    then = bearings.advance(5)
    bearings.advance(6)
    with pytest.raises(LarsparkError, match="L408"):
        _ = then.answers


def test_a_gap_of_a_million_time_points_is_skipped() -> None:
    bearings = session(BEARINGS, start=0)
    feed(bearings, 5, "hot(b1)")
    assert feed(bearings, 1_000_000, "hot(b1)") == [("refuted", 7), ("new", 1_000_002)]


def test_only_what_is_pending_is_kept() -> None:
    program = """
    @T hot(M) :- @T temp(M, V), V >= 90.
    alarm(M)  :- [3] always hot(M).
    alarm(M)  :- hot(M), [20] some shaking(M), not [5] some visit(M).
    """
    plant = session(program, "@T alarm(M)", start=0, follow=False)
    sizes = []
    for t in range(400):
        machine = f"m{t % 7}"
        hot = 70 + (t * 37) % 30
        atoms = [f"temp({machine},{hot})", f"shaking(m{t % 5})", f"visit(m{t % 3})"]
        plant.append(t, map(parse_atom, atoms))
        plant.advance(t)
        sizes.append(plant.pending)
    assert max(sizes[200:]) <= max(sizes[:200]) + 5
    plant.advance(500)
    assert plant.pending == 0


def test_large_windows_are_answered_with_a_limit_and_refused_without() -> None:
    bearings = session("alarm(B) :- [3600] always hot(B).", follow=False)
    for t in range(5):
        bearings.append(t, [parse_atom("hot(b1)")])
    bearings.advance(4)
    found = bearings.answers(limit=7)
    assert [(a.answer["T"], len(a.hypotheses)) for a in found[:3]] == [(4, 0), (5, 1), (6, 2)]
    with pytest.raises(LarsparkError, match="request the best ones with a limit"):
        bearings.answers()


@given(definitions(negation=True), streams(), st.integers(1, 4))
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_limit_gives_the_first_answers(
    definition: Definition, facts: frozenset[Token], limit: int
) -> None:
    every = Hypotheses(definition.checked(), QUERY, start=0, follow=False, keep_certain=True)
    for t, atom in elements(facts):
        every.append(t, [atom])
    every.advance(4)
    assert every.answers(limit) == every.answers()[:limit]
