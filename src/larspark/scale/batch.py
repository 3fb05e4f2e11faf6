"""Batch on Spark: facts in DataFrames or Parquet files in, the answers of a local run out.

The data is read twice: once for a survey (number of facts, time span, rows that are not facts), and
once for the answers, which Spark computes lazily. `persist()` a DataFrame that is expensive to
compute or that changes between two reads.
"""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.reading import OnError
from larspark.language import tree
from larspark.run.protocol import Settings
from larspark.scale import piece_step as step
from larspark.scale.dataframe_facts import FactInput, check_sources, find_file_sources, find_sources
from larspark.scale.exchange import Sources, answer_pieces, parallelism, session_of
from larspark.scale.first_look import survey_of
from larspark.scale.grid import RequestedCuts
from larspark.scale.job import Prepared, prepare
from larspark.scale.plain_scans import as_files
from larspark.scale.problem_transport import problems
from larspark.scale.spark_session import DataFrame, active_session, is_remote
from larspark.scale.staged_batch import answers_in_stages
from larspark.scale.survey import Survey, combine_surveys
from larspark.scale.travel import prepare_executors

_LOG = logging.getLogger(__name__)


def run(
    program: str | tree.Program,
    facts: FactInput,
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

    Facts are one of:

    - one DataFrame with a mapping, `map="ts -> temp(sensor, value)"`;
    - one DataFrame with atoms as text in a column `atom`, and their times in the column `time`;
    - one DataFrame for each predicate, whose other columns are the arguments, in order;
    - Parquet files with a mapping: a path, a folder, a pattern, or several of these, which
      executors read themselves.

    Timestamps are converted to time points by the program's `#tick`. Facts of one time point arrive
    in the order of the column `order`, then of the mappings or DataFrames, then of their text; only
    tuple windows depend on this order. Rows that are not facts are an error; with
    `on_error="skip"` they are counted and left out.

    The numbers of `shards` and `slices` are chosen from the data unless given; they never change
    the answers. If no key fits all rules, several shards are shards of the program's stages, which
    have keys of their own. `start`, `to`, `hindsight` and `until` are those of a local run.
    """
    settings = Settings(start, hindsight, until)
    requested = RequestedCuts(shards, slices)
    prepared = prepare(program, background, engine, settings, requested, in_stages=True)
    sources = _sources(facts, time, map, order)
    pending = run_prepared(prepared, sources, to=to, on_error=on_error)
    if not prepared.engine.several_models:
        return pending.answers
    # Such engines also give rows for time points without an answer stream, and notes.
    return pending.answers.dropna().where("`from` <= `to`")


def models(
    program: str | tree.Program,
    facts: FactInput,
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

    The distinct outputs of a time point are numbered from 1 in the order of their sorted texts; the
    numbers of different time points are unrelated. An output without atoms has one row without an
    atom, and a time point without an answer stream has no row. The options are those of `run`.
    """
    requested = RequestedCuts(1, slices)
    prepared = prepare(program, background, engine, Settings(start), requested, every_model=True)
    sources = _sources(facts, time, map, order)
    return run_prepared(prepared, sources, to=to, on_error=on_error).answers


def _sources(facts: FactInput, time: str | None, mapping: str | None, order: str | None) -> Sources:
    if isinstance(facts, DataFrame | Mapping):
        return tuple(map(as_files, find_sources(facts, time, mapping, order)))
    remote = active_session()
    if remote is not None and is_remote(remote):
        # The files lie where the server is, so it reads them.
        places = [facts] if isinstance(facts, str | Path) else facts
        return find_sources(remote.read.parquet(*map(str, places)), time, mapping, order)
    return find_file_sources(facts, time, mapping, order)


class PendingAnswers(NamedTuple):
    """Answers that Spark computes lazily, with their timeline; None when there is no time point."""

    answers: DataFrame
    timeline: tuple[int, int] | None


def run_prepared(
    prepared: Prepared,
    sources: Sources,
    *,
    to: int | None,
    on_error: OnError = "fail",
    announced: Iterable[int] = (),
) -> PendingAnswers:
    """The answers, rows without an atom where there is no answer stream, and notes (`with_notes`).

    `announced` are time points that extend the timeline although they have no facts.
    """
    check_sources(sources, prepared.tick)
    spark = session_of(sources)
    prepare_executors(spark)
    with problems():
        surveyed = survey_of(spark, sources, prepared)
    survey = combine_surveys([row for rows in surveyed for row in rows])
    _refuse(survey, prepared, on_error)
    job = prepared.job(survey.including(announced), to, parallelism(spark))
    if job is None:
        schema = step.SPARK_MODEL_SCHEMA if prepared.every_model else step.SPARK_SCHEMA
        return PendingAnswers(spark.createDataFrame([], schema), None)
    stages = prepared.stages(job)
    if stages:
        answers = answers_in_stages(spark, sources, surveyed, stages)
    else:
        answers = answer_pieces(spark, sources, surveyed, job)
    return PendingAnswers(answers, (job.grid.starts[0], job.grid.last))


def _refuse(survey: Survey, prepared: Prepared, on_error: OnError) -> None:
    """Raise the problems of the facts, or log how many rows are left out."""
    found = [
        Problem("L401", f"the stream holds atoms of `{signature}`, which the program derives")
        for signature in sorted(survey.signatures & prepared.checked.derived)
    ]
    if survey.skipped and on_error == "fail":
        found += survey.problems
    if found:
        raise LarsparkError(found)
    if survey.skipped:
        reasons = "; ".join(problem.message for problem in survey.problems)
        _LOG.warning("rows left out because they are not facts: %d (%s)", survey.skipped, reasons)
