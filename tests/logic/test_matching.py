"""The matcher proposes every substitution under which a formula holds, over either kind of stream.

It may propose more: the definitions and the engines decide each candidate. So it is enough that no
candidate is missing, compared with all substitutions over the active domain.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, product

from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.analysis.check import formula_problems
from larspark.base.atoms import Element, fact
from larspark.base.terms import Arithmetic, Constant, Variable, Wildcard
from larspark.language import parse_formula
from larspark.language.nodes import variables
from larspark.language.tree import Formula
from larspark.logic.matching import Binding, Matcher, unify
from larspark.logic.values import NoValueError
from larspark.meaning.entailment import Structure, entails
from larspark.meaning.grounding import ground
from larspark.meaning.queries import pins_in_timeline, stream_matcher
from larspark.meaning.streams import Stream, Universe
from larspark.run.answer_sets.evaluation_context import EvaluationContext
from larspark.run.answer_sets.rule_instances import MatchSource
from larspark.run.answer_sets.stream_views import Elements, View

END = 3
BACKGROUND = [fact("next", 1, 2), fact("next", 2, 3)]
# All constants of the facts and formulas drawn below, and all time points.
DOMAIN: list[Constant] = [0, 1, 2, 3, 4, "c"]

ATOMS = ("p(X)", "p(Y)", "q(X,Y)", "q(X,_)", "next(X,Y)", "p(1)", "d(X)", "d(Y)", "p(X+1)")
TESTS = ("true", "X != Y", "Y = X", "X <= 2", "X / 0 = Y", "X = Y + 1", "not p(X)", "not X = Y")
# Conjunctions in which one part needs what the other, or a part outside, binds.
EQUATIONS = ("(p(X) and Z = Y + 1)", "(q(_,Y) and Z = X)", "(d(Z) and X = Z)", "(p(X) and Y = X)")
WINDOWS = (
    "[1]", "[+1]", "[2 every 2]", "[*]", "[#1]", "[#1]", "[#2,+1]", "[#1 by X]", "[only p(_)]",
    "[only p(X)]", "[only p(X)]", "[only q(X,_)]", "[only d(X)]", "reset",
)  # fmt: skip
OPERATORS = ("", "some", "some", "always", "@1", "@U", "@U+1", "@X", "@X*1")

# Windows over an operator over an atom or a small conjunction.
chains = st.builds(
    lambda windows, operator, body: " ".join([*windows, operator, body]),
    st.lists(st.sampled_from(WINDOWS), max_size=3),
    st.sampled_from(OPERATORS),
    st.sampled_from(ATOMS + EQUATIONS),
)


def _wider(below: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    prefixes = st.sampled_from(("not", "some", "always", *WINDOWS))
    joined = st.tuples(below, st.sampled_from(("and", "and", "and", "or", "->")), below)
    return st.one_of(
        st.tuples(prefixes, below).map(" ".join),
        joined.map(lambda part: f"({' '.join(part)})"),
    )


leaves = st.one_of(chains, chains, st.sampled_from(TESTS).map("({})".format))
texts = st.recursive(leaves, _wider, max_leaves=4)
inputs = st.builds(
    Element,
    st.integers(0, END),
    st.one_of(
        st.integers(1, 2).map(lambda x: fact("p", x)),
        st.tuples(st.integers(1, 2), st.sampled_from([1, 3, "c"])).map(lambda xy: fact("q", *xy)),
    ),
)
derivable = st.builds(Element, st.integers(0, END), st.integers(1, 3).map(lambda x: fact("d", x)))


def formula(text: str) -> Formula:
    parsed = parse_formula(text)
    assert parsed.formula is not None, parsed.problems
    return parsed.formula


def streams(data: Sequence[Element], undecided: Sequence[Element]) -> Iterator[Stream]:
    """The stream with each selection of the undecided elements."""
    for count in range(len(undecided) + 1):
        for chosen in combinations(undecided, count):
            universe = Universe(data)
            for element in chosen:
                universe.add(*element)
            yield universe.whole(0, END)


def satisfying(
    asked: Formula, data: Sequence[Element], undecided: Sequence[Element], t: int
) -> set[frozenset[tuple[str, Constant]]]:
    """All substitutions over the domain under which the formula can hold, by the definitions."""
    names = sorted({variable.name for variable in variables(asked)})
    found = set()
    for stream in streams(data, undecided):
        structure = Structure(stream, frozenset(BACKGROUND))
        for chosen in product(DOMAIN, repeat=len(names)):
            binding: Binding = dict(zip(names, chosen, strict=True))
            try:
                candidate = ground(asked, binding)
            except NoValueError:
                continue
            inside = pins_in_timeline((asked,), binding, stream)
            if inside and entails(structure, stream, t, candidate):
                found.add(frozenset(binding.items()))
    return found


def by_stream(
    asked: Formula, data: Sequence[Element], undecided: Sequence[Element], t: int
) -> list[Binding]:
    universe = Universe(data)
    given_bits = (1 << len(universe.elements)) - 1
    for element in undecided:
        universe.add(*element)
    whole = universe.whole(0, END)
    return stream_matcher(whole, BACKGROUND, whole.bits & ~given_bits).bindings((asked,), t)


def by_evaluation_context(
    asked: Formula, data: Sequence[Element], undecided: Sequence[Element], t: int
) -> list[Binding]:
    elements = Elements()
    for element in sorted(data, key=lambda element: element.t):
        elements.add(*element)
    context = EvaluationContext(elements, BACKGROUND, View(0, END), t, ())
    for element in undecided:
        context.add_possible(element)
    return Matcher(MatchSource(context, frozenset())).bindings((asked,), t)


@settings(max_examples=500, deadline=None)
@given(
    text=texts,
    data=st.lists(inputs, max_size=5),
    undecided=st.lists(derivable, max_size=2, unique=True),
    t=st.integers(0, END),
)
def test_no_substitution_is_missed(
    text: str, data: list[Element], undecided: list[Element], t: int
) -> None:
    asked = formula(text)
    if formula_problems(asked):
        # Most random formulas are unsafe; these conjuncts bind what they leave open.
        open_names = {variable.name for variable in variables(asked)}
        binders = {
            "X": "some (p(X) or q(X,_) or d(X))",
            "Y": "some q(_,Y)",
            "Z": "some d(Z)",
            "U": "some @U p(_)",
        }
        asked = formula(" and ".join([f"({text})", *(binders[name] for name in open_names)]))
    if formula_problems(asked):
        return
    assert_none_missing(asked, data, undecided, t)


# Formulas in which matching has to wait, to look through windows early, or to come back to a part.
DELICATE = (
    "[only p(X)] [#1] some p(X)",
    "[only q(X,_)] [#2] [#1] some q(X,Y)",
    "[only p(X), q(X,_)] [#1] @U q(X,_)",
    "[only d(X)] [1] (some d(X) or some d(X))",
    "some (p(X) and Z = Y + 1) and some q(_,Y)",
    "some (p(X) and Z = Y) and some (q(_,Y) and W = X)",
    "(some p(X) or some q(X,_)) and [only p(X)] [#1] some p(_)",
    "some (not p(X) and d(X)) and @X*1 p(_)",
    "[#1 by X] some q(X,Y) and @U+1 p(_) and reset some p(U)",
    "always next(X,Y) and [2] some (p(Y) and X < Y)",
)


@settings(max_examples=400, deadline=None)
@given(
    text=st.sampled_from(DELICATE),
    data=st.lists(inputs, min_size=1, max_size=5),
    undecided=st.lists(derivable, max_size=1),
    t=st.integers(0, END),
)
def test_no_substitution_of_a_delicate_formula_is_missed(
    text: str, data: list[Element], undecided: list[Element], t: int
) -> None:
    assert not formula_problems(formula(text))
    assert_none_missing(formula(text), data, undecided, t)


def assert_none_missing(
    asked: Formula, data: Sequence[Element], undecided: Sequence[Element], t: int
) -> None:
    expected = satisfying(asked, data, undecided, t)
    for find in (by_stream, by_evaluation_context):
        found = [frozenset(binding.items()) for binding in find(asked, data, undecided, t)]
        assert len(found) == len(set(found))
        assert expected <= set(found)


def test_known_values_restrict_what_is_found() -> None:
    data = [Element(1, fact("p", 1)), Element(1, fact("p", 2))]
    matcher = stream_matcher(Universe(data).whole(0, END), BACKGROUND)
    assert matcher.bindings((formula("p(X)"),), 1) == [{"X": 1}, {"X": 2}]
    assert matcher.bindings((formula("p(X)"),), 1, {"X": 2}) == [{"X": 2}]
    assert matcher.bindings((formula("p(X)"),), 1, {"X": 3}) == []


def test_unification_calculates_what_is_bound_and_skips_what_is_not() -> None:
    following = Arithmetic("+", (Variable("X"), 1))
    assert unify((Variable("X"), following), (1, 2), {}) == {"X": 1}
    assert unify((Variable("X"), following), (1, 3), {}) is None
    assert unify((following, Variable("X")), (9, 1), {}) == {"X": 1}
    assert unify((Variable("X"), Variable("X")), (1, 2), {}) is None
    assert unify((Wildcard(), "a"), (1, "a"), {"X": 2}) == {"X": 2}
