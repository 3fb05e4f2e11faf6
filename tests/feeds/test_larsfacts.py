"""Streams in the language itself."""

import io
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from larspark.base.problems import LarsparkError
from larspark.feeds import Stream


def stream_of(text, **options):
    data = text.encode() if isinstance(text, str) else text
    return Stream.read(io.BytesIO(data), format="lars", **options)


def shown(stream):
    return [(row.t, str(row.atom)) for row in stream.elements()]


def test_facts_are_read_whatever_stands_around_them():
    text = """% a stream
    @36 tram(a1,b).   @36 bus(b1, 2.5). // two in a line
    @37 /* here */ temp("50% // off. @1 x.", -3.5).
    @38
      tram(a1,     % over lines
           c).
    /* @39 no(comment). %
    @39 still(comment). */ @40 done.%* @41 no. *%@42 p(1.5).@43 q(1).
    """
    assert shown(stream_of(text)) == [
        (36, "tram(a1,b)"),
        (36, "bus(b1,2.5)"),
        (37, 'temp("50% // off. @1 x.",-3.5)'),
        (38, "tram(a1,c)"),
        (40, "done"),
        (42, "p(1.5)"),
        (43, "q(1)"),
    ]


BAD = [
    (
        "tram(a1,b).",
        "<file>:1:1: error L315: a fact of a stream begins with its time\n"
        "  1 | tram(a1,b).\n    | ^\n  hint: write `@36 tram(a1,b).`",
    ),
    (
        "@36 a :- b.",
        "<file>:1:7: error L315: a rule is not allowed among facts\n"
        "  1 | @36 a :- b.\n    |       ^",
    ),
    (
        "  #input a/1.",
        "<file>:1:3: error L315: a directive is not allowed among facts\n"
        "  1 |   #input a/1.\n    |   ^",
    ),
    (
        "@-3 a.",
        "<file>:1:1: error L310: the time -3 lies before 0\n"
        "  1 | @-3 a.\n    | ^\n  hint: time begins at 0",
    ),
    (
        "@99999999999999999999 a.",
        "<file>:1:1: error L313: `99999999999999999999` does not fit a 64-bit integer\n"
        "  1 | @99999999999999999999 a.\n    | ^",
    ),
    (
        "@36 p(a,X).",
        "<file>:1:9: error L312: `X` is a variable, and facts have no variables\n"
        "  1 | @36 p(a,X).\n    |         ^\n"
        '  hint: quote a text that does not begin with a lowercase letter: "X"',
    ),
    (
        "@36\n  p(a,\n    X).",
        "<file>:3:5: error L312: `X` is a variable, and facts have no variables\n"
        "  3 |     X).\n    |     ^\n"
        '  hint: quote a text that does not begin with a lowercase letter: "X"',
    ),
    (
        "@36 p(X,\n  b).",
        "<file>:1:7: error L312: `X` is a variable, and facts have no variables\n"
        '  hint: quote a text that does not begin with a lowercase letter: "X"',
    ),
    (
        "@36 a\n@37 b.",
        "<file>:2:1: error L312: found `@` after the atom\n  2 | @37 b.\n    | ^",
    ),
    (
        ".",
        "<file>:1:1: error L315: a fact of a stream begins with its time\n"
        "  1 | .\n    | ^\n  hint: write `@36 tram(a1,b).`",
    ),
    (
        '@36 p("a.\n',
        "<file>:1:1: error L315: the last fact is not finished\n  hint: end it with a full stop",
    ),
    (
        "% x\n  @36 p(a)\n",
        "<file>:2:3: error L315: the last fact is not finished\n  hint: end it with a full stop",
    ),
    (
        "  /* @36 p(a).\n\n",
        "<file>:1:3: error L315: a comment is not closed\n  hint: close it with `*/`",
    ),
    (
        "@36 p(\xff).".encode("latin-1"),
        "<file>:1:1: error L307: byte 7 of the line is not valid UTF-8",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_statement_that_is_no_stream_fact_is_refused_with_its_place(text, message):
    with pytest.raises(LarsparkError) as error:
        shown(stream_of(text))
    assert str(error.value) == message


def test_bad_statements_are_skipped_one_by_one():
    stream = stream_of("@1 a. b. @2 c.\n@3 d(X). @4 e.\n@2 late.", on_error="skip")
    assert shown(stream) == [(1, "a"), (2, "c"), (4, "e")]
    assert (stream.facts, stream.skipped, stream.late) == (3, 3, 1)
    assert [problem.code for problem in stream.problems] == ["L315", "L312", "L314"]


def test_a_statement_that_never_ends_is_refused_in_bounded_memory():
    stream = stream_of("@1 p(\n" + "a,\n" * 600_000 + "b).\n@2 ok.", on_error="skip")
    assert shown(stream) == [(2, "ok")]
    assert stream.problems[0].message == "the statement is longer than 1048576 characters"


@pytest.mark.parametrize(
    "text",
    [
        "@1" + " " * 300_000 + "." * 30_000 + "x",
        '@1 p("' + '\\"' * 400_000,
        "/" * 3 + "*" * 900_000,
        "@1 p(" + "1." * 400_000,
        "@1 " + ":" * 900_000 + ".",
        "@1 " + '"a" ' * 200_000 + '"' + '\\"' * 20_000,
    ],
)
def test_hostile_texts_take_no_longer_than_their_length(text):
    start = time.process_time()
    assert shown(stream_of(text, on_error="skip")) == []
    assert time.process_time() - start < 2


@given(st.text('@1 a(),."%*/\\\n:-X', max_size=60))
@settings(deadline=None)
def test_any_text_is_facts_or_problems(text):
    stream = stream_of(text, on_error="skip", lateness=100)
    assert len(shown(stream)) == stream.facts


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["a", 'p("x. %y")', "q(1.5,b)"]))))
@settings(deadline=None)
def test_facts_in_one_line_or_many_are_the_same(facts):
    facts.sort(key=lambda fact: fact[0])
    texts = [f"@{t} {atom}." for t, atom in facts]
    expected = shown(Stream.of(facts))
    for separator in ("\n", " ", "", " % c\n", "/**/", "\r\n"):
        assert shown(stream_of(separator.join(texts))) == expected
