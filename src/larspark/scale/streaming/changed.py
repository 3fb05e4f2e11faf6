"""A program that changed between two runs of a stream: what changed, and what follows."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.scale.streaming.live import Live
from larspark.scale.streaming.migrated import migrated
from larspark.scale.streaming.state import Identity, ShardState, identity

# More lines of a program than these are not listed.
_SHOWN = 4


def continued(state: ShardState, live: Live) -> ShardState:
    """The state to go on from.

    When the program is another one, that is refused; or the new program begins where the old one
    stopped; or it takes over as if it had always been there (see `migrated`). Facts that were held
    back are kept, and what holds on under the new program goes on.
    """
    before, now = state.identity, identity(live)
    if before == now:
        return state
    _check_layout(before, now)
    match live.on_program_change:
        case "refuse":
            hint = (
                'begin with a new checkpoint, or let `on_program_change` be "migrate" or "restart"'
            )
            reasons = "; ".join(_reasons(before, now))
            message = f"the checkpoint belongs to another program: {reasons}"
            raise LarsparkError(Problem("L491", message, hint=hint))
        case "restart":
            return _restarted(state, live)
        case "migrate":
            return migrated(state, live)
        case _:
            assert_never(live.on_program_change)


def _restarted(state: ShardState, live: Live) -> ShardState:
    """The timeline of the new program starts after the last time point that was answered."""
    after = None if state.answered is None else state.answered + 1
    start = live.start if after is None or live.start is None else max(live.start, after)
    start = after if start is None else start
    return replace(state, identity=identity(live), start=start, session=b"")


def _check_layout(before: Identity, now: Identity) -> None:
    """Keys live in their shards, and time in its sources: these never change."""
    problems = []
    anew = "begin with a new checkpoint"
    if before.shards != now.shards:
        message = f"the checkpoint has {before.shards} shards, not {now.shards}"
        hint = f"say `shards={before.shards}`, or begin with a new checkpoint"
        problems.append(Problem("L494", message, hint=hint))
    if before.sources != now.sources:
        message = f"the checkpoint was made with {before.sources} DataFrames, not {now.sources}"
        problems.append(Problem("L494", message, hint=anew))
    if before.tick != now.tick:
        message = "the checkpoint was made with another `#tick`"
        problems.append(Problem("L494", message, hint=anew))
    if before.shards == now.shards > 1:
        places = [_places(each) for each in (before, now)]
        for signature in sorted(places[0].keys() & places[1].keys()):
            old, new = (each[signature] for each in places)
            if old != new:
                message = f"the facts of `{signature}` lie in the shards by {old}, not by {new}"
                problems.append(Problem("L494", message, hint=anew))
    if problems:
        raise LarsparkError(problems)


def _places(made_for: Identity) -> dict[Signature, str]:
    """How the facts of each predicate are spread over the shards."""
    by_key = {Signature(p, n): f"argument {place + 1}" for p, n, place in made_for.key}
    return by_key | {Signature(p, n): "copies in all" for p, n in made_for.everywhere}


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
