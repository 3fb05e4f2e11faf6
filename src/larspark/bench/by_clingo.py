"""The workloads as one-shot solving: Ticker's static encoding, grounded and solved anew each time.

The encoding is Algorithm 1 of 001, with windows clipped at the start of the stream, and it is given
every advantage: facts come as ready symbols, only those that the windows can see, and one rule with
a range stands for the n+1 rules of a window. It is run at a few time points only, after the windows
have filled.
"""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
from clingo import Control, Model, Number, String, Symbol, SymbolType, Tuple_

from larspark.base.atoms import Atom
from larspark.base.terms import Constant
from larspark.bench.checksums import Answer, of_atoms
from larspark.bench.stopwatch import Stopwatch
from larspark.bench.workload import ByHand, Run, Workload

EVALUATIONS = 3

# Time points before the first one are no part of a window.
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
    """One grounding and one solve for each of a few time points, after the windows have filled."""

    name = "clingo, one-shot"

    def __init__(self, workload: Workload, evaluations: int = EVALUATIONS) -> None:
        if workload.by_hand is None:
            raise ValueError("no encoding was written by hand for this workload")
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
