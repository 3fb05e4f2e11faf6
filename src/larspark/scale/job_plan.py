"""A run before it meets Spark: the program checked, and the job that follows from the data."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.analysis.partition import Key
from larspark.base.atoms import Atom, atom_text
from larspark.base.problems import LarsparkError, Problem, Severity
from larspark.feeds import parse_ground_atom, read_background
from larspark.language import parse_program, program_text, tree
from larspark.run.protocol import Settings
from larspark.run.registry import choose
from larspark.run.session import Session
from larspark.scale.cuts import Cuts, counts_tuples, find_cuts, own_windows
from larspark.scale.grid import Grid, Wish, allowed_cuts, lay_out
from larspark.scale.job import Job
from larspark.scale.survey import Survey


@dataclass(frozen=True, slots=True)
class Prepared:
    """A program that can run, with its background data and the cuts that it may use."""

    checked: Checked
    background: frozenset[Atom]
    engine: str
    settings: Settings
    cuts: Cuts
    wish: Wish
    every_model: bool = False

    @property
    def tick(self) -> int | None:
        tick = self.checked.program.tick
        return None if tick is None else tick.microseconds

    def job(self, seen: Survey, to: int | None, parallelism: int) -> Job | None:
        """The job for data like these; None when there is no time point to answer."""
        timeline = self._timeline(seen, to)
        if timeline is None:
            return None
        first, last = timeline
        grid = lay_out(self.cuts, self.wish, seen, first, last, parallelism)
        return self.job_on(grid, end=last if seen.last is None else seen.last)

    def stages(self, job: Job) -> list[Job]:
        """The stages of a job, each a job of its own; none when all of it is done at once."""
        if self.cuts.key is not None or job.grid.shards == 1:
            return []
        found = []
        for number, stage in enumerate(self.cuts.stages):
            shards = 1 if stage.key is None else job.grid.shards
            found.append(
                replace(
                    job,
                    grid=replace(job.grid, shards=shards),
                    key=_listed(stage.key),
                    stage=number,
                    stage_shards=job.grid.shards,
                )
            )
        return found

    @property
    def first_key(self) -> Key:
        """By what the facts are spread at first."""
        keys = (self.cuts.key, *(stage.key for stage in self.cuts.stages))
        return next(filter(None, keys), {})

    def job_on(self, grid: Grid, end: int) -> Job:
        """The job on a grid that was laid out already."""
        return Job(
            program=program_text(self.checked.program),
            background=tuple(sorted(map(atom_text, self.background))),
            engine=self.engine,
            hindsight=self.settings.hindsight,
            until=self.settings.until,
            end=end,
            tick=self.tick,
            grid=grid,
            key=_listed(self.cuts.key),
            everywhere=tuple((p, n) for p, n in sorted(self.checked.background_signatures)),
            counts_tuples=counts_tuples(self.checked),
            every_model=self.every_model,
        )

    def _timeline(self, seen: Survey, to: int | None) -> tuple[int, int] | None:
        """The first and the last time point to answer, by the data unless they are given."""
        times = [element.t for element in self.checked.elements]
        # The end that is given is a time point that was heard of, as in a local run.
        times += [t for t in (seen.first, seen.last, to) if t is not None]
        first = min(times, default=None) if self.settings.start is None else self.settings.start
        last = max(times, default=None) if to is None else to
        return None if first is None or last is None or last < first else (first, last)


def prepare(
    program: str | tree.Program,
    background: Iterable[Atom | str],
    engine: str,
    settings: Settings,
    wish: Wish,
    every_model: bool = False,
    in_stages: bool = False,
) -> Prepared:
    """Everything that can be said about a run without its facts, or all that is wrong with it.

    `in_stages` says whether the run could be done in stages.
    """
    syntax = _parsed(program)
    atoms = _background(background, syntax)
    checked = _checked(syntax, atoms, settings)
    # Executors must not choose: they may have other packages.
    engine = choose(checked, settings).name if engine == "auto" else engine
    cuts = find_cuts(checked, every_model)
    if not in_stages or engine != "interval":
        cuts = replace(cuts, stages=())
    cuts = allowed_cuts(cuts, settings.hindsight, wish)
    # What the engine refuses, it refuses here and not on an executor.
    Session(checked, atoms, engine, settings)
    return Prepared(checked, atoms, engine, settings, cuts, wish, every_model)


def _listed(key: Key | None) -> tuple[tuple[str, int, int], ...]:
    return tuple((*predicate, place) for predicate, place in (key or {}).items())


def _parsed(program: str | tree.Program) -> tree.Program:
    if isinstance(program, tree.Program):
        return program
    parsed = parse_program(program)
    if parsed.program is None:
        raise LarsparkError(parsed.problems)
    return parsed.program


def _background(given: Iterable[Atom | str], syntax: tree.Program) -> frozenset[Atom]:
    """All background data, read here: executors need no files."""
    atoms = {parse_ground_atom(atom) if isinstance(atom, str) else atom for atom in given}
    for source in syntax.backgrounds:
        atoms.update(read_background(source.path, source.signature))
    return frozenset(atoms)


def _checked(syntax: tree.Program, atoms: frozenset[Atom], settings: Settings) -> Checked:
    signatures = {atom.signature for atom in atoms}
    checked = check(syntax, signatures, ends=settings.until is not None)
    errors = [problem for problem in checked.problems if problem.severity is Severity.ERROR]
    for name in own_windows(checked):
        message = f"the window `{name}` is known to this process only"
        errors.append(Problem("L486", message, hint="run this program locally"))
    if errors:
        raise LarsparkError(errors)
    return checked
