"""Bearings that run hot: every alarm is announced strictly before it is certain."""

import random

from tests.definitions import output_stream
from tests.run.hypothetical.definition import checked, formula

from larspark.base.atoms import Atom, fact
from larspark.run.hypothetical import ChangeKind, Hypotheses

PROGRAM = """
@T hot(B) :- @T temp(B, V), V >= 80.
alarm(B)  :- [2] always hot(B), not [5] some serviced(B).
"""


def readings(minutes: int) -> dict[int, list[Atom]]:
    """A few bearings whose temperatures wander, with services now and then."""
    chance = random.Random(3)
    level = dict.fromkeys(("b1", "b2", "b3"), 60.0)
    found: dict[int, list[Atom]] = {}
    for minute in range(minutes):
        found[minute] = []
        for bearing in level:
            level[bearing] += 0.2 * (76 - level[bearing]) + chance.gauss(0, 5)
            found[minute].append(fact("temp", bearing, round(level[bearing])))
            if chance.random() < 0.06:
                found[minute].append(fact("serviced", bearing))
    return found


def test_alarms_are_announced_before_they_are_certain_and_the_run_agrees() -> None:
    program = checked(PROGRAM)
    data = readings(120)
    monitor = Hypotheses(program, formula("@T alarm(B)"), start=0)
    announced: dict[tuple[object, object], int] = {}
    lead_times: dict[tuple[object, object], int] = {}
    for minute, atoms in data.items():
        monitor.append(minute, atoms)
        for change in monitor.advance(minute).changes:
            who = (change.values["B"], change.values["T"])
            if change.kind is ChangeKind.NEW:
                announced.setdefault(who, minute)
            elif change.kind is ChangeKind.CONFIRMED:
                lead_times[who] = minute - announced.get(who, minute)
    elements = [(minute, atom) for minute, atoms in data.items() for atom in atoms]
    certain = {
        (atom.args[0], t)
        for t, output in output_stream(program, elements, start=0)
        for atom in output or ()
        if atom.predicate == "alarm"
    }
    assert lead_times.keys() == certain
    assert len(certain) >= 10
    assert set(lead_times.values()) == {2}
