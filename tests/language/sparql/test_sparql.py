"""C-SPARQL, CQELS and RSP-QL: what queries become, what is refused and where, RDF from files."""

import os
import random
from pathlib import Path

import pytest
from tests.in_process import larspark
from tests.language.sparql.random_queries import Drawn
from tests.run.test_agreement import SEED

from larspark.analysis.check import check
from larspark.base.codes import CODES
from larspark.base.problems import Problem, Severity
from larspark.language import parse_program, program_text

MUTATIONS = int(os.environ.get("LARSPARK_EXAMPLES", "200"))
PREFIX = "PREFIX : <http://e/>\n"


def rules(dialect: str, query: str, **options: str) -> str:
    """The rules of a query, IRIs without their start."""
    parsed = parse_program(PREFIX + query, dialect=dialect, options=options)
    assert parsed.program is not None, parsed.problems
    lines = program_text(parsed.program).splitlines()
    kept = [line for line in lines if not line.startswith("#")]
    return "\n".join(kept).replace('"<http://e/', "<").replace('>"', ">")


def test_csparql_merges_its_streams_and_reports_by_the_clock() -> None:
    query = """SELECT DISTINCT ?x FROM STREAM :s [RANGE 10s STEP 5s] FROM STREAM :r [RANGE 1m
    TUMBLING] FROM :g WHERE { ?x :p 3 }"""
    assert rules("csparql", query) == (
        "t(S, P, O) :- [9] some i(S, P, O, <s>).\n"
        "t(S, P, O) :- [59] some i(S, P, O, <r>).\n"
        "t(S, P, O) :- g(S, P, O, <g>).\n"
        "report :- [0] @now true, now mod 5 = 0.\n"
        "answer(X) :- report, t(X, <p>, 3)."
    )
    later = rules("csparql", query, t0="2")
    assert "report :- [0] @now true, now >= 2, (now - 2) mod 5 = 0." in later


def test_csparql_over_triples_reports_when_they_arrive() -> None:
    query = "SELECT DISTINCT ?x FROM STREAM :s [RANGE TRIPLES 3] WHERE { ?x :p ?y }"
    assert rules("csparql", query) == (
        "t(S, P, O) :- [only i(_, _, _, <s>)] [#3] some i(S, P, O, <s>).\n"
        "report :- [0] some i(_, _, _, <s>).\n"
        "answer(X) :- report, t(X, <p>, _)."
    )


def test_cqels_keeps_its_streams_apart_and_reports_what_is_new() -> None:
    query = """SELECT DISTINCT ?x WHERE { STREAM :s [RANGE 10s SLIDE 5s] { ?x :p ?y }
    STREAM :r [NOW] { ?x :q ?y } }"""
    body = "[9 every 5] some i(X, <p>, Y, <s>), [0] some i(X, <q>, Y, <r>)."
    assert rules("cqels", query) == (
        "report :- [0] some i(_, _, _, <s>).\n"
        "report :- [0] some i(_, _, _, <r>).\n"
        f"solution(X) :- {body}\n"
        "before(X1) :- [0] @now true, [1] @T solution(X1), T = now - 1.\n"
        "answer(X1) :- report, solution(X1), not before(X1)."
    )
    assert f"answer(X) :- report, {body}" in rules("cqels", query, report="all")


def test_rspql_compares_with_the_report_before() -> None:
    query = """REGISTER DSTREAM :out AS SELECT DISTINCT ?x
    FROM NAMED WINDOW :w ON :s [RANGE PT1M STEP PT30S] WHERE { WINDOW :w { ?x :p ?y } }"""
    assert rules("rspql", query) == (
        "report :- [0] @now true, now mod 30 = 0.\n"
        "solution(X) :- report, [59] some i(X, <p>, _, <s>).\n"
        "before(X1) :- [0] @now true, [30] @T solution(X1), T = now - 30.\n"
        "answer(X1) :- report, before(X1), not solution(X1)."
    )


def test_construct_and_ask_have_answers_of_triples_and_of_nothing() -> None:
    stream = "FROM STREAM :s [RANGE 2s STEP 1s]"
    made = rules("csparql", f"CONSTRUCT {{ ?y :q ?x }} {stream} WHERE {{ ?x :p ?y }}")
    assert "answer(Y, <q>, X) :- report, t(X, <p>, Y)." in made
    assert "answer :- report, t(_, <p>, _)." in rules(
        "csparql", f"ASK {stream} WHERE {{ ?x :p ?y }}"
    )


WINDOW = "FROM STREAM :s [RANGE 2s STEP 1s] "
REFUSED = {
    f"SELECT ?x {WINDOW}WHERE {{ ?x :p ?y }} ORDER BY ?x": "2:64 L150 C-SPARQL: ORDER BY is",
    f"SELECT ?x {WINDOW}WHERE {{ ?x :p ?y }} LIMIT 3": "2:64 L150 C-SPARQL: LIMIT is",
    f"SELECT ?x {WINDOW}WHERE {{ SERVICE :e {{ ?x :p ?y }} }}": "2:53 L150 C-SPARQL: SERVICE is",
    f"SELECT ?x {WINDOW}WHERE {{ ?x :p/:q ?y }}": "2:58 L150 C-SPARQL: a property path is",
    f"SELECT ?x {WINDOW}WHERE {{ ?x :p+ ?y }}": "2:58 L150 C-SPARQL: a property path is",
    f"SELECT ?x {WINDOW}WHERE {{ GRAPH ?g {{ ?x :p ?y }} }}": (
        "2:53 L150 C-SPARQL: GRAPH with a variable is"
    ),
    f"SELECT ?x {WINDOW}WHERE {{ GRAPH :s {{ ?x :p ?y }} }}": (
        "2:53 L150 C-SPARQL: GRAPH <http://e/s> over a stream is"
    ),
    f"SELECT ?x {WINDOW}WHERE {{ {{ SELECT ?x WHERE {{ ?x :p ?y }} }} }}": (
        "2:55 L150 C-SPARQL: a subquery is"
    ),
    f"SELECT ?x {WINDOW}WHERE {{ ?x :p ?y FILTER(f:timestamp(?x) > 3) }}": (
        "2:69 L150 C-SPARQL: the function f:timestamp is"
    ),
    f"SELECT ?x {WINDOW}WHERE {{ ?x :p ?y FILTER(strlen(?y) > 3) }}": (
        "2:69 L150 C-SPARQL: the function STRLEN is"
    ),
    f'SELECT ?x {WINDOW}WHERE {{ ?x :p ?y FILTER(?y > "b") }}': (
        "2:72 L150 C-SPARQL: an order between texts is"
    ),
    f"SELECT ?x {WINDOW}WHERE {{ ?x :p ?y }} AGGREGATE {{ (?n, COUNT, {{?x}}) }}": (
        "2:64 L150 C-SPARQL: AGGREGATE is"
    ),
    f"SELECT ?x {WINDOW}WHERE {{ ?x :p? ?y }}": "2:58 L150 C-SPARQL: a property path is",
    f"SELECT ?x {WINDOW}WHERE {{ ?x :p ?y FILTER(1 < 2 && x:int(?y) > 3) }}": (
        "2:78 L150 C-SPARQL: the function x:int is"
    ),
    f"SELECT ?x {WINDOW}WHERE {{ ?x :p ?y FILTER(?y) }}": (
        "2:69 L150 C-SPARQL: a value as a condition is"
    ),
    f"SELECT ?x ?y {WINDOW}WHERE {{ ?x :p ?y }} GROUP BY ?x": (
        "2:11 L150 C-SPARQL: `?y` outside of GROUP BY is"
    ),
    f"SELECT ?x (COUNT(?y) AS ?n) {WINDOW}WHERE {{ ?x :p ?y }}": (
        "2:8 L150 C-SPARQL: `?x` outside of GROUP BY is"
    ),
    f"CONSTRUCT {{ ?x :q [] }} {WINDOW}WHERE {{ ?x :p ?y }}": (
        "2:1 L150 C-SPARQL: a blank node in CONSTRUCT is"
    ),
    "SELECT ?x FROM NAMED STREAM :s [RANGE 2s STEP 1s] WHERE { ?x :p ?y }": (
        "2:16 L150 C-SPARQL: FROM NAMED STREAM is"
    ),
    "SELECT ?x FROM STREAM :s [RANGE TRIPLES 5 STEP 2] WHERE { ?x :p ?y }": (
        "2:43 L150 C-SPARQL: TRIPLES with STEP is"
    ),
    f"SELECT ?x {WINDOW}WHERE {{ ?x x:p ?y }}": "2:56 L151 there is no prefix `x:`",
    "SELECT ?x FROM STREAM ?s [RANGE 2s STEP 1s] WHERE { ?x :p ?y }": (
        "2:23 L150 C-SPARQL: a variable for a stream is"
    ),
    "SELECT ?x FROM STREAM :s [RANGE 1500ms STEP 1s] WHERE { ?x :p ?y }": (
        "2:33 L117 this is no whole number of time points"
    ),
    "SELECT ?x FROM STREAM :s [RANGE 1.5s STEP 1s] WHERE { ?x :p ?y }": (
        "2:33 L114 `1.5` is not a whole number"
    ),
    "SELECT ?x FROM STREAM :s [RANGE 9999999999999s STEP 1s] WHERE { ?x :p ?y }": (
        "2:33 L114 `9999999999999` is too large a number"
    ),
    "SELECT ?x FROM STREAM x:s [RANGE 2s STEP 1s] WHERE { ?x :p ?y }": (
        "2:23 L151 there is no prefix `x:`"
    ),
    "SELECT ?x FROM STREAM :s [RANGE] WHERE { ?x :p ?y }": "2:32 L104 expected how long the range",
    "SELECT ?x WHERE { ?x :p ?y }": "1:1 L104 the query names no stream",
    f"SELECT ?x {WINDOW}WHERE {{ ?x :p }}": "2:53 L104 this is no SPARQL",
}


def named(problem: Problem) -> str:
    assert problem.span is not None
    return f"{problem.span.line}:{problem.span.column} {problem.code} {problem.message}"


def errors(problems: tuple[Problem, ...]) -> list[Problem]:
    return [problem for problem in problems if problem.severity is Severity.ERROR]


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_not_supported_is_named_with_its_place(query: str) -> None:
    parsed = parse_program(PREFIX + query, dialect="csparql")
    assert parsed.program is None
    (found,) = errors(parsed.problems)
    place, expected = REFUSED[query].split(" ", 1)
    assert expected in named(found)
    if "over a stream" not in expected:
        assert named(found).startswith(place)


def test_a_number_with_a_sign_is_no_property_path() -> None:
    query = f"SELECT DISTINCT ?x {WINDOW}WHERE {{ ?x :p +2 , -3 ; :q 4 }}"
    assert "2)" in rules("csparql", query)
    assert "-3)" in rules("csparql", query)


def test_a_translation_is_the_same_each_time() -> None:
    query = f"SELECT ?x {WINDOW}WHERE {{ ?x :p [ :q ?y ; :r [] ], _:a . _:a :q ?y }}"
    assert rules("csparql", query) == rules("csparql", query)
    assert "t(X, <p>, Node_1)" in rules("csparql", query)


def test_iris_of_streams_and_graphs_are_relative_to_the_base() -> None:
    query = """BASE <http://b/> SELECT DISTINCT ?x FROM STREAM <s> [RANGE 4s STEP 2s]
    FROM NAMED <g#> WHERE { ?x <p> ?z GRAPH <g#> { ?x <q> ?z } }"""
    program = parse_program(query, dialect="csparql").program
    assert program is not None
    assert [data.name for data in program.named] == ["http://b/s", "http://b/g#"]
    assert 'g(X, "<http://b/q>", Z, "<http://b/g#>")' in program_text(program)


def test_a_query_computed_by_the_clock_reports_by_the_clock_alone() -> None:
    query = """REGISTER QUERY q COMPUTED EVERY 5s AS SELECT DISTINCT ?x
    FROM STREAM :s [RANGE TRIPLES 5] WHERE { ?x :p ?y }"""
    reports = [rule for rule in rules("csparql", query).splitlines() if "report :-" in rule]
    assert reports == ["report :- [0] @now true, now mod 5 = 0."]


def test_variables_that_are_used_once_give_no_warning() -> None:
    query = f"""SELECT ?x (COUNT(?longname) AS ?n) {WINDOW}WHERE {{ ?x :p ?longname, ?another
    MINUS {{ ?x :q ?athird }} }} GROUP BY ?x"""
    program = parse_program(PREFIX + query, dialect="csparql").program
    assert program is not None
    assert check(program).problems == ()


def test_all_refused_words_of_a_query_are_listed_at_once() -> None:
    query = """SELECT ?x FROM STREAM :s [RANGE 1500ms STEP 1s]
    WHERE { ?x :p/:q ?y . SERVICE :e { ?x :p ?y } FILTER(regex(?y, "a")) } ORDER BY ?x LIMIT 3"""
    found = parse_program(PREFIX + query, dialect="csparql").problems
    assert [problem.code for problem in found] == ["L117", "L150", "L150", "L150", "L150", "L150"]


def test_a_window_that_is_not_declared_is_named() -> None:
    query = "REGISTER RSTREAM :o AS SELECT ?x FROM NAMED WINDOW :w ON :s [RANGE PT2S STEP PT1S] "
    parsed = parse_program(f"{PREFIX}{query}WHERE {{ WINDOW :v {{ ?x :p ?y }} }}", dialect="rspql")
    assert [named(p) for p in parsed.problems] == ["2:99 L151 there is no window `<http://e/v>`"]


@pytest.mark.parametrize("options", [{"tick": "1 week"}, {"t0": "soon"}, {"range": "closed"}])
def test_an_option_of_a_wrong_value_or_kind_is_refused(options: dict[str, str]) -> None:
    query = f"{PREFIX}SELECT ?x {WINDOW}WHERE {{ ?x :p ?y }}"
    parsed = parse_program(query, dialect="csparql", options=options)
    assert parsed.program is None
    assert errors(parsed.problems)


PARTS = (
    *("SELECT ", "WHERE ", "{", "}", "(", ")", "[", "]", ".", ";", ",", "?x", "?", "<", ">", '"'),
    *(":p", "<http://e/s>", "3", "1e999", "é", "\0", "\n", "RANGE 5s ", "STEP ", "TRIPLES 3"),
    *("FILTER(", "OPTIONAL {", "UNION ", "MINUS {", "BIND(", "STREAM ", "GRAPH ", "WINDOW "),
    *("GROUP BY ?x ", "COUNT(*)", "NOT EXISTS {", "FROM ", "REGISTER ", "AS ", "#", "||", "!="),
)


def test_mutated_queries_give_a_program_or_problems_with_places() -> None:
    chance = random.Random(SEED)
    accepted = 0
    for _ in range(MUTATIONS):
        asked = Drawn(chance).asked()
        text = asked.text
        for _ in range(chance.randint(0, 3)):
            at = chance.randint(0, len(text))
            until = min(len(text), at + chance.randint(0, 12))
            put = chance.choice(("", chance.choice(PARTS), text[at:until] * 2))
            text = text[:at] + put + text[until:]
        parsed = parse_program(text, dialect=asked.dialect)
        lines = text.split("\n")
        assert (parsed.program is None) == bool(errors(parsed.problems))
        for problem in parsed.problems:
            assert problem.code in CODES
            assert problem.span is not None
            assert problem.span.line <= len(lines)
            assert problem.span.column <= len(lines[problem.span.line - 1]) + 1
            problem.render()
        if parsed.program is not None:
            accepted += 1
            again = parse_program(program_text(parsed.program))
            assert again.program == parsed.program, program_text(parsed.program)
    assert MUTATIONS // 20 < accepted < MUTATIONS


HOSTILE = {
    "brackets": f"SELECT ?x {WINDOW}WHERE {{ FILTER" + "(" * 3_000,
    "groups": f"SELECT ?x {WINDOW}WHERE " + "{" * 3_000 + "}" * 3_000,
    "options": f"SELECT ?x {WINDOW}WHERE {{ " + "OPTIONAL { ?x :p ?y } " * 20 + "}",
    "alternatives": f"SELECT ?x {WINDOW}WHERE {{ ?x :p ?y FILTER("
    + " && ".join(["(?x = :a || ?y = :b)"] * 20)
    + ") }",
    "quotes": '"' * 5_000,
    "streams": "FROM STREAM " * 2_000,
    "large": "SELECT " + "?x " * 50_000,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("dialect", ["csparql", "cqels", "rspql"])
def test_hostile_text_is_answered(name: str, dialect: str) -> None:
    parsed = parse_program(PREFIX + HOSTILE[name], dialect=dialect)
    assert parsed.program is None
    assert errors(parsed.problems)


QUERY = "SELECT DISTINCT ?x ?y FROM STREAM <http://s> [RANGE 2s STEP 1s] FROM <http://g> WHERE "
INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"


def bindings(folder: Path, stream: str, *words: str) -> list[str]:
    (folder / "q.csparql").write_text(QUERY + "{ ?x <http://p> ?y OPTIONAL { ?x <http://n> ?z } }")
    done = larspark(folder, "run", "q.csparql", "--stream", stream, *words)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if '"bindings": []' not in line]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.jsonl", '{"t": 3, "triple": ["<http://a>", "<http://p>", 5]}\n'),
        (
            "s.jsonl",
            '{"t": 3, "atom": "i(\\"<http://a>\\",\\"<http://p>\\",5,\\"<http://s>\\")"}\n',
        ),
        ("s.nq", f'3 <http://a> <http://p> "5"{INTEGER} <http://s> .\n'),
        ("s.nq", f'"1970-01-01T00:00:03Z" <http://a> <http://p> "5"{INTEGER} .\n'),
        (
            "s.nq",
            f'<http://a> <http://p> "5"{INTEGER} <http://g1> .\n'
            "<http://g1> <http://www.w3.org/ns/prov#generatedAtTime> "
            '"1970-01-01T00:00:03Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n',
        ),
    ],
)
def test_triples_are_read_with_their_times(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "g.ttl").write_text("<http://b> <http://n> 1 .")
    stamped = "1970" in text
    first, second = (f'"1970-01-01T00:00:0{t}Z"' if stamped else str(t) for t in (3, 4))
    answer = '"bindings": [{"x": "<http://a>", "y": 5}]'
    assert bindings(tmp_path, name, "--background", "g.ttl") == [f'{{"t": {first}, {answer}}}']
    named = ("--background", "http://g=g.ttl", "--to", "4", "--as", "bindings")
    found = bindings(tmp_path, f"http://s={name}", *named)
    assert found == [f'{{"t": {t}, {answer}}}' for t in (first, second)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.ttl", '@prefix : <http://> . :a :p "x"@EN , "y", true .'),
        ("g.nt", '<http://a> <http://p> "x"@en .\n<http://a> <http://p> "y" .\n'),
        (
            "g.rdf",
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:h="http://">'
            '<rdf:Description rdf:about="http://a"><h:p xml:lang="en">x</h:p><h:p>y</h:p>'
            "</rdf:Description></rdf:RDF>",
        ),
    ],
)
def test_static_graphs_are_background_data(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "s.jsonl").write_text('{"t": 1}\n')
    (tmp_path / name).write_text(text)
    (found,) = bindings(tmp_path, "s.jsonl", "--background", name)
    assert '{"x": "<http://a>", "y": "\\"x\\"@en"}' in found
    assert '{"x": "<http://a>", "y": "y"}' in found


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("3 <http://a> <http://p> .", "bad.nq:1:1: error L316: the line is no quad"),
        ('<http://a> <http://p> "5" .', "bad.nq:1:1: error L310: the time is missing"),
        ('3 <http://a> <http://p> "5" . more', "L316: there is text after the quad"),
        ('<http://a> <http://p> "5" <http://g> .', "the graph http://g has no time"),
        ('{"t": 3, "triple": ["a", "b"]}', "L309: a line has a time and a triple"),
    ],
)
def test_a_line_that_is_no_triple_is_named(tmp_path: Path, line: str, why: str) -> None:
    (tmp_path / "q.csparql").write_text(QUERY + "{ ?x <http://p> ?y }")
    (tmp_path / "bad.nq").write_text(line + "\n")
    done = larspark(tmp_path, "run", "q.csparql", "--stream", "bad.nq")
    assert done.returncode == 1
    assert why in done.stderr


def test_a_graph_that_cannot_be_read_or_is_not_named_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "q.csparql").write_text(QUERY + "{ ?x <http://p> ?y }")
    (tmp_path / "s.jsonl").write_text('{"t": 1}\n')
    (tmp_path / "g.ttl").write_text("<http://a> <http://p>")
    words = ("run", "q.csparql", "--stream", "s.jsonl", "--background")
    assert "error L316: g.ttl is no turtle" in larspark(tmp_path, *words, "g.ttl").stderr
    assert "no relation `http://h`" in larspark(tmp_path, *words, "http://h=g.ttl").stderr
