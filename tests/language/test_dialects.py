"""Programs of Ticker and Laser, and where those tools misread what is written."""

from pathlib import Path

import pytest

from larspark.base.problems import Severity
from larspark.language import DIALECTS, Parsed, load_program, parse_program, program_text

# The content-retrieval program of the Ticker paper, in the notation of its tool.
CACHING = """
/* nodes fetch what they lack */
hit(I,N) :- item(I), node(N), req(I,N) [300 sec], cache(I,N) [5 min].
needAt(I,N) :- item(I), node(N), req(I,N) in [300 sec], not cache(I,N) in [300 sec]. // note
conn(N,M) :- edge(N,M), not error(N,M) [300 sec]. %* another *%
getFrom(I,N,M) :- needAt(I,N), minReach(I,N,M), not n_getFrom(I,N,M).
n_getFrom(I,N,M2) :- getFrom(I,N,M), minReach(I,N,M2), M != M2.
reach(N,M,K) :- length(K0), length(K), K=K0+1, conn(M0,M), reach(N,M0,K0), N != M.
high at T :- value(V), alpha(V) at T [300 sec], leq(18,V).
lfu :- high always [300 sec].
@T third :- car(C), @T rec(C) [3 #], not rec(C) [2 #].
car(1). car(2).
odd(X) :- number(X), X % 2 = 1, plus(X,1,Y), next(Y).
"""


def read(text: str, dialect: str) -> str:
    parsed = parse_program(text, dialect=dialect)
    assert parsed.problems == ()
    assert parsed.program is not None
    return program_text(parsed.program)


def refused(parsed: Parsed) -> list[str]:
    return [p.code for p in parsed.problems if p.severity is Severity.ERROR]


def warned(parsed: Parsed) -> list[str]:
    return [p.code for p in parsed.problems if p.severity is Severity.WARNING]


def test_a_ticker_program_is_read_unchanged() -> None:
    assert read(CACHING, "ticker") == (
        "#tick 1 s.\n"
        "hit(I, N) :- item(I), node(N), [300] some req(I, N), [300] some cache(I, N).\n"
        "needAt(I, N) :- item(I), node(N), [300] some req(I, N), not [300] some cache(I, N).\n"
        "conn(N, M) :- edge(N, M), not [300] some error(N, M).\n"
        "getFrom(I, N, M) :- needAt(I, N), minReach(I, N, M), not n_getFrom(I, N, M).\n"
        "n_getFrom(I, N, M2) :- getFrom(I, N, M), minReach(I, N, M2), M != M2.\n"
        "reach(N, M, K) :- length(K0), length(K), K = K0 + 1, conn(M0, M), reach(N, M0, K0), "
        "N != M.\n"
        "@T high :- value(V), [300] @T alpha(V), 18 <= V.\n"
        "lfu :- [300] always high.\n"
        "@T third :- car(C), [#3] @T rec(C), not [#2] some rec(C).\n"
        "car(1).\n"
        "car(2).\n"
        "odd(X) :- number(X), X mod 2 = 1, Y = X + 1, next(Y).\n"
    )


def test_without_the_dialect_a_ticker_program_needs_the_length_of_its_time_points() -> None:
    text = CACHING.replace("leq(18,V)", "18 <= V").split("odd(X)")[0]
    assert read(f"#tick 1 s. {text}", "lars") == read(text, "ticker")
    assert set(refused(parse_program(text))) == {"L115"}


def test_in_tickers_dialect_a_number_without_unit_means_seconds() -> None:
    assert read("a :- b [5].", "ticker") == "#tick 1 s.\na :- [5] some b.\n"
    assert read("#tick 500 ms. a :- b [5].", "ticker") == "#tick 500 ms.\na :- [10] some b.\n"
    assert read("#tick 500 ms. a :- b [5].", "lars") == "#tick 500 ms.\na :- [5] some b.\n"
    assert refused(parse_program("#tick 2 s. a :- b [5].", dialect="ticker")) == ["L117"]


@pytest.mark.parametrize("dialect", ["lars", "ticker"])
@pytest.mark.parametrize(
    "text", ["p not in [5]", "p not [5]", "p always not in [5]", "p at T not in [5]"]
)
def test_a_not_that_ticker_drops_is_an_error(text: str, dialect: str) -> None:
    assert refused(parse_program(f"a :- {text}.", dialect=dialect)) == ["L109"]


@pytest.mark.parametrize(
    ("relation", "comparison"),
    [
        ("eq(X,Y)", "X = Y"),
        ("neq(X,Y)", "X != Y"),
        ("lt(X,Y)", "X < Y"),
        ("leq(X,Y)", "X <= Y"),
        ("gt(X,Y)", "X > Y"),
        ("geq(X,Y)", "X >= Y"),
        ("plus(X,Y,Z)", "Z = X + Y"),
        ("minus(X,Y,Z)", "Z = X - Y"),
        ("times(X,Y,Z)", "Z = X * Y"),
        ("divide(X,Y,Z)", "Z = X / Y"),
        ("modulo(X,Y,Z)", "Z = X mod Y"),
        ("incr(X,Y)", "Y = X + 1"),
        ("leq(X,Y,Z)", "leq(X, Y, Z)"),
    ],
)
def test_tickers_relations_are_comparisons_in_its_dialect_only(
    relation: str, comparison: str
) -> None:
    assert read(f"a :- {relation}.", "ticker") == f"#tick 1 s.\na :- {comparison}.\n"
    parsed = parse_program(f"a :- {relation}.")
    assert refused(parsed) == []
    assert warned(parsed) == ([] if relation.startswith(comparison[:4]) else ["L131"])


# The cooling program of the Laser paper, as rule strings of its tool.
COOLING = """
@(T, steam(V)) :- time_win(80, 0, 1, @(T, (temp(V)))) and COMP(>=, V, 100)
@(T, isSteam) :- time_win(80, 0, 1, @(T, steam(V)))
alarm :- time_win(80, 0, 1, box(isSteam))
veryHot(T) :- time_win(80,0,1, @(T, steam(V)))
    and COMP(>=, V, 150)
freeze :- not(alarm) and not(normal)
seen(X,Z) :- time_win(3, 0, 1, diamond('http://ex.org/p'(X,Y))) and tuple_win(4, diamond(q(Y,Z)))
later(T1,X) :- tuple_win(3,0,1, @(T, p(X,Y))) and MATH(+,T1,T,2) and COMP(==, X, 3.0)
city(3.0):-
now :- @(17, tick)
"""


def test_laser_rules_are_read_as_they_are_written() -> None:
    assert read(COOLING, "laser") == (
        "@T steam(V) :- [80] @T temp(V), V >= 100.\n"
        "@T isSteam :- [80] @T steam(V).\n"
        "alarm :- [80] always isSteam.\n"
        "veryHot(T) :- [80] @T steam(V), V >= 150.\n"
        "freeze :- not alarm, not normal.\n"
        'seen(X, Z) :- [3] some "http://ex.org/p"(X, Y), [#4] some q(Y, Z).\n'
        "later(T1, X) :- [#3] @T p(X, Y), T1 = T + 2, X = 3.\n"
        "city(3).\n"
        'now :- @17 "tick".\n'
    )


def test_a_broken_line_does_not_take_the_next_one_with_it() -> None:
    parsed = parse_program("~\na b :- c\n", dialect="laser")
    assert refused(parsed) == ["L110", "L104"]


def test_directives_and_comments_are_read_in_lasers_dialect_too() -> None:
    assert read("#show q/1.\n% comment\nq(X) :- p(X)\n", "laser") == "#show q/1.\nq(X) :- p(X).\n"


def test_a_disjunction_that_laser_evaluates_as_a_conjunction_is_refused() -> None:
    (problem,) = parse_program("a(X) :- b(X) or c(X)", "t.laser", "laser").problems
    assert problem.render() == (
        "t.laser:1:14: error L141: Laser evaluates `or` as `and`, so it is not clear "
        "what is meant\n"
        "  1 | a(X) :- b(X) or c(X)\n"
        "    |              ^^\n"
        "  hint: write `and`, or one rule for each part"
    )


def test_where_laser_gives_something_else_than_the_rule_says_there_is_a_warning() -> None:
    parsed = parse_program("a(X) :- b(X, k) and not(c(X)) and d(Sensor)", "t.laser", "laser")
    assert parsed.program is not None
    assert [problem.render().split("\n")[0] for problem in parsed.problems] == [
        "t.laser:1:9: warning L142: Laser ignores the constant `k` in a body; read as written",
        "t.laser:1:25: warning L143: Laser lets any `c` atom block this rule; read as written",
        "t.laser:1:37: warning L144: Laser takes `Sensor` for a constant; read as a variable",
    ]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("a :- time_win(3,0,2, box(b))", ["L145"]),
        ("a :- tuple_win(3,1,1, box(b))", ["L145"]),
        ("a :- predicate_win(3, b)", ["L146"]),
        ("a", ["L104"]),
        ("a :-\n  b", ["L104"]),
        ("a :- b and", ["L104"]),
        ("a :- b, c", ["L104"]),
        ("a :- not b", ["L104"]),
        ("a :- time_win(3, box(b))", ["L104"]),
        ("a :- COMP(>, X, _)", ["L123"]),
        ("a :- (b", ["L106"]),
        ("a b :- c", ["L104"]),
    ],
)
def test_what_laser_cannot_mean_is_refused(text: str, codes: list[str]) -> None:
    assert refused(parse_program(text, dialect="laser")) == codes


def test_a_window_into_the_future_is_read_as_defined_with_a_warning() -> None:
    parsed = parse_program("a :- time_win(3,1,1, diamond(b))", dialect="laser")
    assert warned(parsed) == ["L145"]
    assert parsed.program is not None
    assert program_text(parsed.program) == "a :- [3,+1] some b.\n"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("a.lars", "a :- [5] some b."),
        ("a.ticker", "#tick 1 s. a :- b [5]."),
        ("a.laser", "a :- time_win(5, 0, 1, diamond(b))"),
        ("a.txt", "a :- b [5]."),
    ],
)
def test_the_suffix_of_a_file_names_its_dialect(tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / file).write_text(text)
    parsed = load_program(tmp_path / file)
    assert parsed.program is not None
    assert program_text(parsed.program).endswith("a :- [5] some b.\n")


def test_a_named_dialect_goes_before_the_suffix(tmp_path: Path) -> None:
    (tmp_path / "a.laser").write_text("a :- b [5].")
    assert load_program(tmp_path / "a.laser").program is None
    assert load_program(tmp_path / "a.laser", "ticker").program is not None


def test_dialects_share_no_suffix_and_are_listed_by_name() -> None:
    suffixes = [suffix for dialect in DIALECTS.values() for suffix in dialect.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert [dialect.name for dialect in DIALECTS.values()] == list(DIALECTS)


@pytest.mark.parametrize(
    ("dialect", "text", "place"),
    [
        ("lars", "a.\n  b :- c d.", (2, 10)),
        ("ticker", "a.\n  b :- c d.", (2, 10)),
        ("laser", "a :- b\n  c :- d e", (2, 10)),
    ],
)
def test_problems_have_places_in_the_original_text(
    dialect: str, text: str, place: tuple[int, int]
) -> None:
    (problem,) = parse_program(text, dialect=dialect).problems
    assert problem.span is not None
    assert (problem.span.line, problem.span.column) == place
