"""The aggregates of "coming from SQL": each query gives in DuckDB what its rule gives."""

import re
from pathlib import Path
from random import Random
from typing import NamedTuple

import duckdb
import pytest

import larspark as lp

PAGE = Path(__file__).parent.parent / "docs" / "coming-from-sql.md"
LAST = 70


class Pair(NamedTuple):
    query: str
    rule: str


def pairs() -> list[Pair]:
    section = PAGE.read_text(encoding="utf-8").split("\n## Aggregates\n")[1].split("\n## ")[0]
    return [Pair(*row) for row in re.findall(r"^\| `(.+?)` \| `(.+?)` \|$", section, re.MULTILINE)]


PAIRS = pairs()
MACHINES = {"m1": "north", "m2": "north", "m3": "south"}
BACKGROUND = [
    *(lp.fact("machine", name) for name in MACHINES),
    *(lp.fact("hall", *both) for both in MACHINES.items()),
]


def readings() -> list[tuple[str, int, str, float]]:
    """At most one element of each table for a machine and a minute; quarters are exact sums."""
    random = Random(7)
    rows: list[tuple[str, int, str, float]] = []
    for t in range(LAST + 1):
        for machine in ("m1", "m2"):
            if random.random() < 0.4:
                rows.append(("temp", t, machine, 20 + random.randrange(40) / 4))
            if random.random() < 0.15:
                rows.append(("err", t, machine, random.choice((404, 500, 503))))
    return rows


READINGS = readings()


@pytest.fixture(scope="module")
def answers() -> dict[tuple[int, int], set[tuple[object, ...]]]:
    """What every rule gives, by its number and the time point."""
    rules = [pair.rule.replace(pair.rule.split("(")[0], f"q{n}", 1) for n, pair in enumerate(PAIRS)]
    text = "#tick 1 min.\n#input temp/2, err/2.\n" + "\n".join(rules)
    program = lp.Program.parse(text)
    reasoner = lp.Reasoner(program, background=BACKGROUND, start=0)
    found: dict[tuple[int, int], set[tuple[object, ...]]] = {}
    for t in range(LAST + 1):
        reasoner.append(t, [lp.fact(name, m, v) for name, at, m, v in READINGS if at == t])
        for answer in reasoner.advance(t):
            for atom in answer.atoms or ():
                number = int(atom.predicate.removeprefix("q"))
                found.setdefault((number, answer.t), set()).add(tuple(atom.args))
    return found


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    tables = duckdb.connect()
    tables.execute("CREATE TABLE machine (name TEXT)")
    tables.execute("CREATE TABLE hall (machine TEXT, hall TEXT)")
    tables.execute("CREATE TABLE temp (ts BIGINT, machine TEXT, value DOUBLE)")
    tables.execute("CREATE TABLE err (ts BIGINT, machine TEXT, code BIGINT)")
    for machine, hall in MACHINES.items():
        tables.execute("INSERT INTO machine VALUES (?)", [machine])
        tables.execute("INSERT INTO hall VALUES (?, ?)", [machine, hall])
    return tables


def test_every_query_gives_what_its_rule_gives(
    answers: dict[tuple[int, int], set[tuple[object, ...]]], database: duckdb.DuckDBPyConnection
) -> None:
    held = set()
    for t in range(LAST + 1):
        for name, at, machine, value in READINGS:
            if at == t and name == "temp":
                database.execute("INSERT INTO temp VALUES (?, ?, ?)", [at, machine, value])
            elif at == t:
                database.execute("INSERT INTO err VALUES (?, ?, ?)", [at, machine, value])
        for number, (query, rule) in enumerate(PAIRS):
            parameters = {"now": t} if "$now" in query else {}
            rows = database.execute(query, parameters).fetchall()
            # Where SQL has no value, the rule has no answer.
            expected = {row for row in rows if None not in row}
            assert answers.get((number, t), set()) == expected, (t, rule)
            held |= {number} if expected else set()
    assert held == set(range(len(PAIRS)))


def test_the_table_is_found() -> None:
    assert len(PAIRS) > 20
