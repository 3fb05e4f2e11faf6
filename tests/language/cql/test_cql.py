"""CQL: what its queries become, what is refused and where, and files given by name."""

import json
import os
import random
from pathlib import Path

import pytest
from tests.in_process import larspark
from tests.language.cql.random_queries import random_steps
from tests.language.cql.sqlite_evaluator import script
from tests.run.test_agreement import SEED

from larspark import api
from larspark.base.codes import CODES
from larspark.base.problems import Problem, Severity
from larspark.base.terms import Constant
from larspark.language import parse_program, program_text
from larspark.logic.values import calculate

SCHEMA = (
    "REGISTER STREAM S (a INTEGER, b INTEGER); REGISTER STREAM U (b INTEGER, c FLOAT);\n"
    "REGISTER RELATION R (a INTEGER, name CHAR(10));\n"
)
MUTATIONS = int(os.environ.get("LARSPARK_EXAMPLES", "400"))

# The query of Example 23 of the LARS paper.
TRAMS = """
REGISTER STREAM TRAM (ID CHAR(4), ST CHAR(4), T INTEGER);
REGISTER STREAM JAM (ST CHAR(4), T INTEGER);
REGISTER RELATION LINE (ID CHAR(4), L CHAR(4));
REGISTER RELATION PLAN (L CHAR(4), X CHAR(4), Y CHAR(4), D INTEGER);
CREATE VIEW q AS
SELECT TRAM.ID, PLAN.Y, TY
FROM TRAM[PARTITION BY ID ROWS 1], LINE, PLAN
WHERE TRAM.ID=LINE.ID AND LINE.L=PLAN.L AND
TRAM.ST=PLAN.X AND TY=TRAM.T+PLAN.D AND
NOT EXISTS
    (SELECT * FROM JAM[RANGE 20]
    WHERE JAM.ST=TRAM.ST)
"""

# Its translation to Datalog with snapshot rules, Example 24.
DATALOG = """
tram_part(I, S, T) :- [only tram(_, _, _)] [#1 by I] some tram(I, S, T).
jam_range(S, T) :- [20] some jam(S, T).
q1(I, S, T, L, Y, D) :- tram_part(I, S, T), line(I, L), plan(L, S, Y, D).
q12(I, S, T, L, Y, D) :- q1(I, S, T, L, Y, D), jam_range(S, _).
q(I, Y, TY) :- q1(I, S, T, L, Y, D), not q12(I, S, T, L, Y, D), TY = T + D.
line(a1, l1). line(a3, l3). plan(l1, b, m, 8). plan(l3, h, m, 3).
#show q/3.
"""


def rules(query: str, options: dict[str, str] | None = None) -> str:
    """The rules of a query over the streams and the relation of `SCHEMA`."""
    parsed = parse_program(SCHEMA + query, dialect="cql", options=options)
    assert parsed.program is not None, parsed.problems
    lines = program_text(parsed.program).splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT a FROM S [NOW]", "answer(A) :- [0] some s(A, _)."),
        ("SELECT a FROM S [RANGE 5]", "answer(A) :- [5] some s(A, _)."),
        ("SELECT a FROM S", "answer(A) :- [*] some s(A, _)."),
        ("SELECT a FROM S [RANGE UNBOUNDED]", "answer(A) :- [*] some s(A, _)."),
        ("SELECT a FROM S [RANGE 2 MINUTES]", "answer(A) :- [120] some s(A, _)."),
        ("SELECT a FROM S [RANGE 60 SLIDE 15]", "answer(A) :- [60 every 15] some s(A, _)."),
        ("SELECT a FROM S [ROWS 3]", "answer(A) :- [only s(_, _)] [#3] some s(A, _)."),
        (
            "SELECT b FROM S [PARTITION BY a ROWS 1]",
            "answer(B) :- [only s(_, _)] [#1 by A] some s(A, B).",
        ),
        (
            "SELECT x.a, c FROM S [RANGE 5] AS x, U [NOW] WHERE x.b = u.b AND c > 2.5",
            "answer(A, C) :- [5] some s(A, B), [0] some u(B, C), C > 2.5.",
        ),
        (
            "SELECT name FROM S [NOW] JOIN R ON S.a = R.a WHERE b = 3",
            "answer(Name) :- [0] some s(A, 3), r(A, Name).",
        ),
        (
            "SELECT a FROM S [NOW] WHERE a = 1 OR NOT (b < 2 AND a > 3)",
            "answer(1) :- [0] some s(1, _).\n"
            "answer(A) :- [0] some s(A, B), B >= 2.\n"
            "answer(A) :- [0] some s(A, _), A <= 3.",
        ),
        (
            "SELECT a FROM R WHERE a NOT IN (SELECT b FROM U [RANGE 9])",
            "answer_exists(A) :- [9] some u(A, _).\nanswer(A) :- r(A, _), not answer_exists(A).",
        ),
        (
            "SELECT a FROM R WHERE EXISTS (SELECT * FROM U [NOW] WHERE U.b > R.a)",
            "answer_exists(A) :- r(A, _), [0] some u(B, _), B > A.\n"
            "answer(A) :- r(A, _), answer_exists(A).",
        ),
        (
            "ISTREAM(SELECT a FROM S [RANGE 5])",
            "answer_rows(A) :- [5] some s(A, _).\n"
            "answer_before(X1) :- [0] @now true, [1] @T answer_rows(X1), T = now - 1.\n"
            "answer(X1) :- answer_rows(X1), not answer_before(X1).",
        ),
        (
            "SELECT a FROM S [NOW] EXCEPT SELECT b FROM U [NOW]",
            "answer_left(A) :- [0] some s(A, _).\n"
            "answer_right(B) :- [0] some u(B, _).\n"
            "answer(X1) :- answer_left(X1), not answer_right(X1).",
        ),
        (
            "SELECT a, COUNT(*) FROM S [RANGE 5] GROUP BY a HAVING COUNT(*) > 2",
            "answer(A, Count) :- Count = #count{ T, A, B : [5] @T s(A, B) } by A, Count > 2.",
        ),
        (
            "SELECT SUM(b) FROM S [RANGE 5]",
            "answer(Sum) :- Sum = #sum{ B, T, A, B : [5] @T s(A, B) }, "
            "#count{ B, T, A, B : [5] @T s(A, B) } > 0.",
        ),
        ("SELECT b / c FROM U [NOW]", "answer(B / C) :- [0] some u(B, C)."),
    ],
)
def test_a_query_becomes_rules(query: str, expected: str) -> None:
    assert rules(query) == expected


def test_a_join_of_windows_has_the_plan_of_the_same_program_in_lars() -> None:
    query = "SELECT DISTINCT S.a, c FROM S [RANGE 80], U [RANGE 80] WHERE S.b = U.b"
    written = "\n\nanswer(A, C) :- [80] some s(A, B), [80] some u(B, C)."
    in_cql = api.Program.parse(SCHEMA + query, dialect="cql").check()
    in_lars = api.Program.parse(written).check()
    assert in_cql.choice.name == in_lars.choice.name == "interval"
    assert in_cql.plan() == in_lars.plan()


def test_a_half_open_range_leaves_its_first_time_point_out() -> None:
    options = {"range": "halfopen"}
    assert rules("SELECT a FROM S [RANGE 5]", options) == "answer(A) :- [4] some s(A, _)."
    tumbling = rules("SELECT a FROM S [RANGE 5 SLIDE 5]", options)
    assert tumbling == "answer(A) :- [4 every 5] some s(A, _)."


def test_a_duration_is_a_whole_number_of_ticks() -> None:
    minutes = {"tick": "1 min"}
    assert "[60]" in rules("SELECT a FROM S [RANGE 1 HOUR]", minutes)
    parsed = parse_program(
        SCHEMA + "SELECT a FROM S [RANGE 90 SECONDS]", dialect="cql", options=minutes
    )
    assert [problem.code for problem in errors(parsed.problems)] == ["L117"]
    assert "[3]" in rules("SELECT a FROM S [RANGE 1.5 SECONDS]", {"tick": "500 ms"})


@pytest.mark.parametrize("left", [*range(-7, 8), 60])
@pytest.mark.parametrize("right", [-3, -1, 1, 2, 7])
def test_integers_divide_without_a_rest(left: int, right: int) -> None:
    parsed = parse_program(f"{SCHEMA} SELECT a / b FROM S [NOW]", dialect="cql")
    assert parsed.program is not None
    (rule,) = parsed.program.rules
    (quotient,) = rule.head.atom.args  # type: ignore[union-attr]

    def value(term: object) -> Constant | None:
        name = getattr(term, "name", None)
        if name is not None:
            return {"A": left, "B": right}[name]
        if hasattr(term, "operation"):
            return calculate(term.operation, [value(arg) for arg in term.args])
        return term  # type: ignore[return-value]

    assert value(quotient) == int(left / right)


def test_a_script_of_the_stream_system_is_read_unchanged() -> None:
    text = """
# positions of cars
table : register stream CarLocStr (car_id integer, speed integer, x_pos integer);
source : cars.dat;
vquery : Rstream (Select car_id, speed From CarLocStr [Now] Where speed < 40);
vtable : register stream SlowStr (car_id integer, speed integer);
query : Select Distinct S.car_id From SlowStr [Range 30 Seconds] as S;
dest : out.dat;
"""
    parsed = parse_program(text, dialect="cql")
    assert [(p.code, p.span.line) for p in parsed.problems if p.span] == [
        ("L150", 4),
        ("L153", 5),
        ("L150", 8),
    ]
    assert parsed.program is not None
    assert program_text(parsed.program) == (
        "#tick 1 s.\n#input carlocstr/3.\n#show answer/1.\n#remember slowstr/2.\n"
        "slowstr(Car_id, Speed) :- [0] some carlocstr(Car_id, Speed, _), Speed < 40.\n"
        "answer(Car_id) :- [30] some slowstr(Car_id, _).\n"
    )


def errors(problems: tuple[Problem, ...]) -> list[Problem]:
    return [problem for problem in problems if problem.severity is Severity.ERROR]


def named(problem: Problem) -> str:
    assert problem.span is not None
    return f"{problem.span.line}:{problem.span.column} {problem.code} {problem.message}"


REFUSED = {
    "SELECT a FROM S ORDER BY a": "3:17 L150 CQL: ORDER BY is not supported",
    "SELECT a FROM S LIMIT 3": "3:17 L150 CQL: LIMIT is not supported",
    "SELECT a FROM S WHERE a IS NOT NULL": "3:25 L150 CQL: NULL is not supported",
    "SELECT name FROM R WHERE name LIKE 'x%'": "3:31 L150 CQL: LIKE is not supported",
    "SELECT abs(a) FROM S": "3:8 L150 CQL: the function ABS is not supported",
    "SELECT a FROM (SELECT a FROM S)": "3:15 L150 CQL: a subquery in FROM is not supported",
    "SELECT S.a FROM S LEFT OUTER JOIN R ON S.a = R.a": (
        "3:19 L150 CQL: LEFT OUTER JOIN is not supported"
    ),
    "DELETE FROM R": "3:1 L150 CQL: DELETE (relation updates) is not supported",
    "SELECT CASE WHEN a THEN b END FROM S": "3:8 L150 CQL: CASE is not supported",
    "SELECT a FROM S UNION ALL SELECT b FROM U": "3:23 L150 CQL: UNION ALL is not supported",
    "SELECT MAX(name) FROM R": "3:8 L150 CQL: MAX of a text is not supported",
    "SELECT q FROM S": "3:8 L151 there is no column `q`",
    "SELECT a FROM Q": "3:15 L151 there is no stream, relation or view `q`",
    "SELECT S.a FROM S, S": "3:20 L151 two sources are called `s`",
    "SELECT b FROM S, U": "3:8 L151 `b` is a column of several sources",
    "SELECT X.a FROM S": "3:8 L151 there is no source `x` in FROM",
    "SELECT a, COUNT(*) FROM S": "3:8 L152 this is no aggregate, and no column of GROUP BY",
    "SELECT a FROM S WHERE COUNT(*) > 1": "3:23 L152 COUNT stands where there are no groups",
    "SELECT a FROM R [NOW]": "3:15 L152 `r` is a relation, and only streams have windows",
    "SELECT a FROM S EXCEPT SELECT a, b FROM S": "3:1 L152 EXCEPT of 1 and 2 columns",
    "SELECT a FROM S [RANGE 5 SLIDE 9]": (
        "3:32 L118 the slide leaves time points out: the range has 6"
    ),
    "SELECT a FROM S [RANGE 99999999999999999 DAYS]": (
        "3:24 L114 this is too large a number of time points"
    ),
    "SELEC a FROM S": "3:1 L104 expected a query, found `SELEC`",
    "SELECT a FROM S [RANGE 5 weeks]": "3:26 L116 `weeks` is no unit of time",
    "SELECT name + 1 FROM R": "3:8 L152 `+` computes with numbers, and this is a text",
    "SELECT a FROM R WHERE name < 3": "3:23 L152 a text is compared with a number",
    "SELECT a FROM R WHERE a IN (SELECT name FROM R)": (
        "3:23 L152 a text is compared with a number"
    ),
    "SELECT a FROM R WHERE a NOT IN (1, 'x')": "3:23 L152 a text is compared with a number",
    "SELECT a FROM R WHERE name IN (SELECT MAX(a) FROM S)": (
        "3:23 L152 a text is compared with a number"
    ),
    "SELECT COUNT(*) FROM R GROUP BY name HAVING name = COUNT(*)": (
        "3:45 L152 a text is compared with a number"
    ),
    "SELECT a FROM S WHERE a = ALL (SELECT a FROM S)": (
        "3:27 L150 CQL: a comparison with ALL is not supported"
    ),
    "SELECT a FROM S WHERE (a, b) IN (SELECT a, b FROM S)": (
        "3:25 L150 CQL: a row of values is not supported"
    ),
    "SELECT COUNT(*) FROM S GROUP BY a + 1": (
        "3:33 L150 CQL: GROUP BY of an expression is not supported"
    ),
    "SELECT a FROM S [SAMPLE 10]": "3:18 L150 CQL: SAMPLE is not supported",
    "SELECT a FROM S WHERE a = (SELECT a FROM S)": (
        "3:27 L150 CQL: a subquery as a value is not supported"
    ),
    "SELECT a FROM S [RANGE 1.5 SECONDS]": "3:24 L117 this is no whole number of time points",
    # No definition of a name, as nothing else mentions it.
    "SELECT a FROM S WHERE q = 2": "3:23 L151 there is no column `q`",
    "SELECT a FROM S WHERE a": "3:23 L112 expected a condition, found a value",
    "SELECT a FROM": "3:14 L104 expected a stream, relation or view, the statement ends",
    "SELECT a FROM S WHERE a = 'x": "3:27 L102 the string is not closed on its line",
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_not_supported_is_named_with_its_place(query: str) -> None:
    parsed = parse_program(SCHEMA + query, dialect="cql")
    assert parsed.program is None
    assert named(errors(parsed.problems)[0]) == REFUSED[query]


def test_all_problems_of_a_script_are_listed_at_once() -> None:
    queries = [query for query in REFUSED if "'x" not in query and not query.endswith("FROM")]
    text = SCHEMA + ";\n".join(queries)
    found = {named(p).partition(" ")[2] for p in parse_program(text, dialect="cql").problems}
    assert {REFUSED[query].partition(" ")[2] for query in queries} <= found


def test_a_number_that_is_none_is_reported_once() -> None:
    for window in ("ROWS 1.5", "RANGE 1 SLIDE 99999999999999999999", "RANGE 1.5"):
        found = parse_program(
            f"{SCHEMA}SELECT DISTINCT a FROM S [{window}]", dialect="cql"
        ).problems
        assert [problem.code for problem in found] == ["L114"]


def test_all_problems_of_a_query_are_listed_at_once() -> None:
    query = """SELECT q, CASE WHEN a = 1 THEN 2 END, SUM(a) OVER (PARTITION BY a)
FROM S JOIN U USING (b) WHERE p = 1 OR o = ALL (SELECT b FROM U) AND a = NULL LIMIT 2 OFFSET 1"""
    found = [named(p) for p in errors(parse_program(SCHEMA + query, dialect="cql").problems)]
    refused = "CASE", "OVER", "USING", "a comparison with ALL", "NULL", "LIMIT", "OFFSET"
    names = [f"CQL: {name} is not supported" for name in refused]
    assert [f.split(" ", 2)[2] for f in found if "L150" in f] == names
    query = "SELECT q FROM S WHERE p = 1 OR o = 2 AND EXISTS (SELECT * FROM U WHERE n = 1)"
    found = [named(p) for p in errors(parse_program(SCHEMA + query, dialect="cql").problems)]
    assert [f.split(" ", 2)[2] for f in found] == [f"there is no column `{c}`" for c in "qpon"]


def test_a_view_with_a_problem_is_reported_once() -> None:
    for view in ("SELECT q FROM S", "SELECT a FROM FROM S"):
        script = f"{SCHEMA}CREATE VIEW v AS {view}; SELECT a FROM v; SELECT b FROM v"
        assert len(errors(parse_program(script, dialect="cql").problems)) == 1


def test_the_name_of_the_answers_is_not_a_name_of_the_script() -> None:
    view = "CREATE VIEW answer AS SELECT DISTINCT a FROM S"
    assert parse_program(SCHEMA + view, dialect="cql").program is not None
    found = errors(parse_program(f"{SCHEMA}{view}; SELECT a FROM answer", dialect="cql").problems)
    assert [named(p) for p in found] == ["3:13 L151 `answer` is the name of the answers"]


PARTS = (
    *("SELECT ", "FROM ", "WHERE ", "(", ")", "[", "]", ",", ";", "'", '"', "*", "/", "=", "<>"),
    *("S", "U", "R", "a", "b", "name", "3", "1e999", "99999999999999999999", "é", "\0", "\n"),
    *("ROWS 3", "RANGE 5", "SLIDE 2", "COUNT(*)", "GROUP BY a ", "HAVING ", "NOT ", "IN ", "--"),
    *("EXISTS (SELECT * FROM S)", "UNION ", "/*", "ISTREAM(", "CREATE VIEW v AS ", "query :"),
)


def test_mutated_scripts_give_a_program_or_problems_with_places() -> None:
    chance = random.Random(SEED)
    accepted = 0
    for _ in range(MUTATIONS):
        text = chance.choice((script(random_steps(chance)), TRAMS, SCHEMA + next(iter(REFUSED))))
        for _ in range(chance.randint(0, 4)):
            at = chance.randint(0, len(text))
            until = min(len(text), at + chance.randint(0, 12))
            put = chance.choice(("", chance.choice(PARTS), text[at:until] * 2))
            text = text[:at] + put + text[until:]
        parsed = parse_program(text, dialect="cql")
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
    "brackets": "SELECT " + "(" * 5_000,
    "closed brackets": "SELECT " + "(" * 3_000 + "a" + ")" * 3_000 + " FROM S",
    "negations": "SELECT a FROM S WHERE " + "NOT " * 5_000 + "a = 1",
    "signs": "SELECT " + "- " * 5_000 + "a FROM S",
    "sum": "SELECT " + "+".join("a" * 3_000) + " FROM S",
    "alternatives": "SELECT a FROM S WHERE " + " AND ".join(["(a = 1 OR b = 2)"] * 500),
    "conditions": "SELECT a FROM S WHERE " + " AND ".join(["a = b"] * 1_000),
    "subqueries": "SELECT a FROM S WHERE " + "EXISTS (SELECT a FROM S WHERE " * 1_000,
    "semicolons": ";" * 10_000,
    "sources": "SELECT 1 FROM " + ",".join(f"S AS x{n}" for n in range(300)),
    "unions": " UNION ".join(["SELECT a FROM S"] * 500),
    "quotes": "'" * 10_000,
    "dots": "SELECT " + "a." * 5_000 + " FROM S",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_answered(name: str) -> None:
    parsed = parse_program(SCHEMA + HOSTILE[name], dialect="cql")
    assert (parsed.program is None) == bool(errors(parsed.problems))


def test_examples_23_and_24_of_the_paper(tmp_path: Path) -> None:
    (tmp_path / "trams.cql").write_text(TRAMS)
    (tmp_path / "tram.csv").write_text("time,ID,ST,T\n36,a1,b,36\n40,a3,h,40\n")
    (tmp_path / "jam.jsonl").write_text('{"t": 42, "atom": "jam(b,42)"}\n{"t": 50}\n')
    (tmp_path / "line.csv").write_text("a1,l1\na3,l3\n")
    (tmp_path / "plan.csv").write_text("L,X,Y,D\nl1,b,m,8\nl3,h,m,3\n")
    data = ("--stream", "TRAM=tram.csv", "--stream", "jam=jam.jsonl", "--background", "line.csv")
    done = larspark(
        tmp_path, "run", "trams.cql", *data, "--background", "plan=plan.csv", "--as", "intervals"
    )
    assert done.stdout.splitlines() == [
        '{"atom": "q(a1,m,44)", "from": 36, "to": 41}',
        '{"atom": "q(a3,m,43)", "from": 40, "to": 50}',
    ]
    (tmp_path / "datalog.lars").write_text(DATALOG)
    facts = ("--stream", "stream.jsonl", "--as", "intervals")
    elements = ("tram(a1,b,36)", 36), ("tram(a3,h,40)", 40), ("jam(b,42)", 42)
    lines = [f'{{"t": {t}, "atom": "{atom}"}}\n' for atom, t in elements]
    (tmp_path / "stream.jsonl").write_text("".join([*lines, '{"t": 50}\n']))
    again = larspark(tmp_path, "run", "datalog.lars", *facts)
    assert again.stdout == done.stdout
    wrong = larspark(tmp_path, "run", "trams.cql", "--stream", "tran=tram.csv")
    assert wrong.returncode == 1
    assert "the program has no stream `tran`" in wrong.stderr
    (tmp_path / "bad.csv").write_text("ID,ST\na1,b\n")
    wrong = larspark(tmp_path, "run", "trams.cql", "--stream", "tram=bad.csv")
    assert wrong.returncode == 1
    assert "bad.csv has no column `t`" in wrong.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.csv", "time,B,A\n1,3,5\n"),
        ("s.csv", "A;B;ts\n5;3;1\n"),
        ("s.jsonl", '{"t": 1, "a": 5, "b": 3}\n'),
        ("s.jsonl", '{"t": 1, "atom": "s(5,\\"3\\")"}\n'),
        ("s.lars", '@1 s(5, "3").\n'),
    ],
)
@pytest.mark.parametrize("prefix", ["", "S="])
def test_a_stream_is_read_by_the_names_of_its_columns(
    tmp_path: Path, name: str, text: str, prefix: str
) -> None:
    script = "REGISTER STREAM S (a INTEGER, b CHAR(2)); SELECT DISTINCT a FROM S WHERE b = '3'"
    (tmp_path / "q.cql").write_text(script)
    (tmp_path / name).write_text(text)
    done = larspark(tmp_path, "run", "q.cql", "--stream", prefix + name, "--at", "1")
    assert done.stdout == '{"t": 1, "atoms": ["answer(5)"]}\n', done.stderr


TYPED = """REGISTER STREAM S (id CHAR(4), v INTEGER, f FLOAT);
REGISTER RELATION R (id CHAR(4), w INTEGER);
SELECT DISTINCT S.id, v / w, f / w FROM S [NOW], R WHERE S.id = R.id"""


@pytest.mark.parametrize("relation", ["R=r.csv", "r.csv"])
def test_values_have_the_types_of_their_columns(tmp_path: Path, relation: str) -> None:
    (tmp_path / "q.cql").write_text(TYPED)
    (tmp_path / "s.csv").write_text("t,id,v,f\n1,7,7,3\n1,007,9,1.5\n")
    (tmp_path / "s.jsonl").write_text(
        '{"t": 1, "id": 7, "v": "7", "f": 3}\n{"t": 1, "id": "007", "v": 9, "f": "1.5"}\n'
    )
    # The columns are found by their names in any order, and by their places without names.
    for rows in ("w,id\n2,7\n3,007\n", "7,2\n007,3\n"):
        (tmp_path / "r.csv").write_text(rows)
        for stream in ("s.csv", "s.jsonl"):
            done = larspark(
                tmp_path, "run", "q.cql", "-s", stream, "-b", relation, "--as", "points"
            )
            (line,) = done.stdout.splitlines()
            assert set(json.loads(line)["atoms"]) == {'answer("7",3,1.5)', 'answer("007",3,0.5)'}


def test_a_value_of_another_type_than_its_column_is_refused(tmp_path: Path) -> None:
    (tmp_path / "q.cql").write_text(TYPED)
    (tmp_path / "r.csv").write_text("id,w\n7,2\n")
    (tmp_path / "s.csv").write_text("t,id,v,f\n1,7,1.5,3\n")
    (tmp_path / "s.jsonl").write_text('{"t": 1, "id": 7, "v": 1, "f": true}\n')
    for stream, message in (
        ("s.csv", "s.csv:2:1: error L313: column `v`: 1.5 is not an integer"),
        ("s.jsonl", "s.jsonl:1:28: error L313: field `f`: true is not a number"),
    ):
        done = larspark(tmp_path, "run", "q.cql", "-s", stream, "-b", "r.csv")
        assert done.returncode == 1
        assert message in done.stderr
    (tmp_path / "r.csv").write_text("id,w\n7,x\n")
    done = larspark(tmp_path, "run", "q.cql", "-s", "s.csv", "-b", "r.csv")
    assert 'r.csv:2:1: error L313: column `w`: "x" is not a number' in done.stderr
