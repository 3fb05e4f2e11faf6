"""What executors are told: the program as text and everything a run was set to, as JSON.

Nothing that an engine made travels. Each process reads and checks the program once and keeps it.
"""

import json
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from functools import lru_cache

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.analysis.partition import Key
from larspark.analysis.stages import Stage, find_stages, kept_apart, restricted
from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError
from larspark.feeds import parse_ground_atom
from larspark.language import parse_program
from larspark.language.tree import Rule
from larspark.logic.traversal import witnesses
from larspark.run.protocol import Settings
from larspark.run.session import Session
from larspark.scale.buckets import bucket
from larspark.scale.grid import Grid


@dataclass(frozen=True, slots=True)
class Job:
    """A run, in plain data.

    `end` is the last time point of the stream, which hindsight looks up to. `key` lists predicate,
    arity and the place of the key; `everywhere` lists the predicates of background data, whose
    facts all shards see.
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
    # Are all answer streams asked for, and not only one?
    every_model: bool = False
    # The number of the stage that the job is, and the shards of stages that have a key.
    stage: int | None = None
    stage_shards: int = 1

    def text(self) -> str:
        """The job as it travels."""
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A job at its destination."""

    job: Job
    checked: Checked
    background: frozenset[Atom]
    key: Key
    everywhere: frozenset[Signature]
    # Can a shard give answers for keys of other shards?
    strays: bool
    # When the job is a stage: all stages of the program, and the predicates of which a shard has
    # only what is its own.
    stages: tuple[Stage, ...] = ()
    apart: frozenset[Signature] = frozenset()

    def session(self, start: int) -> Session:
        """A session of the program whose timeline starts here."""
        settings = Settings(start, self.job.hindsight, self.job.until)
        return Session(self.checked, self.background, self.job.engine, settings)

    def owner(self, atom: Atom) -> int:
        """The shard that an atom belongs to; the first has all that have no key."""
        place = self.key.get(atom.signature)
        return 0 if place is None else bucket(atom.args[place]) % self.job.grid.shards


@lru_cache(maxsize=16)
def load(text: str) -> Loaded:
    """Read a job; the program is checked once per process."""
    data = json.loads(text)
    grid = data.pop("grid")
    job = Job(
        grid=Grid(**{**grid, "starts": tuple(grid["starts"])}),
        background=tuple(data.pop("background")),
        key=tuple((name, arity, place) for name, arity, place in data.pop("key")),
        everywhere=tuple((name, arity) for name, arity in data.pop("everywhere")),
        **data,
    )
    parsed = parse_program(job.program)
    if parsed.program is None:
        raise LarsparkError(parsed.problems)
    atoms = frozenset(map(parse_ground_atom, job.background))
    signatures = {atom.signature for atom in atoms}
    checked = check(parsed.program, signatures, ends=job.until is not None)
    stages: tuple[Stage, ...] = ()
    apart: frozenset[Signature] = frozenset()
    if job.stage is not None:
        stages = find_stages(checked)
        apart = kept_apart(checked, stages[job.stage])
        checked = restricted(checked, stages[job.stage])
    key = {Signature(name, arity): place for name, arity, place in job.key}
    # Background data is in all shards, also of predicates that the stream has, too.
    local = key.keys() - checked.background_signatures
    return Loaded(
        job,
        checked,
        atoms,
        key,
        frozenset(Signature(name, arity) for name, arity in job.everywhere),
        strays=bool(checked.elements) or not all(_needs_facts(r, local) for r in checked.rules),
        stages=stages,
        apart=apart,
    )


def _needs_facts(rule: Rule, local: AbstractSet[Signature]) -> bool:
    """Does a rule fire only where facts of its key are?

    >>> from larspark.language import parse_program
    >>> program = parse_program("p(X) :- k(X), not [5] some a(X). q(X) :- [5] some a(X).").program
    >>> [_needs_facts(rule, {Signature("a", 1)}) for rule in program.rules]
    [False, True]
    """
    return any(not witnesses(formula).isdisjoint(local) for formula in rule.body)
