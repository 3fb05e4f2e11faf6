"""How a program can be partitioned for parallel evaluation, and what prevents it.

**By key.** When all rules join on one argument of the stream's predicates, the answers for a key
value depend only on the facts with that value: key values are spread over shards.

**By time.** When an answer at t depends only on the facts in [t - lookback, t], the answers for
[a, b] follow from the facts in [a - lookback, b]: history is cut into slices that overlap by the
lookback. A slice runs on a timeline that starts at a - lookback, and its answers before a, which
may miss facts, are dropped. The lookback bounds the extent of windows, not only the facts in them,
so no relevant window is clipped at the artificial start: `[5] always p` looks back five time
points, clipped or not.

**In stages.** When no key fits all rules, one key may fit some rules, and another key the rules
that read what the first ones derive: stages run one after the other, and derived rows are
repartitioned between them (see `analysis.stages`).

A program that can be cut by key (or in stages) and by time is cut into shards times slices; a
program that cannot be cut runs in one piece.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from larspark.analysis.checked import Checked
from larspark.analysis.partition import Key, partition_obstacles
from larspark.analysis.past import rule_place, time_cut, windows_of
from larspark.analysis.stages import Stage, find_stages
from larspark.base.atoms import Signature


@dataclass(frozen=True, slots=True)
class Cuts:
    """The possible cuts of a program; where a cut is impossible, the obstacles say why.

    >>> from larspark.language import parse_program
    >>> from larspark.analysis.check import check
    >>> program = parse_program("hot(S) :- [5] always temp(S, V), V > 30.").program
    >>> find_cuts(check(program)).lookback
    5
    """

    key: Key | None
    key_obstacles: tuple[str, ...]
    # How many time points before a slice its answers depend on; None when time cannot be cut.
    lookback: int | None
    time_obstacles: tuple[str, ...]
    # The stages of a program without a common key; empty when no stage has a key.
    stages: tuple[Stage, ...] = ()

    @property
    def stages_pay(self) -> bool:
        """Does every stage that reads the stream have a key, so that no shard reads all facts?

        A stage without a key runs in one shard; derived rows are fewer than the facts.
        """
        return bool(self.stages) and all(
            stage.key is not None or stage.inputs == frozenset() for stage in self.stages
        )


def find_cuts(checked: Checked, every_model: bool = False) -> Cuts:
    """The exact cuts of a program, for one answer stream, or for all of them (`every_model`)."""
    key_obstacles = tuple(_key_obstacles(checked))
    by_time = time_cut(checked, every_model)
    stages = find_stages(checked) if key_obstacles else ()
    return Cuts(
        None if key_obstacles else checked.partition_key,
        key_obstacles,
        by_time.lookback,
        by_time.obstacles,
        stages if any(stage.key for stage in stages) else (),
    )


def explain_cuts(checked: Checked) -> list[str]:
    """How the program is partitioned on Spark, as lines of text.

    >>> from larspark.language import parse_program
    >>> from larspark.analysis.check import check
    >>> program = parse_program("busy :- [#3] some tram(_).").program
    >>> for line in explain_cuts(check(program)):
    ...     print(line)
    by key   no
             line 1, `busy :- [#3] some tram(_).`: a tuple window without `by` counts the tuples \
of all values together
    by time  no
             line 1, `busy :- [#3] some tram(_).`: the window `[#3]` counts tuples, which may \
be arbitrarily old
    so       the whole history runs in one piece, on one executor
    """
    cuts = find_cuts(checked)
    lines: list[str] = []
    if cuts.key is None:
        lines += _entry("by key", ["no", *cuts.key_obstacles])
    else:
        note = "facts with equal keys go to one shard; background data goes to all shards"
        lines += _entry("by key", [f"yes: {_spread(cuts.key)}", note])
    if cuts.stages:
        lines += _entry("stages", list(_stages(checked, cuts.stages)))
    if cuts.lookback is None:
        lines += _entry("by time", ["no", *cuts.time_obstacles])
    else:
        lines += _entry("by time", _slices(cuts.lookback))
    return [*lines, *_entry("so", [_verdict(cuts)])]


def counts_tuples(checked: Checked) -> bool:
    """Does the arrival order of facts of one time point matter?"""
    return any(window.selects_input for _, window in windows_of(checked))


def own_windows(checked: Checked) -> list[str]:
    """The names of windows registered from Python."""
    names = (w.function for _, w in windows_of(checked) if w.function is not None)
    return list(dict.fromkeys(names))


def _verdict(cuts: Cuts) -> str:
    if cuts.key is not None and cuts.lookback is not None:
        return "history is cut into slices; where they are short, keys are spread over shards too"
    if cuts.key is not None:
        return "keys are spread over shards; each sees the whole history of its keys"
    if cuts.lookback is not None:
        sliced = "history is cut into slices; each sees all facts of its time"
        return f"{sliced}; stages where slices would be short" if cuts.stages_pay else sliced
    if cuts.stages_pay:
        return "stages follow each other; each sees the whole history of its keys"
    whole = "the whole history runs in one piece, on one executor"
    return f"{whole}, unless `shards` asks for stages" if cuts.stages else whole


def _key_obstacles(checked: Checked) -> Iterator[str]:
    for number, why in partition_obstacles(checked):
        yield f"{rule_place(checked, number)}: {why}"
    if checked.partition_key is None and not partition_obstacles(checked):
        yield "no rule reads the stream, so there is nothing to partition"
    if checked.several_models:
        yield "constraints and choices depend on the facts of all keys together"


def _spread(key: Key) -> str:
    return ", ".join(f"{p} by argument {place + 1}" for p, place in key.items())


def _stages(checked: Checked, stages: Sequence[Stage]) -> Iterator[str]:
    """The stages in order: key, derived predicates, inputs from earlier stages, and reasons."""
    count = len(stages)
    yield f"{count}, one after the other, with a shuffle between them" if count > 1 else "1"
    home = {p: number for number, stage in enumerate(stages, 1) for p in stage.derives}
    for number, stage in enumerate(stages, 1):
        how = "in one shard" if stage.key is None else f"by key: {_spread(stage.key)}"
        yield f"{number}. derives {_names(stage.derives)}, {how}"
        for signature in sorted(stage.exchanged):
            yield f"   {signature} of stage {home[signature]} {_exchange(signature, stage)}"
        if stage.parts:
            merged = "several shards derive parts of it, which are merged"
            yield f"   {_names(stage.parts)}: {merged}"
        for rule, why in stage.reasons:
            yield f"   {rule_place(checked, rule)}: {why}"
    yield "a live stream runs in one shard, unless `shards` asks for the stages"


def _exchange(signature: Signature, stage: Stage) -> str:
    """How rows of an earlier stage reach a stage that reads them."""
    if stage.key is None:
        return "is collected in one shard"
    return "is repartitioned by key" if signature in stage.key else "is broadcast to all shards"


def _names(signatures: Iterable[Signature]) -> str:
    return ", ".join(map(str, sorted(signatures)))


def _entry(title: str, content: list[str]) -> list[str]:
    return [f"{title if number == 0 else '':<9}{line}" for number, line in enumerate(content)]


def _slices(lookback: int) -> list[str]:
    hindsight = "with hindsight answers look ahead, and history is not cut by time"
    if lookback == 0:
        return ["yes: an answer looks at its own time point only", hindsight]
    amount = "1 time point" if lookback == 1 else f"{lookback} time points"
    overlap = f"a slice of history also reads the {amount} before it"
    return [f"yes: an answer looks back {amount} at most", overlap, hindsight]
