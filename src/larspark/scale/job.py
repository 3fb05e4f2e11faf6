"""What executors are told: the program as text and everything a run was set to, as JSON.

Nothing that an engine made travels. Each process reads and checks the program once and keeps it.
"""

import json
from dataclasses import asdict, dataclass
from functools import lru_cache

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError
from larspark.feeds import parse_ground_atom
from larspark.language import parse_program
from larspark.language.tree import (
    Always,
    At,
    AtomFormula,
    Formula,
    Reset,
    Rule,
    Some,
    Windowed,
)
from larspark.meaning.check import check
from larspark.meaning.checked import Checked
from larspark.meaning.partition import Key
from larspark.run.protocol import Settings
from larspark.run.session import Session
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

    def session(self, start: int) -> Session:
        """A session of the program whose timeline starts here."""
        settings = Settings(start, self.job.hindsight, self.job.until)
        return Session(self.checked, self.background, self.job.engine, settings)


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
    key = {Signature(name, arity): place for name, arity, place in job.key}
    return Loaded(
        job,
        checked,
        atoms,
        key,
        frozenset(Signature(name, arity) for name, arity in job.everywhere),
        strays=bool(checked.elements) or not all(_needs_facts(r, key) for r in checked.rules),
    )


def _needs_facts(rule: Rule, key: Key) -> bool:
    """Does a rule fire only where facts of its key are?

    >>> from larspark.language import parse_program
    >>> program = parse_program("p(X) :- k(X), not [5] some a(X). q(X) :- [5] some a(X).").program
    >>> [_needs_facts(rule, {Signature("a", 1): 0}) for rule in program.rules]
    [False, True]
    """
    return any(_signature(formula) in key for formula in rule.body)


def _signature(formula: Formula) -> Signature | None:
    """The predicate of a formula that holds only where some atom of this predicate is."""
    match formula:
        case AtomFormula(atom):
            return atom.signature
        case Windowed(_, body) | Some(body) | Always(body) | At(_, body) | Reset(body):
            return _signature(body)
        case _:
            return None
