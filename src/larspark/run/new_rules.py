"""Replacement of the rules of a run, from the time point after the last answer on.

From there on the answers are those of the new program over the whole stream, as far as the facts
that it looks back to are kept: its engine is built from these. Where facts are missing, the answers
are those over the stream from the first time point on from which all facts are kept.
"""

from typing import NamedTuple

from larspark.analysis.checked import Checked
from larspark.analysis.past import answer_obstacles, looks_further, time_obstacles
from larspark.base.atoms import Atom
from larspark.base.facts import Row, RowBatch
from larspark.base.problems import LarsparkError, Problem
from larspark.language import tree
from larspark.run.history import History
from larspark.run.prepare import Prepared
from larspark.run.protocol import Settings
from larspark.run.session import Session, read_session, saved_history
from larspark.run.state import MALFORMED, refused, unreadable


class RuleChange(NamedTuple):
    """What other rules changed.

    `t` is the time point answered last; there `added` hold by the new rules and did not by the old
    ones, and `removed` the other way round. Where facts are missing, `since` is the time point that
    the new rules begin at, and `missing` says why.
    """

    t: int | None
    added: frozenset[Atom]
    removed: frozenset[Atom]
    since: int | None = None
    missing: tuple[str, ...] = ()


class _Taken(NamedTuple):
    """What the new rules take over from the old ones."""

    settings: Settings
    history: History
    start: int | None
    answered: int | None
    latest: int | None
    output: frozenset[Atom]


def replace_rules(session: Session, prepared: Prepared, engine: str) -> RuleChange:
    """Replace the program of a session with a history.

    What stands in the way of the new program is an error, and changes nothing.
    """
    with session.lock:
        if session.history is None:
            raise TypeError("a session without a history cannot change its rules")
        taken = _Taken(
            session.settings,
            session.history,
            session.start,
            session.answered,
            session.latest,
            session.output(),
        )
        return _replaced(session, taken, prepared, engine)


def resume_with_rules(session: Session, saved: bytes, engine: str) -> RuleChange:
    """Continue the saved session of another program in a new session."""
    header, whole = read_session(saved)
    prepared = Prepared(session.checked, session.background)
    try:
        history, output = saved_history(whole, session.checked)
    except MALFORMED as error:
        raise unreadable(error) from error
    if history is None:
        raise refused("the state belongs to another program, and was saved without its facts")
    taken = _Taken(header.settings, history, header.start, header.answered, header.latest, output)
    return _replaced(session, taken, prepared, engine)


def _replaced(session: Session, taken: _Taken, prepared: Prepared, engine: str) -> RuleChange:
    """Replace a session by one of the new program that has reached the same time point."""
    settings, history, begun, answered, latest, before = taken
    if settings.hindsight or settings.push:
        message = "a run with hindsight or after each fact cannot change its rules"
        raise LarsparkError(Problem("L433", message))
    checked = prepared.checked
    start, missing = _start(history, checked, answered)
    other = Session(*prepared, engine, settings._replace(start=start))
    _replay(other, history, latest)
    now = before
    if answered is not None and other.start is not None and other.start <= answered:
        if other.start < answered:
            other.advance(answered - 1)
        for point in other.advance(answered).points():
            now = point.atoms or frozenset()
    other.reached(answered, latest, now)
    # The run as a whole began where it did.
    if begun is not None:
        other.begun_at(begun)
    other.history = history.copy()
    other.history.look_back(checked.lookback)
    session.go_on_as(other)
    return RuleChange(
        answered, now - before, before - now, start if missing else None, tuple(missing)
    )


def _replay(session: Session, history: History, latest: int | None) -> None:
    """Feed the facts that are kept to a session that begins."""
    heard = history.seen.heard
    if latest is None or (session.start is not None and latest < session.start):
        return
    if session.start is None and heard is not None:
        session.append(RowBatch((), heard))
    rows = [Row(t, atom, number) for number, (t, atom) in enumerate(history.elements())]
    session.append(RowBatch(rows, latest))


def _start(
    history: History, checked: Checked, answered: int | None
) -> tuple[int | None, list[str]]:
    """Where the timeline of the new program begins, and what it misses there."""
    start, heard, forgotten = history.seen
    own = min((element.t for element in checked.elements), default=None)
    origin = start
    if start is None and heard is not None:
        origin = heard if own is None else min(heard, own)
    if answered is None:
        return (start, []) if forgotten is None else (forgotten + 1, [_NOTHING])
    lookback = checked.lookback
    obstacles = list(time_obstacles(checked))
    if not obstacles and lookback.time is not None:
        first = answered - lookback.time
        first = first if origin is None else max(first, origin)
        if forgotten is None or first > forgotten:
            return first, []
    elif forgotten is None:
        return origin, []
    elif (
        not any(answer_obstacles(checked))
        and lookback.time is not None
        and history.sees_all(answered, lookback)
    ):
        oldest = next((row.t for row in history.rows()), answered)
        return min(oldest, answered - lookback.time), []
    first = min(forgotten + 1, answered + 1) if forgotten is not None else answered + 1
    return first, obstacles or list(looks_further(checked, answered - first)) or [_NOTHING]


_NOTHING = "no facts are kept"


def check_replacement(old: tree.Program, new: tree.Program) -> None:
    """Refuse a program that reads or writes otherwise than the one that is running."""
    for what, before, now in (
        ("`#tick`", old.tick, new.tick),
        ("variables of its answers", old.bindings, new.bindings),
        ("streams and relations", old.named, new.named),
        ("kind of answers", bool(old.events), bool(new.events)),
        ("reading of time", old.hindsight, new.hindsight),
    ):
        if before != now:
            message = f"the {what} of a program cannot change while it runs"
            raise LarsparkError(Problem("L433", message, hint="end the run, and begin another"))
