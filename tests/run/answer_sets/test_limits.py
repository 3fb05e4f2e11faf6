"""What is too large, too deep or unknown is refused with words, at once."""

from dataclasses import replace

import pytest
from tests.run.answer_sets.random_programs import batch, checked

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element, fact
from larspark.base.problems import LarsparkError
from larspark.language import parse_program
from larspark.language.tree import Formula, Not, Rule
from larspark.run.answer_sets import (
    conditions,
    evaluation_context,
    grounder,
    one_shot,
    rule_instances,
    solver,
    stepping,
)
from larspark.run.answer_sets.engines import AspEngine, TmsEngine
from larspark.run.answer_sets.stepping import SteppingEngine
from larspark.run.protocol import Settings


def refusal(text: str, mode: str, elements: list[Element] | None = None) -> tuple[str, str]:
    found = checked(text)
    assert found is not None, text
    with pytest.raises(LarsparkError) as caught:
        run(found, mode, elements or [Element(0, Atom("go"))])
    (problem,) = caught.value.problems
    return problem.code, problem.message


def run(found: Checked, mode: str, elements: list[Element]) -> None:
    kind = TmsEngine if mode == "tms" else AspEngine
    engine: SteppingEngine = kind(found, (), Settings(start=0, incremental=mode == "incremental"))
    engine.append(batch(elements, 0))
    engine.advance(0)


@pytest.mark.parametrize("mode", ["one-shot", "incremental", "tms"])
def test_a_rule_that_counts_without_end_is_stopped(
    monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(one_shot, "CALCULATION_LIMIT", 5_000)
    monkeypatch.setattr(grounder, "INSTANCE_LIMIT", 5_000)
    code, message = refusal("#input go/0.\nn(0) :- go.\nn(X+1) :- n(X).", mode)
    assert code == "L410"
    assert "5000" in message


@pytest.mark.parametrize("mode", ["one-shot", "tms"])
def test_windows_of_the_users_own_are_refused(mode: str) -> None:
    text = "#input go/0.\na :- [mine(3)] some go."
    assert refusal(text, mode) == (
        "L403",
        "this engine does not know what the window `mine` does",
    )


def test_formulas_that_nest_too_deeply_are_refused() -> None:
    found = checked("#input go/0.\na :- go, not (go or go).")
    assert found is not None
    formula: Formula = found.rules[0].body[1]
    for _ in range(150):
        formula = Not(formula)
    deep = replace(found, rules=(Rule(found.rules[0].head, (formula,)),))
    with pytest.raises(LarsparkError) as caught:
        AspEngine(deep, (), Settings())
    assert caught.value.problems[0].code == "L403"


@pytest.mark.parametrize("around", ["not", "some", "[3]", "@0", "go and", "always reset"])
def test_whatever_the_language_reads_is_not_too_deep(around: str) -> None:
    count = 45 if " " in around else 95
    found = checked(
        f"#input go/0.\na :- go, {(around + ' (') * count}go or b{')' * count}.\nb :- a."
    )
    assert found is not None
    engine = AspEngine(found, (), Settings(start=0))
    engine.append(batch([Element(0, Atom("go"))], 0))
    expected = frozenset() if around == "not" else {Atom("a"), Atom("b")}
    assert [point.atoms for point in engine.advance(0).points()] == [expected]


def test_a_formula_over_a_long_timeline_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "CONDITION_LIMIT", 1_000)
    text = "#input go/0.\na :- [*] some (go and b and go).\nb :- [*] some (go or a)."
    elements = [Element(t, Atom("go")) for t in range(2_000)]
    found = checked(text)
    assert found is not None
    engine = AspEngine(found, (), Settings(start=0))
    engine.append(batch(elements, 1_999))
    with pytest.raises(LarsparkError) as caught:
        list(engine.models(1_999))
    assert caught.value.problems[0].code == "L410"


def test_too_many_instances_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_instances, "SIZE_LIMIT", 100)
    text = "#input p/1.\na(X,Y) :- (p(X) and p(Y)) or (p(X) and p(Y) and p(X))."
    elements = [Element(0, fact("p", number)) for number in range(20)]
    assert refusal(text, "one-shot", elements)[0] == "L410"


COMBINED = "#input p/1.\na(X,Y,Z) :- p(X), p(Y), p(Z)."
THIRTY = [Element(0, fact("p", number)) for number in range(30)]


def test_a_rule_that_combines_everything_with_everything_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(one_shot, "RULE_LIMIT", 5_000)
    monkeypatch.setattr(grounder, "INSTANCE_LIMIT", 5_000)
    for mode in ("one-shot", "incremental", "tms"):
        assert refusal(COMBINED, mode, THIRTY)[0] == "L410"


def test_relations_that_grow_are_watched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_shot, "RULE_LIMIT", 5_000)
    found = checked(COMBINED)
    assert found is not None
    engine = AspEngine(found, (), Settings())
    engine.append(batch(THIRTY[:5], 0))
    engine.advance(0)
    engine.append(batch([Element(1, atom) for _, atom in THIRTY], 1))
    with pytest.raises(LarsparkError) as caught:
        engine.advance(1)
    assert caught.value.problems[0].code == "L410"


FULL = "#input p/1.\na(X,Y) or b(Z) :- p(X) or p(X), p(Y), p(Z)."


class Slow:
    """A clock on which a second passes from one look to the next, whatever the machine does."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        self._now += 1.0
        return self._now


@pytest.mark.parametrize(
    ("text", "mode"),
    [(COMBINED, "one-shot"), (COMBINED, "incremental"), (COMBINED, "tms"), (FULL, "one-shot")],
)
def test_grounding_ends_with_the_time_and_works_again_when_there_is_less_to_do(
    monkeypatch: pytest.MonkeyPatch, text: str, mode: str
) -> None:
    clock = Slow()
    for module in (grounder, one_shot, evaluation_context, solver, stepping):
        monkeypatch.setattr(module, "time", clock)
    found = checked(text)
    assert found is not None
    kind = TmsEngine if mode == "tms" else AspEngine
    way = Settings(start=0, time_limit=60, incremental=mode == "incremental")
    engine: SteppingEngine = kind(found, (), way)
    many = [Element(1, fact("p", number)) for number in range(200)]
    engine.append(batch([Element(0, fact("p", 0)), *many, Element(2, fact("p", 1))], 2))
    first, second, third = [point.atoms for point in engine.advance(2).points()]
    assert first == second != third
    assert len(third or ()) == 1
    assert any("the previous output is kept" in note for note in engine.notes)


def test_a_head_that_needs_an_end_of_time_says_so() -> None:
    parsed = parse_program("#input go/0.\nsome a :- go.\n@T+1 b :- @T go.")
    assert parsed.program is not None
    engine = AspEngine(check(parsed.program), (), Settings())
    engine.append(batch([Element(0, Atom("go"))], 0))
    with pytest.raises(LarsparkError) as caught:
        engine.advance(0)
    (problem,) = caught.value.problems
    assert problem.message == "a head with `some` or `always` needs a timeline that ends"
