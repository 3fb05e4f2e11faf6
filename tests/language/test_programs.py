"""Rules, facts, directives, comments, and files that include others."""

import sys
from pathlib import Path

import pytest

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Span
from larspark.base.terms import Arithmetic, Variable
from larspark.language import Parsed, grammar, load_program, parse_program, program_text, rule_text
from larspark.language.tree import (
    At,
    AtomFormula,
    Background,
    Comparison,
    Implies,
    Not,
    Or,
    Program,
    Rule,
    Some,
    Tick,
    Truth,
    Windowed,
)
from larspark.language.windows import TimeWindow
from larspark.run.prepare import prepare

A, B, C = (AtomFormula(Atom(name)) for name in "abc")


def read(text: str) -> Program:
    parsed = parse_program(text)
    assert parsed.problems == ()
    assert parsed.program is not None
    return parsed.program


def codes(parsed: Parsed) -> list[str]:
    return [problem.code for problem in parsed.problems]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a.", Rule(A)),
        ("a :- b.", Rule(A, (B,))),
        ("a:-b,c.", Rule(A, (B, C))),
        ("a :- b and c.", Rule(A, (B, C))),
        ("a :- b, (c and a).", Rule(A, (B, C, A))),
        ("a :- b or c.", Rule(A, (Or((B, C)),))),
        (":- a, not b.", Rule(Truth(False), (A, Not(B)))),
        ("false :- a.", Rule(Truth(False), (A,))),
        ("true.", Rule(Truth(True))),
        ("a or b :- c.", Rule(Or((A, B)), (C,))),
        ("a -> b :- c.", Rule(Implies(A, B), (C,))),
        ("@36 a.", Rule(At(36, A))),
        (
            "a at T+1 :- @T b.",
            Rule(At(Arithmetic("+", (Variable("T"), 1)), A), (At(Variable("T"), B),)),
        ),
        ("[5] some a :- b.", Rule(Windowed(TimeWindow(5), Some(A)), (B,))),
        ("a :- X = 1.5.", Rule(A, (Comparison("=", Variable("X"), 1.5),))),
        ("a :- X = 1.", Rule(A, (Comparison("=", Variable("X"), 1),))),
    ],
)
def test_rules_of_every_form_are_read(text: str, rule: Rule) -> None:
    assert read(text).rules == (rule,)


def test_several_statements_stand_on_one_line_and_one_on_several() -> None:
    assert read("a. b.c :-\n\n a,\n b.").rules == (Rule(A), Rule(B), Rule(C, (A, B)))


def test_comments_of_all_kinds_are_skipped() -> None:
    text = """% line.
    a. // line.
    /* block.
       block. */ b. %* block. *% c :- /* inside */ a, % inside.
       b. /* one */ /* two */
    %"""
    assert read(text).rules == (Rule(A), Rule(B), Rule(C, (A, B)))


def test_an_empty_text_is_an_empty_program() -> None:
    assert read("") == read("  \n% nothing\n") == Program(())


def test_directives_are_collected() -> None:
    program = read(
        """
        #tick 1500 ms. #input tram/2, jam/1. #input bus/0.
        #show gc/3. #remember alarm/1.
        #background "lines.csv" as line/2. #background "more.csv" as line/2.
        """
    )
    assert program == Program(
        rules=(),
        tick=Tick(1_500_000),
        inputs=frozenset({Signature("tram", 2), Signature("jam", 1), Signature("bus", 0)}),
        shows=frozenset({Signature("gc", 3)}),
        remembered=frozenset({Signature("alarm", 1)}),
        backgrounds=(
            Background("lines.csv", Signature("line", 2)),
            Background("more.csv", Signature("line", 2)),
        ),
    )


def test_columns_of_background_data_have_names_and_types() -> None:
    program = read('#background "s.csv" as site(text(id), name, integer("No. 1"), text).')
    assert program.backgrounds == (
        Background(
            "s.csv",
            Signature("site", 4),
            ("id", "name", "No. 1", "text"),
            ("text", "", "integer", ""),
        ),
    )
    text = '#background "s.csv" as site(text(id), name, integer("No. 1"), text).\n'
    assert program_text(program) == text
    assert read('#background "s.csv" as site(id).').backgrounds[0].types == ()
    (problem,) = parse_program('#background "s.csv" as site(txt(id)).').problems
    assert problem.message == "`txt` is not a type of columns"
    assert problem.hint == "the types are text, number, integer, comma"


def test_an_empty_list_says_none_and_no_directive_says_nothing() -> None:
    assert read("#input. #show.").inputs == frozenset()
    assert read("#input. #show.").shows == frozenset()
    assert read("").inputs is None


def test_show_names_columns() -> None:
    program = read('#show p(b, a), q/1, "a b"(not). #show p/2, q(x). #show p(b, a).')
    assert program.shows == {Signature("p", 2), Signature("q", 1), Signature("a b", 1)}
    assert program.shown_columns == (
        (Signature("a b", 1), ("not",)),
        (Signature("p", 2), ("b", "a")),
        (Signature("q", 1), ("x",)),
    )
    assert program_text(program) == '#show "a b"(not), p(b, a), q(x).\n'


def test_the_length_of_time_points_counts_also_for_rules_before_it() -> None:
    assert read("a :- b [10 s]. #tick 5 s.").rules == (
        Rule(A, (Windowed(TimeWindow(2), Some(B)),)),
    )


def test_the_same_length_of_time_points_may_be_said_twice() -> None:
    assert read("#tick 60 s. #tick 1 min.").tick == Tick(60_000_000)


def test_rules_know_their_place() -> None:
    first, second = read("a. b :-\n  c.").rules
    assert first.span == Span("<program>", 1, 1, 1, 2)
    assert second.span == Span("<program>", 1, 4, 2, 4)
    assert second.body[0].span == Span("<program>", 2, 3, 2, 4)


def test_the_printed_form_is_normalized() -> None:
    text = "#show q/1,p/2.q(X):-p(X)[3],(not(r at T+1)),X=(1+Y)*2.a∨b.#tick 0.5 s.:-a."
    assert program_text(read(text)) == (
        "#tick 500 ms.\n"
        "#show p/2, q/1.\n"
        "q(X) :- [3] some p(X), not @T+1 r, X = (1 + Y) * 2.\n"
        "a or b.\n"
        ":- a.\n"
    )
    assert rule_text(Rule(A, (B,))) == "a :- b."


def test_all_problems_of_a_text_come_at_once_in_order() -> None:
    text = """
        a :- b c.
        ok :- fine.
        #inptu p/1.
        c :- p [5 s].
        d | e.
        f :- "open.
        g(h(X)), i.
        last"""
    parsed = parse_program(text)
    assert parsed.program is None
    assert codes(parsed) == ["L104", "L111", "L115", "L110", "L102", "L122", "L104", "L105"]
    lines = [problem.span.line for problem in parsed.problems if problem.span]
    assert lines == [2, 4, 5, 6, 7, 8, 8, 9]


def test_after_a_missing_dot_reading_goes_on_in_the_next_line() -> None:
    parsed = parse_program("a :- b\nc :- d [1 s]\n#show e/1\nf :- g h.")
    assert codes(parsed) == ["L105", "L115", "L105", "L105", "L104"]


def test_an_included_file_takes_the_place_of_its_directive(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "main.lars").write_text('a. #include "parts/one.lars". c.')
    (tmp_path / "parts" / "one.lars").write_text('#include "two.lars". #tick 1 s.')
    (tmp_path / "parts" / "two.lars").write_text(
        'b :- a [3 s]. #background "../data/x.csv" as x/1. #background "/data/y.csv" as y/1.'
    )
    parsed = load_program(tmp_path / "main.lars", allow=["/data"])
    assert parsed.problems == ()
    program = parsed.program
    assert program is not None
    assert program.rules == (Rule(A), Rule(B, (Windowed(TimeWindow(3), Some(A)),)), Rule(C))
    assert program.rules[1].span.source == f"{tmp_path}/parts/two.lars"
    assert [Path(b.path).resolve() for b in program.backgrounds] == [
        (tmp_path / "data" / "x.csv").resolve(),
        Path("/data/y.csv"),
    ]


def test_problems_of_included_files_name_their_file(tmp_path: Path) -> None:
    (tmp_path / "main.lars").write_text('#include "one.lars". a b.')
    (tmp_path / "one.lars").write_text("c d.")
    parsed = load_program(tmp_path / "main.lars")
    assert [(p.span.source, p.code) for p in parsed.problems if p.span] == [
        (f"{tmp_path}/main.lars", "L104"),
        (f"{tmp_path}/one.lars", "L104"),
    ]


def test_a_file_is_included_once(tmp_path: Path) -> None:
    (tmp_path / "main.lars").write_text('#include "one.lars". #include "two.lars".')
    (tmp_path / "one.lars").write_text('#include "two.lars".')
    (tmp_path / "two.lars").write_text("a.")
    program = load_program(tmp_path / "main.lars").program
    assert program is not None
    assert program.rules == (Rule(A),)


def test_a_file_that_includes_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "main.lars").write_text('#include "one.lars".')
    (tmp_path / "one.lars").write_text('#include "./main.lars".')
    (problem,) = load_program(tmp_path / "main.lars").problems
    assert problem.code == "L121"
    assert problem.message == (
        '"./main.lars" cannot be included: it includes itself: '
        '"main.lars" -> "one.lars" -> "main.lars"'
    )


INCLUDE, BACKGROUND = '#include "{}".', '#background "{}" as line/1.'
OUTSIDE = ("/etc/passwd", "../outside.lars", "sub/../../outside.lars", "..", "link.lars", "sub/l")


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize(
    ("directive", "verb"), [(INCLUDE, "included"), (BACKGROUND, "used")], ids=["include", "data"]
)
def test_files_outside_the_directory_of_the_program_are_refused_unless_allowed(
    tmp_path: Path, path: str, directive: str, verb: str
) -> None:
    home = tmp_path / "home"
    (home / "sub").mkdir(parents=True)
    (tmp_path / "outside.lars").write_text("a.")
    (home / "link.lars").symlink_to(tmp_path / "outside.lars")
    (home / "sub" / "l").symlink_to("../../outside.lars")
    (home / "main.lars").write_text(directive.format(path))
    (problem,) = load_program(home / "main.lars").problems
    assert problem.message == (
        f'"{path}" cannot be {verb}: it lies outside the directory of the main program'
    )
    assert problem.hint == "`--allow-path DIRECTORY` allows another directory"
    allowed = load_program(home / "main.lars", allow=["/etc", tmp_path])
    assert all("outside" not in problem.message for problem in allowed.problems)


def test_a_program_that_is_no_file_reads_background_data_in_the_current_directory() -> None:
    text = BACKGROUND.format("data/lines.csv") + BACKGROUND.format("/etc/passwd")
    (problem,) = parse_program(text).problems
    assert problem.message.startswith('"/etc/passwd" cannot be used')
    assert parse_program(text, allow=["/etc"]).problems == ()


@pytest.mark.parametrize("name", ["x" * 5000, "x/" * 5000, "a\0b"])
@pytest.mark.parametrize("directive", [INCLUDE, BACKGROUND])
def test_names_that_no_file_can_have_are_problems(
    tmp_path: Path, name: str, directive: str
) -> None:
    (tmp_path / "main.lars").write_text(directive.format(name))
    parsed = load_program(tmp_path / "main.lars")
    if parsed.program is not None:
        with pytest.raises(LarsparkError) as refused:
            prepare(parsed.program)
        assert [problem.code for problem in refused.value.problems] == ["L301"]
    else:
        assert {problem.code for problem in parsed.problems} <= {"L121", "L102", "L101"}


def test_what_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "main.lars").write_text(
        '#include "gone.lars". #include "bytes.lars". #include ".".'
    )
    (tmp_path / "bytes.lars").write_bytes(b"a(\xff).")
    messages = [problem.message for problem in load_program(tmp_path / "main.lars").problems]
    assert messages == [
        '"gone.lars" cannot be included: No such file or directory',
        '"bytes.lars" cannot be included: it is not UTF-8 text',
        '"." cannot be included: Is a directory',
    ]
    (problem,) = load_program(tmp_path / "none.lars").problems
    assert problem.message == f"{tmp_path}/none.lars cannot be read: No such file or directory"


def test_a_program_may_have_a_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    (tmp_path / "main.lars").write_bytes(b"\xef\xbb\xbfa.\r\nb :- a.\r\n")
    parsed = load_program(tmp_path / "main.lars")
    assert parsed.problems == ()
    assert parsed.program == Program((Rule(A), Rule(B, (A,))))


def test_too_large_a_text_is_refused() -> None:
    (problem,) = parse_program("a. " * 4_000_000).problems
    assert problem.code == "L108"


def test_a_text_without_a_file_includes_only_what_its_reader_gives() -> None:
    (problem,) = parse_program('#include "one.lars".').problems
    assert problem.message == '"one.lars" cannot be included: the program is not a file'
    parsed = parse_program('#include "one.lars".', read={"one.lars": "a."}.__getitem__)
    assert parsed.program == Program((Rule(A),))
    (problem,) = parse_program('#include "two.lars".', read={}.__getitem__).problems
    assert problem.message == '"two.lars" cannot be included: there is no such file'


def test_an_unknown_dialect_is_a_problem() -> None:
    (problem,) = parse_program("a.", dialect="latin").problems
    assert problem.render() == (
        "error L126: there is no dialect `latin`\n"
        "  hint: the dialects are `lars`, `ticker`, `laser`, `ltl`, `etalis`, `cql`, `csparql`, "
        "`cqels`, `rspql`"
    )


def test_parsers_from_kept_tables_read_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "tables" / "lars.pyc"
    monkeypatch.setattr(grammar, "cache_from_source", lambda _: str(kept))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    texts = [
        "hot(X) :- [3] some temp(X, V), V > 2.",
        "p :- q, ; r.",
        "a :- [2] always (b or not c).",
    ]
    found: list[list[Parsed]] = []
    # New tables; kept ones; damaged ones, which are made anew.
    for damage in (b"", b"", b"no tables"):
        if damage:
            kept.with_suffix(".lalr").write_bytes(damage)
        grammar._lars.cache_clear()
        found.append([parse_program(text) for text in texts])
        assert len(kept.with_suffix(".lalr").read_bytes()) > 10_000
    grammar._lars.cache_clear()
    assert found[0][1].problems
    assert found[0] == found[1] == found[2]
