"""Aggregates over windows as expert queries in Polars and DuckDB, correct for every stream.

Both find the time points at which a group can change, take a rolling aggregate there, and join the
time points with equal values.
"""

from typing import assert_never

import polars as pl

from larspark.bench.workload import Measure


def in_polars(facts: pl.DataFrame, measure: Measure, window: int, last: int) -> pl.DataFrame:
    """The values of every group, with the time points from and to which they hold."""
    facts = facts.rename({"0": "key", "1": "value"})
    match measure.window:
        case "time":
            found = _over_time(facts, measure, window, last)
        case "tuples":
            found = _over_tuples(facts, measure, window)
        case "sessions":
            return _of_sessions(facts, window, last)
        case _:
            assert_never(measure.window)
    new = (pl.col("key") != pl.col("key").shift()) | pl.col("number").ne_missing(
        pl.col("number").shift()
    )
    return (
        found.lazy()
        .filter(new.fill_null(value=True))
        .with_columns(
            pl.when(pl.col("key") == pl.col("key").shift(-1))
            .then(pl.col("t").shift(-1) - 1)
            .otherwise(last)
            .alias("to")
        )
        .filter(pl.col("number").is_not_null())
        .select(
            pl.col("key").alias("0"), pl.col("number").alias("1"), pl.col("t").alias("from"), "to"
        )
        .collect()
    )


def _over_time(facts: pl.DataFrame, measure: Measure, window: int, last: int) -> pl.DataFrame:
    distinct = facts.lazy().unique()
    parts = distinct.group_by("key", "t").agg(
        pl.len().alias("count"),
        pl.col("value").sum().alias("sum"),
        pl.col("value").min().alias("min"),
        pl.col("value").max().alias("max"),
    )
    ends = parts.select("key", pl.col("t") + window + 1).filter(pl.col("t") <= last)
    times = pl.concat([parts.select("key", "t"), ends]).unique()
    joined = times.join(parts, on=["key", "t"], how="left").sort("key", "t").collect()
    rolled = joined.rolling(index_column="t", period=f"{window + 1}i", group_by="key").agg(
        pl.col("count").sum(), pl.col("sum").sum(), pl.col("min").min(), pl.col("max").max()
    )
    number = (
        pl.col("sum") / pl.col("count") if measure.function == "avg" else pl.col(measure.function)
    )
    return rolled.select("key", "t", pl.when(pl.col("count") > 0).then(number).alias("number"))


def _over_tuples(facts: pl.DataFrame, measure: Measure, window: int) -> pl.DataFrame:
    ordered = facts.unique(maintain_order=True).sort("key", "t", maintain_order=True)
    value = pl.col("value")
    match measure.function:
        case "count":
            number = pl.int_range(1, pl.len() + 1).clip(upper_bound=window)
        case "sum":
            number = value.rolling_sum(window, min_samples=1)
        case "avg":
            count = pl.int_range(1, pl.len() + 1).clip(upper_bound=window)
            number = value.rolling_sum(window, min_samples=1) / count
        case "min":
            number = value.rolling_min(window, min_samples=1)
        case "max":
            number = value.rolling_max(window, min_samples=1)
        case _:
            assert_never(measure.function)
    rolled = ordered.with_columns(number.over("key").alias("number"))
    latest = (pl.col("key") != pl.col("key").shift(-1)) | (pl.col("t") != pl.col("t").shift(-1))
    return rolled.filter(latest.fill_null(value=True)).select("key", "t", "number")


def _of_sessions(facts: pl.DataFrame, gap: int, last: int) -> pl.DataFrame:
    ordered = facts.lazy().unique().sort("key", "t")
    new = (pl.col("key") != pl.col("key").shift()) | (pl.col("t") - pl.col("t").shift() > gap)
    return (
        ordered.with_columns(new.fill_null(value=True).cum_sum().alias("session"))
        .group_by("session")
        .agg(pl.col("key").first(), pl.len().cast(pl.Int64).alias("number"), pl.col("t").max())
        .select(
            pl.col("key").alias("0"),
            pl.col("number").alias("1"),
            (pl.col("t") + gap + 1).alias("from"),
            (pl.col("t") + gap + 1).alias("to"),
        )
        .filter(pl.col("from") <= last)
        .collect()
    )


_CHANGES = """
WITH changes AS (
  SELECT *, a1 IS DISTINCT FROM lag(a1) OVER w OR lag(a0) OVER w IS NULL AS new FROM ({rolled})
  WINDOW w AS (PARTITION BY a0 ORDER BY t)
), spans AS (
  SELECT a0, a1, t AS first, coalesce(lead(t) OVER (PARTITION BY a0 ORDER BY t) - 1, {last}) AS last
  FROM changes WHERE new
)
FROM spans WHERE a1 IS NOT NULL
"""
_OVER_TIME = """
  SELECT a0, t, CASE WHEN sum(number) OVER w > 0 THEN {value} END AS a1 FROM (
    SELECT a0, t,
      count(a1) AS number, sum(a1)::BIGINT AS total, min(a1) AS least, max(a1) AS largest
    FROM (
      SELECT DISTINCT a0, a1, t FROM load
      UNION ALL SELECT DISTINCT a0, NULL, t + {window} + 1 FROM load WHERE t + {window} < {last}
    ) GROUP BY a0, t
  )
  WINDOW w AS (PARTITION BY a0 ORDER BY t RANGE BETWEEN {window} PRECEDING AND CURRENT ROW)
"""
_OVER_TUPLES = """
  SELECT a0, t, {value} AS a1 FROM (
    SELECT *, row_number() OVER (PARTITION BY a0, a1, t ORDER BY seq) AS copy FROM load
  ) WHERE copy = 1
  WINDOW w AS (PARTITION BY a0 ORDER BY seq ROWS BETWEEN {window} - 1 PRECEDING AND CURRENT ROW)
  QUALIFY row_number() OVER (PARTITION BY a0, t ORDER BY seq DESC) = 1
"""
_OF_SESSIONS = """
WITH marked AS (
  SELECT a0, t, coalesce(t - lag(t) OVER w > {window}, true) AS new
  FROM (SELECT DISTINCT a0, a1, t FROM load) WINDOW w AS (PARTITION BY a0 ORDER BY t)
), numbered AS (
  SELECT a0, t, sum(new::INTEGER) OVER (PARTITION BY a0 ORDER BY t) AS session FROM marked
)
SELECT a0, count(*) AS a1, max(t) + {window} + 1 AS first, max(t) + {window} + 1 AS last
FROM numbered GROUP BY a0, session HAVING max(t) + {window} < {last}
"""
_PARTS = {
    "count": "sum(number) OVER w::BIGINT",
    "sum": "sum(total) OVER w::BIGINT",
    "avg": "sum(total) OVER w / sum(number) OVER w",
    "min": "min(least) OVER w",
    "max": "max(largest) OVER w",
}
_ROWS = {
    "count": "count(*) OVER w",
    "sum": "sum(a1) OVER w::BIGINT",
    "avg": "sum(a1) OVER w / count(*) OVER w",
    "min": "min(a1) OVER w",
    "max": "max(a1) OVER w",
}


def in_sql(measure: Measure, window: int, last: int) -> str:
    """The query over a table `load` with the columns t, seq, a0 and a1."""
    match measure.window:
        case "time":
            rolled = _OVER_TIME.format(value=_PARTS[measure.function], window=window, last=last)
        case "tuples":
            rolled = _OVER_TUPLES.format(value=_ROWS[measure.function], window=window)
        case "sessions":
            return _OF_SESSIONS.format(window=window, last=last)
        case _:
            assert_never(measure.window)
    return _CHANGES.format(rolled=rolled, last=last)
