"""What every form of term and formula is read as."""

import pytest

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Span
from larspark.base.terms import Arithmetic, Term, Variable, Wildcard
from larspark.language import formula_text, parse_atom, parse_formula
from larspark.language.tree import (
    Always,
    And,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Implies,
    Not,
    Or,
    Reset,
    Some,
    Tick,
    Truth,
    Windowed,
)
from larspark.language.windows import (
    FilterWindow,
    NamedWindow,
    SessionWindow,
    TimeWindow,
    TupleWindow,
    Window,
)

X, Y, Z, T, U = map(Variable, "XYZTU")


def atom(predicate: str, *args: Term) -> AtomFormula:
    return AtomFormula(Atom(predicate, args))


A, B, C, D, P = atom("a"), atom("b"), atom("c"), atom("d"), atom("p", X)


def read(text: str, tick: Tick | None = None) -> Formula:
    parsed = parse_formula(text, tick=tick)
    assert parsed.problems == ()
    assert parsed.formula is not None
    return parsed.formula


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("p(a1, X, _)", ("a1", X, Wildcard())),
        ("p(_X, X_1, LongName)", (Variable("_X"), Variable("X_1"), Variable("LongName"))),
        ("p(3, -3, 007)", (3, -3, 7)),
        ("p(2.5, -0.5, 1e3, 1.5e-3)", (2.5, -0.5, 1000, 0.0015)),
        ("p(2.0, 1e300)", (2, 1e300)),
        ("p(9223372036854775807, -9223372036854775808)", (2**63 - 1, -(2**63))),
        ('p("Wien Mitte", "a1", "")', ("Wien Mitte", "a1", "")),
        (r'p("a\"b\\c\n\r\t")', ('a"b\\c\n\r\t',)),
        ('p("% no // comment /* here")', ("% no // comment /* here",)),
        ("p(true, false, not, some, mod, at)", ("true", "false", "not", "some", "mod", "at")),
        ("p(X + 1)", (Arithmetic("+", (X, 1)),)),
    ],
)
def test_arguments_are_constants_variables_wildcards_and_arithmetic(
    text: str, args: tuple[Term, ...]
) -> None:
    assert parse_atom(text) == Atom("p", args)


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("X + Y * 2", Arithmetic("+", (X, Arithmetic("*", (Y, 2))))),
        ("(X + Y) * 2", Arithmetic("*", (Arithmetic("+", (X, Y)), 2))),
        ("X - Y - Z", Arithmetic("-", (Arithmetic("-", (X, Y)), Z))),
        ("X / Y mod Z", Arithmetic("mod", (Arithmetic("/", (X, Y)), Z))),
        ("-X * Y", Arithmetic("*", (Arithmetic("-", (X,)), Y))),
        ("X - -3", Arithmetic("-", (X, -3))),
        ("-(3)", Arithmetic("-", (3,))),
        ("--3", Arithmetic("-", (-3,))),
        ("abs(X - Y)", Arithmetic("abs", (Arithmetic("-", (X, Y)),))),
        ("min(X, max(Y, 3))", Arithmetic("min", (X, Arithmetic("max", (Y, 3))))),
    ],
)
def test_arithmetic_has_the_usual_precedence(text: str, term: Term) -> None:
    assert read(f"Z = {text}") == Comparison("=", Z, term)
    assert read(f"{text} = Z") == Comparison("=", term, Z)


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
def test_all_comparisons_are_read(operator: str) -> None:
    assert read(f"X {operator} b") == Comparison(operator, X, "b")
    assert read(f"X{operator}-1") == Comparison(operator, X, -1)


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("a and b", And((A, B))),
        ("a and b and c", And((A, B, C))),
        ("a and (b and c)", And((A, B, C))),
        ("(a or b) or c", Or((A, B, C))),
        ("a, b or c", And((A, Or((B, C))))),
        ("(a, b) or c", Or((And((A, B)), C))),
        ("a or b and c", Or((A, And((B, C))))),
        ("(a or b) and c", And((Or((A, B)), C))),
        ("a -> b -> c", Implies(A, Implies(B, C))),
        ("(a -> b) -> c", Implies(Implies(A, B), C)),
        ("a or b -> c and d", Implies(Or((A, B)), And((C, D)))),
        ("not a and b", And((Not(A), B))),
        ("not (a and b)", Not(And((A, B)))),
        ("not not a", Not(Not(A))),
        ("some a or b", Or((Some(A), B))),
        ("always not a", Always(Not(A))),
        ("reset some a", Reset(Some(A))),
        ("true and false", And((Truth(True), Truth(False)))),
        ("@T p(X)", At(T, P)),
        ("@T+3 p(X)", At(Arithmetic("+", (T, 3)), P)),
        ("@17 not a", At(17, Not(A))),
        ("@-2 a", At(-2, A)),
        ("@(T + 1) (a or b)", At(Arithmetic("+", (T, 1)), Or((A, B)))),
        ("@T (X < 3)", At(T, Comparison("<", X, 3))),
        ("not X < 3", Not(Comparison("<", X, 3))),
        ("[5] some a", Windowed(TimeWindow(5), Some(A))),
        ("not [5] some a and b", And((Not(Windowed(TimeWindow(5), Some(A))), B))),
        ("((a))", A),
        ("¬a ∧ b ∨ c → d", Implies(Or((And((Not(A), B)), C)), D)),
        ("⊤ ∧ ⊥", And((Truth(True), Truth(False)))),
        ("◇ □ a", Some(Always(A))),
        ("▷ a", Reset(A)),
        ("⊞[5] ◇ a", Windowed(TimeWindow(5), Some(A))),
        ("⊞5 ◇ a", Windowed(TimeWindow(5), Some(A))),
        ("⊞#3 ◇ a", Windowed(TupleWindow(3), Some(A))),
        ('"not"', atom("not")),
        ('"http://ex.org/p"(X)', atom("http://ex.org/p", X)),
        ("min(X, 3)", atom("min", X, 3)),
        ("min(X, 3) < 2", Comparison("<", Arithmetic("min", (X, 3)), 2)),
        ("a.", A),
    ],
)
def test_formulas_are_read_with_their_binding_strength(text: str, formula: Formula) -> None:
    assert read(text) == formula


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("[5]", TimeWindow(5)),
        ("[0]", TimeWindow(0)),
        ("[+5]", TimeWindow(0, 5)),
        ("[5,+3]", TimeWindow(5, 3)),
        ("[5, +3]", TimeWindow(5, 3)),
        ("[60 every 15]", TimeWindow(60, 0, 15)),
        ("[60 every 60]", TimeWindow(60, 0, 60)),
        ("[3,+1 every 3]", TimeWindow(3, 1, 3)),
        ("[+4 every 2]", TimeWindow(0, 4, 2)),
        ("[*]", TimeWindow(None)),
        ("[+*]", TimeWindow(0, None)),
        ("[*,+*]", TimeWindow(None, None)),
        ("[*,+3]", TimeWindow(None, 3)),
        ("[5,+*]", TimeWindow(5, None)),
        ("[* every 5]", TimeWindow(None, 0, 5)),
        ("[+* every 5 s]", TimeWindow(0, None, 10)),
        ("[10 s]", TimeWindow(20)),
        ("[10s]", TimeWindow(20)),
        ("[10 sec]", TimeWindow(20)),
        ("[1500 ms]", TimeWindow(3)),
        ("[1500 msec]", TimeWindow(3)),
        ("[500000 us]", TimeWindow(1)),
        ("[1.5 min]", TimeWindow(180)),
        ("[1 h]", TimeWindow(7200)),
        ("[1 d]", TimeWindow(172800)),
        ("[1 min,+10 s every 5 s]", TimeWindow(120, 20, 10)),
        ("[#3]", TupleWindow(3)),
        ("[# 3]", TupleWindow(3)),
        ("[3 #]", TupleWindow(3)),
        ("[#+1]", TupleWindow(0, 1)),
        ("[#4,+1]", TupleWindow(4, 1)),
        ("[#1 by X]", TupleWindow(1, 0, (X,))),
        ("[#2,+1 by X, Y]", TupleWindow(2, 1, (X, Y))),
        ("[3 # by X]", TupleWindow(3, 0, (X,))),
        ("[session 5]", SessionWindow(5)),
        ("[session 5 by X]", SessionWindow(5, by=(X,))),
        ("[session 5 min max 1 h by X, Y]", SessionWindow(600, 7200, by=(X, Y))),
        ("[session 5 max 9]", SessionWindow(5, 9)),
        ("[ended session 5 s]", SessionWindow(10, ended=True)),
        ("[ended session 5 max 0 by X]", SessionWindow(5, 0, True, (X,))),
        ('["session"(3)]', NamedWindow("session", (3,))),
        ("[only tram(a1,_)]", FilterWindow((Atom("tram", ("a1", Wildcard())),))),
        ("[only tram(_), done]", FilterWindow((Atom("tram", (Wildcard(),)), Atom("done")))),
        ("[mine]", NamedWindow("mine")),
        ('[mine(3, "a b", -0.5, c)]', NamedWindow("mine", (3, "a b", -0.5, "c"))),
        ("[t 5]", TimeWindow(5)),
        ("[t 5 s]", TimeWindow(10)),
    ],
)
def test_windows_of_every_kind_are_read(text: str, window: Window) -> None:
    assert read(f"{text} a", Tick(500_000)) == Windowed(window, A)


def test_durations_are_numbers_of_time_points() -> None:
    seconds = Tick(500_000)
    assert read("@(T + 5 s) a", seconds) == At(Arithmetic("+", (T, 10)), A)
    assert read("a at T + 1.5 min", seconds) == At(Arithmetic("+", (T, 180)), A)
    assert read("T - U > -2 s", seconds) == Comparison(">", Arithmetic("-", (T, U)), -4)
    # Right after `@` a name is the atom.
    assert read("@T + 5 s", seconds) == At(Arithmetic("+", (T, 5)), atom("s"))
    assert read("[5 s] s", seconds) == Windowed(TimeWindow(10), atom("s"))


def test_now_is_the_evaluation_time_where_a_term_is_wanted() -> None:
    binder = "[0] @now true"
    for text, full in (
        ("p(now)", f"{binder} and p(now)"),
        ("p(X), X < now - 3", f"{binder} and p(X) and X < now - 3"),
        ("some @now p", f"{binder} and some @now p"),
        (f"p(now), {binder}", f"p(now) and {binder}"),
    ):
        formula = parse_formula(text).formula
        assert formula is not None
        assert formula_text(formula) == full
        assert parse_formula(full).formula == formula
    assert read('p("now") and now and now(3)') == And(
        tuple(AtomFormula(atom) for atom in (Atom("p", ("now",)), Atom("now"), Atom("now", (3,))))
    )


def test_windows_nest() -> None:
    pattern = FilterWindow((Atom("tram", ("a1", Wildcard())),))
    tram = At(Variable("U"), atom("tram", "a1", Variable("St")))
    nested = Windowed(pattern, Windowed(TupleWindow(1), tram))
    assert read("[only tram(a1,_)] [#1] @U tram(a1,St)") == nested
    inner = Reset(Windowed(TimeWindow(5), Some(atom("s"))))
    assert read("[60] always reset [5] some s") == Windowed(TimeWindow(60), Always(inner))


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("p(X) [10]", Windowed(TimeWindow(10), Some(P))),
        ("p(X)[10]", Windowed(TimeWindow(10), Some(P))),
        ("p(X) in [10]", Windowed(TimeWindow(10), Some(P))),
        ("p(X) always [10]", Windowed(TimeWindow(10), Always(P))),
        ("p(X) always in [10]", Windowed(TimeWindow(10), Always(P))),
        ("p(X) at T [10]", Windowed(TimeWindow(10), At(T, P))),
        ("p(X) at T in [10]", Windowed(TimeWindow(10), At(T, P))),
        ("p(X) at T", At(T, P)),
        ("p(X) at T+3", At(Arithmetic("+", (T, 3)), P)),
        ("p(X) at 34", At(34, P)),
        ("p(X) [3 #]", Windowed(TupleWindow(3), Some(P))),
        ("@T p(X) [3 #]", Windowed(TupleWindow(3), At(T, P))),
        ("@T p(X) in [3 #]", Windowed(TupleWindow(3), At(T, P))),
        ("@T (p(X) [3])", At(T, Windowed(TimeWindow(3), Some(P)))),
        ("not p(X) [10]", Not(Windowed(TimeWindow(10), Some(P)))),
        ("not p(X) in [10]", Not(Windowed(TimeWindow(10), Some(P)))),
        ("[3] p(X) [10]", Windowed(TimeWindow(3), Windowed(TimeWindow(10), Some(P)))),
        ("reset p(X) [10]", Reset(Windowed(TimeWindow(10), Some(P)))),
        (
            "a [1] and b [2]",
            And((Windowed(TimeWindow(1), Some(A)), Windowed(TimeWindow(2), Some(B)))),
        ),
    ],
)
def test_short_forms_after_an_atom_become_ordinary_trees(text: str, formula: Formula) -> None:
    assert read(text) == formula


def test_words_of_the_language_are_names_where_no_word_is_wanted() -> None:
    assert read("every and by and only and tick") == And(
        (atom("every"), atom("by"), atom("only"), atom("tick"))
    )
    assert read("at at T") == At(T, atom("at"))
    assert read("not in in [3]") == Not(Windowed(TimeWindow(3), Some(atom("in"))))


def test_formulas_know_their_place() -> None:
    formula = read("a and\n  not p(X) [10]")
    assert isinstance(formula, And)
    assert formula.span == Span("<formula>", 1, 1, 2, 16)
    negation = formula.parts[1]
    assert negation.span == Span("<formula>", 2, 3, 2, 16)
    assert isinstance(negation, Not)
    assert isinstance(negation.body, Windowed)
    assert isinstance(negation.body.body, Some)
    assert negation.body.body.body.span == Span("<formula>", 2, 7, 2, 11)


def test_a_formula_of_the_greatest_depth_reads_back() -> None:
    operators = ["not ", "some (a or ", "[5] (a and ", "@T ("]
    text = "b"
    for number in range(60):
        operator = operators[number % 4]
        text = f"{operator}{text}{')' if '(' in operator else ''}"
    formula = read(text)
    assert read(formula_text(formula)) == formula


@pytest.mark.parametrize("text", ["a and b", "@3 p(a)", "X", "", "p(a) q(b)", "p(a). q(b)", "p("])
def test_what_is_not_an_atom_is_an_error_with_problems(text: str) -> None:
    with pytest.raises(LarsparkError) as caught:
        parse_atom(text)
    assert caught.value.problems
