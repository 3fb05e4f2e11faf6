"""Answers as tables: typed columns for each predicate, or one row for each time point."""

from collections.abc import Mapping
from functools import partial

from larspark.feeds.answer_columns import read_columns, read_signature, typed_answers
from larspark.scale.problem_transport import reports_problems
from larspark.scale.spark_session import DataFrame


def outputs(answers: DataFrame, columns: Mapping[str, str]) -> dict[str, DataFrame]:
    """For each predicate a DataFrame with a typed column for each argument, then from and to.

    `columns` maps predicates to the columns of their arguments, in order:
    `{"alarm/2": "sensor string, value double"}`. A type is `long`, `double` or `string`. A
    `double` also accepts integers, a `string` accepts anything, and an argument of another type
    fails the query with an error that names it. `persist()` the answers when several predicates
    are requested: each DataFrame is computed from them.
    """
    requested = {read_signature(name): read_columns(name, text) for name, text in columns.items()}
    return {
        str(signature): answers.mapInArrow(
            partial(reports_problems(typed_answers), predicate=signature.predicate, columns=named),
            ", ".join([*(f"`{name}` {kind}" for name, kind in named), "`from` long", "`to` long"]),
        )
        for signature, named in requested.items()
    }


def points(answers: DataFrame) -> DataFrame:
    """One row for each time point of each interval: a column `t` instead of `from` and `to`.

    Accepts all answers, and the typed answers of one predicate.
    """
    others = [f"`{name}`" for name in answers.columns if name not in ("from", "to")]
    return answers.selectExpr(*others, "explode(sequence(`from`, `to`)) as t")
