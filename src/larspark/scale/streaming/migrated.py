"""A new program that takes over the facts of the old one.

Up to the last time point that was answered the answers are those of the old program, after it those
that the new program gives over the whole stream. That needs the facts that the new program can see
from there on: the engine is made anew from them, on a timeline that reaches back as far as the new
program looks, as a slice of history is (`larspark.scale.cuts`). Where facts are missing, or where
it is not known how far the program looks, a migration is refused.
"""

from collections.abc import Iterator
from dataclasses import replace

from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.language.tree import AtomFormula
from larspark.meaning.checked import Checked
from larspark.meaning.walk import formulas, walk
from larspark.scale.cuts import find_cuts, looks_further
from larspark.scale.streaming.live import Live
from larspark.scale.streaming.state import Identity, ShardState, identity


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
