"""Constants that the solver cannot hold, calculate or order are exact all the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.definitions import output_stream
from tests.run.answer_sets.random_programs import batch, checked, examples

from larspark.base.atoms import Atom, Element, fact
from larspark.base.terms import INTEGER_MAX, INTEGER_MIN, Constant
from larspark.language import program_text
from larspark.run.answer_sets.encoding_text import Symbols, constant
from larspark.run.answer_sets.engines import AspEngine, TmsEngine
from larspark.run.protocol import Settings

HOSTILE = [
    '"). #script(python) import os. #end. p("',
    "a\nb",
    "#include <incmode>.",
    "\0",
    "a\0b",
    "\ud800",
    "ü€😀",
    "%*",
    "@g0",
    'quote " and \\ backslash',
    "X",
    "",
]
constants: st.SearchStrategy[Constant] = st.one_of(
    st.integers(-3, 3),
    st.integers(INTEGER_MIN, INTEGER_MAX),
    st.sampled_from([2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**62, INTEGER_MAX, INTEGER_MIN]),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not x.is_integer()),
    st.sampled_from([0.1, 1.5, 1e300, -1e300, 1e-300]),
    st.sampled_from(HOSTILE),
    st.text(max_size=4),
)

PROGRAM = """
#input p/1.
less(X,Y) :- [9] some p(X), [9] some p(Y), X < Y.
most(X,Y) :- [9] some p(X), [9] some p(Y), not X < Y, X != Y.
sum(X,Y,Z) :- [9] some p(X), [9] some p(Y), Z = X + Y * 2 - 1.
half(X,Y) :- [9] some p(X), Y = X / 2.
rest(X,Y) :- [9] some p(X), [9] some p(Y), X mod Y >= 0.
@T+X later(X) :- [9] @T p(X).
same(X) :- [9] some p(X), p(X + 0).
"""


@given(constants)
@settings(max_examples=examples(300), deadline=None)
def test_every_constant_is_a_symbol_of_its_own(value: Constant) -> None:
    assert constant(Symbols().symbol(value)) == value
    assert type(constant(Symbols().symbol(value))) is type(value)


@given(st.lists(constants, min_size=1, max_size=3, unique=True))
@settings(max_examples=examples(40), deadline=None)
def test_calculating_and_comparing_is_exact(values: list[Constant]) -> None:
    found = checked(PROGRAM)
    assert found is not None
    elements = [Element(1, fact("p", value)) for value in values]
    expected = list(output_stream(found, elements, to=2))
    for engine in (
        AspEngine(found, (), Settings()),
        AspEngine(found, (), Settings(incremental=True)),
        TmsEngine(found, (), Settings()),
    ):
        engine.append(batch(elements, 2))
        assert [(point.t, point.atoms) for point in engine.advance(2).points()] == expected


@pytest.mark.parametrize("text", HOSTILE)
def test_text_in_a_program_never_reaches_the_solver_as_anything_but_a_constant(text: str) -> None:
    found = checked("#input p/1.\nq(X) :- p(X), X != other.\nr :- p(marker).")
    assert found is not None
    # The text is put where the parser would have put it, whatever a file can hold.
    rules = [
        rule.__class__(rule.head, tuple(_replace(part, text) for part in rule.body), rule.span)
        for rule in found.rules
    ]
    found = checked(program_text(found.program)) or found
    object.__setattr__(found, "rules", tuple(rules))
    engine = AspEngine(found, (), Settings())
    engine.append(batch([Element(0, fact("p", text)), Element(0, fact("p", "b"))], 0))
    outputs = [point.atoms for point in engine.advance(0).points()]
    assert outputs == [frozenset({fact("q", "b"), Atom("r")} if text != "b" else {Atom("r")})]


def _replace(part: object, text: str) -> object:
    """The formula with the text in place of `other` and `marker`."""
    from larspark.language.tree import AtomFormula, Comparison

    match part:
        case Comparison(operator, left, "other"):
            return Comparison(operator, left, text)
        case AtomFormula(Atom(predicate, ("marker",))):
            return AtomFormula(Atom(predicate, (text,)))
        case _:
            return part
