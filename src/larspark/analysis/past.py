"""Whether answers depend on a bounded past, and which rules look back further than others.

An answer at t that depends only on the stream in [t - lookback, t] can be given by a run that
begins there: history can be cut into slices, and other rules can take over from kept facts.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from larspark.analysis.checked import Checked
from larspark.analysis.dependencies import evaluation_order
from larspark.analysis.fragment import is_choice
from larspark.analysis.frames import first_frame, frames
from larspark.analysis.reach import Reach, placements, variable_times
from larspark.analysis.signatures import Roles
from larspark.base.atoms import Signature
from larspark.language import rule_text, window_text
from larspark.language.nodes import walk
from larspark.language.tree import AtomFormula, Rule, Windowed
from larspark.language.windows import Window
from larspark.logic.traversal import formulas


def looks_further(checked: Checked, reach: int) -> Iterator[str]:
    """The rules that look back further than `reach` time points.

    >>> from larspark.language import parse_program
    >>> from larspark.analysis.check import check
    >>> program = parse_program("p :- [5] some a. q :- [60] some b(_).").program
    >>> list(looks_further(check(program), 20))
    ['line 1, `q :- [60] some b(_).`: it looks for `b(_)` further back']
    """
    known = _known(checked)
    for number, rule in enumerate(checked.rules):
        if (atom := _seen_before(rule, checked.derived, known, -reach)) is not None:
            yield f"{rule_place(checked, number)}: it looks for `{atom}` further back"


class TimeCut(NamedTuple):
    """Whether a run may be cut by time, and what prevents it.

    `lookback` is how many time points before a slice its answers depend on; None if it has no
    bound.
    """

    lookback: int | None
    obstacles: tuple[str, ...]


def time_cut(checked: Checked, every_model: bool = False) -> TimeCut:
    """How a run of a program may be cut by time.

    >>> from larspark.language import parse_program
    >>> from larspark.analysis.check import check
    >>> time_cut(check(parse_program("p(X) :- [5] some a(X).").program))
    TimeCut(lookback=5, obstacles=())
    """
    obstacles = tuple(time_obstacles(checked, every_model))
    return TimeCut(None if obstacles else checked.lookback.time, obstacles)


def time_obstacles(checked: Checked, every_model: bool = False) -> Iterator[str]:
    """What an answer depends on beyond the stream within the lookback in time."""
    yield from answer_obstacles(checked, every_model)
    if checked.lookback.time is None or checked.lookback.tuples != 0:
        found = list(_unbounded(checked))
        yield from found or ["an answer can look back without bound"]


def answer_obstacles(checked: Checked, every_model: bool = False) -> Iterator[str]:
    """What an answer depends on beyond the stream: the answers before it."""
    chooses = checked.strata is None or any(is_choice(rule.head) for rule in checked.rules)
    if chooses and not every_model:
        yield "the choice among several answer streams depends on all earlier choices"
    if checked.program.remembered:
        names = ", ".join(f"`{signature}`" for signature in sorted(checked.program.remembered))
        yield f"`#remember` carries {names} on from answer to answer"


def _unbounded(checked: Checked) -> Iterator[str]:
    """The rules that look back without a bound in time."""
    counting = {number: w for number, w in windows_of(checked) if w.selects_input}
    known = _known(checked)
    for number, rule in enumerate(checked.rules):
        if number in counting:
            window = counting[number]
            why = f"the window `[{window_text(window)}]` {window.unbounded}"
            yield f"{rule_place(checked, number)}: {why}"
        elif (atom := _seen_before(rule, checked.derived, known, -math.inf)) is not None:
            why = f"it looks for `{atom}` in the whole past; a window such as `[60]` bounds that"
            yield f"{rule_place(checked, number)}: {why}"


def _known(checked: Checked) -> Reach:
    parts = Roles(checked.inputs, checked.background_signatures, checked.derived, checked.shown)
    order = evaluation_order(checked.edges, checked.derived)
    remembered = checked.program.remembered & checked.derived
    # As for the lookback: with hindsight there is input after the evaluation time, too.
    return placements(checked.rules, order, parts, remembered, end=math.inf, input_end=math.inf)


def _seen_before(
    rule: Rule, derived: frozenset[Signature], known: Reach, earliest: float
) -> str | None:
    """A body atom that is looked up before `earliest`; at minus infinity: without a bound."""
    times = variable_times(rule, known)
    if times is None:
        return None
    for formula in rule.body:
        for part, frame in frames(formula, first_frame(known.end), times):
            if not isinstance(part, AtomFormula):
                continue
            lowest: float = frame.now.floor.time
            if part.atom.signature in derived and frame.monotone:
                lowest = max(frame.now.times.low, known.placed[part.atom.signature].low)
            if lowest < earliest or lowest == -math.inf:
                return str(part.atom)
    return None


def windows_of(checked: Checked) -> Iterator[tuple[int, Window]]:
    """All windows of the rules, each with the number of its rule."""
    for number, rule in enumerate(checked.rules):
        for formula in formulas(rule):
            for part in walk(formula):
                if isinstance(part, Windowed):
                    yield number, part.window


def rule_place(checked: Checked, number: int) -> str:
    """A rule in a message: its line and its text."""
    rule = checked.rules[number]
    return f"line {rule.span.line}, `{rule_text(rule)}`"
