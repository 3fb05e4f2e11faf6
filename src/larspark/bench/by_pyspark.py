"""The diamond and the join as hand-written PySpark queries.

Facts `p(a0, a1)` at `t` hold for `size` further time points. Answers are maximal intervals, found
with window functions (gaps and islands).
"""

from larspark.scale.spark_session import DataFrame, Window
from larspark.scale.spark_session import functions as f


def diamond(facts: DataFrame, size: int, final: int) -> DataFrame:
    """`[size] some p(A,B)`: rows a0, a1, from, to."""
    return _some(facts, size, final)


def join(facts: DataFrame, size: int, final: int) -> DataFrame:
    """`[size] some p(A,B), [size] some p(B,C)`: rows a0, a1, from, to."""
    left = _some(facts, size, final)
    right = left.selectExpr("a0 as b0", "a1 as b1", "`from` as begin", "`to` as end")
    met = (
        left.join(right, left["a1"] == right["b0"])
        .select(
            "a0",
            f.col("b1").alias("a1"),
            f.greatest("from", "begin").alias("from"),
            f.least("to", "end").alias("to"),
        )
        .where("`from` <= `to`")
    )
    return _coalesced(met)


def _some(facts: DataFrame, size: int, final: int) -> DataFrame:
    lives = facts.selectExpr("a0", "a1", "t as `from`", f"least(t + {size}, {final}) as `to`")
    return _coalesced(lives)


def _coalesced(spans: DataFrame) -> DataFrame:
    """One row of the intervals of an atom that touch or overlap."""
    by_time = Window.partitionBy("a0", "a1").orderBy("from")
    before = f.max("to").over(by_time.rowsBetween(Window.unboundedPreceding, -1))
    begins = f.coalesce(f.col("from") > before + 1, f.lit(True)).cast("int")
    return (
        spans.withColumn("begins", begins)
        .withColumn("island", f.sum("begins").over(by_time))
        .groupBy("a0", "a1", "island")
        .agg(f.min("from").alias("from"), f.max("to").alias("to"))
        .drop("island")
    )
