"""A changed program on an existing checkpoint: refuse, restart, or migrate.

After a migration, answers up to the last answered time point are those of the old program, and
later ones are those of the new program over the whole stream. This needs the facts that the new
program can see from there on: the engine is rebuilt from the kept facts, on a timeline that reaches
back by the lookback of the new program, like a slice of history (`larspark.scale.cuts`). A
migration is refused when facts are missing or the lookback is unbounded.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from larspark.analysis.checked import Checked
from larspark.analysis.past import looks_further
from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.language.nodes import walk
from larspark.language.tree import AtomFormula
from larspark.logic.traversal import formulas
from larspark.scale.cuts import find_cuts
from larspark.scale.streaming.shard_state import Identity, ShardState, identity
from larspark.scale.streaming.stream_job import StreamJob


def migrated(state: ShardState, stream_job: StreamJob) -> ShardState:
    """The state from which the new program continues."""
    start = _start(state, stream_job)
    reasons = [
        *_dropped(state.identity, stream_job),
        *_missing(state, start, stream_job.loaded.checked),
    ]
    if reasons:
        message = f"the checkpoint cannot be migrated to this program: {'; '.join(reasons)}"
        hint = 'use a new checkpoint, or set `on_program_change="restart"`'
        raise LarsparkError(Problem("L491", message, hint=hint))
    # Before the first answer the start of the timeline is still open.
    start = None if state.answered is None else start
    return replace(state, identity=identity(stream_job), start=start, session=b"")


def _start(state: ShardState, stream_job: StreamJob) -> int | None:
    """The start of the timeline that the remaining answers need."""
    checked = stream_job.loaded.checked
    first = stream_job.start
    if first is None:
        times = [] if state.first is None else [state.first]
        first = min([*times, *(element.t for element in checked.elements)], default=None)
    lookback = find_cuts(checked).lookback
    if first is None or state.answered is None or lookback is None:
        return first
    return max(first, state.answered + 1 - lookback)


def _missing(state: ShardState, start: int | None, checked: Checked) -> Iterator[str]:
    """The reasons why the kept facts do not suffice for the new program."""
    kept_from = state.identity.start if state.answered is None else state.kept_from
    if start is None or kept_from is None or start >= kept_from:
        return
    cuts = find_cuts(checked)
    if state.answered is None:
        yield f"it starts at {start}, but facts before {kept_from} were dropped"
    elif cuts.lookback is None:
        yield from cuts.time_obstacles
    else:
        reach = state.answered + 1 - kept_from
        yield f"it looks back {cuts.lookback} time points, but the facts of only {reach} are kept"
        yield from looks_further(checked, reach)


def _dropped(before: Identity, stream_job: StreamJob) -> Iterator[str]:
    """The facts that were dropped because the old program has a key and did not read them."""
    if not before.key:
        return
    loaded = stream_job.loaded
    if loaded.job.counts_tuples and not loaded.key:
        yield "it counts all tuples, but those that the old program did not read were dropped"
    known = {Signature(name, arity) for name, arity, _ in before.key}
    known |= {Signature(name, arity) for name, arity in before.everywhere}
    for signature in sorted(_read(loaded.checked) - known):
        yield f"the old program did not read `{signature}`, so these facts were dropped"


def _read(checked: Checked) -> set[Signature]:
    """The predicates that rules read and do not derive."""
    read = {
        part.atom.signature
        for rule in checked.rules
        for formula in formulas(rule)
        for part in walk(formula)
        if isinstance(part, AtomFormula)
    }
    return read - checked.derived


# How many changed lines of a program a message lists.
_SHOWN = 4


def continued(state: ShardState, stream_job: StreamJob) -> ShardState:
    """The state to continue from.

    A changed program is refused; or it starts where the old one stopped (`restart`); or it takes
    over as if it had always been running (see `migrated`). Facts that are held back are kept, and
    atoms that also hold under the new program continue their intervals.
    """
    before, now = state.identity, identity(stream_job)
    if before == now:
        return state
    _check_layout(before, now)
    match stream_job.on_program_change:
        case "refuse":
            hint = 'use a new checkpoint, or set `on_program_change` to "migrate" or "restart"'
            reasons = "; ".join(_reasons(before, now))
            message = f"the checkpoint belongs to another program: {reasons}"
            raise LarsparkError(Problem("L491", message, hint=hint))
        case "restart":
            return _restarted(state, stream_job)
        case "migrate":
            return migrated(state, stream_job)
        case _:
            assert_never(stream_job.on_program_change)


def _restarted(state: ShardState, stream_job: StreamJob) -> ShardState:
    """The state in which the new program starts after the last answered time point."""
    after = None if state.answered is None else state.answered + 1
    start = (
        stream_job.start
        if after is None or stream_job.start is None
        else max(stream_job.start, after)
    )
    start = after if start is None else start
    return replace(state, identity=identity(stream_job), start=start, session=b"")


def _check_layout(before: Identity, now: Identity) -> None:
    """Raise changes of the shards, sources, tick or keys, which a checkpoint never allows."""
    problems = []
    anew = "use a new checkpoint"
    if before.shards != now.shards:
        message = f"the checkpoint has {before.shards} shards, not {now.shards}"
        hint = f"set `shards={before.shards}`, or use a new checkpoint"
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
                message = f"the facts of `{signature}` are sharded by {old}, not by {new}"
                problems.append(Problem("L494", message, hint=anew))
    if problems:
        raise LarsparkError(problems)


def _places(made_for: Identity) -> dict[Signature, str]:
    """How the facts of each predicate are distributed over the shards."""
    by_key = {Signature(p, n): f"argument {place + 1}" for p, n, place in made_for.key}
    return by_key | {Signature(p, n): "copies in all" for p, n in made_for.everywhere}


def _reasons(before: Identity, now: Identity) -> Iterator[str]:
    old, new = (Counter(each.program.splitlines()) for each in (before, now))
    yield from _lines("gone", old - new)
    yield from _lines("new", new - old)
    if not (old - new or new - old) and before.program != now.program:
        yield "the order of its lines"
    if before.background != now.background:
        yield "the background data differs"
    for name in ("engine", "start", "until"):
        if getattr(before, name) != getattr(now, name):
            yield f"{name} was {getattr(before, name)} and is {getattr(now, name)}"


def _lines(what: str, lines: Counter[str]) -> Iterator[str]:
    listed = [line for line in lines if line.strip()]
    if listed:
        shown = ", ".join(f"`{line.strip()}`" for line in listed[:_SHOWN])
        more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
        yield f"{what}: {shown}{more}"
