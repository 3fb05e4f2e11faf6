"""A new program that takes over the facts of the old one.

Up to the last time point that was answered the answers are those of the old program, after it those
that the new program gives over the whole stream. That needs the facts that the new program can see
from there on: the engine is made anew from them, on a timeline that reaches back as far as the new
program looks, as a slice of history is (`larspark.scale.cuts`). Where facts are missing, or where
it is not known how far the program looks, a migration is refused.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from larspark.analysis.checked import Checked
from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.language.nodes import walk
from larspark.language.tree import AtomFormula
from larspark.logic.traversal import formulas
from larspark.scale.cuts import find_cuts, looks_further
from larspark.scale.streaming.shard_state import Identity, ShardState, identity
from larspark.scale.streaming.stream_job import Live


def migrated(state: ShardState, live: Live) -> ShardState:
    """The state from which the new program goes on."""
    start = _start(state, live)
    reasons = [*_not_taken_in(state.identity, live), *_missing(state, start, live.loaded.checked)]
    if reasons:
        message = f"the checkpoint cannot be migrated to this program: {'; '.join(reasons)}"
        hint = 'begin with a new checkpoint, or say `on_program_change="restart"`'
        raise LarsparkError(Problem("L491", message, hint=hint))
    # Before the first answer it is not settled yet where the timeline begins.
    start = None if state.answered is None else start
    return replace(state, identity=identity(live), start=start, session=b"")


def _start(state: ShardState, live: Live) -> int | None:
    """Where the timeline has to start for all answers that are still to come."""
    checked = live.loaded.checked
    began = live.start
    if began is None:
        heard = [] if state.first is None else [state.first]
        began = min([*heard, *(element.t for element in checked.elements)], default=None)
    lookback = find_cuts(checked).lookback
    if began is None or state.answered is None or lookback is None:
        return began
    return max(began, state.answered + 1 - lookback)


def _missing(state: ShardState, start: int | None, checked: Checked) -> Iterator[str]:
    """Why the facts that are kept do not tell what the new program would say."""
    kept_from = state.identity.start if state.answered is None else state.kept_from
    if start is None or kept_from is None or start >= kept_from:
        return
    cuts = find_cuts(checked)
    if state.answered is None:
        yield f"it begins at {start}, and facts before {kept_from} were not taken in"
    elif cuts.lookback is None:
        yield from cuts.time_obstacles
    else:
        reach = state.answered + 1 - kept_from
        yield f"it looks back {cuts.lookback} time points, and the facts of {reach} are kept"
        yield from looks_further(checked, reach)


def _not_taken_in(before: Identity, live: Live) -> Iterator[str]:
    """With a key, facts that no rule of the old program read were not taken in."""
    if not before.key:
        return
    loaded = live.loaded
    if loaded.job.counts_tuples and not loaded.key:
        yield "it counts all tuples, and those that the old program did not read were not taken in"
    known = {Signature(name, arity) for name, arity, _ in before.key}
    known |= {Signature(name, arity) for name, arity in before.everywhere}
    for signature in sorted(_read(loaded.checked) - known):
        yield f"the old program did not read `{signature}`, so these facts were not taken in"


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
