"""The workloads as expert Polars queries over the whole history, correct for every stream.

A frame has a column `t` and the arguments `0`, `1`; an answer has `from`, `to` and the arguments.
Sorting once and comparing with the previous row is the fastest formulation known to us; grouping
and `over` take longer.
"""

import polars as pl

from larspark.base.atoms import Signature
from larspark.bench.number_queries import in_polars
from larspark.bench.workload import Answer, Rows, Run, Stopwatch, Workload

# More than any time point.
_FAR = 1 << 40


class Polars:
    """A hand-written query over the whole history, on as many cores as there are."""

    name = "polars"
    times = None

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._frames: dict[str, pl.DataFrame] = {}
        for signature, table in workload.facts.segments:
            frame = pl.from_arrow(table.drop_columns(["seq"]))
            if isinstance(frame, pl.DataFrame):
                self._frames[signature.predicate] = frame.rechunk()

    def answer(self) -> Answer:
        answer: dict[Signature, Rows] = {}
        for signature, frame in self._query().items():
            args = tuple(frame[str(place)].to_numpy() for place in range(signature.arity))
            answer[signature] = Rows(frame["from"].to_numpy(), frame["to"].to_numpy(), args)
        return answer

    def run(self) -> Run:
        watch = Stopwatch()
        with watch.running():
            found = sum(frame.height for frame in self._query().values())
        facts = self._workload.facts
        return Run(watch.seconds, watch.cpu_seconds, len(facts), facts.last, found)

    def _query(self) -> dict[Signature, pl.DataFrame]:
        window, last = self._workload.window, self._workload.facts.last
        match self._workload.by_hand:
            case "diamond":
                return {Signature("q", 2): some(self._frames["p"], window, last)}
            case "box":
                return {Signature("q", 1): always(self._frames["p"], window)}
            case "join":
                # Each rule is a query of its own.
                pairs = self._frames["p"]
                return {Signature(q, 2): join(pairs, window, last) for q in self._workload.heads}
            case "cooling":
                return cooling(self._frames["temp"], window, last)
            case "numbers" if self._workload.measure is not None:
                numbers = in_polars(self._frames["load"], self._workload.measure, window, last)
                return {Signature("q", 2): numbers}
            case _:
                raise ValueError("this workload has no hand-written query")


def some(facts: pl.DataFrame, window: int, last: int) -> pl.DataFrame:
    """`[window] some`: facts live on, and lives that touch are one."""
    return _islands(facts, window + 1).with_columns(pl.col("to").add(window).clip(upper_bound=last))


def always(facts: pl.DataFrame, window: int) -> pl.DataFrame:
    """`[window] always`: the part of a run of time points that has a whole window behind it."""
    full = pl.when(pl.col("from") == 1).then(1).otherwise(pl.col("from") + window)
    return (
        _islands(facts, 1).with_columns(full.alias("from")).filter(pl.col("from") <= pl.col("to"))
    )


def join(facts: pl.DataFrame, window: int, last: int) -> pl.DataFrame:
    """`[window] some p(A,B), [window] some p(B,C)`: where both live."""
    lives = some(facts, window, last).lazy()
    second = lives.rename({"0": "1", "1": "2", "from": "from2", "to": "to2"})
    met = (
        lives.join(second, on="1")
        .select(
            pl.col("0"),
            pl.col("2").alias("1"),
            pl.max_horizontal("from", "from2").alias("from"),
            pl.min_horizontal("to", "to2").alias("to"),
        )
        .filter(pl.col("from") <= pl.col("to"))
        .collect()
    )
    return _coalesced(met)


def cooling(temp: pl.DataFrame, window: int, last: int) -> dict[Signature, pl.DataFrame]:
    """The program of Fig. 4 in 002."""
    value = pl.col("0")
    steam = temp.filter(value >= 100)
    liquid = temp.filter((value >= 1) & (value < 100))
    is_steam = steam.select("t").unique()
    is_liquid = liquid.select("t").unique()
    alarm = always(is_steam, window)
    normal = always(is_liquid, window)
    hot = steam.filter(value >= 150).select("t", pl.col("t").alias("0")).unique()
    cold = liquid.filter(value == 1).select("t", pl.col("t").alias("0")).unique()
    return {
        Signature("steam", 1): some(steam, 0, last),
        Signature("liquid", 1): some(liquid, 0, last),
        Signature("isSteam", 0): some(is_steam, 0, last),
        Signature("isLiquid", 0): some(is_liquid, 0, last),
        Signature("alarm", 0): alarm,
        Signature("normal", 0): normal,
        Signature("freeze", 0): _rest(pl.concat([alarm, normal]), last),
        Signature("veryHot", 1): some(hot, window, last),
        Signature("veryCold", 1): some(cold, window, last),
    }


def _islands(facts: pl.DataFrame, reach: int) -> pl.DataFrame:
    """Facts of one atom that are at most `reach` apart, as one row from the first to the last."""
    keys = [name for name in facts.columns if name != "t"]
    ordered = facts.lazy().sort([*keys, "t"])
    new = pl.col("t") - pl.col("t").shift() > reach
    for key in keys:
        new = new | (pl.col(key) != pl.col(key).shift())
    marked = ordered.with_columns(new.fill_null(value=True).alias("new")).collect()
    begins = marked.filter(pl.col("new"))
    ends = marked.filter(pl.col("new").shift(-1).fill_null(value=True))
    return begins.select([*keys, pl.col("t").alias("from")]).with_columns(ends["t"].alias("to"))


def _coalesced(rows: pl.DataFrame) -> pl.DataFrame:
    """Intervals of one atom that touch or overlap, as one."""
    keys = [name for name in rows.columns if name not in ("from", "to")]
    other = pl.lit(value=False)
    for key in keys:
        other = other | (pl.col(key) != pl.col(key).shift())
    # Every atom gets a stretch of numbers of its own, so that one running maximum serves all.
    offset = other.fill_null(value=True).cum_sum().cast(pl.Int64) * _FAR
    marked = (
        rows.lazy()
        .sort([*keys, "from"])
        .with_columns(offset.alias("offset"))
        .with_columns((pl.col("offset") + pl.col("to")).cum_max().alias("reached"))
        .with_columns(
            (pl.col("offset") + pl.col("from") > pl.col("reached").shift() + 1)
            .fill_null(value=True)
            .alias("new")
        )
        .collect()
    )
    begins = marked.filter(pl.col("new"))
    ends = marked.filter(pl.col("new").shift(-1).fill_null(value=True))
    return begins.select([*keys, "from"]).with_columns(
        (ends["reached"] - ends["offset"]).alias("to")
    )


def _rest(rows: pl.DataFrame, last: int) -> pl.DataFrame:
    """The time points of [1, last] that no interval covers, as intervals."""
    covered = _coalesced(rows).sort("from")
    begins = pl.concat([pl.Series("from", [1]), covered["to"] + 1])
    ends = pl.concat([covered["from"] - 1, pl.Series("to", [last])])
    found = pl.DataFrame({"from": begins, "to": ends})
    return found.filter(pl.col("from") <= pl.col("to"))
