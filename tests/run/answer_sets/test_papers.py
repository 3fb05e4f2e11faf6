"""Worked examples of the papers that are about encodings, and the automata of Theorem 15."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.meaning import test_theorems as theorems
from tests.meaning.test_theorems import WITH_PINS, WITHOUT_PINS, automata, automaton_program
from tests.run.answer_sets.random_programs import batch, checked, examples

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element, fact
from larspark.base.problems import Severity
from larspark.language import parse_program
from larspark.run.answer_sets.encoding import Core, encode
from larspark.run.answer_sets.encoding_text import Symbols, Text
from larspark.run.answer_sets.engines import AspEngine
from larspark.run.answer_sets.given_relations import GivenRelations
from larspark.run.answer_sets.grounder import Grounder
from larspark.run.answer_sets.plain_rules import plain_rules
from larspark.run.answer_sets.stream_views import Elements, View
from larspark.run.protocol import Settings

Rule = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


class Listed:
    """The ground rules of the moment."""

    def __init__(self) -> None:
        self.rules: dict[int, Rule] = {}
        self.active: set[int] = set()

    def add(
        self,
        heads: tuple[int, ...],
        positive: tuple[int, ...],
        negative: tuple[int, ...],
        *,
        lasting: bool,
    ) -> int:
        number = len(self.rules)
        self.rules[number] = (heads, positive, negative)
        self.active.add(number)
        return number

    def suspend(self, rule: int) -> None:
        self.active.discard(rule)

    def resume(self, rule: int) -> None:
        self.active.add(rule)

    def drop(self, rule: int) -> None:
        self.active.discard(rule)

    def forget(self, atom: int) -> None:
        pass


class Grounding:
    """A program that is grounded on the fly."""

    def __init__(self, text: str) -> None:
        found = program(text)
        self.core = core(found)
        self.elements = Elements()
        self.feeds = GivenRelations(self.core, found.background, self.elements)
        self.listed = Listed()
        self.grounder = Grounder(self.core, self.feeds, self.listed)

    def tick(self, t: int, *atoms: Atom) -> int:
        """How many ground rules are active after this time point."""
        self.feeds.begin(t, View(0, t))
        for atom in atoms:
            arrival = self.elements.add(t, atom)
            assert arrival is not None
            self.feeds.add(arrival)
        self.feeds.refresh()
        self.grounder.tick()
        return len(self.listed.active)


def program(text: str) -> Checked:
    found = checked(text)
    assert found is not None, text
    return found


def core(found: Checked) -> Core:
    rules = plain_rules(found.rules)
    assert rules is not None
    return encode(found, rules, ())


def test_lars_example_19_windows_that_count_conclusions_are_refused() -> None:
    parsed = parse_program("c. d :- [#1] some c. a and b :- d. b :- [#1] some a. a :- [#1] some b.")
    assert parsed.program is not None
    found = check(parsed.program)
    refused = [p for p in found.problems if p.severity is Severity.ERROR]
    assert [(p.code, p.message) for p in refused] == [
        ("L221", "a tuple window looks at `a/0`, which rules derive"),
        ("L221", "a tuple window looks at `b/0`, which rules derive"),
    ]


def test_lars_example_19_windows_that_count_input_alone_leave_one_answer_stream() -> None:
    found = program(
        "#input c/0, other/0. d :- [#1] some c. a and b :- d. b :- a, [#1] some other. a :- b."
    )
    engine = AspEngine(found, (), Settings())
    engine.append(batch([Element(0, Atom("c"))], 0))
    expected = frozenset({Atom("a"), Atom("b"), Atom("d")})
    assert [model.stream for model in engine.models(0)] == [{0: expected}]


def test_ticker_example_10_a_tick_stream_is_its_elements_with_times_and_counts() -> None:
    elements = Elements()
    elements.add(3, Atom("a"))
    elements.add(3, Atom("b"))
    assert [(e.atom.predicate, e.t, e.number) for e in elements] == [("a", 3, 0), ("b", 3, 1)]


def test_ticker_example_13_the_encoding_gives_the_window_as_facts() -> None:
    found = program("#input a/1.\nb(X) :- [2] some a(X).")
    text = Text(core(found), Symbols(), (0,), ordered=True)
    assert text.showing_all.splitlines() == [
        "r1(V0) :- V0 = @g1.",
        "r2(V0) :- V0 = @g2.",
        "r0(V0) :- r2(V0).",
        "#show.",
        "#show r0/1.",
    ]
    engine = AspEngine(found, (), Settings(start=0))
    engine.append(batch([Element(5, fact("a", "y"))], 8))
    outputs = {point.t: point.atoms for point in engine.advance(8).points()}
    b = frozenset({fact("b", "y")})
    assert {t for t, atoms in outputs.items() if atoms == b} == {5, 6, 7}


def test_ticker_examples_14_and_15_rules_expire_with_what_they_stand_on() -> None:
    grounding = Grounding("#input a/1.\nb(X) :- [2] some a(X).")
    active = [grounding.tick(t, *([fact("a", "y")] if t == 5 else [])) for t in range(4, 10)]
    assert active == [0, 1, 1, 1, 0, 0]
    # What comes back is switched on again, and not grounded anew.
    assert grounding.tick(10, fact("a", "y")) == 1
    assert len(grounding.listed.rules) == 1


def test_ticker_example_16_no_guard_is_needed_and_arithmetic_leaves_nothing_behind() -> None:
    grounding = Grounding("#input alpha/1.\n@T high :- [3] @T alpha(V), V >= 18.")
    assert grounding.tick(0, fact("alpha", 17)) == 0
    assert grounding.tick(1, fact("alpha", 18)) == 1
    assert grounding.tick(2, fact("alpha", 30)) == 2
    assert [grounding.tick(t) for t in (3, 4, 5, 6)] == [2, 2, 1, 0]
    assert {(p, n) for _, p, n in grounding.listed.rules.values()} == {((), ())}


@given(automaton=automata(), word=st.text("xy", min_size=1, max_size=4), pins=st.booleans())
@settings(max_examples=examples(25), deadline=None)
def test_lars_theorem_15_automata_accept_what_their_programs_have_answer_streams_for(
    automaton: tuple[dict[tuple[int, str], int], set[int]], word: str, pins: bool
) -> None:
    transitions, accepting = automaton
    word = word if pins else word[:3]
    state = 0
    for letter in word:
        state = transitions[state, letter]
    start = WITH_PINS if pins else WITHOUT_PINS
    found = theorems.program(automaton_program(transitions, accepting, start))
    last = len(word) - 1
    engine = AspEngine(found, (), Settings(start=0, until=last))
    engine.append(batch([Element(t, Atom(letter)) for t, letter in enumerate(word)]))
    accepted = next(engine.models(last), None) is not None
    assert accepted == (state in accepting)
