"""What the dialect `etalis` refuses or warns of, by name and place, and how it writes events."""

from pathlib import Path

import pytest
from tests.in_process import larspark

from larspark.analysis.check import check
from larspark.language import parse_program


def problems(text: str) -> list[tuple[str, int, str]]:
    parsed = parse_program(text, dialect="etalis")
    return [(p.code, p.span.column if p.span else 0, p.message) for p in parsed.problems]


@pytest.mark.parametrize(
    ("text", "code", "column", "message"),
    [
        ("a <- b star_times c.", "L166", 8, "ETALIS: `star_times` is not supported"),
        ("a <- ntimes(b,3).", "L166", 6, "ETALIS: `ntimes` is not supported"),
        ("a <- b seq aggregate(c).", "L166", 12, "ETALIS: `aggregate` is not supported"),
        ("a <- b seq prolog(c).", "L166", 12, "ETALIS: `prolog` is not supported"),
        ("a <- event_multiply(b).", "L166", 6, "ETALIS: `event_multiply` is not supported"),
        ("a(X) <- b(f(X)).", "L166", 11, "ETALIS: compound arguments are not supported"),
        ("a(X) <- b([X]).", "L166", 11, "ETALIS: lists are not supported"),
        (":- dynamic a.", "L166", 1, "ETALIS: directives are not supported"),
        ("a <- b cnot c.", "L166", 8, "ETALIS: `cnot` stands behind a sequence"),
        (
            "r([property(policy, recent)]) rule: a <- b.",
            "L166",
            4,
            "ETALIS: the policy `recent` is not supported",
        ),
        ("r([property(p, 3)]) rule: a <- b.", "L166", 4, "ETALIS: the property `p` is not"),
        (
            ":- set_etalis_flag(event_consumption_policy, chronological).",
            "L166",
            46,
            "ETALIS: the policy `chronological` is not supported",
        ),
        ("a <- b. c <- a(X, Y).", "L166", 14, "ETALIS: `a/2` is also `a/0` with its interval"),
        ("a(X) <- b(X) do print(X).", "L166", 14, "ETALIS: `do` is ignored"),
        ("a. a <- b.", "L166", 1, "ETALIS: `a/0` is a fact, and a complex event"),
        ("a <- b seq c.", "L167", 1, "without a window the rule keeps all events"),
        (
            "a <- b fnot c.",
            "L167",
            1,
            "without a window the rule keeps all events",
        ),
        ("a <- b ; c.", "L166", 8, "ETALIS: `;` is not supported"),
        ("a(X) <- b(X) where (X > 3; X < 1).", "L166", 26, "ETALIS: `;` is not supported"),
        ("a(X) <- b(X) where (not c(X)).", "L166", 21, "ETALIS: `not` is not supported"),
        ("a <- b seq c, d.", "L104", 13, "an operator or `.` was expected, not `,`"),
        ("r rule a <- b.", "L104", 8, "`:` was expected, not `a`"),
        ("r([property(event_rule_window, 5)]) rule a <- b.", "L104", 42, "`:` was expected"),
        ("a <- b seq .", "L104", 12, "an event was expected, not `.`"),
        ("a <- (b seq c", "L104", 13, "`)` was expected, and the text ends"),
        ("a(X).", "L104", 1, "a fact has no variables"),
        ("a <- b where (X).", "L104", 16, "a comparison or `is` was expected, not `)`"),
        ("a(X) <- b(X) where (X > q + 1).", "L114", 25, "`q` is text, and `+` needs numbers"),
        ("a(X) <- b(X) where (X > max(1, q)).", "L114", 32, "`q` is text, and `max` needs"),
        ("a(X) <- b(X) where (X > 2 * _).", "L123", 29, "`_` has no value, and `*` needs"),
        ("a(X) <- b(X) where (X is _).", "L123", 26, "`_` has no value to compare"),
        ("a <- b seq $ c.", "L101", 12, "`$` has no place here"),
        (f"a <- {' seq '.join('b' * 42)}.", "L107", 248, "the rule has more than 40 operators"),
    ],
)
def test_a_problem_has_its_name_and_place(text: str, code: str, column: int, message: str) -> None:
    found = problems(text)
    assert any(p[:2] == (code, column) and p[2].startswith(message) for p in found), found


def test_all_problems_are_reported_at_once() -> None:
    found = problems("a <- b star_times c.\nd <- ntimes(e).\nf <- g seq .\nh(X) <- i(g(X)).")
    assert [code for code, _, _ in found] == ["L166", "L166", "L104", "L166"]


def test_a_rule_without_safety_is_reported_at_its_place(tmp_path: Path) -> None:
    (tmp_path / "a.event").write_text("% a comment\na(X,Y) <- b(X).\n")
    done = larspark(tmp_path, "check", "a.event")
    assert done.returncode == 1
    assert "a.event:2:5: error L202: head variable `Y`" in done.stderr


def test_events_are_written_at_their_end(tmp_path: Path) -> None:
    (tmp_path / "a.event").write_text(
        "r([property(event_rule_window,5)]) rule: c(X) <- a(X) seq b."
    )
    (tmp_path / "s.jsonl").write_text(
        '{"t": 1, "atom": "a(1)"}\n{"t": 3, "atom": "a(2)"}\n{"t": 4, "atom": "b"}\n'
    )
    done = larspark(tmp_path, "run", "a.event", "--stream", "s.jsonl")
    assert done.stdout == (
        '{"t": 4, "event": "c(1)", "from": 1, "to": 4}\n'
        '{"t": 4, "event": "c(2)", "from": 3, "to": 4}\n'
    )
    changes = larspark(tmp_path, "run", "a.event", "--stream", "s.jsonl", "--as", "changes")
    assert changes.stdout == '{"t": 4, "add": ["c(1,1,4)", "c(2,3,4)"], "del": []}\n'
    (tmp_path / "a.lars").write_text("c(1,2) :- b.")
    assert larspark(tmp_path, "run", "a.lars", "-s", "s.jsonl", "--as", "events").returncode == 2


def test_a_window_bounds_what_has_to_be_kept() -> None:
    rules = """
    r([property(event_rule_window, 3)]) rule: c <- a seq b.
    r([property(event_rule_window, 5)]) rule: d <- c and a.
    """
    program = parse_program(rules, dialect="etalis").program
    assert program is not None

    assert check(program).lookback.time == 8
