"""A workload: a program, a stream, and who can answer it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol, TypeAlias

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Severity
from larspark.bench.checksums import Answer
from larspark.bench.generated_streams import Facts
from larspark.language import parse_program

# The workloads for which queries and encodings were written by hand.
ByHand: TypeAlias = Literal["diamond", "box", "join", "cooling"]


@dataclass(frozen=True, slots=True)
class Workload:
    """A program over a generated stream, with the numbers that vary."""

    program: str
    facts: Facts
    window: int
    # Facts at every time point.
    rate: int
    by_hand: ByHand | None = None
    # The heads of rules that have the same body.
    heads: tuple[str, ...] = ("q",)
    # So many time points pass before the clock runs; without a word, until the window has filled.
    settling: int | None = None

    def checked(self) -> Checked:
        return checked_program(self.program)


def checked_program(text: str, background: Iterable[Atom] = ()) -> Checked:
    """The program of a benchmark, ready for an engine."""
    parsed = parse_program(text)
    if parsed.program is None:
        raise LarsparkError(parsed.problems)
    checked = check(parsed.program, {atom.signature for atom in background})
    errors = [problem for problem in checked.problems if problem.severity is Severity.ERROR]
    if errors:
        raise LarsparkError(errors)
    return checked


class Run(NamedTuple):
    """One timed run: how long it took for how much, and how many intervals came out."""

    seconds: float
    cpu_seconds: float
    facts: int
    time_points: int
    intervals: int
    # The memory of the state at the end, where that is known.
    bytes: int | None = None
    # Other numbers that are known, by name.
    more: Mapping[str, int | float] = MappingProxyType({})


class Contestant(Protocol):
    """Someone who answers a workload; the facts are there in the form it likes best."""

    name: str

    @property
    def times(self) -> tuple[int, ...] | None:
        """The time points that are answered; None: all of them."""

    def answer(self) -> Answer:
        """The answer, to be compared with that of others."""

    def run(self) -> Run:
        """Answer once more, by the clock."""
