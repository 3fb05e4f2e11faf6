"""The workloads as DuckDB queries over the whole history, correct for every stream.

A table has a column `t` and the arguments `a0`, `a1`; an answer has `first`, `last` and the
arguments. Gaps and islands are found with window functions.
"""

from string import Template

import duckdb
import pyarrow as pa

from larspark.base.atoms import Signature
from larspark.bench.number_queries import in_sql
from larspark.bench.workload import Answer, Rows, Run, Stopwatch, Workload

# `islands` merges the facts of an atom that are at most `reach` apart into one row, `coalesced` its
# intervals that touch or overlap. `$name` and `$keys` depend on the arity.
_MACROS = Template("""
CREATE MACRO islands$name(facts, reach) AS TABLE
WITH marked AS (
  SELECT $keys, t, coalesce(t - lag(t) OVER w > reach, true) AS new
  FROM query_table(facts) WINDOW w AS (PARTITION BY $keys ORDER BY t)
), numbered AS (
  SELECT $keys, t, sum(new::INTEGER) OVER (PARTITION BY $keys ORDER BY t) AS island FROM marked
)
SELECT $keys, min(t) AS first, max(t) AS last FROM numbered GROUP BY $keys, island;

CREATE MACRO some$name(facts, size, final) AS TABLE
SELECT $keys, first, least(last + size, final) AS last FROM islands$name(facts, size + 1);

CREATE MACRO always$name(facts, size) AS TABLE
SELECT $keys, CASE first WHEN 1 THEN 1 ELSE first + size END AS first, last
FROM islands$name(facts, 1) WHERE first = 1 OR first + size <= last;

CREATE MACRO coalesced$name(spans) AS TABLE
WITH marked AS (
  SELECT $keys, first, last, coalesce(first > 1 + max(last) OVER w, true) AS new
  FROM query_table(spans) WINDOW w AS (
    PARTITION BY $keys ORDER BY first ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  )
), numbered AS (
  SELECT $keys, first, last, sum(new::INTEGER) OVER (
    PARTITION BY $keys ORDER BY first ROWS UNBOUNDED PRECEDING
  ) AS island FROM marked
)
SELECT $keys, min(first) AS first, max(last) AS last FROM numbered GROUP BY $keys, island;
""")

_JOIN = """
CREATE VIEW met AS
WITH lives AS MATERIALIZED (
  FROM some2('p', getvariable('size')::BIGINT, getvariable('final')::BIGINT)
)
SELECT l.a0 AS a0, r.a1 AS a1, greatest(l.first, r.first) AS first, least(l.last, r.last) AS last
FROM lives AS l JOIN lives AS r ON l.a1 = r.a0
WHERE greatest(l.first, r.first) <= least(l.last, r.last)
"""

# A fact without arguments has a constant one.
_COOLING = """
CREATE VIEW steam AS SELECT t, a0 FROM temp WHERE a0 >= 100;
CREATE VIEW liquid AS SELECT t, a0 FROM temp WHERE a0 >= 1 AND a0 < 100;
CREATE VIEW is_steam AS SELECT DISTINCT t, 0 AS a0 FROM steam;
CREATE VIEW is_liquid AS SELECT DISTINCT t, 0 AS a0 FROM liquid;
CREATE VIEW hot AS SELECT DISTINCT t, t AS a0 FROM steam WHERE a0 >= 150;
CREATE VIEW cold AS SELECT DISTINCT t, t AS a0 FROM liquid WHERE a0 = 1;
CREATE VIEW alarm AS FROM always1('is_steam', getvariable('size')::BIGINT);
CREATE VIEW normal AS FROM always1('is_liquid', getvariable('size')::BIGINT);
CREATE VIEW calm AS FROM alarm UNION ALL FROM normal;
CREATE VIEW frozen AS
WITH bounds AS (
  SELECT first, last FROM coalesced1('calm')
  UNION ALL SELECT 0, 0
  UNION ALL SELECT getvariable('final') + 1, getvariable('final') + 1
), rests AS (
  SELECT last + 1 AS first, lead(first) OVER (ORDER BY first) - 1 AS last FROM bounds
)
SELECT 0 AS a0, first, last FROM rests WHERE first <= last;
"""

_SOME = "FROM some{}('{}', {}, getvariable('final')::BIGINT)"
_SIZE = "getvariable('size')::BIGINT"


class DuckDB:
    """A hand-written query over the whole history, on as many cores as there are."""

    name = "duckdb"
    times = None

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._connection = duckdb.connect()
        for signature, table in workload.facts.segments:
            names = ["t", "seq", *(f"a{place}" for place in range(signature.arity))]
            self._load(signature.predicate, table.rename_columns(names))
        self._do(_MACROS.substitute(name="1", keys="a0"))
        self._do(_MACROS.substitute(name="2", keys="a0, a1"))
        self._do(f"SET VARIABLE size = {workload.window}")
        self._do(f"SET VARIABLE final = {workload.facts.last}")
        self._queries = self._prepare()

    def _load(self, name: str, table: pa.Table) -> None:
        self._connection.register("incoming", table)
        self._do(f'CREATE TABLE "{name}" AS FROM incoming')
        self._connection.unregister("incoming")

    def _do(self, statements: str) -> None:
        self._connection.execute(statements).fetchall()

    def _prepare(self) -> dict[Signature, str]:
        match self._workload.by_hand:
            case "diamond":
                return {Signature("q", 2): _SOME.format(2, "p", _SIZE)}
            case "box":
                return {Signature("q", 1): f"FROM always1('p', {_SIZE})"}
            case "join":
                self._do(_JOIN)
                heads = [Signature(head, 2) for head in self._workload.heads]
                return dict.fromkeys(heads, "FROM coalesced2('met')")
            case "cooling":
                self._do(_COOLING)
                return {
                    Signature("steam", 1): _SOME.format(1, "steam", 0),
                    Signature("liquid", 1): _SOME.format(1, "liquid", 0),
                    Signature("isSteam", 0): _SOME.format(1, "is_steam", 0),
                    Signature("isLiquid", 0): _SOME.format(1, "is_liquid", 0),
                    Signature("alarm", 0): "FROM alarm",
                    Signature("normal", 0): "FROM normal",
                    Signature("freeze", 0): "FROM frozen",
                    Signature("veryHot", 1): _SOME.format(1, "hot", _SIZE),
                    Signature("veryCold", 1): _SOME.format(1, "cold", _SIZE),
                }
            case "numbers" if (measure := self._workload.measure) is not None:
                query = in_sql(measure, self._workload.window, self._workload.facts.last)
                return {Signature("q", 2): query}
            case _:
                raise ValueError("this workload has no hand-written query")

    def answer(self) -> Answer:
        answer: dict[Signature, Rows] = {}
        for signature, table in self._query().items():
            args = tuple(table[f"a{place}"].to_numpy() for place in range(signature.arity))
            answer[signature] = Rows(table["first"].to_numpy(), table["last"].to_numpy(), args)
        return answer

    def run(self) -> Run:
        watch = Stopwatch()
        with watch.running():
            found = sum(table.num_rows for table in self._query().values())
        facts = self._workload.facts
        return Run(watch.seconds, watch.cpu_seconds, len(facts), facts.last, found)

    def _query(self) -> dict[Signature, pa.Table]:
        return {
            signature: self._connection.sql(query).to_arrow_table()
            for signature, query in self._queries.items()
        }
