"""Hand-written encodings for clingo: the workloads of Laser, and the scenarios of Ticker.

Both use Ticker's static encoding (Algorithm 1 of 001), grounded and solved at each time point, with
windows clipped at the start of the stream. One rule with a range replaces the n+1 rules of a
window, and only facts that the windows can see are given.
"""

from collections import deque
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
from clingo import Control, Model, Number, String, Symbol, SymbolType, Tuple_

from larspark.base.atoms import Atom
from larspark.base.facts import AnyBatch
from larspark.base.terms import Constant, constant_text
from larspark.bench.workload import Answer, ByHand, Run, Stopwatch, Workload, of_atoms
from larspark.run.answers import PointAnswers
from larspark.run.protocol import Point

EVALUATIONS = 3

# Windows are clipped at the first time point.
_TIME = """
#const n = 0.
#const now = 0.
within(T) :- T = now-n..now, T >= 1.
before(T) :- within(T), T < now.
"""

_ENCODINGS: dict[ByHand, str] = {
    "diamond": """
        p_at(A,B,T) :- (A,B,T) = @p.
        w(A,B) :- p_at(A,B,T), within(T).
        q(A,B) :- w(A,B).
        #show q/2.
    """,
    "box": """
        p_at(X,T) :- (X,T) = @p.
        p(X) :- p_at(X,now).
        w(X) :- p(X), not spoil(X).
        spoil(X) :- p(X), before(T), not p_at(X,T).
        q(X) :- w(X).
        #show q/1.
    """,
    "join": """
        p_at(A,B,T) :- (A,B,T) = @p.
        w(A,B) :- p_at(A,B,T), within(T).
        q(A,C) :- w(A,B), w(B,C).
        #show q/2.
    """,
    "cooling": """
        temp_at(V,T) :- (V,T) = @temp.
        w_temp(V,T) :- temp_at(V,T), within(T).
        steam_at(V,T) :- w_temp(V,T), V >= 100.
        liquid_at(V,T) :- w_temp(V,T), V >= 1, V < 100.
        w_steam(V,T) :- steam_at(V,T), within(T).
        w_liquid(V,T) :- liquid_at(V,T), within(T).
        is_steam_at(T) :- w_steam(V,T).
        is_liquid_at(T) :- w_liquid(V,T).
        steam(V) :- steam_at(V,now).
        liquid(V) :- liquid_at(V,now).
        isSteam :- is_steam_at(now).
        isLiquid :- is_liquid_at(now).
        alarm :- isSteam, not spoil_steam.
        spoil_steam :- isSteam, before(T), not is_steam_at(T).
        normal :- isLiquid, not spoil_liquid.
        spoil_liquid :- isLiquid, before(T), not is_liquid_at(T).
        freeze :- not alarm, not normal.
        veryHot(T) :- w_steam(V,T), V >= 150.
        veryCold(T) :- w_liquid(V,T), V = 1.
        #show steam/1. #show liquid/1. #show isSteam/0. #show isLiquid/0. #show alarm/0.
        #show normal/0. #show freeze/0. #show veryHot/1. #show veryCold/1.
    """,
}


class Clingo:
    """One grounding and one solve for each of a few time points, after the windows have filled.

    Facts are given as symbols.
    """

    name = "clingo, one-shot"

    def __init__(self, workload: Workload, evaluations: int = EVALUATIONS) -> None:
        if workload.by_hand is None:
            raise ValueError("this workload has no hand-written encoding")
        last = workload.facts.last
        self._window = workload.window
        self._encoding = _TIME + _ENCODINGS[workload.by_hand]
        self._rate = workload.rate
        self.times = tuple(range(max(1, last - evaluations + 1), last + 1))
        self._symbols: dict[str, tuple[list[Symbol], list[int]]] = {}
        for signature, table in workload.facts.segments:
            arguments = (table[str(place)].to_pylist() for place in range(signature.arity))
            moments = table["t"].to_pylist()
            symbols = [
                Tuple_(list(map(_symbol, row))) for row in zip(*arguments, moments, strict=True)
            ]
            bounds = np.searchsorted(moments, np.arange(last + 2)).tolist()
            self._symbols[signature.predicate] = symbols, bounds

    def answer(self) -> Answer:
        return of_atoms((_atom(s), t, t) for t in self.times for s in self._evaluate(t))

    def run(self) -> Run:
        watch = Stopwatch()
        found = 0
        for t in self.times:
            with watch.running():
                found += len(self._evaluate(t))
        count = len(self.times)
        return Run(watch.seconds, watch.cpu_seconds, self._rate * count, count, found)

    def _evaluate(self, t: int) -> list[Symbol]:
        control = Control(["--warn=none", f"-cn={self._window}", f"-cnow={t}"])
        control.add("base", [], self._encoding)
        functions = {name: self._seen(name, t) for name in self._symbols}
        control.ground([("base", [])], context=SimpleNamespace(**functions))
        shown: list[Symbol] = []

        def keep(model: Model) -> None:
            shown.extend(model.symbols(shown=True))

        control.solve(on_model=keep)
        return shown

    def _seen(self, name: str, t: int) -> Callable[[], list[Symbol]]:
        symbols, bounds = self._symbols[name]
        first = bounds[max(1, t - self._window)]
        return lambda: symbols[first : bounds[t + 1]]


def _symbol(value: Constant) -> Symbol:
    return Number(value) if isinstance(value, int) else String(str(value))


def _atom(symbol: Symbol) -> Atom:
    return Atom(symbol.name, tuple(map(_constant, symbol.arguments)))


def _constant(symbol: Symbol) -> Constant:
    return symbol.number if symbol.type is SymbolType.Number else symbol.string


# Time windows are clipped at the first time point, 1.
_CACHING = """
read(V,T) :- alpha_at(V,T), now(N), T = N-{n}..N.
high(T) :- read(V,T), V >= 18.
mid(T)  :- read(V,T), V >= 12, V < 18.
low(T)  :- read(V,T), V < 12.
before(T) :- now(N), T = N-{n}..N-1, T >= 1.
lfu  :- now(N), high(N), not spoilt(high).
lru  :- now(N), mid(N), not spoilt(mid).
fifo :- now(N), low(N), not spoilt(low).
spoilt(high) :- before(T), not high(T).
spoilt(mid)  :- before(T), not mid(T).
spoilt(low)  :- before(T), not low(T).
done :- lfu.
done :- lru.
done :- fifo.
random :- not done.
out(high) :- now(N), high(N).
out(mid)  :- now(N), mid(N).
out(low)  :- now(N), low(N).
#show lfu/0. #show lru/0. #show fifo/0. #show done/0. #show random/0. #show X : out(X).
"""

_RETRIEVAL = """
within(T) :- now(N), T = N-{n}..N.
w_req(I,N) :- req_at(I,N,T), within(T).
w_cache(I,N) :- cache_at(I,N,T), within(T).
w_level(N,L) :- qLev_at(N,L,T), within(T).
w_down(N) :- now(T), down_at(N,T), not spoilt(N).
spoilt(N) :- now(T), down_at(N,T), S = T-{n}..T-1, S >= 1, not down_at(N,S).
need(I,N) :- item(I), node(N), w_req(I,N).
avail(I,N) :- item(I), node(N), w_cache(I,N).
get(I,N,M) :- source(I,N,M), not nGet(I,N,M).
nGet(I,N,M) :- node(M), get(I,N,K), M != K.
nGet(I,N,M) :- source(I,N,M), source(I,N,K), M != K, qual(M,L), qual(K,P), L < P.
source(I,N,M) :- need(I,N), not avail(I,N), avail(I,M), reach(N,M).
reach(N,M) :- conn(N,M).
reach(N,M) :- reach(N,K), conn(K,M), K != M, N != M.
conn(N,M) :- edge(N,M), not w_down(M).
qual(N,L) :- node(N), lev(L), lev(P), P < L, w_level(N,L), not w_level(N,P).
#show need/2. #show avail/2. #show get/3. #show nGet/3.
#show source/3. #show reach/2. #show conn/2. #show qual/2.
"""


class TickerByHand:
    """Scenario A1 with time windows, or scenario B: a new solver for each tick, facts as text."""

    def __init__(self, scenario: str, window: int, background: frozenset[Atom]) -> None:
        encoding = _CACHING if scenario == "A" else _RETRIEVAL
        given = [f"{_text(atom.predicate, *atom.args)}." for atom in background]
        self._encoding = "\n".join([encoding.format(n=window), *given])
        self._window = window
        self._facts: deque[tuple[int, str]] = deque()

    def append(self, batch: AnyBatch) -> None:
        """Add facts."""
        for t, atom, _ in batch.rows():
            self._facts.append((t, f"{_text(f'{atom.predicate}_at', *atom.args, t)}."))

    def advance(self, t: int) -> PointAnswers:
        """The first answer set at t."""
        while self._facts and self._facts[0][0] < t - self._window:
            self._facts.popleft()
        control = Control(["1", "--warn=none"])
        facts = "\n".join(fact for _, fact in self._facts)
        control.add("base", [], f"{self._encoding}\nnow({t}).\n{facts}")
        control.ground([("base", [])])
        with control.solve(yield_=True) as handle:
            model = handle.model()
            found = (
                None if model is None else frozenset(map(_ticker_atom, model.symbols(shown=True)))
            )
        return PointAnswers(t, t, [Point(t, found)])


def _text(predicate: str, *args: object) -> str:
    if not args:
        return predicate
    return f"{predicate}({','.join(constant_text(a) for a in args if isinstance(a, int | str))})"


def _ticker_atom(symbol: Symbol) -> Atom:
    return Atom(symbol.name, tuple(map(_ticker_constant, symbol.arguments)))


def _ticker_constant(symbol: Symbol) -> Constant:
    return symbol.number if symbol.type is SymbolType.Number else symbol.name
