"""The workloads of Laser (002), with its streams."""

from collections.abc import Callable, Iterator

from larspark.bench.contest import (
    CLINGO,
    DUCKDB,
    EVERYONE,
    INTERVAL,
    POLARS,
    WHOLE,
    Entrant,
    Measurement,
    Tell,
    contest,
)
from larspark.bench.streams import chain, readings, thirds, unique_pairs
from larspark.bench.workload import Workload

RATES = (200, 400, 800, 1000)
WINDOWS = (1, 20, 40, 80, 100)
QUICK_RATES = (800,)
QUICK_WINDOWS = (1, 80)
# How often a rule is repeated under another head.
COPIES = (1, 10, 100)

# At least so many time points, and as many again as the window has.
_TIME_POINTS = 200

_COOLING = """
@T steam(V)  :- [{n}] @T temp(V), V >= 100.
@T liquid(V) :- [{n}] @T temp(V), V >= 1, V < 100.
@T isSteam   :- [{n}] @T steam(V).
@T isLiquid  :- [{n}] @T liquid(V).
alarm        :- [{n}] always isSteam.
normal       :- [{n}] always isLiquid.
freeze       :- not alarm, not normal.
veryHot(T)   :- [{n}] @T steam(V), V >= 150.
veryCold(T)  :- [{n}] @T liquid(V), V = 1.
"""

Make = Callable[[int, int], Workload]


def diamond(window: int, rate: int, *, text: bool = False, last: int | None = None) -> Workload:
    """`[n] some` over facts that never come again."""
    facts = unique_pairs(rate, last or window + _TIME_POINTS, text=text)
    return Workload(f"q(A,B) :- [{window}] some p(A,B).", facts, window, rate, "diamond")


def box(window: int, rate: int, *, last: int | None = None) -> Workload:
    """`[n] always` over values that now and then miss a time point."""
    facts = thirds(rate, last or window + _TIME_POINTS)
    return Workload(f"q(X) :- [{window}] always p(X).", facts, window, rate, "box")


def join(
    window: int, rate: int, *, copies: int = 1, text: bool = False, last: int | None = None
) -> Workload:
    """Paths of two steps, within a window; the rule once or several times."""
    facts = chain(rate, last or window + _TIME_POINTS, text=text)
    heads = ("q",) if copies == 1 else tuple(f"q{number}" for number in range(1, copies + 1))
    body = f"[{window}] some p(A,B), [{window}] some p(B,C)"
    program = "\n".join(f"{head}(A,C) :- {body}." for head in heads)
    return Workload(program, facts, window, rate, "join", heads)


def cooling(window: int, rate: int, *, last: int | None = None) -> Workload:
    """A cooling system: `@` in heads, `always`, negation (Fig. 4)."""
    facts = readings(rate, last or window + _TIME_POINTS)
    return Workload(_COOLING.format(n=window), facts, window, rate, "cooling")


def measure(bench: str, make: Make, quick: bool, tell: Tell) -> Iterator[Measurement]:
    """One workload for every rate and window, by everyone."""
    for rate in QUICK_RATES if quick else RATES:
        for window in QUICK_WINDOWS if quick else WINDOWS:
            repetitions = 3 if quick else 5
            yield from contest(
                bench, make(window, rate), EVERYONE, repetitions=repetitions, tell=tell
            )
