"""What stands below temporal operators and windows gives what the definitions give."""

from random import Random

import pytest
from tests.definitions import output_stream

from larspark.analysis.check import check
from larspark.base.atoms import Atom, Element
from larspark.base.facts import Row, RowBatch
from larspark.language import parse_program
from larspark.run.protocol import Settings
from larspark.run.session import Session

BODIES = (
    "[3] some (a(X) and b(X))",
    "[3] some (a(X) and c(X,Y) and Y >= X)",
    "[3] some (a(X) and not b(X))",
    "[2] some (a(X) and not b(X)), [2] some (b(X) and not a(X))",
    "[3] @T (a(X) and not b(X)), [1] @T+1 b(_)",
    "[*] some (a(X) and not c(X,_))",
    "[4,+2] some (a(X) and b(X))",
    "[4 every 2] some (a(X) and b(X))",
    "[2] always (a(X) and X > 0)",
    "[3] some a(X), not [3] @T (a(1) and not b(1)), [1] @T a(_)",
    "([3] some (a(X) and b(X))) or b(X)",
    "b(X), not (not [3] some (a(X) and b(X)))",
    "[#4] some (a(X) and b(X))",
    # Windows below temporal operators see what the windows above them leave.
    "[3] @T a(X), @T [+3] some b(X)",
    "[3] @T a(X), not @T [2] some b(X)",
    "[5] some (a(X) and [1,+1] some b(X))",
    "[5] some (a(X) and not [2] some b(X))",
    "[#4] some (a(X) and not [2] some b(X))",
    "always [5] some a(X)",
    "[6] always [2] some a(X)",
    "[6] always reset [3] some a(X)",
    "some [2] always a(X)",
    "[5] some [1] always a(X)",
    "[5] some reset [1] always a(X)",
    "[6] some [3] always [1] some a(X)",
    "[6] always [3] some [1] always a(X)",
    "[5] some [*] always a(X)",
    "[6] @T+1 [1] always a(X), X < T",
    "@3 [2] some a(X)",
    "b(X), not @3 [2] always a(X)",
    "b(X), not [5] some [1] always a(X)",
    "a(X), not [3] always [1] some b(X)",
    "[4] some [only a(1)] [2] always a(X)",
    # Windows that count elements, and do not collapse into one.
    "[#3] always a(X)",
    "b(X), [#3] some not a(X)",
    "a(X), [session 2] always b(_)",
    "some [#3] some a(X)",
    "[5] some [#2] always a(X)",
    "[5] some [#1,+1] some a(X)",
    "[6 every 2] [#2] some a(X)",
    "[#4] [session 1] some a(X)",
    "[#5] [#1 by X] some a(X)",
    "[6] [session 1 max 2] some a(X)",
    "[6] some [session 1 max 2] always a(X)",
    "[6] @T [#2 by X] always a(X), b(_)",
    "[#3] @T true, b(X), not a(T)",
    "[0] @now true, [#2] @now true, [4] some a(X)",
    "[6] some [4] some [#2] some a(X)",
    "[ended session 1] some [#2] some a(X)",
    # Filters with variables.
    "[2] some a(X), [only c(X,_)] [3] some c(_,1)",
    "[3] some b(X), not [only a(X), a(2)] [4] some a(_)",
    "[3] some b(X), [only a(X + 1), c(1,X)] [4] always [1] some a(_)",
    # Hopping windows above, and below.
    "[6 every 2] [3] some a(X)",
    "[6 every 2] [4 every 3] some a(X)",
    "[5] some [3 every 2] a(X)",
    "[3,+* every 2] [4] some a(X)",
    "[4 every 2] always [2] some a(X)",
    "[4 every 2] some [1] always a(X)",
    "[5] some [3 every 2] some a(X)",
    "[5] always [3 every 2] some a(X)",
    "[3] [4 every 2] some a(X)",
    "b(X), not [3] [4 every 2] always a(_)",
    "[5] some (a(X) and [3 every 2] always b(_))",
    "b(X), not [4 every 3] always a(X)",
    # Negations, disjunctions and implications below temporal operators.
    "b(X), [3] some not a(X)",
    "b(X), not some (a(X) and b(X))",
    "b(X), [3] some (not a(X) and not c(X,_))",
    "b(X), [5] some not [1] some a(X)",
    "[3] always (a(X) or b(X))",
    "a(X), [2] always (a(X) -> b(X))",
    "a(X), [3] always not (b(X) and c(X,_))",
    "b(X), [4 every 3] always not a(X)",
    # Without a value, an atom or a time pin leaves no instance of the rule, wherever it stands.
    "a(X), (b(_) or c(1/X,_))",
    "a(X), not (not 1/X = 1)",
    "a(X), ([only a(1/X)] some b(_) -> b(X))",
    "a(X), not (1/X = 1 and b(X))",
    "a(X), not @(X/2) b(_)",
    "a(X), ([2] some b(X) or @X c(1,_))",
)


@pytest.mark.parametrize("hindsight", [False, True])
@pytest.mark.parametrize("body", BODIES)
def test_a_body_holds_where_the_definitions_say(body: str, hindsight: bool) -> None:
    program = parse_program(f"q(X) :- {body}. #input a/1, b/1, c/2.").program
    assert program is not None
    checked = check(program)
    holding = 0
    for seed in range(10):
        random = Random(seed)
        elements = sorted(element(random) for _ in range(random.randint(1, 20)))
        expected = dict(output_stream(checked, elements, start=1, to=10, hindsight=hindsight))
        session = Session(checked, engine="interval", settings=Settings(1, hindsight))
        rows = [Row(t, atom, number) for number, (t, atom) in enumerate(elements)]
        found = {}
        if hindsight:
            session.append(RowBatch(rows, 10))
        for t in range(1, 11):
            if not hindsight:
                session.append(RowBatch([row for row in rows if row.t == t], t))
            found.update((point.t, point.atoms) for point in session.advance(t).points())
        assert found == expected, (seed, elements)
        holding += sum(map(bool, expected.values()))
    assert holding > 0


def element(random: Random) -> Element:
    name = random.choice("aabbcc")
    args = tuple(random.randint(0, 2) for _ in range(2 if name == "c" else 1))
    return Element(random.randint(1, 9), Atom(name, args))


LONG = (
    "[20] some [3] always a(X)",
    "[15] always [9] some a(X)",
    "[9] @T a(X), not @T [+3] some b(X)",
    "[12 every 5] some [2] always a(X)",
    "b(X), [10] some not a(X)",
)


@pytest.mark.parametrize("body", LONG)
def test_a_long_stream_is_answered_the_same_at_once_and_tick_by_tick(body: str) -> None:
    """Long enough for everything old to be forgotten, several times; and saved on the way."""
    program = parse_program(f"q(X) :- {body}. #input a/1, b/1.").program
    assert program is not None
    checked, random, end = check(program), Random(body), 300
    rows = [
        Row(t, Atom(name, (value,)), 0)
        for t in range(1, end + 1)
        for name, often in (("a", 0.6), ("b", 0.25))
        for value in range(3)
        if random.random() < often
    ]
    at_once, running = (Session(checked, engine="interval") for _ in range(2))
    at_once.append(RowBatch(rows, end))
    expected = {point.t: point.atoms for point in at_once.advance(end).points()}
    found = {}
    for t in range(1, end + 1):
        running.append(RowBatch([row for row in rows if row.t == t], t))
        found.update((point.t, point.atoms) for point in running.advance(t).points())
        if t % 97 == 0:
            state = running.save()
            running = Session(checked, engine="interval")
            running.restore(state)
    assert found == expected
    assert sum(map(bool, found.values())) > 50
