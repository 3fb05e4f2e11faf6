"""A program that changed between two runs of a stream: what changed, and what follows."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from larspark.base.problems import LarsparkError, Problem
from larspark.scale.streaming.live import Live
from larspark.scale.streaming.state import Identity, ShardState, identity

# More lines of a program than these are not listed.
_SHOWN = 4


def continued(state: ShardState, live: Live) -> ShardState:
    """The state to go on from.

    When the program is another one, that is refused; or the new program begins where the old one
    stopped: its timeline starts after the last time point that was answered, facts that were held
    back are kept, and what holds on under the new program goes on.
    """
    before, now = state.identity, identity(live)
    if before == now:
        return state
    _check_layout(before, now)
    if live.on_program_change == "refuse":
        hint = 'begin with a new checkpoint, or say `on_program_change="restart"`'
        message = f"the checkpoint belongs to another program: {'; '.join(_reasons(before, now))}"
        raise LarsparkError(Problem("L491", message, hint=hint))
    after = None if state.answered is None else state.answered + 1
    start = live.start if after is None or live.start is None else max(live.start, after)
    return replace(state, identity=now, start=after if start is None else start, session=b"")


def _check_layout(before: Identity, now: Identity) -> None:
    """Keys live in their shards, and time in its sources: these never change."""
    problems = []
    if before.shards != now.shards:
        message = f"the checkpoint has {before.shards} shards, not {now.shards}"
        hint = f"say `shards={before.shards}`, or begin with a new checkpoint"
        problems.append(Problem("L494", message, hint=hint))
    if before.sources != now.sources:
        message = f"the checkpoint was made with {before.sources} DataFrames, not {now.sources}"
        problems.append(Problem("L494", message, hint="begin with a new checkpoint"))
    if problems:
        raise LarsparkError(problems)


def _reasons(before: Identity, now: Identity) -> Iterator[str]:
    old, new = (Counter(each.program.splitlines()) for each in (before, now))
    yield from _lines("gone", old - new)
    yield from _lines("new", new - old)
    if not (old - new or new - old) and before.program != now.program:
        yield "the order of its lines"
    if before.background != now.background:
        yield "the background data are others"
    for name in ("engine", "start", "until"):
        if getattr(before, name) != getattr(now, name):
            yield f"{name} was {getattr(before, name)} and is {getattr(now, name)}"


def _lines(what: str, lines: Counter[str]) -> Iterator[str]:
    listed = [line for line in lines if line.strip()]
    if listed:
        shown = ", ".join(f"`{line.strip()}`" for line in listed[:_SHOWN])
        more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
        yield f"{what}: {shown}{more}"
