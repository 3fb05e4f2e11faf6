"""Proofs of single atoms, by hand."""

import pytest
from tests.show.stories import PLANT, checked, stream

import larspark as lp
from larspark.base.atoms import Atom, Element
from larspark.language import parse_atom, rule_text
from larspark.meaning.output_stream import Oracle
from larspark.meaning.streams import Stream
from larspark.run.protocol import Settings
from larspark.run.registry import ENGINES
from larspark.show.explain.explanation import compare_models, explain
from larspark.show.explain.proof import Absence, Given, Proof, WindowSpan, element_text


def proof_of(program: str, facts: str, atom: str, at: int, **options: object) -> Proof:
    settings = Settings(start=options.pop("start", None))
    found = explain(
        checked(program), parse_atom(atom), at, stream(facts), settings=settings, **options
    )
    assert found is not None
    return found


def facts_of(proof: Proof) -> list[str]:
    return [element_text(fact) for fact in proof.facts]


def test_a_proof_names_rule_substitution_facts_windows_and_absences() -> None:
    facts = " ".join(f"@{t} temp(m3,{70 + t})." for t in range(10, 18))
    proof = proof_of(PLANT, facts, "alarm(m3)", 17)
    alarm, *hot = proof.steps
    assert rule_text(alarm.rule).startswith("alarm(M) :-")
    assert (alarm.rule.span.source, alarm.rule.span.line) == ("plant.lars", 1)
    assert alarm.substitution == (("M", "m3"),)
    always, absent = alarm.parts
    assert always.windows == (WindowSpan("[3]", 14, 17),)
    assert [element.t for element in always.derived] == [14, 15, 16, 17]
    assert absent.absent == (Absence(Atom("repaired", ("m3",)), 10, 17),)
    assert {dict(step.substitution)["V"] for step in hot} == {84, 85, 86, 87}
    assert facts_of(proof) == [f"@{t} temp(m3,{70 + t})" for t in range(14, 18)]
    assert proof.ends == ("an arrival of repaired(m3)",)


def test_one_fact_serves_two_windows() -> None:
    proof = proof_of("q :- [5] some a, [3] some a.", "@1 a. @4 a. @5 b.", "q", 5)
    assert facts_of(proof) == ["@4 a"]


def test_one_fact_serves_two_rules() -> None:
    program = "q :- [5] some a, r. r :- [2] some a."
    assert facts_of(proof_of(program, "@1 a. @4 a. @5 b.", "q", 5)) == ["@4 a"]


def test_recursion_is_proved_without_a_circle() -> None:
    program = "r(X,Y) :- [9] some e(X,Y). r(X,Z) :- r(X,Y), r(Y,Z)."
    proof = proof_of(program, "@1 e(a,b). @1 e(b,a). @2 e(b,c). @3 e(c,d).", "r(a,d)", 5)
    assert facts_of(proof) == ["@1 e(a,b)", "@2 e(b,c)", "@3 e(c,d)"]
    proved: set[Element] = set()
    waiting = list(proof.steps)
    while waiting:
        ready = [s for s in waiting if all(e in proved for p in s.parts for e in p.derived)]
        assert ready
        proved.update(step.element for step in ready)
        waiting = [step for step in waiting if step not in ready]


def test_tuples_that_only_count_are_facts_of_the_proof() -> None:
    proof = proof_of("q :- [#3] always p.", "@1 p. @2 p. @2 r. @3 p.", "q", 3)
    assert facts_of(proof) == ["@2 p", "@2 r", "@3 p"]
    assert [element_text(fact) for fact in proof.steps[0].parts[0].counted] == ["@2 r"]


def test_what_pushes_a_tuple_out_would_end_the_proof() -> None:
    program = "q(I) :- [#1 by I] @T tram(I,X). r :- [#3] some tram(a1,b)."
    facts = "@3 tram(a1,b). @4 tram(a2,c)."
    pushed = "1 more tuple tram(a1,_), which pushes @3 tram(a1,b) out of [#1 by I]"
    assert proof_of(program, facts, "q(a1)", 5).ends == (pushed,)
    pushed = "2 more tuples, which push @3 tram(a1,b) out of [#3]"
    assert proof_of(program, facts, "r", 5).ends == (pushed,)


def test_a_negated_conclusion_would_end_the_proof_by_becoming_true() -> None:
    proof = proof_of("q :- not r. r :- [2] some p.", "@1 p. @5 s.", "q", 5)
    assert proof.ends == ("r becoming true",)


def test_an_atom_for_a_later_time_point_is_explained() -> None:
    program = "@T+D exp(X) :- [9] @T tram(X), ride(X,D). ride(a,7)."
    proof = proof_of(program, "@36 tram(a).", "exp(a)", 40, when=43)
    assert proof.element == Element(43, Atom("exp", ("a",)))
    assert dict(proof.steps[0].substitution) == {"T": 36, "D": 7, "X": "a"}
    assert proof.steps[0].parts[1].background == (Atom("ride", ("a", 7)),)


def test_what_is_given_needs_no_rule() -> None:
    program = "q(X) :- p(X), b(X). b(a)."
    assert proof_of(program, "@3 p(a).", "p(a)", 3).given is Given.STREAM
    assert proof_of(program, "@3 p(a).", "b(a)", 3).given is Given.BACKGROUND


def test_what_was_remembered_is_named_as_such() -> None:
    program = "#remember r/0. r :- p. q :- [5] some r."
    proof = proof_of(program, "@3 p. @5 s.", "q", 5)
    assert [element_text(e) for e in proof.steps[0].parts[0].remembered] == ["@3 r"]
    assert proof_of(program, "@3 p. @5 s.", "r", 5, when=3).given is Given.REMEMBERED


def test_what_does_not_hold_has_no_proof() -> None:
    program, facts = checked("q(X) :- p(X)."), stream("@3 p(a).")
    assert explain(program, parse_atom("q(b)"), 3, facts) is None
    assert explain(program, parse_atom("q(a)"), 4, facts) is None
    assert explain(program, parse_atom("p(b)"), 3, facts) is None
    assert explain(program, parse_atom("unknown"), 3, facts) is None


def test_a_model_that_no_rule_supports_has_no_proof() -> None:
    q = parse_atom("q(a)")
    assert explain(checked("q(X) :- p(X)."), q, 4, stream("@3 p(a)."), model={4: [q]}) is None


def test_the_model_of_an_engine_is_explained_as_it_is() -> None:
    program = checked("a :- not b. b :- not a. c :- a. c :- b.")
    models = [answer.derived for answer in Oracle(program, frozenset(), 3).answers((), 3)]
    used = set()
    for model in models:
        proof = explain(program, parse_atom("c"), 3, stream("@3 p."), model=model)
        assert proof is not None
        used.add(rule_text(proof.steps[0].rule))
    assert used == {"c :- a.", "c :- b."}


def test_hidden_conclusions_are_found_when_the_model_leaves_them_out() -> None:
    program = checked("#show q/0. r :- [2] some p. q :- r.")
    q = parse_atom("q")
    proof = explain(program, q, 4, stream("@3 p."), model={4: [q]})
    assert proof is not None
    assert facts_of(proof) == ["@3 p"]


def test_a_disjunction_is_proved_by_its_rule() -> None:
    proof = proof_of("a or b. a :- b. b :- a.", "@3 p.", "b", 3)
    assert [rule_text(step.rule) for step in proof.steps] == ["a or b."]


def test_a_conclusion_that_rests_on_itself_is_called_circular() -> None:
    # Both are true in the only answer stream, although neither can come first.
    proof = proof_of("p :- not p or q. q :- p.", "@1 x.", "p", 1)
    assert proof.circular
    assert not proof.minimal
    assert len(proof.steps) == 2


def test_nested_windows_take_as_few_facts_as_they_can() -> None:
    proof = proof_of(
        "q :- [6] always reset [3] some s.", "@0 s. @1 s. @2 s. @4 s. @6 s. @8 s.", "q", 8
    )
    assert facts_of(proof) == ["@2 s", "@6 s"]


def test_a_window_of_the_users_own_needs_what_it_needs() -> None:
    def evens(stream: Stream, t: int) -> Stream:
        """Every other element; nothing when there are fewer than four."""
        elements = stream.elements()
        return stream.only(lambda element: len(elements) > 3 and element.t % 2 == 0)

    lp.register_window("evens", evens)
    proof = proof_of("q :- [evens] some p.", "@1 p. @2 p. @3 p. @4 p. @5 p. @6 p.", "q", 6)
    assert proof.minimal
    assert len(proof.facts) == 4
    # Conclusions that the proof does not rest on count as well: then nothing can be left out.
    program = "r(1). r(2) :- [9] some p. q :- [evens] some (p and r(1)). r(3). r(4)."
    proof = proof_of(program, "@2 p.", "q", 2)
    assert not proof.minimal
    assert facts_of(proof) == ["@2 p"]


def test_a_group_window_covers_less_without_a_group() -> None:
    # With both groups the window covers [2,5], with the later one alone only [5,5].
    proof = proof_of("q :- [#1 by X] always p(X), [#1 by X] some p(X).", "@5 p(a).", "q", 5)
    assert facts_of(proof) == ["@5 p(a)"]
    facts = "@2 p(a). @3 p(a). @4 p(a). @5 p(a). @5 p(b)."
    proof = proof_of("q :- [#1 by X] always p(X), s(X). s(a). s(b).", facts, "q", 5)
    assert len(proof.facts) == 1


def test_deep_formulas_are_explained() -> None:
    rule = f"q :- {'[9] some (not not ' * 20}p{')' * 20}."
    assert facts_of(proof_of(rule, "@1 p. @3 p.", "q", 4)) == ["@3 p"]


@pytest.mark.parametrize("engine", ["auto", *ENGINES])
def test_every_answer_of_every_engine_can_be_explained(engine: str) -> None:
    program = lp.Program.parse(PLANT)
    reasoner = lp.Reasoner(program, engine=engine, start=10)
    for t in range(10, 18):
        reasoner.append(t, [f"temp(m3,{70 + t})", f"temp(m2,{60 + t})"])
    answers = list(reasoner.advance(18))
    assert answers[-1].atoms
    for answer in answers:
        for atom in answer.atoms or ():
            assert reasoner.explain(str(atom), at=answer.t).holds


def test_hindsight_sees_what_came_later() -> None:
    settings = Settings(hindsight=True)
    program = checked("q :- [+3] some p.")
    facts = stream("@1 r. @3 p.")
    proof = explain(program, parse_atom("q"), 1, facts, settings=settings)
    assert proof is not None
    assert facts_of(proof) == ["@3 p"]
    assert explain(program, parse_atom("q"), 1, facts) is None


def test_models_are_told_apart_by_what_only_they_hold() -> None:
    program = checked("a :- not b. b :- not a. c :- a. d.")
    oracle = Oracle(program, frozenset(), 3)
    models = [answer.derived for answer in oracle.answers((), 3)]
    choice = compare_models(models, Element(3, Atom("c")))
    assert choice.models == (1,)
    assert choice.total == 2
    assert choice.choice == (Element(3, Atom("a")),)


@pytest.mark.parametrize("start", [0, 10])
def test_windows_are_clipped_at_the_start_of_the_timeline(start: int) -> None:
    proof = proof_of("q :- [5] always p.", "@10 p. @11 p.", "q", 11, start=10)
    assert proof.steps[0].parts[0].windows == (WindowSpan("[5]", 10, 11),)
    whole = explain(
        checked("q :- [5] always p."),
        parse_atom("q"),
        11,
        stream("@10 p. @11 p."),
        settings=Settings(start=start),
    )
    assert (whole is None) == (start == 0)
