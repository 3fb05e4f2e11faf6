"""Printing and reading are inverse."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import constants, formulas, programs, terms

from larspark.base.atoms import Atom, atom_text
from larspark.base.terms import Constant, Term
from larspark.language import (
    formula_text,
    parse_atom,
    parse_formula,
    parse_program,
    program_text,
    term_text,
)
from larspark.language.tree import Formula, Program


@settings(max_examples=500, deadline=None)
@given(program=programs())
def test_a_printed_program_reads_back_as_the_same_program(program: Program) -> None:
    text = program_text(program)
    parsed = parse_program(text)
    assert not [p for p in parsed.problems if p.severity == "error"], (text, parsed.problems)
    assert parsed.program == program
    assert program_text(parsed.program) == text


@settings(max_examples=1000, deadline=None)
@given(formula=formulas(12))
def test_a_printed_formula_reads_back_as_the_same_formula(formula: Formula) -> None:
    parsed = parse_formula(formula_text(formula))
    assert parsed.problems == ()
    assert parsed.formula == formula


@settings(max_examples=500, deadline=None)
@given(term=terms())
def test_a_printed_term_reads_back_as_the_same_term(term: Term) -> None:
    assert parse_atom(f"p({term_text(term)})").args == (term,)


@settings(max_examples=500, deadline=None)
@given(predicate=st.sampled_from(("p", "tram", "min", "at")), args=st.lists(constants()))
def test_an_atom_as_answers_show_it_reads_back(predicate: str, args: list[Constant]) -> None:
    atom = Atom(predicate, tuple(args))
    assert parse_atom(atom_text(atom)) == atom
