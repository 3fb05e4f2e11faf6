"""The compiled network as text: stable, with every store, step, stage and output."""

import pytest

from larspark.analysis.check import check
from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError
from larspark.language import parse_program
from larspark.run.interval.network_text import network_text
from larspark.run.protocol import Settings


def network(text: str, *background: Atom) -> list[str]:
    program = parse_program(text).program
    assert program is not None
    checked = check(program, {atom.signature for atom in background})
    return network_text(checked, background, Settings()).splitlines()


def test_a_negation_subtracts_one_store_and_retracts_by_the_other() -> None:
    text = """
    alarm(M) :- hot(M), not [5] some serviced(M).
    hot(M) :- [3] some temp(M, V), V > 90.
    """
    assert network(text) == [
        "inputs",
        "  serviced/1",
        "    scan time in [t-5, t]; keep c3 -> store 2",
        "  temp/2",
        "    derive hot(M), line 3 -> store 1",
        "      where c4 > 90; time in [t-3, t]; keep c3",
        "stores",
        "  1. hot/1 (1 column)",
        "     derive alarm(M), line 2 -> store 3",
        "       subtract store 2 on c2 = its c2",
        "       keep c2",
        "  2. [5] some serviced(A) (1 column)",
        "     retract alarm(M), line 2 -> store 3",
        "       join store 1 on c2 = its c2; keep c2",
        "       keep c2",
        "  3. alarm/1 (1 column)",
        "stages",
        "  1. store 1",
        "  2. store 3",
        "outputs",
        "  alarm/1: store 3",
        "  hot/1: store 1",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("q(X) :- [#3] some p(X).", "  1. [#3] over p/1"),
        ("q(X) :- [#3] some p(X).", "  2. q/1 (1 column; counted)"),
        ("q(X,Y) :- [#3 by X] @T p(X,Y).", "  1. [#3 by 1] over p/2"),
        ("q(X) :- [5] always p(X).", "  1. runs of [5] always p(A)"),
        (
            "q(X) :- [4 every 2] always p(X).",
            "  2. time points of [4 every 2] always p(A) (2 columns)",
        ),
        (
            "@T q(X) :- [5] @T p(X).",
            "      where time in timeline; time in [t-5, t]; pin to time; keep time, c3",
        ),
        ("r :- a. r :- r, [2] some b.", "  1. fixpoint of store 1"),
        ("q :- not p.", "  start"),
        ("q(X+1) :- p(X), X * 2 > 7.", "      where X*2 > 7"),
        ("q(X) :- p(X), k(X).", "  background data, 1 rows"),
        ("#remember q/1. q(X) :- p(X).", "  2. remember store 1"),
        ("q(X,N) :- N = count of [5] p(X) by X.", "  1. count of tuples1/2"),
        ("q(X,N) :- N = count of [5] p(X) by X.", "  1. change store 1"),
        ("q(N) :- N = count of [5] p(_).", "  1. change store 1 into store 2"),
        ("q(N) :- N = #count{ X : p(X), not c(X) }.", "  4. count of tuples1/1"),
    ],
)
def test_every_kind_of_node_has_a_line(text: str, line: str) -> None:
    assert line in network(text, Atom("k", ("a",)))


def test_what_the_engine_cannot_do_is_raised() -> None:
    with pytest.raises(LarsparkError, match="interval engine"):
        network("p :- not q. q :- not p.")
