"""Just the answer streams that are listed are verified; the reasons for others are true."""

from itertools import chain, combinations
from random import Random

from larspark.analysis.check import check
from larspark.base.atoms import Atom, Element
from larspark.language import parse_program
from larspark.meaning.answer_streams import answer_streams
from larspark.meaning.verification import candidate, verify

END = 2
HEADS = ("a", "b", "c", "@1 a", "@T+1 b", "a or b", "false")
LITERALS = (
    *("a", "b", "c", "i", "not a", "not b", "not c", "not i", "@T a", "[1] some b", "some c"),
    *("[1] always a", "not [1] some b", "[#1] some i", "a or c", "1 < #count{ T : @T b }"),
)


def random_program(random: Random) -> str:
    rules = []
    for _ in range(random.randint(1, 5)):
        head = random.choice(HEADS)
        body = random.sample(LITERALS, random.randint(0, 3))
        if "T" in head and "@T a" not in body:
            body.append("@T a")
        if head == "false" and not body:
            continue
        rules.append(f"{head} :- {', '.join(body) or 'true'}.")
    return "\n".join(rules) or "a :- true."


def test_just_the_answer_streams_are_verified() -> None:
    violated, unfounded, verified = 0, 0, 0
    for seed in range(60):
        random = Random(seed)
        text = random_program(random)
        program = parse_program(text).program
        assert program is not None, text
        checked = check(program, (), ends=True)
        data = [Element(t, Atom("i")) for t in range(END + 1) if random.random() < 0.5]
        t = random.randint(0, END)
        expected = {
            frozenset(
                Element(point, atom) for point, atoms in answer.derived.items() for atom in atoms
            )
            for answer in answer_streams(checked, data, (), (0, END), t)
        }
        elements = [Element(point, Atom(name)) for point in range(END + 1) for name in "abc"]
        sizes = range(len(elements) + 1)
        every = chain.from_iterable(combinations(elements, size) for size in sizes)
        chosen = [added for added in every if random.random() < 0.05]
        for added in [*chosen, *map(tuple, expected)]:
            verdict = verify(checked, candidate(data, added, (0, END)), (), t)
            assert verdict.holds == (frozenset(added) in expected), (text, data, added, t)
            violated += verdict.violated is not None
            unfounded += verdict.smaller is not None
            verified += verdict.holds
            if verdict.smaller is not None:
                assert set(verdict.smaller) < set(added)
    assert min(violated, unfounded, verified) > 20
