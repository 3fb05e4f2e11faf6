"""`larspark translate`: the same program in LARS."""

from pathlib import Path

import pytest
from hypothesis import given
from tests.in_process import larspark
from tests.language.test_dialects import CACHING, COOLING
from tests.strategies import programs

from larspark.language import load_program, parse_program
from larspark.language.printer import lars_translation
from larspark.language.tree import Program


@pytest.mark.parametrize(("text", "dialect"), [(CACHING, "ticker"), (COOLING, "laser")])
def test_the_translation_reads_back_as_the_same_program(text: str, dialect: str) -> None:
    program = parse_program(text, dialect=dialect).program
    assert program is not None
    assert parse_program(lars_translation(program)).program == program


@given(programs())
def test_every_program_reads_back(program: Program) -> None:
    assert parse_program(lars_translation(program)).program == program


def test_a_comment_shows_where_a_rule_comes_from(tmp_path: Path) -> None:
    (tmp_path / "a.laser").write_text("q(X) :- diamond(p(X)) and\n    not(r(X))\n")
    done = larspark(tmp_path, "translate", "a.laser")
    assert done.returncode == 0
    assert done.stdout == (
        "% a.laser:1: q(X) :- diamond(p(X)) and not(r(X))\nq(X) :- some p(X), not r(X).\n"
    )
    assert "L143" in done.stderr
    (tmp_path / "a.lars").write_text(done.stdout)
    assert load_program(tmp_path / "a.lars") == load_program(tmp_path / "a.lars", "lars")
    assert larspark(tmp_path, "translate", "a.lars").stdout == "q(X) :- some p(X), not r(X).\n"
    (tmp_path / "b.txt").write_text("q(X) :- p(X) [5].")
    assert larspark(tmp_path, "translate", "b.txt", "--from", "ticker").stdout == (
        "#tick 1 s.\n% b.txt:1: q(X) :- p(X) [5]\nq(X) :- [5] some p(X).\n"
    )


def test_an_option_that_a_dialect_does_not_have_is_refused() -> None:
    (problem,) = parse_program("a :- b.", options={"reading": "now"}).problems
    assert problem.render() == (
        "error L126: the dialect `lars` has no option `reading`\n  hint: its options: none"
    )
