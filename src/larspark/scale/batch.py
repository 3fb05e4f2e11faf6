"""Batch on Spark: facts in DataFrames or Parquet files, answers in a DataFrame, the local ones.

The data are read twice: once to see how much there is, from when to when, and whether all rows are
facts, and once for the answers, which are computed when they are asked for. `persist()` a
DataFrame that is dear to compute or that changes between two readings.
"""

import logging
from collections.abc import Iterable, Mapping
from functools import partial
from typing import NamedTuple

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.reading import OnError
from larspark.language import tree
from larspark.run.protocol import Settings
from larspark.scale import piece_step as step
from larspark.scale import survey
from larspark.scale.collected_answers import read_columns, read_signature, typed_answers
from larspark.scale.dataframe_facts import Given, check_sources, find_file_sources, find_sources
from larspark.scale.exchange import Sources, answers_of, parallelism, session_of
from larspark.scale.failures import problems, telling
from larspark.scale.first_look import survey_of
from larspark.scale.grid import Wish
from larspark.scale.job_plan import Prepared, prepare
from larspark.scale.spark_session import DataFrame
from larspark.scale.staged_batch import answers_in_stages

_LOG = logging.getLogger(__name__)


def run(
    program: str | tree.Program,
    facts: Given,
    *,
    time: str | None = None,
    map: str | None = None,  # noqa: A002 - the same as the option `--map`
    order: str | None = None,
    background: Iterable[Atom | str] = (),
    engine: str = "auto",
    start: int | None = None,
    to: int | None = None,
    hindsight: bool = False,
    until: int | None = None,
    shards: int | None = None,
    slices: int | None = None,
    on_error: OnError = "fail",
) -> DataFrame:
    """The answers over the whole timeline: maximal intervals, with the columns atom, from, to.

    Facts come as one DataFrame with a mapping, `map="ts -> temp(sensor, value)"`; as one DataFrame
    with a column `atom` that holds atoms as text, at the times of the column `time`; or as one
    DataFrame for each predicate, whose other columns are the arguments in their order; or as
    Parquet files with a mapping: a path, a folder, a pattern, or several of these, which executors
    read by themselves. Timestamps become time points by the program's `#tick`.

    Facts of one time point arrive by the column `order`, then as the mappings or DataFrames are
    listed, then by their text; only tuple windows look at that. Rows that are no facts are an
    error, or counted and left out with `on_error="skip"`.

    How many `shards` and `slices` there are is chosen from the data, unless it is said; it never
    changes the answers. Several shards of a program without a key for all rules are shards of its
    stages, which have keys of their own. `start`, `to`, `hindsight` and `until` are those of a
    local run.
    """
    settings = Settings(start, hindsight, until)
    wish = Wish(shards, slices)
    prepared = prepare(program, background, engine, settings, wish, in_stages=True)
    sources = _sources(facts, time, map, order)
    found = run_prepared(prepared, sources, to=to, on_error=on_error)
    if prepared.engine == "interval":
        return found.answers
    # Other engines can find that there is no answer stream, and can have notes.
    return found.answers.dropna().where("`from` <= `to`")


def models(
    program: str | tree.Program,
    facts: Given,
    *,
    time: str | None = None,
    map: str | None = None,  # noqa: A002 - the same as the option `--map`
    order: str | None = None,
    background: Iterable[Atom | str] = (),
    engine: str = "auto",
    start: int | None = None,
    to: int | None = None,
    slices: int | None = None,
    on_error: OnError = "fail",
) -> DataFrame:
    """The outputs of all answer streams at every time point, with the columns t, model, atom.

    Outputs of one time point are numbered from 1 by their sorted texts, each different one once;
    the numbers of different time points have nothing to do with each other. An output without
    atoms has one row without an atom, and a time point without an answer stream has no row. The
    options are those of `run`.
    """
    wish = Wish(1, slices)
    prepared = prepare(program, background, engine, Settings(start), wish, every_model=True)
    sources = _sources(facts, time, map, order)
    return run_prepared(prepared, sources, to=to, on_error=on_error).answers


def _sources(facts: Given, time: str | None, mapping: str | None, order: str | None) -> Sources:
    if isinstance(facts, DataFrame | Mapping):
        return find_sources(facts, time, mapping, order)
    return find_file_sources(facts, time, mapping, order)


class Begun(NamedTuple):
    """Answers to come, with the time that they are for; None when there is no time point."""

    answers: DataFrame
    timeline: tuple[int, int] | None


def run_prepared(
    prepared: Prepared,
    sources: Sources,
    *,
    to: int | None,
    on_error: OnError = "fail",
    heard: Iterable[int] = (),
) -> Begun:
    """The answers, rows without an atom where there is no answer stream, and notes (`with_notes`).

    `heard` are time points that were heard of although nothing happens there.
    """
    check_sources(sources, prepared.tick)
    spark = session_of(sources)
    with problems():
        surveyed = survey_of(spark, sources, prepared)
    seen = survey.combine([row for rows in surveyed for row in rows])
    _refuse(seen, prepared, on_error)
    job = prepared.job(seen.also(heard), to, parallelism(spark))
    if job is None:
        schema = step.SPARK_MODEL_SCHEMA if prepared.every_model else step.SPARK_SCHEMA
        return Begun(spark.createDataFrame([], schema), None)
    stages = prepared.stages(job)
    if stages:
        answers = answers_in_stages(spark, sources, surveyed, stages)
    else:
        answers = answers_of(spark, sources, surveyed, job)
    return Begun(answers, (job.grid.starts[0], job.grid.last))


def outputs(answers: DataFrame, columns: Mapping[str, str]) -> dict[str, DataFrame]:
    """For every predicate its answers, with a typed column for each argument, from and to.

    `columns` names predicates and the columns of their arguments, in their order:
    `{"alarm/2": "sensor string, value double"}`. A type is `long`, `double` or `string`; a
    `double` takes integers too, a `string` takes anything, and an argument that does not fit
    ends the computation with an error that names it. `persist()` the answers when several
    predicates are asked for: each is computed from them.
    """
    wanted = {read_signature(name): read_columns(name, text) for name, text in columns.items()}
    return {
        str(signature): answers.mapInArrow(
            partial(telling(typed_answers), predicate=signature.predicate, columns=named),
            ", ".join([*(f"`{name}` {kind}" for name, kind in named), "`from` long", "`to` long"]),
        )
        for signature, named in wanted.items()
    }


def _refuse(seen: survey.Survey, prepared: Prepared, on_error: OnError) -> None:
    """Raise what is wrong with the facts, or say how many are left out."""
    found = [
        Problem("L401", f"the stream holds atoms of `{signature}`, which the program derives")
        for signature in sorted(seen.signatures & prepared.checked.derived)
    ]
    if seen.skipped and on_error == "fail":
        found += seen.problems
    if found:
        raise LarsparkError(found)
    if seen.skipped:
        reasons = "; ".join(problem.message for problem in seen.problems)
        _LOG.warning("facts left out: %d (%s)", seen.skipped, reasons)


def points(answers: DataFrame) -> DataFrame:
    """A row for every time point of every interval: the column `t` instead of `from` and `to`.

    Works on all answers and on the typed ones of a predicate.
    """
    others = [f"`{name}`" for name in answers.columns if name not in ("from", "to")]
    return answers.selectExpr(*others, "explode(sequence(`from`, `to`)) as t")
