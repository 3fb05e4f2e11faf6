"""Stages: which predicates are derived together, by which key, and which in parts."""

import pytest

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.analysis.stages import Stage, find_stages, kept_apart
from larspark.language import parse_program


def checked(text: str) -> Checked:
    program = parse_program(text).program
    assert program is not None
    return check(program)


def told(stage: Stage) -> str:
    """What a stage derives, what of it in parts (with a `*`), and its key."""
    names = [f"{p}{'*' if p in stage.parts else ''}" for p in sorted(stage.derives)]
    key = "one shard" if stage.key is None else " ".join(f"{p}:{n}" for p, n in stage.key.items())
    return f"{' '.join(names)} by {key}"


@pytest.mark.parametrize(
    ("text", "stages"),
    [
        # A rule may lose its key where no rule of the same stage reads what it derives.
        ("q(Y) :- p(X, Y), not r(X).", ["q/1* by p/2:0 r/1:0"]),
        (
            "q(Y) :- p(X, Y), not r(X). s(Y) :- q(Y), not t(Y).",
            ["q/1* by p/2:0 r/1:0", "s/1 by q/1:0 s/1:0 t/1:0"],
        ),
        ("q(X, Y) :- p(X, Y). q(X, Y) :- p(Y, X).", ["q/2* by p/2:0"]),
        # One atom is in one shard, whatever its arguments are; all or none are not.
        ("q :- [5] some p(_).", ["q/0* by p/1:0"]),
        ("q :- [5] some p(a).", ["q/0* by p/1:0"]),
        ("q :- [5] always p(_). r(X) :- p(X).", ["r/1 by p/1:0 r/1:0", "q/0 by one shard"]),
        ("q :- not p(_).", ["q/0 by one shard"]),
        # A shard that lacks the facts of a value could derive what does not follow.
        ("q :- k(X), not p(X). k(1).", ["q/0 by one shard"]),
        (
            "q(X) :- k(X), not p(X). r :- q(X). k(1).",
            ["q/1 by p/1:0 q/1:0", "r/0* by q/1:0"],
        ),
        # What has no argument is known to all shards once it is derived.
        (
            "q :- [5] some p(_). r(X) :- p(X), not q.",
            ["q/0* by p/1:0", "r/1 by p/1:0 r/1:0"],
        ),
        # What follows from background data alone is derived wherever it is read.
        (
            "f(X) :- k(X), not l(X). q(Y) :- p(X, Y), o(X). r(Y) :- q(Y), f(Y). k(1). l(2).",
            ["f/1 q/1* by o/1:0 p/2:0", "r/1 by q/1:0 r/1:0"],
        ),
        # Recursion stays together.
        (
            "p(X, Y) :- e(X, Y). p(X, Z) :- p(X, Y), e(Y, Z). r(X) :- p(X, X), not m(X).",
            ["p/2 by one shard", "r/1 by m/1:0 p/2:0 r/1:0"],
        ),
        # A rule that derives two predicates derives both in one stage.
        (
            "q(X) and r(Y) :- p(X, Y). s(X) :- q(X), not r(X).",
            ["q/1* r/1* by p/2:0", "s/1 by q/1:0 r/1:0 s/1:0"],
        ),
    ],
)
def test_stages_have_keys_of_their_own(text: str, stages: list[str]) -> None:
    assert [told(stage) for stage in find_stages(checked(text))] == stages


def test_choices_and_constraints_have_no_stages() -> None:
    assert find_stages(checked("a(X) :- p(X), not b(X). b(X) :- p(X), not a(X).")) == ()
    assert find_stages(checked("a(X) :- p(X). :- a(X), b(X).")) == ()


def test_a_stage_tells_what_it_reads() -> None:
    first, second, third = find_stages(
        checked("q(Y) :- p(X, Y), n(X). b :- [#3] some m(_). r(Y) :- q(Y), b, not o(Y).")
    )
    assert first.exchanged == second.exchanged == frozenset()
    assert sorted(map(str, first.inputs or ())) == ["n/1", "p/2"]
    assert second.inputs is None
    assert sorted(map(str, third.inputs or ())) == ["o/1"]
    assert sorted(map(str, third.exchanged)) == ["b/0", "q/1"]
    assert sorted(map(str, third.everywhere)) == ["b/0"]


def test_what_needs_no_fact_of_its_key_is_not_kept_apart() -> None:
    program = checked("q(X) :- p(X). q(X) :- k(X), not r(X). s(X) :- p(X), not r(X). k(1).")
    (stage,) = find_stages(program)
    assert sorted(map(str, kept_apart(program, stage))) == ["s/1"]
