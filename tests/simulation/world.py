"""A world for a live run in which one seed decides everything: who runs when, and what time it is.

The threads of the run are actors of which only one runs at a time. Where one would wait, the seed
chooses who goes on; when all wait, time moves to the next moment at which something happens.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from heapq import heappop, heappush
from random import Random
from types import SimpleNamespace
from typing import Any, Self
from unittest.mock import patch

from larspark.feeds.live.inbox import Inbox

# A run that has nothing to do for so many simulated seconds will never end.
_PATIENCE = 1000.0


class KilledError(BaseException):
    """The run is dead: no code of it goes on."""


class HungError(AssertionError):
    """The run waits for something that does not come."""


class Actor:
    """A thread of the run, and what it waits for."""

    def __init__(self, thread: threading.Thread) -> None:
        self.thread = thread
        # Held by whoever has its turn; releasing it gives the turn.
        self.turn = threading.Lock()
        self.turn.acquire()
        self.ready: Callable[[], bool] = lambda: True
        self.until: float | None = None
        self.over = False


class World:
    """Time, the actors of one process, and the events outside of it, which go on without it."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.now = 1_700_000_000.0
        self.dead = False
        # What went wrong in the world itself.
        self.failure: BaseException | None = None
        # After how many switches the process is killed or interrupted.
        self.kill_at: int | None = None
        self.interrupt_at: int | None = None
        self.interrupt: Callable[[], None] = lambda: None
        self.switches = 0
        self._begun = self.now
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._scheduled = 0
        self._actors: dict[threading.Thread, Actor] = {}

    def at(self, moment: float, event: Callable[[], None]) -> None:
        """Let something happen outside of the process at a moment."""
        self._scheduled += 1
        heappush(self._events, (moment, self._scheduled, event))

    def begin_process(self) -> None:
        """The thread that calls this is the main thread of a new process."""
        main = threading.current_thread()
        self._actors = {main: Actor(main)}
        self.dead = False
        self.switches = 0
        self._begun = self.now

    def end_process(self) -> None:
        """Whatever still runs of the process ends."""
        self.dead = True
        for actor in list(self._actors.values()):
            if actor.thread is not threading.current_thread():
                if actor.turn.locked():
                    actor.turn.release()
                actor.thread.join(60)
                assert not actor.thread.is_alive(), "a thread outlives its process"

    def kill(self) -> None:
        """Kill the process: nothing that it does from now on has an effect."""
        self.dead = True
        raise KilledError

    def pause(self) -> None:
        """Let others run, or the end come."""
        self.wait(lambda: True)

    def wait(self, ready: Callable[[], bool], seconds: float | None = None) -> None:
        """Go on when something is so, or after some seconds; raises when the process is dead."""
        if self.dead:
            raise KilledError
        actor = self._actors[threading.current_thread()]
        actor.ready = ready
        actor.until = None if seconds is None else self.now + seconds
        self.switches += 1
        if self.switches == self.kill_at:
            self.kill()
        if self.switches == self.interrupt_at:
            self.interrupt()
        self._switch(actor)

    def _switch(self, actor: Actor) -> None:
        following = self._next()
        if following is actor:
            return
        following.turn.release()
        actor.turn.acquire()
        if self.failure is not None:
            raise self.failure
        if self.dead:
            raise KilledError

    def _next(self) -> Actor:
        """Who goes on; time moves when nobody can."""
        while True:
            self._happen()
            able = [
                actor
                for actor in self._actors.values()
                if not actor.over
                and (actor.ready() or (actor.until is not None and actor.until <= self.now))
            ]
            if able:
                # Computing takes time, too.
                self.now += self.rng.random() * 0.001
                return self.rng.choice(able)
            moments = [a.until for a in self._actors.values() if not a.over and a.until is not None]
            if self._events:
                moments.append(self._events[0][0])
            if not moments or min(moments) > self._begun + _PATIENCE:
                raise HungError("nobody can go on")
            self.now = max(self.now, min(moments))

    def _happen(self) -> None:
        while self._events and self._events[0][0] <= self.now:
            heappop(self._events)[2]()

    def thread(self, target: Callable[[], None], **_: Any) -> "SimulatedThread":
        """In place of a thread."""
        return SimulatedThread(self, target)

    def sleep(self, seconds: float) -> None:
        self.wait(lambda: False, seconds)

    @contextmanager
    def replacing(self, **modules: Any) -> Iterator[None]:
        """In this context, the modules of the run use the time and the threads of this world."""
        time = SimpleNamespace(
            monotonic=lambda: self.now,
            monotonic_ns=lambda: int(self.now * 1e9),
            time_ns=lambda: int(self.now * 1e9),
            sleep=self.sleep,
        )
        threads = SimpleNamespace(
            Thread=self.thread, Lock=threading.Lock, Condition=threading.Condition
        )
        with ExitStack() as stack:
            for name in ("inbox", "wall_clock", "sink", "mqtt"):
                stack.enter_context(patch(f"larspark.feeds.live.{name}.time", time))
            stack.enter_context(patch("larspark.cli.durable_run.time", time))
            for name in ("live_stream", "sink"):
                place = f"larspark.feeds.live.{name}"
                stack.enter_context(patch(f"{place}.threading", threads))
                stack.enter_context(patch(f"{place}.Inbox", self.inbox))
            yield

    def inbox(self, now: Callable[[], int], limit: int = 1 << 12) -> Inbox:
        """A queue between two actors, a small one, which is full now and then."""
        made = Inbox(now, min(limit, 1 << self.rng.randrange(7, 15)))
        made._changed = SimulatedCondition(self)  # type: ignore[assignment]
        made.stopping = SimulatedEvent(self)  # type: ignore[assignment]
        return made


class SimulatedThread:
    """A thread that runs when it is its turn."""

    def __init__(self, world: World, target: Callable[[], None]) -> None:
        self._world = world
        self._target = target
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._actor = self._world._actors[self._thread] = Actor(self._thread)
        self._thread.start()
        self._world.pause()

    def _run(self) -> None:
        world = self._world
        self._actor.turn.acquire()
        with suppress(KilledError):
            if not world.dead:
                self._target()
        self._actor.over = True
        following = next(iter(world._actors.values()))
        if not world.dead:
            try:
                following = world._next()
            except HungError as error:
                world.failure = error
        if following.turn.locked():
            following.turn.release()

    def is_alive(self) -> bool:
        return not self._actor.over

    def join(self, seconds: float | None = None) -> None:
        if not self._world.dead:
            self._world.wait(lambda: self._actor.over, seconds)


class SimulatedCondition:
    """A condition that actors wait for."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._changes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def wait(self, seconds: float | None = None) -> None:
        seen = self._changes
        self._world.wait(lambda: self._changes != seen, seconds)

    def notify_all(self) -> None:
        self._changes += 1


class SimulatedEvent:
    """An event that actors wait for; asking for it lets others run now and then."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True

    def wait(self, seconds: float) -> bool:
        self._world.wait(self.is_set, seconds)
        return self._set
