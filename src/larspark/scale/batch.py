"""Batch on Spark: DataFrames of facts in, a DataFrame of answers out, exactly the local answers.

The data are read twice: once to see how much there is, from when to when, and whether all rows are
facts, and once for the answers, which are computed when they are asked for. `persist()` a
DataFrame that is dear to compute or that changes between two readings.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import TypeAlias

from larspark.base.atoms import Atom, Signature, atom_text
from larspark.base.problems import LarsparkError, Problem, Severity
from larspark.feeds import parse_ground_atom, read_background
from larspark.feeds.reading import OnError
from larspark.language import parse_program, program_text, tree
from larspark.meaning.check import check
from larspark.meaning.checked import Checked
from larspark.run.engines import choose
from larspark.run.protocol import Settings
from larspark.run.session import Session
from larspark.scale import pack, step, survey
from larspark.scale.cuts import Cuts, counts_tuples, find_cuts, own_windows
from larspark.scale.facts import Shape
from larspark.scale.grid import Grid, choose_shards, choose_slices, slice_starts, wanted_pieces
from larspark.scale.job import Job
from larspark.scale.shapes import Source, find_sources
from larspark.scale.sql import DataFrame, PySparkException, SparkSession, Window, functions

AnyProgram: TypeAlias = str | tree.Program

log = logging.getLogger(__name__)


def run(
    program: AnyProgram,
    facts: DataFrame | Mapping[str, DataFrame],
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
    DataFrame for each predicate, whose other columns are the arguments in their order. Timestamps
    become time points by the program's `#tick`.

    Facts of one time point arrive by the column `order`, then as the mappings or DataFrames are
    listed, then by their text; only tuple windows look at that. Rows that are no facts are an
    error, or counted and left out with `on_error="skip"`.

    How many `shards` and `slices` there are is chosen from the data, unless it is said; it never
    changes the answers. `start`, `to`, `hindsight` and `until` are those of a local run.
    """
    syntax = _parsed(program)
    atoms = _background(background, syntax)
    settings = Settings(start, hindsight, until)
    checked = _checked(syntax, atoms, settings)
    cuts = _cuts_for(find_cuts(checked), hindsight, shards, slices)
    engine = choose(checked, settings).name if engine == "auto" else engine
    # Whatever the engine refuses, it refuses here and not on an executor.
    Session(checked, atoms, engine, settings)

    sources = find_sources(facts, time, map, order)
    tick = None if syntax.tick is None else syntax.tick.microseconds
    for source in sources:
        source.check(tick)
    spark = sources[0].frame.sparkSession
    seen = _survey(sources, tick, cuts)
    _refuse(seen, checked, on_error)

    own = [element.t for element in checked.elements]
    first = min((t for t in (seen.first, *own) if t is not None), default=None)
    first = first if start is None else start
    heard = seen.last if start is not None or not own else max([t for t in (seen.last, *own) if t is not None])
    last = to if to is not None else max((t for t in (seen.last, *own) if t is not None), default=None)
    if first is None or last is None or last < first:
        return spark.createDataFrame([], step.SPARK_SCHEMA)
    grid = _grid(cuts, seen, first, last, _parallelism(spark), shards, slices)
    job = Job(
        program=program_text(syntax),
        background=tuple(sorted(map(atom_text, atoms))),
        engine=engine,
        hindsight=hindsight,
        until=until,
        end=seen.last if seen.last is not None else last,
        tick=tick,
        grid=grid,
        key=tuple((*signature, place) for signature, place in (cuts.key or {}).items()),
        everywhere=tuple(sorted(map(tuple, checked.background_signatures))),
        counts_tuples=counts_tuples(checked),
    )
    return _answers(spark, sources, job)
