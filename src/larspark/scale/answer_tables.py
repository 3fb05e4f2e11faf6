"""Answers as tables: typed columns for each predicate, or one row for each time point."""

from collections.abc import Mapping
from functools import partial

from larspark.base.durations import MICROSECONDS
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.answer_columns import read_columns, read_signature, typed_answers
from larspark.language import tree
from larspark.run.prepare import parsed
from larspark.scale.problem_transport import reports_problems
from larspark.scale.spark_session import DataFrame


def outputs(
    answers: DataFrame, columns: Mapping[str, str], program: str | tree.Program | None = None
) -> dict[str, DataFrame]:
    """For each predicate a DataFrame with a typed column for each argument, then from and to.

    With the `program`, whose `#tick` says how long a time point is, these are followed by the
    timestamps `begins` and `ends` (exclusive) and by the `day` of the begin.

    `columns` maps predicates to the columns of their arguments, in order:
    `{"alarm/2": "sensor string, value double"}`. A type is `long`, `double` or `string`. A
    `double` also accepts integers, a `string` accepts anything, and an argument of another type
    fails the query with an error that names it. `persist()` the answers when several predicates
    are requested: each DataFrame is computed from them.
    """
    requested = {read_signature(name): read_columns(name, text) for name, text in columns.items()}
    times = [] if program is None else _times(tick_of(program))
    return {
        str(signature): answers.mapInArrow(
            partial(reports_problems(typed_answers), predicate=signature.predicate, columns=named),
            ", ".join([*(f"`{name}` {kind}" for name, kind in named), "`from` long", "`to` long"]),
        ).selectExpr("*", *times)
        for signature, named in requested.items()
    }


def _times(tick: int) -> list[str]:
    begins, ends = f"timestamp_micros(`from` * {tick})", f"timestamp_micros((`to` + 1) * {tick})"
    # Days of UTC, whatever the time zone of the session.
    day = f"date_from_unix_date(int(`from` * {tick} div {MICROSECONDS['d']}))"
    return [f"{begins} as begins", f"{ends} as ends", f"{day} as day"]


def tick_of(program: str | tree.Program) -> int:
    """The length of a program's time points, in microseconds."""
    tick = parsed(program).tick
    if tick is None:
        message = "the program has no `#tick`, so its answers have no timestamps"
        raise LarsparkError(Problem("L485", message, hint="write one, such as `#tick 1 min.`"))
    return tick.microseconds


def points(answers: DataFrame) -> DataFrame:
    """One row for each time point of each interval: a column `t` instead of `from` and `to`.

    Accepts all answers, and the typed answers of one predicate.
    """
    others = [f"`{name}`" for name in answers.columns if name not in ("from", "to")]
    return answers.selectExpr(*others, "explode(sequence(`from`, `to`)) as t")
