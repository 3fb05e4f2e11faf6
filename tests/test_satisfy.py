"""`larspark sat`: a stream is found when one of all streams satisfies the formula."""

import re
import shlex
from itertools import chain, combinations
from pathlib import Path
from random import Random

import pytest
from tests.in_process import larspark
from tests.language.temporal.test_lars_to_pltl import random_formula

import larspark as lp
from larspark.base.atoms import Atom
from larspark.language import formula_text
from larspark.meaning.queries import query


def test_a_stream_is_found_if_there_is_one() -> None:
    atoms = [Atom("p"), Atom("q"), Atom("r")]
    seen = set()
    for seed in range(60):
        random = Random(seed)
        formula = random_formula(random, random.randint(2, 4))
        last = random.randint(0, 2)
        found = lp.satisfy(formula_text(formula), (0, last), over=atoms)
        elements = [(t, atom) for t in range(last + 1) for atom in atoms]
        sizes = range(len(elements) + 1)
        streams = chain.from_iterable(combinations(elements, size) for size in sizes)
        exists = any(query(formula, s, start=0, end=last, at=last) for s in streams)
        assert (found is not None) == exists, formula_text(formula)
        if found is not None:
            stream = [(t, atom) for t, there in found.items() for atom in there]
            assert query(formula, stream, start=0, end=last, at=last)
        seen.add(exists)
    assert seen == {True, False}


def test_the_command_writes_a_stream(tmp_path: Path) -> None:
    done = larspark(tmp_path, "sat", "@1 p(a) and not p(a)", "--timeline", "0,2")
    *_, one, end = done.stdout.splitlines()
    assert (one, end) == ('{"t": 1, "atoms": ["p(a)"]}', '{"t": 2, "atoms": []}')
    none = larspark(tmp_path, "sat", "p and not p", "--timeline", "0,2")
    assert (none.stdout, none.returncode) == ("", 0)
    assert "no stream over these atoms" in none.stderr
    some = larspark(tmp_path, "sat", "some p(X)", "--timeline", "0,1", "--over", "p(b)")
    assert '"p(b)"' in some.stdout


@pytest.mark.parametrize(
    ("formula", "timeline", "code"),
    [
        ("p and", (0, 2), "L104"),
        ("some p(X)", (0, 2), "L312"),
        ("[#3] some p", (0, 2), "L221.*counts the input"),
        ("p", (0, 9000), "L254"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    formula: str, timeline: tuple[int, int], code: str
) -> None:
    with pytest.raises(lp.LarsparkError, match=code):
        lp.satisfy(formula, timeline)


def test_a_time_point_outside_of_the_timeline_is_refused() -> None:
    with pytest.raises(lp.LarsparkError, match="L251"):
        lp.satisfy("p", (0, 2), at=5)


def test_the_atoms_can_be_ranges_of_integers(tmp_path: Path) -> None:
    among = ("--timeline", "0,0", "--over", "p(1..2,-1..0)", "--over", 'q("1..2")')
    no_others = "not p(1,-1) and not p(1,0) and not p(2,0)"
    found = larspark(tmp_path, "sat", f"some p(X,Y) and some q(Z) and {no_others}", *among)
    assert found.stdout == '{"t": 0, "atoms": ["p(2,-1)", "q(\\"1..2\\")"]}\n'
    for wrong, message in (
        ("p(2..1)", "`p(2..1)` has a range without integers"),
        ("p(1..99999,1)", "`p(1..99999,1)` stands for more than 10000 atoms"),
        ("p(1..3.5)", "found `.`"),
        ("p(a),p(b)", "found `,` after the atom"),
    ):
        done = larspark(tmp_path, "sat", "some p(X)", "--timeline", "0,1", "--over", wrong)
        assert message in done.stderr
    # The hint can be followed.
    asked = larspark(tmp_path, "sat", "some p(X)", "--timeline", "0,1")
    (hint,) = re.findall("as in `(.*)`", asked.stderr)
    done = larspark(tmp_path, "sat", "some p(X)", "--timeline", "0,1", *shlex.split(hint))
    assert done.stdout.startswith('{"t": 0, "atoms": ')
