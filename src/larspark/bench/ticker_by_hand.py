"""Ticker's scenarios as an engineer would hand them to clingo: the static encoding as text.

At every tick a new solver reads the encoding and the elements that the windows can see, and the
first answer set is taken. One rule with a range stands for the n+1 rules of a window.
"""

from collections import deque

from clingo import Control, Symbol, SymbolType

from larspark.base.atoms import Atom
from larspark.base.facts import AnyBatch
from larspark.base.terms import Constant, constant_text
from larspark.run.answers import PointAnswers
from larspark.run.protocol import Point

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


class ByHand:
    """Scenario A1 with time windows, or scenario B, for a window."""

    def __init__(self, scenario: str, window: int, background: frozenset[Atom]) -> None:
        encoding = _CACHING if scenario == "A" else _RETRIEVAL
        given = [f"{_text(atom.predicate, *atom.args)}." for atom in background]
        self._encoding = "\n".join([encoding.format(n=window), *given])
        self._window = window
        self._facts: deque[tuple[int, str]] = deque()

    def append(self, batch: AnyBatch) -> None:
        """Take elements in."""
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
            found = None if model is None else frozenset(map(_atom, model.symbols(shown=True)))
        return PointAnswers(t, t, [Point(t, found)])


def _text(predicate: str, *args: object) -> str:
    if not args:
        return predicate
    return f"{predicate}({','.join(constant_text(a) for a in args if isinstance(a, int | str))})"


def _atom(symbol: Symbol) -> Atom:
    return Atom(symbol.name, tuple(map(_constant, symbol.arguments)))


def _constant(symbol: Symbol) -> Constant:
    return symbol.number if symbol.type is SymbolType.Number else symbol.name
