"""Jobs: a run as plain data, prepared on the driver, sent to executors as JSON, loaded there.

A job holds the program as text and all settings of the run. No engine state is sent: each process
parses and checks the program once and caches it.
"""

import json
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, replace
from functools import lru_cache

from larspark.analysis.checked import Checked
from larspark.analysis.partition import Key
from larspark.analysis.stages import Stage, find_stages, kept_apart, restricted
from larspark.base.atoms import Atom, Signature, atom_text
from larspark.base.problems import LarsparkError, Problem
from larspark.language import program_text, tree
from larspark.language.tree import Rule
from larspark.logic.traversal import witnesses
from larspark.run.prepare import prepare as prepare_program
from larspark.run.protocol import EngineKind, Settings
from larspark.run.session import Session
from larspark.scale.buckets import bucket
from larspark.scale.cuts import Cuts, counts_tuples, find_cuts, own_windows
from larspark.scale.grid import Grid, RequestedCuts, allowed_cuts, choose_grid
from larspark.scale.survey import Survey


@dataclass(frozen=True, slots=True)
class Job:
    """A run as plain data.

    `end` is the last time point of the stream, needed for hindsight. `key` lists predicate, arity
    and the position of the key argument; `everywhere` lists the predicates of background data,
    whose facts go to all shards.
    """

    program: str
    background: tuple[str, ...]
    engine: str
    hindsight: bool
    until: int | None
    end: int
    tick: int | None
    grid: Grid
    key: tuple[tuple[str, int, int], ...]
    everywhere: tuple[tuple[str, int], ...]
    counts_tuples: bool
    # Whether all answer streams are requested, not only one.
    every_model: bool = False
    # The number of the stage, if the job is one, and the number of shards of keyed stages.
    stage: int | None = None
    stage_shards: int = 1

    def text(self) -> str:
        """The job as JSON."""
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A job with its program parsed and checked."""

    job: Job
    checked: Checked
    background: frozenset[Atom]
    key: Key
    everywhere: frozenset[Signature]
    # Whether a shard can derive answers for keys of other shards.
    must_filter_answers: bool
    # If the job is a stage: all stages of the program, and the predicates of which a shard derives
    # only its own atoms.
    stages: tuple[Stage, ...] = ()
    shard_local: frozenset[Signature] = frozenset()
    # What the whole program derives.
    all_derived: frozenset[Signature] = frozenset()

    @property
    def exported(self) -> frozenset[Signature]:
        """If the job is a stage: what it derives that later stages read."""
        number = self.job.stage or 0
        later = (other.exchanged for other in self.stages[number + 1 :])
        return frozenset[Signature]().union(*later) & self.stages[number].derives

    def reads(self, signature: Signature) -> bool:
        """Can the job need facts of a predicate? Without stages it is sent all facts."""
        if self.job.stage is None:
            return True
        return not self.is_merge and _can_need(self.stages[self.job.stage], signature, self)

    def reads_first(self, signature: Signature) -> bool:
        """Does no earlier stage read facts of a predicate?"""
        earlier = self.stages[: self.job.stage or 0]
        return not any(_can_need(stage, signature, self) for stage in earlier)

    @property
    def is_merge(self) -> bool:
        """Is this what comes behind the last stage: answers that shards derive in parts?"""
        return self.job.stage is not None and self.job.stage == len(self.stages)

    def session(self, start: int) -> Session:
        """A session of the program with a timeline that starts at `start`."""
        settings = Settings(start, self.job.hindsight, self.job.until)
        return Session(self.checked, self.background, self.job.engine, settings)

    def owner(self, atom: Atom) -> int:
        """The shard that owns an atom; the first shard owns all atoms without a key."""
        place = self.key.get(atom.signature)
        return 0 if place is None else bucket(atom.args[place]) % self.job.grid.shards


@lru_cache(maxsize=16)
def load(text: str) -> Loaded:
    """Load a job from JSON; cached, so that a process checks the program once."""
    data = json.loads(text)
    grid = data.pop("grid")
    job = Job(
        grid=Grid(**{**grid, "starts": tuple(grid["starts"])}),
        background=tuple(data.pop("background")),
        key=tuple((name, arity, place) for name, arity, place in data.pop("key")),
        everywhere=tuple((name, arity) for name, arity in data.pop("everywhere")),
        **data,
    )
    settings = Settings(until=job.until)
    checked, atoms = prepare_program(job.program, job.background, settings, read_files=False)
    all_derived = checked.derived
    stages: tuple[Stage, ...] = ()
    shard_local: frozenset[Signature] = frozenset()
    if job.stage is not None:
        stages = find_stages(checked)
        if job.stage < len(stages):
            shard_local = kept_apart(checked, stages[job.stage])
            checked = restricted(checked, stages[job.stage])
    key = {Signature(name, arity): place for name, arity, place in job.key}
    # Background data is in all shards, even for predicates that also occur in the stream.
    local = key.keys() - checked.background_signatures
    return Loaded(
        job,
        checked,
        atoms,
        key,
        frozenset(Signature(name, arity) for name, arity in job.everywhere),
        must_filter_answers=bool(checked.elements)
        or not all(_needs_facts(r, local) for r in checked.rules),
        stages=stages,
        shard_local=shard_local,
        all_derived=all_derived,
    )


def _can_need(stage: Stage, signature: Signature, loaded: Loaded) -> bool:
    return stage.inputs is None or signature in stage.inputs or signature in loaded.everywhere


def _needs_facts(rule: Rule, local: AbstractSet[Signature]) -> bool:
    """Does a rule fire only in the shard that has facts of its key?

    >>> from larspark.language import parse_program
    >>> program = parse_program("p(X) :- k(X), not [5] some a(X). q(X) :- [5] some a(X).").program
    >>> [_needs_facts(rule, {Signature("a", 1)}) for rule in program.rules]
    [False, True]
    """
    return any(not witnesses(formula).isdisjoint(local) for formula in rule.body)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked program with its background data, settings, and the cuts that it may use."""

    checked: Checked
    background: frozenset[Atom]
    engine: EngineKind
    settings: Settings
    cuts: Cuts
    requested: RequestedCuts
    every_model: bool = False

    @property
    def tick(self) -> int | None:
        tick = self.checked.program.tick
        return None if tick is None else tick.microseconds

    def job(self, survey: Survey, to: int | None, parallelism: int) -> Job | None:
        """The job for surveyed data; None when there is no time point to answer."""
        timeline = self._timeline(survey, to)
        if timeline is None:
            return None
        first, last = timeline
        grid = choose_grid(self.cuts, self.requested, survey, first, last, parallelism)
        return self.job_on(grid, end=last if survey.last is None else survey.last)

    def stages(self, job: Job) -> list[Job]:
        """The stages of a job, each a job of its own; empty when the job is not run in stages."""
        if self.cuts.key is not None or job.grid.shards == 1:
            return []
        found = []
        for number, stage in enumerate(self.cuts.stages):
            shards = 1 if stage.key is None else job.grid.shards
            found.append(
                replace(
                    job,
                    grid=replace(job.grid, shards=shards),
                    key=_key_list(stage.key),
                    stage=number,
                    stage_shards=job.grid.shards,
                )
            )
        return found

    def stages_of_stream(self, job: Job) -> list[Job]:
        """The stages of a stream's job: the job itself, if it is not run in stages.

        What shards derive in parts is merged behind the last stage, as far as it is shown.
        """
        found = self.stages(job)
        shown = self.checked.shown
        if found and any(stage.parts & shown for stage in self.cuts.stages):
            found.append(replace(job, stage=len(found), stage_shards=job.grid.shards))
        return found or [job]

    @property
    def first_key(self) -> Key:
        """The key of the first stage that has one: it partitions the facts."""
        keys = (self.cuts.key, *(stage.key for stage in self.cuts.stages))
        return next(filter(None, keys), {})

    def job_on(self, grid: Grid, end: int) -> Job:
        """The job on a given grid."""
        return Job(
            program=program_text(self.checked.program),
            background=tuple(sorted(map(atom_text, self.background))),
            engine=self.engine.name,
            hindsight=self.settings.hindsight,
            until=self.settings.until,
            end=end,
            tick=self.tick,
            grid=grid,
            key=_key_list(self.cuts.key),
            everywhere=tuple((p, n) for p, n in sorted(self.checked.background_signatures)),
            counts_tuples=counts_tuples(self.checked),
            every_model=self.every_model,
        )

    def _timeline(self, survey: Survey, to: int | None) -> tuple[int, int] | None:
        """The first and the last time point to answer, from the data unless given."""
        times = [element.t for element in self.checked.elements]
        # A given end extends the timeline, as in a local run.
        times += [t for t in (survey.first, survey.last, to) if t is not None]
        first = min(times, default=None) if self.settings.start is None else self.settings.start
        last = max(times, default=None) if to is None else to
        return None if first is None or last is None or last < first else (first, last)


def prepare(
    program: str | tree.Program,
    background: Iterable[Atom | str],
    engine: str,
    settings: Settings,
    requested: RequestedCuts,
    every_model: bool = False,
    in_stages: bool = False,
) -> Prepared:
    """Prepare a run before its facts are known; all problems are raised at once.

    `in_stages` allows the run to be done in stages.
    """
    checked, atoms = prepare_program(program, background, settings)
    _refuse_own_windows(checked)
    # An engine that does not support the program raises here, not on an executor. It is chosen on
    # the driver, because executors may have other packages installed.
    kind = Session(checked, atoms, engine, settings).kind
    cuts = find_cuts(checked, every_model)
    if not in_stages or not kind.stages:
        cuts = replace(cuts, stages=())
    cuts = allowed_cuts(cuts, settings.hindsight, requested)
    return Prepared(checked, atoms, kind, settings, cuts, requested, every_model)


def _key_list(key: Key | None) -> tuple[tuple[str, int, int], ...]:
    return tuple((*predicate, place) for predicate, place in (key or {}).items())


def _refuse_own_windows(checked: Checked) -> None:
    problems = []
    for name in own_windows(checked):
        message = f"the window `{name}` is registered in this process only"
        problems.append(Problem("L486", message, hint="run this program locally"))
    if problems:
        raise LarsparkError(problems)
