"""Ground atoms as text."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.base.atoms import Atom, atom_text
from larspark.base.problems import LarsparkError
from larspark.base.terms import constant
from larspark.feeds import parse_ground_atom
from larspark.feeds.ground_atoms import GroundAtoms
from larspark.feeds.reading import Refused

CONSTANTS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False).map(constant),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.from_regex(r"[a-z][A-Za-z0-9_]*", fullmatch=True),
)
ATOMS = st.builds(
    Atom,
    st.from_regex(r"[a-z][A-Za-z0-9_]{0,8}", fullmatch=True),
    st.lists(CONSTANTS, max_size=4).map(tuple),
)


@pytest.mark.parametrize(
    ("text", "atom"),
    [
        ("done", Atom("done")),
        ("tram(a1,b)", Atom("tram", ("a1", "b"))),
        ('temp("New York",-3.5)', Atom("temp", ("New York", -3.5))),
        (" p ( a , 2.0 ,\t1e3,-0 ) ", Atom("p", ("a", 2, 1000, 0))),
        (r'say("a\"b\\c\n\r\t")', Atom("say", ('a"b\\c\n\r\t',))),
        ('p("a1","3",3)', Atom("p", ("a1", "3", 3))),
        ("p(007,1E+2,1.5e-3)", Atom("p", (7, 100, 0.0015))),
        (f"p({'0' * 40}5,-{'0' * 40}5)", Atom("p", (5, -5))),
        ("p(9223372036854775807,-9223372036854775808)", Atom("p", (2**63 - 1, -(2**63)))),
        ('p("a,b)",mod,not)', Atom("p", ("a,b)", "mod", "not"))),
        ('p("")', Atom("p", ("",))),
        ('p("größer ⊞")', Atom("p", ("größer ⊞",))),
    ],
)
def test_ground_atoms_are_read(text, atom):
    for read in (parse_ground_atom(text), GroundAtoms()[text]):
        assert read == atom
        assert list(map(type, read.args)) == list(map(type, atom.args))


VARIABLE_HINT = "\n  hint: quote a text that does not begin with a lowercase letter: "
PREDICATE_HINT = (
    "\n  hint: a predicate is a lowercase letter, then letters, digits and `_`, or quoted"
)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "L312: the text ends, not a predicate" + PREDICATE_HINT),
        ("Tram(a)", 1, "L312: found `Tram`, not a predicate" + PREDICATE_HINT),
        ("3", 1, "L312: found `3`, not a predicate" + PREDICATE_HINT),
        ("not a", 5, "L312: found `a` after the atom"),
        ("p(", 3, "L312: the text ends, not a constant"),
        ("p(a", 4, "L312: the text ends, not `,` or `)`"),
        ("p(a b)", 5, "L312: found `b`, not `,` or `)`"),
        ("p()", 3, "L312: found `)`, not a constant"),
        ("p(a,)", 5, "L312: found `)`, not a constant"),
        (
            "p(a).",
            5,
            "L312: found `.` after the atom\n  hint: an atom ends without a full stop here",
        ),
        ("p(f(a))", 4, "L312: found `(`, not `,` or `)`"),
        ("p(1+2)", 4, "L312: found `+`, not `,` or `)`"),
        ("p(3x)", 4, "L312: found `x`, not `,` or `)`"),
        ("p(a,St)", 5, f'L312: `St` is a variable, and facts have no variables{VARIABLE_HINT}"St"'),
        ("p(_)", 3, f'L312: `_` is a variable, and facts have no variables{VARIABLE_HINT}"_"'),
        ("p(é)", 3, "L312: found `é`, not a constant"),
        ('p("a)', 3, "L312: a quoted string is not closed on its line"),
        ('p("a\nb")', 3, "L312: a quoted string is not closed on its line"),
        (
            r'p("a\xb")',
            5,
            'L312: `\\x` is not an escape\n  hint: the escapes are \\" \\\\ \\n \\r \\t',
        ),
        ("p(1e999)", 3, "L313: `1e999` does not fit a 64-bit float"),
        ("p(9223372036854775808)", 3, "L313: `9223372036854775808` does not fit a 64-bit integer"),
        ("p(-" + "9" * 9999 + ")", 3, f"L313: `-{'9' * 39}...` does not fit a 64-bit integer"),
        ('p("\ud800")', 3, "L313: the text holds a lone surrogate"),
    ],
)
def test_what_is_no_ground_atom_is_refused_with_its_column(text, column, message):
    with pytest.raises(LarsparkError) as error:
        parse_ground_atom(text)
    (problem,) = error.value.problems
    code, rest = message.split(": ", 1)
    what, _, hint = rest.partition("\n  hint: ")
    assert (problem.code, problem.message, problem.hint) == (code, what, hint)
    assert problem.span is not None
    assert problem.span.column == column


def test_a_refused_atom_is_shown_with_a_caret():
    with pytest.raises(LarsparkError) as error:
        parse_ground_atom("tram(a1,St)")
    assert str(error.value) == (
        "<atom>:1:9: error L312: `St` is a variable, and facts have no variables\n"
        "  1 | tram(a1,St)\n"
        "    |         ^\n"
        '  hint: quote a text that does not begin with a lowercase letter: "St"'
    )


@given(ATOMS)
@settings(deadline=None)
def test_reading_what_was_written_gives_the_same_atom(atom):
    text = atom_text(atom)
    for read in (parse_ground_atom(text), GroundAtoms()[text]):
        assert read == atom
        assert list(map(type, read.args)) == list(map(type, atom.args))


@given(st.text('ab1-.e"\\(), _X\n', max_size=30))
@settings(deadline=None)
def test_the_fast_and_the_careful_reader_agree_on_any_text(text):
    assert outcome(lambda: parse_ground_atom(text)) == outcome(lambda: GroundAtoms()[text])


def outcome(read):
    """The atom, or what is wrong."""
    try:
        return read()
    except LarsparkError as error:
        return error.problems[0].message
    except Refused as refused:
        return refused.message


@pytest.mark.parametrize("text", ['p("' + '\\"' * 500_000, "p(" * 300_000, "p(" + "a," * 300_000])
def test_hostile_texts_are_refused_in_linear_time(text):
    start = time.process_time()
    with pytest.raises(LarsparkError):
        parse_ground_atom(text)
    assert time.process_time() - start < 2


def test_remembered_texts_are_bounded():
    atoms = GroundAtoms()
    for number in range(70_000):
        atoms[f"p({number})"]
    assert len(atoms) <= 1 << 16
    atoms["p(" + "a" * 300 + ")"]
    assert all(len(text) < 200 for text in atoms)


def test_a_quoted_predicate_is_read_and_written_back() -> None:
    atom = parse_ground_atom('"http://example.org/p"(a, "b c")')
    assert str(atom) == '"http://example.org/p"(a,"b c")'
    assert parse_ground_atom(str(atom)) == atom
