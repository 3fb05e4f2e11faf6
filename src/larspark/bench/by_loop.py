"""The rules of `sparse` as a loop in Python, written by hand: a dictionary and a deque."""

from collections import deque

from larspark.base.atoms import Atom
from larspark.bench.interval_workloads import HOT
from larspark.bench.workload import Answer, Run, Stopwatch, Workload, of_atoms

Readings = list[list[tuple[int, int]]]


class Loop:
    """What is seen, hot and calm, kept up to date reading by reading; nothing else can be asked."""

    name = "a loop in Python"
    times = None

    def __init__(self, workload: Workload) -> None:
        self._window = workload.window
        self._last = workload.facts.last
        self._full = min(workload.window + 1, self._last // 2)
        self._readings: Readings = [[] for _ in range(self._last)]
        for t, (_, (sensor, value)), _ in workload.facts.whole().rows():
            self._readings[t - 1].append((sensor, value))  # type: ignore[arg-type]

    def answer(self) -> Answer:
        begun: dict[Atom, int] = {}
        found: list[tuple[Atom, int, int]] = []
        state = _State(self._window)
        for t, readings in enumerate(self._readings, 1):
            added, removed = state.step(t, readings)
            begun.update({Atom(name, (sensor,)): t for name, sensor in added})
            gone = [Atom(name, (sensor,)) for name, sensor in removed]
            found += [(atom, begun.pop(atom), t - 1) for atom in gone]
        found += [(atom, begin, self._last) for atom, begin in begun.items()]
        return of_atoms(found)

    def run(self) -> Run:
        state = _State(self._window)
        found = self._advance(state, 0, self._full)
        watch = Stopwatch()
        with watch.running():
            found += self._advance(state, self._full, self._last)
        facts = sum(map(len, self._readings[self._full :]))
        return Run(watch.seconds, watch.cpu_seconds, facts, self._last - self._full, found)

    def _advance(self, state: "_State", start: int, end: int) -> int:
        found = 0
        for number in range(start, end):
            added, _ = state.step(number + 1, self._readings[number])
            found += len(added)
        return found


class _State:
    def __init__(self, window: int) -> None:
        self._window = window
        self._arrived: deque[tuple[int, int, bool]] = deque()
        self._seen: dict[int, int] = {}
        self._hot: dict[int, int] = {}

    def step(
        self, t: int, readings: list[tuple[int, int]]
    ) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
        """What begins to hold and what ceases to."""
        arrived, seen, hot = self._arrived, self._seen, self._hot
        before: dict[int, tuple[bool, bool]] = {}
        while arrived and arrived[0][0] < t - self._window:
            at, sensor, was_hot = arrived.popleft()
            before.setdefault(sensor, (sensor in seen, sensor in hot))
            if seen.get(sensor) == at:
                del seen[sensor]
            if was_hot and hot.get(sensor) == at:
                del hot[sensor]
        for sensor, value in readings:
            before.setdefault(sensor, (sensor in seen, sensor in hot))
            seen[sensor] = t
            if value >= HOT:
                hot[sensor] = t
            arrived.append((t, sensor, value >= HOT))
        added: list[tuple[str, int]] = []
        removed: list[tuple[str, int]] = []
        for sensor, (was_seen, was_hot) in before.items():
            is_seen, is_hot = sensor in seen, sensor in hot
            for name, was, now in (
                ("seen", was_seen, is_seen),
                ("hot", was_hot, is_hot),
                ("calm", was_seen and not was_hot, is_seen and not is_hot),
            ):
                if was != now:
                    (added if now else removed).append((name, sensor))
        return added, removed
