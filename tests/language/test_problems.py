"""Every mistake is told with its place, in plain words, and with a way out."""

import pytest

from larspark.base.codes import CODES
from larspark.language import parse_formula, parse_program

# A text with one problem, and the whole message: the line, the caret and the hint.
MESSAGES = (
    (
        "a :- b\nc :- d.",
        """t.lars:1:7: error L105: the statement has no `.` at its end
  1 | a :- b
    |       ^
  hint: put a `.` here""",
    ),
    (
        "a :- b",
        """t.lars:1:7: error L105: the statement has no `.` at its end
  1 | a :- b
    |       ^
  hint: put a `.` here""",
    ),
    (
        "a :- b\n  c.",
        """t.lars:1:7: error L105: the statement has no `.` at its end
  1 | a :- b
    |       ^
  hint: put a `.` here, or a `,` if the rule continues with `c`""",
    ),
    (
        "a :- X = Y % 2.\nb.",
        """t.lars:1:11: error L105: the statement has no `.` at its end
  1 | a :- X = Y % 2.
    |           ^
  hint: `%` starts a comment; the remainder of a division is written `X mod Y`""",
    ),
    (
        "a :- p(X, q.",
        """t.lars:1:7: error L106: `(` is not closed
  1 | a :- p(X, q.
    |       ^
  hint: a `)` is missing""",
    ),
    (
        "a :- [5 some p :- q.",
        """t.lars:1:14: error L104: expected `]` or `,`, found `p`
  1 | a :- [5 some p :- q.
    |              ^""",
    ),
    (
        "p(X :- q(X).",
        """t.lars:1:2: error L106: `(` is not closed
  1 | p(X :- q(X).
    |  ^
  hint: a `)` is missing""",
    ),
    (
        "a :- b).",
        """t.lars:1:7: error L104: expected `,`, `.` or `and`, found `)`
  1 | a :- b).
    |       ^
  hint: there is no `(` for it""",
    ),
    (
        "a :- p().",
        """t.lars:1:8: error L104: expected a term, found `)`
  1 | a :- p().
    |        ^
  hint: without arguments there are no parentheses: `p`, not `p()`""",
    ),
    (
        "a :- .",
        """t.lars:1:6: error L104: expected a formula, found the end of the statement
  1 | a :- .
    |      ^
  hint: a fact has no `:-`""",
    ),
    (
        "a :- b c.",
        """t.lars:1:8: error L104: expected `,`, `.`, `and` or `[`, found `c`
  1 | a :- b c.
    |        ^
  hint: a `,` or `and` may be missing, or the `.` of the statement before""",
    ),
    (
        "a v b :- c.",
        """t.lars:1:3: error L104: expected `.`, `:-`, `and` or `[`, found `v`
  1 | a v b :- c.
    |   ^
  hint: a disjunction is written `a or b`""",
    ),
    (
        "a, b :- c.",
        """t.lars:1:2: error L104: expected `.` or `:-`, found `,`
  1 | a, b :- c.
    |  ^
  hint: a head is one formula: write `and` or `or` between its parts""",
    ),
    (
        "a :- 1 < X < 3.",
        """t.lars:1:12: error L104: expected `,`, `.` or `and`, found `<`
  1 | a :- 1 < X < 3.
    |            ^
  hint: compare two values at a time: `1 < X, X < 3`""",
    ),
    (
        "a(M) :- A = avg V of [2] p(M, V) by M.",
        """t.lars:1:17: error L104: expected `,`, `.` or `and`, found `V`
  1 | a(M) :- A = avg V of [2] p(M, V) by M.
    |                 ^
  hint: write `avg of V in [5] p(V)`""",
    ),
    (
        "a(N) :- N = count(X).",
        """t.lars:1:13: error L122: `count(X)` applies a function, and terms have none
  1 | a(N) :- N = count(X).
    |             ^^^^^^^^
  hint: write `count of [5] p(_)` for an aggregate""",
    ),
    (
        "a(M) :- 1 < count of [2] p(M, V) where V > 0, V < 3 by M.",
        """t.lars:1:53: error L104: expected `,` or `.`, found `by`
  1 | a(M) :- 1 < count of [2] p(M, V) where V > 0, V < 3 by M.
    |                                                     ^^
  hint: conditions after `where` are joined by `and`: `where V > 1 and V < 9 by M`""",
    ),
    (
        "a :- @T X < 3.",
        """t.lars:1:11: error L104: expected `,`, `.`, `and` or `[`, found `<`
  1 | a :- @T X < 3.
    |           ^
  hint: put the comparison into parentheses""",
    ),
    (
        "a :- p @T.",
        """t.lars:1:8: error L104: expected `,`, `.`, `and` or `[`, found `@`
  1 | a :- p @T.
    |        ^
  hint: a time stands before its formula, `@T p`, or behind an atom, `p at T`""",
    ),
    (
        "a :- [5,3] some p.",
        """t.lars:1:9: error L104: expected `+`, found `3`
  1 | a :- [5,3] some p.
    |         ^
  hint: the future of a window has a `+`: `[5,+3]`""",
    ),
    (
        "#background lines as line/2.",
        """t.lars:1:13: error L104: expected a string, found `lines`
  1 | #background lines as line/2.
    |             ^^^^^
  hint: put it into quotes: `"lines"`""",
    ),
    (
        "a. .",
        """t.lars:1:4: error L104: a statement is empty
  1 | a. .
    |    ^
  hint: remove this `.`""",
    ),
    (
        "a <- b.",
        """t.lars:1:3: error L110: `<-` is not an operator here
  1 | a <- b.
    |   ^^
  hint: write `:-` in a rule, `< -` in a comparison""",
    ),
    (
        "a => b.",
        """t.lars:1:3: error L110: `=>` is not an operator here
  1 | a => b.
    |   ^^
  hint: write `:-` in a rule, `->` in a formula, `>=` in a comparison""",
    ),
    (
        "a | b.",
        """t.lars:1:3: error L110: `|` is not an operator here
  1 | a | b.
    |   ^
  hint: write `or`""",
    ),
    (
        "a ; b.",
        """t.lars:1:3: error L110: `;` is not an operator here
  1 | a ; b.
    |   ^
  hint: write `or` for a disjunction, `,` for a conjunction""",
    ),
    (
        "a :- b & c.",
        """t.lars:1:8: error L110: `&` is not an operator here
  1 | a :- b & c.
    |        ^
  hint: write `and`""",
    ),
    (
        "a :- X == 3.",
        """t.lars:1:8: error L110: `==` is not an operator here
  1 | a :- X == 3.
    |        ^^
  hint: write `=`""",
    ),
    (
        "a :- p(X) not in [5].",
        """t.lars:1:11: error L109: `not` cannot stand between an atom and its window \
(Ticker silently drops it there)
  1 | a :- p(X) not in [5].
    |           ^^^
  hint: write it before the atom: `not p(X) [10]`""",
    ),
    (
        "#inptu tram/2.",
        """t.lars:1:2: error L111: there is no directive `#inptu`
  1 | #inptu tram/2.
    |  ^^^^^
  hint: did you mean `#input`?""",
    ),
    (
        "#external a/1.",
        """t.lars:1:2: error L111: there is no directive `#external`
  1 | #external a/1.
    |  ^^^^^^^^
  hint: the directives are `#tick`, `#input`, `#show`, `#background`, `#remember`, `#include`""",
    ),
    (
        "p(x) :- q(x) at t [5].",
        """t.lars:1:17: error L124: `t` is text, and a time is expected here
  1 | p(x) :- q(x) at t [5].
    |                 ^
  hint: a variable starts with a capital letter: `T`""",
    ),
    (
        "@1.5 p.",
        """t.lars:1:2: error L124: `1.5` is no time point
  1 | @1.5 p.
    |  ^^^
  hint: time points are whole numbers""",
    ),
    (
        "a :- [#1 by id] some p(id).",
        """t.lars:1:13: error L125: `id` has no variable, so it cannot be a key
  1 | a :- [#1 by id] some p(id).
    |             ^^
  hint: a variable starts with a capital letter: `Id`""",
    ),
    (
        "a :- Done.",
        """t.lars:1:6: error L112: `Done` is a term, and a formula is expected here
  1 | a :- Done.
    |      ^^^^
  hint: a predicate starts with a small letter: `done`""",
    ),
    (
        "a :- X + 1.",
        """t.lars:1:6: error L112: `X + 1` is a term, and a formula is expected here
  1 | a :- X + 1.
    |      ^^^^^
  hint: compare it with something: `X + 1 > 0`""",
    ),
    (
        "a :- (not b) < 3.",
        """t.lars:1:6: error L113: `(not b)` is a formula, and a term is expected here
  1 | a :- (not b) < 3.
    |      ^^^^^^^""",
    ),
    (
        "p(f(X)).",
        """t.lars:1:3: error L122: `f(X)` applies a function, and terms have none
  1 | p(f(X)).
    |   ^^^^
  hint: the functions of arithmetic are `abs`, `min` and `max`""",
    ),
    (
        "a :- X = min(1).",
        """t.lars:1:10: error L122: `min` takes two arguments, not 1
  1 | a :- X = min(1).
    |          ^^^^^^""",
    ),
    (
        "a :- X = y + 1.",
        """t.lars:1:10: error L114: `y` is text, and `+` needs numbers
  1 | a :- X = y + 1.
    |          ^
  hint: a variable starts with a capital letter: `Y`""",
    ),
    (
        "p(9223372036854775808).",
        """t.lars:1:3: error L114: the number does not fit a 64-bit integer
  1 | p(9223372036854775808).
    |   ^^^^^^^^^^^^^^^^^^^""",
    ),
    (
        "a :- [1.5] some p.",
        """t.lars:1:7: error L114: `1.5` is not a whole number
  1 | a :- [1.5] some p.
    |       ^^^""",
    ),
    (
        "a :- p(X), X = _.",
        """t.lars:1:16: error L123: `_` has no value to compare
  1 | a :- p(X), X = _.
    |                ^
  hint: use a variable that an atom binds""",
    ),
    (
        "a :- [10 s] some p.",
        """t.lars:1:7: error L115: a duration needs `#tick`
  1 | a :- [10 s] some p.
    |       ^^^^
  hint: say how long one time point lasts, e.g. `#tick 1 s.`, or leave out the unit""",
    ),
    (
        "a :- [10 weeks] some p.",
        """t.lars:1:10: error L116: `weeks` is no unit of time
  1 | a :- [10 weeks] some p.
    |          ^^^^^
  hint: one of `us`, `ms`, `msec`, `s`, `sec`, `min`, `h`, `d`""",
    ),
    (
        "#tick 2 s. a :- [5 s] some p.",
        """t.lars:1:18: error L117: `5 s` is not a whole number of time points of 2 s
  1 | #tick 2 s. a :- [5 s] some p.
    |                  ^^^
  hint: 2 or 3 time points are possible""",
    ),
    (
        "a :- [3 every 5] some p.",
        """t.lars:1:15: error L118: the hop 5 does not fit the window, which has 4 time points
  1 | a :- [3 every 5] some p.
    |               ^
  hint: time points would be left out; the hop is from 1 to 4""",
    ),
    (
        "a :- [mine(X)] p.",
        """t.lars:1:12: error L118: `X` is not a constant
  1 | a :- [mine(X)] p.
    |            ^
  hint: the arguments of a window of your own are constants""",
    ),
    (
        "a :- always p [5].",
        """t.lars:1:6: error L119: `always` before an atom with a window after it can be read in \
two ways
  1 | a :- always p [5].
    |      ^^^^^^^^^^^^
  hint: write `[...] always p` or `always [...] some p`""",
    ),
    (
        "a :- (p or q) [5].",
        """t.lars:1:6: error L119: `(p or q)` is not an atom, and only an atom is followed by a \
window or time
  1 | a :- (p or q) [5].
    |      ^^^^^^^^^^^^
  hint: write the window or `@T` in front of the formula""",
    ),
    (
        "#tick 1 s. #tick 2 s.",
        """t.lars:1:12: error L120: `#tick` says 2 s, and 1 s before
  1 | #tick 1 s. #tick 2 s.
    |            ^^^^^^^^^
  hint: a program has one length of time points""",
    ),
    (
        "#show p(a, b), q/1. #show p(a, c).",
        """t.lars:1:27: error L120: `#show` names the columns of `p/2` (a, c), and (a, b) before
  1 | #show p(a, b), q/1. #show p(a, c).
    |                           ^^^^^^^
  hint: a predicate has one list of names""",
    ),
    (
        "#show p(a, b, a).",
        """t.lars:1:15: error L133: two columns of `p` are called `a`
  1 | #show p(a, b, a).
    |               ^""",
    ),
    (
        "#show p(to).",
        """t.lars:1:9: error L133: `to` is a column of every table of answers
  1 | #show p(to).
    |         ^^
  hint: `from` and `to` say when an answer holds; choose another name""",
    ),
    (
        "#show p(M, V).",
        """t.lars:1:9: error L104: expected a name, found `M`
  1 | #show p(M, V).
    |         ^
  hint: the names of columns are lowercase: `m`""",
    ),
    (
        "#show p().",
        """t.lars:1:9: error L104: expected a name, found `)`
  1 | #show p().
    |         ^
  hint: without arguments there are no parentheses: `p/0`""",
    ),
    (
        "#input p(a).",
        """t.lars:1:9: error L104: expected `/`, found `(`
  1 | #input p(a).
    |         ^""",
    ),
    (
        'p("open).\nb.',
        """t.lars:1:3: error L102: the string is not closed on its line
  1 | p("open).
    |   ^
  hint: close it with `"`""",
    ),
    (
        r'p("\q").',
        r"""t.lars:1:4: error L102: `\q` is no escape
  1 | p("\q").
    |    ^^
  hint: write `\\` for a backslash; `\"`, `\n`, `\r` and `\t` are the others""",
    ),
    (
        "a. /* b.",
        """t.lars:1:4: error L103: the comment `/*` is not closed
  1 | a. /* b.
    |    ^^
  hint: close it with `*/`""",
    ),
    (
        "straße.",
        """t.lars:1:5: error L101: `ß` has no place here
  1 | straße.
    |     ^
  hint: other letters than a to z need quotes: `"..."`""",
    ),
    (
        "p('a').",
        """t.lars:1:3: error L101: a single quote has no place here
  1 | p('a').
    |   ^^^
  hint: strings have double quotes: `"..."`""",
    ),
    (
        "import window.Mine as mine",
        """t.lars:1:1: error L132: Ticker's `import` of a window written in Scala has no counterpart
  1 | import window.Mine as mine
    | ^^^^^^
  hint: register a Python function and use it as `[name(3)]`""",
    ),
    (
        "a :- b, leq(X, Y).",
        """t.lars:1:9: warning L131: `leq` is an ordinary predicate, and a relation only in \
Ticker's dialect
  1 | a :- b, leq(X, Y).
    |         ^^^^^^^^^
  hint: write a comparison, or declare `#input leq/2.`""",
    ),
)


@pytest.mark.parametrize(("text", "message"), MESSAGES, ids=[text for text, _ in MESSAGES])
def test_a_mistake_is_told_in_full(text: str, message: str) -> None:
    problem = parse_program(text, "t.lars").problems[0]
    assert problem.render() == message


def test_tabs_keep_the_caret_below_its_place() -> None:
    (problem,) = parse_program("a :-\tb\t| c.", "t.lars").problems
    assert problem.render().split("\n")[1:3] == ["  1 | a :-\tb\t| c.", "    |     \t \t^"]


def test_too_deep_a_formula_is_refused_with_the_limit() -> None:
    for text in ("not " * 101 + "a", "X = " + "-" * 102 + "Y", " -> ".join("a" * 102)):
        (problem,) = parse_formula(text).problems
        assert problem.code == "L107"
        assert problem.message == "more than 100 operators are nested here"
    assert parse_formula("not " * 99 + "a").problems == ()


def test_too_many_open_brackets_are_refused_with_the_limit() -> None:
    (problem,) = parse_formula("(" * 251 + "a" + ")" * 251).problems
    assert problem.message == "more than 250 brackets are open here"
    assert parse_formula("(" * 250 + "a" + ")" * 250).problems == ()


def test_too_many_problems_are_cut_off_and_that_is_said() -> None:
    problems = parse_program("a b.\n" * 1000).problems
    assert len(problems) == 101
    assert problems[-1].message == "only the first 100 errors are listed"


def test_many_warnings_do_not_make_an_error() -> None:
    parsed = parse_program("a(X) :- b(X, k)\n" * 300, dialect="laser")
    assert parsed.program is not None
    assert len(parsed.program.rules) == 300
    assert len(parsed.problems) == 101
    assert parsed.problems[-1].message == "only the first 100 warnings are listed"


def test_a_predicate_with_the_name_of_a_ticker_relation_is_fine_when_something_gives_it() -> None:
    for program in ("leq(1,2). a :- leq(X,Y).", "#input leq/2. a :- leq(X,Y).", "a :- leq(X)."):
        assert parse_program(program).problems == ()


def test_every_code_has_a_title_that_is_a_sentence() -> None:
    assert all(title.endswith(".") for title in CODES.values())


def test_every_message_of_this_file_has_a_known_code() -> None:
    for text, _ in MESSAGES:
        assert all(problem.code in CODES for problem in parse_program(text).problems)


def test_a_word_of_the_language_as_a_predicate_is_named() -> None:
    (problem,) = parse_program("alarm(M) :- hot(M), not [5] some reset(M).").problems
    assert problem.hint == "`reset` is a word of the language; give the predicate another name"
