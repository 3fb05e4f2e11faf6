"""What the dialect `ltl` refuses, by name and place."""

from pathlib import Path

import pytest
from tests.in_process import larspark

from larspark import LarsparkError, Program, Stream, run
from larspark.language import parse_program


def problems(text: str) -> list[tuple[str, int, str]]:
    parsed = parse_program(text, dialect="ltl")
    return [(p.code, p.span.column if p.span else 0, p.message) for p in parsed.problems]


@pytest.mark.parametrize(
    ("text", "code", "column", "message"),
    [
        ("A G p", "L161", 1, "the path quantifier `A` is not supported"),
        ("EF p", "L161", 1, "the path quantifier `E` is not supported"),
        ("p & F[0,5] q", "L161", 6, "intervals on operators such as `F` are not supported"),
        ("G_[1,2] q", "L161", 3, "intervals on operators such as `G_` are not supported"),
        ("p U<=5 q", "L161", 4, "intervals on operators such as `U` are not supported"),
        ("X^3 q", "L161", 2, "`X` has no power but `^-1`"),
        ("p(a,X)", "L161", 5, "atoms are ground, and `X` is a variable"),
        ("forall x. p", "L161", 1, "the quantifier `forall` is not supported"),
        ("∃ x p", "L161", 1, "quantifiers are not supported"),
        ("G p ω", "L161", 5, "infinite words are not supported"),
        ("GF p", "L104", 1, "`GF` is read as a name"),
        ("G always p", "L104", 3, "`always` is read as a name"),
        ("p until q", "L104", 3, "an operator was expected, not `until`"),
        ("p U", "L104", 3, "a formula was expected, and the text ends"),
        ("(p", "L104", 1, "`)` was expected, and the text ends"),
        ("p q", "L104", 3, "an operator was expected, not `q`"),
        ("", "L104", 1, "a formula was expected"),
        ("a := p a := q", "L162", 8, "`a` is defined twice"),
        ("a := b b := p", "L162", 6, "`b` stands before its definition is complete"),
        ("a := X a", "L162", 8, "`a` stands before its definition is complete"),
        ("holds & p", "L162", 1, "`holds` is the name of a formula, and an atom of the stream"),
        ("true := p", "L104", 1, "`true` cannot be the name of a formula"),
        ("p & $ q", "L101", 5, "`$` has no place here"),
        ('p & "q', "L102", 5, "the string is not closed"),
        ("p /* q", "L103", 3, "the comment is not closed"),
        ("p(99999999999999999999)", "L114", 3, "the number does not fit a 64-bit integer"),
        ("!" * 61 + "p", "L107", 61, "the formula nests more than 60 levels deep"),
    ],
)
def test_a_problem_has_its_name_and_place(text: str, code: str, column: int, message: str) -> None:
    assert (code, column, message) in problems(text)


def test_words_of_other_notations_are_named_with_the_operator() -> None:
    for text, hint in (
        ("GF p", "write `G F`"),
        ("eventually p", "write `F`"),
        ("p until q", "write `U`"),
    ):
        assert [p.hint for p in parse_program(text, dialect="ltl").problems] == [hint]
    assert parse_program("next := once & always", dialect="ltl").problems == ()


def test_all_problems_are_reported_at_once() -> None:
    found = problems("a := A G p\nb := F[0,5] q & G[1,2] p(X)\nc := p U\nd := p $ q")
    assert [code for code, _, _ in found] == ["L161"] * 4 + ["L104", "L101", "L104"]


def test_a_name_may_begin_with_the_letter_of_an_operator() -> None:
    read = parse_program("G (Fault -> X Gone)", dialect="ltl")
    assert read.problems == ()
    assert read.program == parse_program('G ("Fault" -> X "Gone")', dialect="ltl").program


def test_a_definition_can_be_used_below() -> None:
    named = parse_program("waits := req & !ack\nall := G F waits", dialect="ltl").program
    direct = parse_program("waits := req & !ack\nall := G F (req & !ack)", dialect="ltl").program
    assert named is not None
    assert named == direct


def test_a_reading_goes_with_hindsight_or_without(tmp_path: Path) -> None:
    (tmp_path / "a.ltl").write_text("F p")
    (tmp_path / "s.jsonl").write_text('{"t": 1, "atom": "q"}\n{"t": 3, "atom": "p"}\n')
    stream = ["--stream", "s.jsonl", "--as", "intervals"]
    prefix = larspark(tmp_path, "run", "a.ltl", *stream)
    assert prefix.stdout == '{"atom": "holds", "from": 3, "to": 3}\n'
    each = larspark(tmp_path, "run", "a.ltl", *stream, "--reading", "each")
    assert each.stdout == '{"atom": "holds", "from": 1, "to": 3}\n'
    assert larspark(tmp_path, "run", "a.ltl", *stream, "--hindsight").stdout == each.stdout
    both = larspark(tmp_path, "run", "a.ltl", *stream, "--hindsight", "--reading", "now")
    assert both.returncode == 1
    assert "L413" in both.stderr
    other = larspark(tmp_path, "run", "a.ltl", *stream, "--reading", "later")
    assert "L126: there is no reading `later`" in other.stderr
    lars = larspark(tmp_path, "translate", "a.ltl", "--reading", "each").stdout
    assert lars.startswith("% Run with --hindsight.\n")


def test_the_reading_each_needs_hindsight_in_python() -> None:
    program = Program.parse("F p", dialect="ltl", reading="each")
    stream = Stream.of([(1, "q"), (3, "p")])
    with pytest.raises(LarsparkError, match="L413"):
        run(program, stream)
    assert run(program, stream, hindsight=True).to_pylist() == [
        {"atom": "holds", "from": 1, "to": 3}
    ]
