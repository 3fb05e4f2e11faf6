"""The workloads of Laser (002), with its streams, and those of Laser2 (004)."""

from larspark.bench.generated_streams import chain, readings, steady_pairs, thirds, unique_pairs
from larspark.bench.workload import Workload

RATES = (200, 400, 800, 1000)
WINDOWS = (1, 20, 40, 80, 100)

# Time points after the windows have filled.
MEASURED = 200
# The time points of an experiment of 004.
_LASER2_TIME_POINTS = 300

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


def diamond(window: int, rate: int, *, measured: int = MEASURED, text: bool = False) -> Workload:
    """`[n] some` over facts that never come again."""
    facts = unique_pairs(rate, window + measured, text=text)
    return Workload(f"q(A,B) :- [{window}] some p(A,B).", facts, window, rate, "diamond")


def box(window: int, rate: int, *, measured: int = MEASURED) -> Workload:
    """`[n] always` over values that now and then miss a time point."""
    facts = thirds(rate, window + measured)
    return Workload(f"q(X) :- [{window}] always p(X).", facts, window, rate, "box")


def join(
    window: int, rate: int, *, measured: int = MEASURED, rules: int = 1, text: bool = False
) -> Workload:
    """Paths of two steps within a window; the rule once, or several times with other heads."""
    facts = chain(rate, window + measured, text=text)
    heads = ("q",) if rules == 1 else tuple(f"q{number}" for number in range(1, rules + 1))
    body = f"[{window}] some p(A,B), [{window}] some p(B,C)"
    program = "\n".join(f"{head}(A,C) :- {body}." for head in heads)
    return Workload(program, facts, window, rate, "join", heads)


def cooling(window: int, rate: int, *, measured: int = MEASURED) -> Workload:
    """A cooling system: `@` in heads, `always`, negation (002, Fig. 4)."""
    facts = readings(rate, window + measured)
    return Workload(_COOLING.format(n=window), facts, window, rate, "cooling")


def best_case(window: int, rate: int) -> Workload:
    """A rule that can hardly ever fire: one of its formulas misses a time point in every window."""
    facts = steady_pairs({"p": None, "q": window}, rate, _LASER2_TIME_POINTS)
    return Workload(_single_rule(window), facts, window, 2 * rate)


def worst_case(window: int, rate: int) -> Workload:
    """A rule that never fires, with a window so small that this hardly helps."""
    facts = steady_pairs({"p": None}, rate, _LASER2_TIME_POINTS)
    return Workload(_single_rule(window), facts, window, rate)


def cascade(window: int, rate: int, *, rules: int) -> Workload:
    """Rules that stand on one that can hardly ever fire."""
    some = f"[{window}] some p(X,Y)"
    program = [f"r1(X,Y) :- {some}, [{window}] always q(X,Y)."]
    program += [f"r{n}(X,Y) :- r{n - 1}(X,Y), {some}." for n in range(2, rules + 1)]
    facts = steady_pairs({"p": None, "q": window}, rate, _LASER2_TIME_POINTS)
    return Workload("\n".join(program), facts, window, 2 * rate)


def _single_rule(window: int) -> str:
    return f"m(X,Y) :- [10] some p(X,Y), [{window}] always q(X,Y)."
