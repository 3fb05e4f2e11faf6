"""Formatting changes spaces and nothing else."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.in_process import larspark
from tests.strategies import programs

from larspark.base.problems import LarsparkError
from larspark.language import parse_program, program_text
from larspark.language.formatting import laid_out
from larspark.language.source import Source
from larspark.language.tokens import tokenize
from larspark.language.tree import Program

ROOT = Path(__file__).parents[2]


def words(text: str) -> list[tuple[str, str]]:
    """The tokens and comments of a text."""
    found = tokenize(Source("x", text), comments=True)
    return [(token.type, token.text.rstrip()) for token in found]


def check(text: str) -> str:
    formatted = laid_out(text)
    assert words(formatted) == words(text)
    assert laid_out(formatted) == formatted
    assert parse_program(formatted).program == parse_program(text).program
    return formatted


@settings(max_examples=300, deadline=None)
@given(program=programs(), data=st.data())
def test_any_spaces_give_the_same_layout_of_a_line(program: Program, data: st.DataObject) -> None:
    text = program_text(program)
    formatted = check(text)
    # Between any two tokens there may be more spaces.
    positions = [
        (token.line, token.column)
        for token in tokenize(Source("x", text))
        if not token.leads_line and data.draw(st.booleans())
    ]
    lines = text.split("\n")
    for line, column in sorted(positions, reverse=True):
        old = lines[line - 1]
        before, after = old[: column - 1], old[column - 1 :]
        # A call is written without a space before its bracket, and keeps one that is there.
        if not after.startswith("("):
            lines[line - 1] = f"{before}  {after}"
    assert check("\n".join(lines)) == formatted


def test_the_printed_form_of_a_rule_is_its_layout() -> None:
    text = (
        "alarm(M, N) :- N = #count{ T, X : [60] @T err(M, X) } by M, not [5,+3] some ok(M).\n"
        "@T-2 p :- @T [#1 by X, Y] some q(X, Y), X = -1 * (Y + 2) mod 3, [only a(_), b] @5 c.\n"
    )
    assert laid_out(text) == text.replace("@T-2 p ", "@T-2 p      ")


def test_names_of_columns_stand_as_the_arguments_of_an_atom() -> None:
    assert check("#show alarm( machine,value ),hot / 1.") == "#show alarm(machine, value), hot/1.\n"


EXAMPLES = sorted(ROOT.glob("examples/**/*.lars")) + sorted(ROOT.glob("tests/cases/lars/*/*.lars"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_programs_keep_their_tokens_and_comments(path: Path) -> None:
    check(path.read_text("utf-8"))


def test_comments_and_line_breaks_stay() -> None:
    text = """\
%* a comment
   over two lines *%
a(X):-b(X),   % first
 c(X)  ,
        not d(X). e.



long_name(X) :- f(X). /* inline */ g:-h. % end
x :- y.% one
longer :- y.     %   two
"""
    assert (
        check(text)
        == """\
%* a comment
   over two lines *%
a(X) :- b(X),  % first
    c(X),
    not d(X). e.

long_name(X) :- f(X). /* inline */ g :- h.  % end
x      :- y.  % one
longer :- y.  %   two
"""
    )


def test_a_text_with_errors_is_refused_with_their_places() -> None:
    with pytest.raises(LarsparkError) as refused:
        laid_out("a :- b.\nc :- ,d.", "x.lars")
    assert [
        (problem.code, problem.span and problem.span.line) for problem in refused.value.problems
    ] == [("L104", 2)]


def test_the_command_writes_checks_and_pipes(tmp_path: Path) -> None:
    file = tmp_path / "a.lars"
    file.write_text("a:-b.\n")
    done = larspark(tmp_path, "format", "a.lars", "--check")
    assert (done.returncode, done.stderr) == (1, "would change a.lars\n")
    assert file.read_text() == "a:-b.\n"
    done = larspark(tmp_path, "format", "a.lars")
    assert (done.returncode, done.stderr, file.read_text()) == (
        0,
        "formatted a.lars\n",
        "a :- b.\n",
    )
    done = larspark(tmp_path, "format", "a.lars", "--check")
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "b.txt").write_text("a:-b.\n")
    done = larspark(tmp_path, "format", "b.txt")
    assert done.returncode == 1
    assert "b.txt is no .lars file" in done.stderr
