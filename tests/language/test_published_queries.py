"""Queries in the shapes that the projects of the languages publish are read as they are.

Each is a query of our own over a grammar page of its project, with all that page has.
"""

import pytest

from larspark.analysis.check import check
from larspark.base.problems import Severity
from larspark.language import parse_program, program_text

CQL = {
    "a script of views": """
# cars on segments
table : register stream CarSegStr (car_id integer, speed integer, exp_way integer, seg integer);
table : register relation AllSegs (seg_no integer, toll integer);
vquery : select car_id, seg, toll from CarSegStr [Partition By car_id Rows 1], AllSegs
         where CarSegStr.seg = AllSegs.seg_no;
vtable : register relation CurCarSeg (car_id integer, seg integer, toll integer);
vquery : select exp_way, seg from CarSegStr [Range 5 Minutes]
         group by exp_way, seg having avg(speed) < 40;
vtable : register relation CongestedSeg (exp_way integer, seg integer);
vquery : select seg, count(*) as volume from CurCarSeg group by seg;
vtable : register relation SegVol (seg integer, volume integer);
query : Rstream (select E.car_id, E.seg, volume from CurCarSeg as E, CongestedSeg as C, SegVol
        where E.seg = C.seg and E.seg = SegVol.seg and E.toll <> 0);
""",
    "a join of a range and the present": """
register stream OpenAuction (itemID integer, categoryID integer, price float);
register stream ClosedAuction (itemID integer, buyerID integer);
Select Istream(O.itemID, O.price) From OpenAuction [Range 4 hours] O, ClosedAuction [Now] C
Where O.itemID = C.itemID""",
    "every type, and a slide": """
register stream S (a integer, b byte, c char(3), d varchar(10), e float);
select distinct a, b from S [range 10 seconds slide 5 seconds] where c = 'abc' and e >= 2.5""",
    "sets of two streams": """
register stream S (a integer); register stream U (a integer);
vquery : S union U; vtable : register relation V (a integer);
vquery : V except U; vtable : register relation W (a integer); query : W intersect S""",
    "unbounded windows": """
register stream S (a integer); register relation R (a integer);
select distinct x.a from S [rows unbounded] x, S [range unbounded] y, S z, R
where x.a = R.a and y.a = R.a and z.a = R.a""",
    "deletions": """
register stream S (a integer, b integer); Dstream (select distinct a from S [range 10 minutes])""",
    "aggregates of all rows": """
register stream S (a integer, b integer);
select count(*) as n, max(b), min(b), sum(b), avg(b) from S [rows 20] having count(*) > 2""",
    "subqueries": """
register stream S (a integer, b integer); register relation R (a integer);
create view old (x) as select distinct a from S [range 1 day];
select distinct a from R where a not in (select x from old)
and not exists (select * from S [now] where S.a = R.a and S.b > 3)""",
}
CSPARQL = {
    "aggregates by the minute": """
REGISTER QUERY HotRooms COMPUTED EVERY 10s AS
PREFIX ex: <http://ex.org/>
SELECT ?room (AVG(?t) AS ?avg) (COUNT(DISTINCT ?s) AS ?n)
FROM <http://ex.org/rooms>
FROM STREAM <http://ex.org/temps> [RANGE 30s STEP 10s]
WHERE { ?s ex:in ?room . ?obs ex:sensor ?s ; ex:value ?t . FILTER(?t > 20 && ?t < 80) }
GROUP BY ?room HAVING (AVG(?t) > 25.5)""",
    "a stream that is made": """
REGISTER STREAM Totals COMPUTED EVERY 10m AS
PREFIX ex: <http://ex.org/>
CONSTRUCT { ?broker ex:total ?amount }
FROM STREAM <http://ex.org/trades.trdf> [RANGE 1h STEP 10m]
WHERE { ?broker ex:does ?trade . ?trade ex:with ?amount . }""",
    "tumbling, and triples": """
SELECT DISTINCT * FROM STREAM <http://s> [RANGE 5 MIN TUMBLING]
FROM STREAM <http://r> [RANGE TRIPLES 10] WHERE { ?s ?p ?o ; a <http://c> }""",
    "all of a pattern": """
PREFIX : <http://e/>
ASK FROM STREAM <http://s> [RANGE 2s STEP 1s] FROM NAMED <http://g>
WHERE { ?x :p ?y , 5 . FILTER NOT EXISTS { ?x :q ?z } MINUS { ?x :r ?y } OPTIONAL { ?x :n ?m }
{ ?x :a 1 } UNION { ?x :b "two"@en } BIND(?y + 1 AS ?w) FILTER(BOUND(?m) || !(?w = 3))
GRAPH <http://g> { ?y :k [] } }""",
}
CQELS = {
    "two streams and a graph": """
PREFIX lv: <http://ex.org/floor#>
CONSTRUCT { ?person1 lv:reachable ?person2 }
FROM NAMED <http://ex.org/floor>
WHERE {
STREAM <http://ex.org/rfid> [NOW] { ?person1 lv:detectedAt ?loc1 }
STREAM <http://ex.org/rfid> [RANGE 3s] { ?person2 lv:detectedAt ?loc2 }
GRAPH <http://ex.org/floor> { ?loc1 lv:connected ?loc2 }
}""",
    "every window": """
SELECT DISTINCT ?x (COUNT(?y) AS ?n) {
STREAM <http://s> [RANGE 15m TUMBLING] { ?x <http://p> ?y }
STREAM <http://s> [RANGE 30s SLIDE 5s] { ?x <http://q> ?a }
STREAM <http://r> [ALL] { ?x <http://q> ?z }
STREAM <http://r> [TRIPLES 4] { ?x <http://q> ?w } FILTER(?z > 3) } GROUP BY ?x""",
    "aggregates without brackets": """
SELECT ?x count(DISTINCT ?y) as ?n max(?y) AS ?m
WHERE { STREAM <http://s> [RANGE 15s] { ?x <http://p> ?y } } GROUP BY ?x""",
}
RSPQL = {
    "an operator in the query": """
PREFIX : <http://e/>
REGISTER STREAM :out COMPUTED EVERY PT5S AS CONSTRUCT ISTREAM { ?x :q ?y }
FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT5S] WHERE { WINDOW :w { ?x :p ?y } }""",
    "two windows and the default graph": """
PREFIX : <http://e/>
REGISTER RSTREAM <http://out> AS
SELECT ?x (MAX(?v) AS ?m)
FROM NAMED WINDOW :w1 ON <http://s1> [RANGE PT10S STEP PT5S]
FROM NAMED WINDOW :w2 ON STREAM :s2 [RANGE PT1M STEP PT5S]
FROM <http://static>
WHERE { WINDOW :w1 { ?x :v ?v } WINDOW :w2 { ?x :k ?k } ?x a :Room }
GROUP BY ?x""",
    "what is new of a construct": """
PREFIX : <http://e/>
REGISTER ISTREAM :out AS CONSTRUCT { ?x :q ?y }
FROM NAMED WINDOW :w ON :s [RANGE PT1H30M STEP PT1M] WHERE { WINDOW :w { ?x :p ?y } }""",
}
ETALIS = {
    "every operator": """
print_trigger(e2/2).
e1 <- a seq b. e2(X, Y) <- a(X) 'and' b(Y). e3 <- a par b. e4 <- a or b. e5 <- a equals b.
e6 <- a meets b. e7 <- a during b. e8 <- a starts b. e9 <- a finishes b. e10 <- a fnot b.
e11 <- (a seq b) cnot (c and d).""",
    "conditions and facts": """
% prices that rise
limit(acme, 105). limit(other, 110).
rising(Id, P1, P2) <- (stock(Id, P1) 'seq' stock(Id, P2))
    where (P2 * 100 > P1 * L, limit(Id, L), D is P2 - P1, D =\\= 0, \\+ limit(P1, _)).""",
    "labels and windows": """
r1([property(event_rule_window, 60)]) rule: fraud(C) <- paid(C, X) seq paid(C, Y) where (X \\= Y).
r2 rule: done <- fraud(1) seq fraud(2).""",
}
LTL = {
    "a response": "[](req -> <>ack)",
    "with words for operators": "G (request -> F grant) and not (a U b) or c",
    "both directions": "H(ack -> O req) && (p S (q & Y r)) || p U^-1 q & F^-1 r & G^-1 s & X^-1 t",
    "weak and strong": "X[!] p & X[?] q & WX r & N s & (a W b) | (c M d) <-> (e R f) & (g V h)",
    "ends and constants": "F last & first | tt & !ff -> true U ~false",
    "mathematical signs": "□(p → ◇q) ∧ ¬r ∨ s ↔ t",
    "several formulas": "waits := req(1) & !ack(1)\nfair := G F !waits",
}
BY_DIALECT = {
    "cql": CQL,
    "csparql": CSPARQL,
    "cqels": CQELS,
    "rspql": RSPQL,
    "etalis": ETALIS,
    "ltl": LTL,
}


@pytest.mark.parametrize(
    ("dialect", "name"),
    [(dialect, name) for dialect, queries in BY_DIALECT.items() for name in queries],
)
def test_a_query_of_a_published_shape_is_read_unchanged(dialect: str, name: str) -> None:
    parsed = parse_program(BY_DIALECT[dialect][name], dialect=dialect)
    errors = [p for p in parsed.problems if p.severity is Severity.ERROR]
    assert parsed.program is not None, errors
    found = check(parsed.program)
    assert [p for p in found.problems if p.severity is Severity.ERROR] == []
    again = parse_program(program_text(parsed.program))
    assert again.program == parsed.program


FILES = "FROM NAMED WINDOW <http://w> ON <http://s> [RANGE PT2S STEP PT1S]"
BLOCKS = {
    "csparql": ("FROM STREAM <http://s> [RANGE 2s STEP 1s]", "?x <http://p> ?y"),
    "cqels": ("", "STREAM <http://s> [RANGE 2s] { ?x <http://p> ?y }"),
    "rspql": (FILES, "WINDOW <http://w> { ?x <http://p> ?y }"),
}
NAMES = {"csparql": "C-SPARQL", "cqels": "CQELS", "rspql": "RSP-QL"}
PARTS = {
    "SERVICE <http://e> { ?x ?q ?z }": "SERVICE is",
    "GRAPH <http://s> { ?x ?q ?z }": "GRAPH <http://s> over a stream is",
    "GRAPH ?g { ?x ?q ?z }": "GRAPH with a variable is",
    "?x <http://a>/<http://b> ?z": "a property path is",
    "FILTER(STRLEN(?y) > 3)": "the function STRLEN is",
    "{ SELECT ?x WHERE { ?x ?q ?z } }": "a subquery is",
    "FILTER(f:timestamp(?x) > 3)": "the function f:timestamp is",
}
TAILS = {"ORDER BY ?x": "ORDER BY is", "LIMIT 3": "LIMIT is", "OFFSET 2": "OFFSET is"}


@pytest.mark.parametrize("dialect", BLOCKS)
@pytest.mark.parametrize("what", [*PARTS, *TAILS, "regime", "variable"])
def test_what_sparql_over_streams_leaves_out_is_refused_in_each_language(
    dialect: str, what: str
) -> None:
    windows, block = BLOCKS[dialect]
    register = "REGISTER STREAM <http://o> AS"
    expected = {**PARTS, **TAILS}.get(what, "")
    tail = what if what in TAILS else ""
    if what in PARTS:
        block = f"{block} {what}"
    elif what == "regime":
        register = register.replace(" AS", " UNDER ENTAILMENT REGIME <http://e> AS")
        expected = "an entailment regime is"
    elif what == "variable":
        windows, block = windows.replace("<http://s>", "?s"), block.replace("<http://s>", "?s")
        expected = "a variable for a stream is"
    query = f"PREFIX f: <http://f/> {register} SELECT ?x {windows} WHERE {{ {block} }} {tail}"
    found = [
        p
        for p in parse_program(query, dialect=dialect).problems
        if p.severity is Severity.ERROR and p.span is not None
    ]
    assert [(p.code, p.message) for p in found] == [
        ("L150", f"{NAMES[dialect]}: {expected} not supported")
    ]


def test_a_window_of_elements_and_fractions_of_a_second() -> None:
    query = "SELECT DISTINCT ?x FROM NAMED WINDOW <w:w> ON <w:s> [{}] WHERE {{ ?x ?p ?y }}"
    for window in ("ELEMENTS 5", "FROM NOW-PT9S TO NOW STEP PT1S"):
        (found,) = parse_program(query.format(window), dialect="rspql").problems
        assert found.message == f"RSP-QL: the window {window.split()[0]} is not supported"
    half = query.format("RANGE PT1.5S STEP PT0.5S")
    assert {p.code for p in parse_program(half, dialect="rspql").problems} == {"L117"}
    read = parse_program(half, dialect="rspql", options={"tick": "500 ms"})
    assert read.program is not None


def test_a_view_with_a_problem_has_no_more_of_them_where_it_is_read() -> None:
    script = """table : register stream S (a integer);
vquery : select b from S; vtable : register relation V (b integer); query : select distinct b from V
"""
    found = [p for p in parse_program(script, dialect="cql").problems if p.code != "L153"]
    assert [(p.code, p.message) for p in found] == [("L151", "there is no column `b`")]
    wrong = "register stream S (a integer); select upper(a), a || a from S where a is null limit 3"
    messages = [p.message for p in parse_program(wrong, dialect="cql").problems]
    assert [m.removeprefix("CQL: ") for m in messages if m.startswith("CQL")] == [
        "the function UPPER is not supported",
        "`||` is not supported",
        "NULL is not supported",
        "LIMIT is not supported",
    ]
    partition = "register stream S (a integer); select a from S [partition by a rows 3 range 10]"
    assert "CQL: ROWS with RANGE is not supported" in [
        p.message for p in parse_program(partition, dialect="cql").problems
    ]


def test_a_relation_or_a_graph_without_data_is_named_as_the_query_does() -> None:
    graph = """SELECT DISTINCT ?x FROM STREAM <http://s> [RANGE 2s STEP 1s]
FROM <http://g> WHERE { ?x <http://p> ?y }"""
    relation = "register relation R (a integer);\nselect distinct a from R"
    for text, dialect, name, place in (
        (graph, "csparql", "http://g", (2, 6)),
        (relation, "cql", "r", (2, 24)),
    ):
        program = parse_program(text, dialect=dialect, source="q").program
        assert program is not None
        (found,) = check(program).problems
        assert found.message == f"`{name}` is empty: no background file gives it"
        assert found.span is not None
        assert (found.span.source, found.span.line, found.span.column) == ("q", *place)
