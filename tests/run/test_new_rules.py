"""A running program is replaced, and the new one answers as if it had always been there.

`LARSPARK_EXAMPLES` sets how many pairs of programs are drawn, `LARSPARK_SEED` others of them.
"""

import os
from collections import Counter
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from random import Random

from tests.definitions import output_stream
from tests.run.interval.random_programs import Case, Generator

import larspark as lp
from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError
from larspark.run.prepare import prepare
from larspark.run.protocol import Settings

EXAMPLES = 10 * int(os.environ.get("LARSPARK_EXAMPLES", "30"))
SEED = int(os.environ.get("LARSPARK_SEED", "0")) * 1_000_000_000


def definitions(case: Case, start: int | None, to: int) -> dict[int, frozenset[Atom]]:
    """What the program says over the whole stream."""
    settings = Settings(start, until=case.until)
    checked, background = prepare(case.program, case.background, settings)
    answers = output_stream(
        checked, case.elements, background, start=start, to=to, until=case.until
    )
    return {t: atoms or frozenset() for t, atoms in answers}


def taken_over(seed: int, tmp_path: Path) -> str:
    """Let one random program follow another somewhere in a stream; what came of it."""
    random = Random(seed)
    old, new = (Generator(random).case() for _ in range(2))
    elements = sorted({*old.elements, *new.elements}, key=lambda element: element.t)
    if not elements:
        return "refused"
    old, new = (
        replace(case, elements=tuple(elements), until=old.until, start=old.start)
        for case in (old, new)
    )
    last = max(element.t for element in elements) + 5
    engine = random.choice(["auto", "auto", "auto", "asp", "oracle", "tms"])
    keep = random.choice([None, None, 0, 2, 5, 100])
    first = min(max(elements[0].t, old.start or 0), last - 1)
    at = random.randint(first, last - 1)
    try:
        for case in (old, new):
            prepare(case.program, case.background, Settings(old.start, until=old.until))
    except LarsparkError:
        return "refused"
    try:
        reasoner = lp.Reasoner(
            lp.Program(old.program),
            old.background,
            engine=engine,
            start=old.start,
            until=old.until,
            keep=keep,
        )
        before: frozenset[Atom] = frozenset()
        changes = []
        for t in range(elements[0].t, last + 1):
            here = [element.atom for element in elements if element.t == t]
            half = random.randint(0, len(here))
            reasoner.append(t, here[:half])
            if t == at + 1 or (changes and random.random() < 0.1):
                if random.random() < (0.1 if keep is None else 0.5):
                    reasoner.save(tmp_path / "state")
                    reasoner = lp.Reasoner.restore(
                        tmp_path / "state", reasoner.program, reasoner._given
                    )
                elif random.random() < 0.3:
                    reasoner = deepcopy(reasoner)
                changes.append(reasoner.replace(lp.Program(new.program), new.background))
            reasoner.append(t, here[half:])
            if t < at and random.random() < 0.5:
                continue
            for answer in reasoner.advance(t):
                atoms = frozenset(answer.atoms or ())
                assert answer.added == atoms - before, (seed, answer.t, changes)
                assert answer.removed == before - atoms, (seed, answer.t, changes)
                before = atoms
                if answer.t > at:
                    since = changes[-1].since
                    expected = definitions(new, old.start if since is None else since, last)
                    assert atoms == expected[answer.t], (seed, answer.t, changes)
    except LarsparkError as error:
        assert {p.code for p in error.problems} <= {
            *("L253", "L254", "L255", "L256", "L261", "L401", "L403", "L405", "L410"),
        }, (seed, error)
        return "refused"
    [change, *again] = changes
    known = {c.t: c for c in (change,)}
    if change.t is not None and change.since is None and at >= first:
        there = definitions(new, old.start, last).get(change.t, frozenset())
        ahead = definitions(old, old.start, last).get(change.t, frozenset())
        assert (change.added, change.removed) == (there - ahead, ahead - there)
    # The same rules once more change nothing.
    assert all(not c.added and not c.removed for c in again if c.since is None), known
    return "taken over" if change.since is None else "in part"


def test_a_new_program_answers_as_if_it_had_always_been_there(tmp_path: Path) -> None:
    came: Counter[str] = Counter()
    for number in range(EXAMPLES):
        came[taken_over(SEED + number, tmp_path)] += 1
    assert min(came["taken over"], came["in part"]) >= EXAMPLES // 20, came
