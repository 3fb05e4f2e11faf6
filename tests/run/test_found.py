"""Small programs that random ones led to: engines once gave something else than the definitions."""

import pytest

from larspark.analysis.check import check
from larspark.base.atoms import Atom
from larspark.base.facts import Row, RowBatch
from larspark.language import parse_program
from larspark.run.protocol import Settings
from larspark.run.session import Session

ENGINES = ["interval", "asp", "tms", "oracle"]


def outputs(engine: str, program: str, rows: list[Row], last: int, settings: Settings) -> list[str]:
    parsed = parse_program(program).program
    assert parsed is not None
    session = Session(check(parsed, (), ends=False), (), engine, settings)
    session.append(RowBatch(rows, last))
    points = session.advance(last).points()
    return [" ".join(sorted(map(str, point.atoms or ()))) for point in points]


@pytest.mark.parametrize("engine", ENGINES)
def test_with_hindsight_the_programs_own_elements_are_known(engine: str) -> None:
    program = "@7 q(2).\ns :- [+3] some q(X)."
    settings = Settings(start=1, hindsight=True)
    assert outputs(engine, program, [], 4, settings) == ["", "", "", "s"]


@pytest.mark.parametrize("engine", ENGINES)
def test_hindsight_does_not_see_beyond_the_end_of_the_timeline(engine: str) -> None:
    rows = [Row(1, Atom("p", (1,)), 0), Row(7, Atom("p", (7,)), 1)]
    program = "@6 p(6).\nq(X) :- some p(X)."
    settings = Settings(start=1, hindsight=True, until=3)
    assert outputs(engine, program, rows, 7, settings) == ["q(1)"] * 3


@pytest.mark.parametrize("engine", ENGINES)
def test_a_recursion_reads_what_is_remembered_of_it(engine: str) -> None:
    program = "#remember u/1.\nu(X) :- [2] some u(X).\nu(X) :- b(X)."
    rows = [Row(1, Atom("b", (5,)), 0)]
    assert outputs(engine, program, rows, 3, Settings()) == ["u(5)"] * 3


@pytest.mark.parametrize("engine", ["asp", "tms", "oracle"])
def test_a_negation_below_a_window_binds_nothing(engine: str) -> None:
    program = "q(Y) :- [#2] not [3] @T [3] always a(Y), [4] @T a(_), [3] some a(Y), X = Y - 1.5."
    rows = [Row(5, Atom("b", (0,)), 0), Row(6, Atom("a", ("x",)), 1)]
    assert outputs(engine, program, rows, 6, Settings()) == ["", ""]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # What an equation needs comes with a later part; or each part needs the other one.
        ("[3] some (a(Z) and Y = X - 1), b(X)", "q(6)"),
        ("[3] some (a(Z) and Y = X - 1), [3] some (b(X) and W = Z + 1)", "q(6)"),
    ],
)
def test_an_equation_inside_a_formula_may_use_what_others_bind(
    engine: str, body: str, expected: str
) -> None:
    rows = [Row(1, Atom("a", (5,)), 0), Row(2, Atom("b", (7,)), 1)]
    assert outputs(engine, f"q(Y) :- {body}.", rows, 2, Settings()) == ["", expected]


@pytest.mark.parametrize("engine", ["asp", "oracle"])
@pytest.mark.parametrize("body", ["some p(X)", "(some p(X) or some p(X))"])
def test_a_filter_whose_variable_is_bound_below_it_is_applied_before_tuples_are_counted(
    engine: str, body: str
) -> None:
    rows = [Row(0, Atom("p", (1,)), 0), Row(1, Atom("q", (2,)), 1)]
    program = f"#input p/1, q/1.\nh(X) :- [only p(X)] [#1] {body}."
    assert outputs(engine, program, rows, 1, Settings()) == ["h(1)"] * 2


@pytest.mark.parametrize("engine", ["asp", "oracle"])
def test_a_window_at_the_time_of_a_tuple_sees_older_elements(engine: str) -> None:
    program = "#input p/1, q/0.\nh(X) :- [#1] some reset [3] some p(X)."
    older = [Row(t, Atom("q"), t) for t in range(4)]
    rows = [*older, Row(8, Atom("p", (1,)), 4), Row(10, Atom("q"), 5)]
    settings = Settings(start=0)
    assert outputs(engine, program, rows, 30, settings)[-1] == "h(1)"
