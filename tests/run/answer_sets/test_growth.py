"""A long run of the content retrieval of the Ticker paper neither grows nor slows down.

`LARSPARK_SOAK` sets the number of time points; a soak takes 100000.
"""

import os
from random import Random

import pytest
from tests.run.answer_sets.random_programs import batch, checked, seeded

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element, fact
from larspark.run.answer_sets import grounder
from larspark.run.answer_sets import live_solver as live
from larspark.run.answer_sets.engines import AspEngine, TmsEngine
from larspark.run.answer_sets.stepping import SteppingEngine
from larspark.run.protocol import Settings

TICKS = int(os.environ.get("LARSPARK_SOAK", "2000"))
NODES = 6
PROGRAM = """
#input req/2, cache/2, down/1, seen/1.
need(I,N) :- item(I), node(N), [20] some req(I,N).
avail(I,N) :- item(I), node(N), [20] some cache(I,N).
get(I,N,M) :- source(I,N,M), not other(I,N,M).
other(I,N,M) :- node(M), get(I,N,K), M != K.
source(I,N,M) :- need(I,N), not avail(I,N), avail(I,M), reach(N,M).
reach(N,M) :- conn(N,M).
reach(N,M) :- reach(N,K), conn(K,M), K != M, N != M.
conn(N,M) :- edge(N,M), not [20] always down(M).
@T fresh(X) :- [5] @T seen(X).
lasting(X) :- [3] always fresh(X).
echo(X) :- twin(X).
twin(X) :- echo(X).
echo(X) :- [4] some seen(X).
"""


def background() -> list[Atom]:
    nodes = [fact("node", n) for n in range(NODES)]
    edges = [fact("edge", n, m) for n in range(NODES) for m in ((n + 1) % NODES, (n - 1) % NODES)]
    return [*nodes, *edges, fact("item", 0), fact("item", 1)]


def program() -> Checked:
    given = " ".join(f"{atom}." for atom in background())
    found = checked(PROGRAM + given)
    assert found is not None
    return found


def signals(random: Random, t: int) -> list[Element]:
    atoms = [fact("req", item, random.randrange(NODES)) for item in (0, 1) if random.random() < 0.3]
    if random.random() < 0.3:
        atoms.append(fact("cache", random.randrange(2), random.randrange(NODES)))
    if random.random() < 0.3:
        atoms.append(fact("down", random.randrange(NODES)))
    # Constants that never come again are what makes a run grow.
    return [Element(t, atom) for atom in (*atoms, fact("seen", t), fact("seen", t // 10))]


def engines(found: Checked) -> list[SteppingEngine]:
    return [
        AspEngine(found, (), Settings()),
        AspEngine(found, (), Settings(incremental=True)),
        TmsEngine(found, (), Settings()),
    ]


@pytest.mark.parametrize("which", [0, 1, 2], ids=["one-shot", "incremental", "tms"])
def test_what_is_kept_stays_bounded(which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grounder, "_PATIENCE", 300)
    monkeypatch.setattr(live, "_PATIENCE", 300)
    engine = engines(program())[which]
    random = seeded(7)
    ticks = TICKS if which == 2 else TICKS // 4
    sizes: list[dict[str, int]] = []
    for t in range(ticks):
        engine.append(batch(signals(random, t), t))
        engine.advance(t)
        sizes.append(engine.stats())
    half = ticks // 2
    for name in sizes[0]:
        before = max(size[name] for size in sizes[:half])
        assert max(size[name] for size in sizes[half:]) <= 1.5 * before + 50, name


def test_a_long_run_is_answered_alike_in_both_modes() -> None:
    found = program()
    one_shot, incremental, _ = engines(found)
    random = seeded(8)
    for t in range(300):
        elements = signals(random, t)
        outputs = []
        for engine in (one_shot, incremental):
            engine.append(batch(elements, t))
            outputs.append([point.atoms for point in engine.advance(t).points()])
        assert outputs[0] == outputs[1]
