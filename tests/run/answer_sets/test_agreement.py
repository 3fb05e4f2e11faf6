"""The engines for answer sets against the definitions."""

from collections import Counter
from collections.abc import Callable, Iterable
from random import Random
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.run.answer_sets.random_programs import (
    batch,
    checked,
    examples,
    full_program,
    plain_program,
    seeded,
    stream,
    unless_refused,
)

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element
from larspark.base.problems import LarsparkError
from larspark.meaning import minimal_models as search
from larspark.meaning.output_stream import Oracle
from larspark.run.answer_sets import any_program as translate
from larspark.run.answer_sets.engines import AspEngine, TmsEngine
from larspark.run.answer_sets.stepping import SteppingEngine
from larspark.run.oracle import OracleEngine
from larspark.run.protocol import Engine, Settings
from larspark.run.registry import ENGINES, make_engine

seeds = st.integers(0, 2**32)
Made = TypeVar("Made", bound=Engine)
Make = Callable[[Checked, Settings], Engine]
# More answer streams than this are left alone: comparing them takes long and shows nothing new.
MOST = 200


def one_shot(checked: Checked, settings: Settings) -> SteppingEngine:
    return AspEngine(checked, (), settings)


def incremental(checked: Checked, settings: Settings) -> SteppingEngine:
    return AspEngine(checked, (), settings._replace(incremental=True))


def maintained(checked: Checked, settings: Settings) -> SteppingEngine:
    return TmsEngine(checked, (), settings)


def intervals(checked: Checked, settings: Settings) -> Engine:
    return make_engine(ENGINES["interval"], checked, (), settings)


def multiset(
    streams: Iterable[dict[int, frozenset[Atom]]],
) -> Counter[tuple[tuple[int, Atom], ...]]:
    return Counter(
        tuple(sorted(((t, atom) for t, atoms in one.items() for atom in atoms), key=str))
        for one in streams
    )


class Judged:
    """A random program over a random stream, with what the definitions say at every time point."""

    def __init__(self, seed: int, program: Callable[[Random], str]) -> None:
        random = seeded(seed)
        until = random.choice((None, None, None, 7))
        self.text = program(random)
        found = checked(self.text, ends=until is not None)
        self.elements = stream(random)
        start = random.choice((None, None, 0, 1))
        if start is not None:
            self.elements = [e for e in self.elements if e.t >= start]
        hindsight = random.random() < 0.15
        self.settings = Settings(start=start, hindsight=hindsight, until=until)
        self.last = max((e.t for e in self.elements), default=start or 0) + 1
        self.outputs: list[frozenset[Atom] | None] = []
        self.models: dict[int, list[dict[int, frozenset[Atom]]]] = {}
        self.possible: dict[int, set[frozenset[Atom]]] = {}
        self.checked: Checked | None = found
        if found is not None and (self.elements or start is not None):
            self._judge(found)
        else:
            self.checked = None

    def _judge(self, checked: Checked) -> None:
        first = self.settings.start
        first = min(e.t for e in self.elements) if first is None else first
        settings = self.settings
        oracle = Oracle(checked, frozenset(), first, settings.until, settings.hindsight, self.last)
        with pytest.MonkeyPatch.context() as patch:
            # The definitions try everything that is undecided: more would take them too long.
            patch.setattr(search, "UNDECIDED_LIMIT", 12)
            try:
                for t in range(first, self.last + 1):
                    answers = oracle.answers(self.elements, t)
                    self.models[t] = [oracle.model(answer) for answer in answers]
                    self.possible[t] = {oracle.output(answer, t) for answer in answers}
                    self.outputs.append(oracle.follow(oracle.closest(answers, t), t))
            except LarsparkError:
                self.checked = None

    def engine(self, make: Callable[[Checked, Settings], Made]) -> Made:
        assert self.checked is not None
        engine = make(self.checked, self.settings)
        engine.append(batch(self.elements))
        return engine


def agree(judged: Judged, make: Make) -> None:
    if judged.checked is None or any(len(found) > MOST for found in judged.models.values()):
        return
    points = unless_refused(lambda: list(judged.engine(make).advance(judged.last).points()))
    if points is None:
        return
    assert [point.atoms for point in points] == judged.outputs, judged.text
    for t in (judged.last, max(judged.models)):
        found = [model.stream for model in judged.engine(make).models(t)]
        assert multiset(found) == multiset(judged.models[t]), judged.text


@given(seeds)
@settings(max_examples=examples(150), deadline=None)
@pytest.mark.parametrize("make", [one_shot, incremental])
def test_plain_programs_have_the_answer_streams_of_the_definitions(make: Make, seed: int) -> None:
    agree(Judged(seed, plain_program), make)


@given(seeds)
@settings(max_examples=examples(150), deadline=None)
def test_full_programs_have_the_answer_streams_of_the_definitions(seed: int) -> None:
    agree(Judged(seed, full_program), one_shot)


@given(seeds)
@settings(max_examples=examples(60), deadline=None)
def test_guessing_and_checking_gives_the_same_as_direct_rules(seed: int) -> None:
    def never(*arguments: object) -> None:
        return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translate, "direct_clauses", never)
        agree(Judged(seed, full_program), one_shot)


@given(seeds)
@settings(max_examples=examples(150), deadline=None)
def test_truth_maintenance_gives_the_output_of_some_answer_stream(seed: int) -> None:
    judged = Judged(seed, lambda random: plain_program(random, normal=True))
    if judged.checked is None:
        return
    points = unless_refused(lambda: list(judged.engine(maintained).advance(judged.last).points()))
    for point in points or ():
        possible = judged.possible[point.t]
        assert point.atoms in possible if possible else point.atoms is None, judged.text


@given(seeds)
@settings(max_examples=examples(100), deadline=None)
def test_on_programs_with_one_answer_stream_all_engines_agree(seed: int) -> None:
    judged = Judged(seed, lambda random: plain_program(random, normal=True))
    if judged.checked is None or judged.checked.several_models:
        return
    for make in (one_shot, incremental, maintained, intervals):
        agree(judged, make)


@given(seeds)
@settings(max_examples=examples(60), deadline=None)
def test_consequences_and_counts_follow_from_the_models(seed: int) -> None:
    judged = Judged(seed, plain_program)
    if judged.checked is None or any(len(found) > MOST for found in judged.models.values()):
        return
    t = judged.last
    definitions = OracleEngine(judged.checked, (), judged.settings)
    definitions.append(batch(judged.elements))
    for make in (one_shot, incremental, maintained):
        engine = judged.engine(make)
        count = unless_refused(lambda engine=engine: engine.count(t))
        if count is None:
            return
        assert count == definitions.count(t)
        assert engine.cautious(t) == definitions.cautious(t)
        assert engine.brave(t) == definitions.brave(t)
        if make is not maintained:
            closest = definitions.closest(t)
            followed = engine.closest(t)
            assert (followed is None) == (closest is None)
            if followed is not None and closest is not None:
                assert followed.stream.get(t) == closest.stream.get(t)


def test_the_followed_answer_stream_is_the_closest_and_then_the_first_by_text() -> None:
    text = "#input go/0.\na or b or c :- go.\nd :- a.\n:- not go."
    found = checked(text)
    assert found is not None
    engine = AspEngine(found, (), Settings())
    go = Atom("go")
    engine.append(batch([Element(t, go) for t in (0, 1, 3)]))
    outputs = [point.atoms for point in engine.advance(3).points()]
    assert outputs == [frozenset({Atom("b")}), frozenset({Atom("b")}), None, frozenset({Atom("b")})]
