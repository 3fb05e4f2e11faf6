"""What is known before running is true of the answer streams that the definitions give."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import assume, given, note, reject, settings
from hypothesis import strategies as st
from tests.definitions import models

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element, Signature
from larspark.base.problems import LarsparkError, Severity
from larspark.language import parse_program

LAST = 9
EXAMPLES = settings(max_examples=80, deadline=None)
FEW_EXAMPLES = settings(max_examples=25, deadline=None)


def bracketed(text: str) -> list[str]:
    return re.findall(r"\[.*?\]", text)


TIME_WINDOWS = bracketed(
    "[0] [1] [2] [4] [*] [+2] [1,+1] [2 every 2] [3 every 2] [3,+1 every 3] [3 every 3]"
)
TUPLE_WINDOWS = bracketed(
    "[#1] [#2] [#3] [#1,+1] [#+1] [#1 by X] [#2 by X] [only p(_)] [only p(X)] [only p(_),e(X,_)]"
    " [session 1] [session 2 by X] [session 1 max 2] [ended session 1] [ended session 1 by X]"
)
STREAM_ATOMS, DERIVED_ATOMS = ["p(X)", "q(X)", "e(X,_)", "s"], ["a(X)", "b(X)", "c"]


class Kind(NamedTuple):
    """What formulas may use: the time variable T, and atoms without the variable X."""

    timed: bool
    keyed: bool

    def atoms(self, from_stream: bool) -> st.SearchStrategy[str]:
        known = STREAM_ATOMS if from_stream else DERIVED_ATOMS
        return st.sampled_from(known[:-1] if self.keyed else known)

    def windows(self, from_stream: bool) -> st.SearchStrategy[str]:
        time_windows = st.sampled_from(TIME_WINDOWS)
        return time_windows | st.sampled_from(TUPLE_WINDOWS) if from_stream else time_windows


@st.composite
def formulas(draw: st.DrawFn, kind: Kind) -> str:
    """An atom below windows, temporal operators and negation; it need not bind anything."""
    from_stream = draw(st.booleans())
    text = draw(kind.atoms(from_stream))
    operators = ["some", "always", "reset", "reset [2] some"]
    if kind.timed:
        operators += ["@T", "@T+1", "@T-2"]
    for _ in range(draw(st.integers(0, 3))):
        text = f"{draw(st.sampled_from(operators))} {text}"
        if draw(st.integers(0, 2)):
            text = f"{draw(kind.windows(from_stream))} {text}"
    return f"not {text}" if draw(st.booleans()) else text


@st.composite
def binders(draw: st.DrawFn, kind: Kind) -> str:
    """A formula that binds X, and T if there is one."""
    from_stream = draw(st.integers(0, 2)) > 0
    atom = draw(st.sampled_from(["p(X)", "q(X)", "e(X,_)"] if from_stream else ["a(X)", "b(X)"]))
    pin = draw(st.sampled_from(["@T", "@T", "@T+2", "@T-1"]))
    if draw(st.integers(0, 3)) == 0:
        return f"{pin} {atom}" if kind.timed else atom
    operator = pin if kind.timed else draw(st.sampled_from(["some", "always", "some [1] some"]))
    return f"{draw(kind.windows(from_stream))} {operator} {atom}"


@st.composite
def aggregates(draw: st.DrawFn, kind: Kind) -> str:
    """An aggregate over a formula, for each X or, unless there is a key, over all of them."""
    from_stream = draw(st.integers(0, 2)) > 0
    atom = draw(st.sampled_from(["p(X)", "q(X)", "e(X,Y)"] if from_stream else ["a(X)", "b(X)"]))
    if not kind.keyed and draw(st.integers(0, 2)) == 0:
        atom = atom.replace("X", "Z")
    windows = kind.windows(from_stream).filter(lambda window: "X" not in window or "X" in atom)
    window = draw(st.just("") | windows)
    pin = draw(st.sampled_from(["@U", "@U", "@U+1", "some", ""]))
    terms = "U" if "U" in pin else "1"
    terms += ", Y" if "Y" in atom else ""
    conditions = f"{window} {pin} {atom}"
    if draw(st.integers(0, 3)) == 0:
        conditions += ", not [2] some q(X)" if "X" in atom else ", not [2] some s"
    guard = draw(st.sampled_from(["> 0", "> 1", "= 1", "< 2", "!= 3"]))
    function = draw(st.sampled_from(["count", "count", "sum", "max"]))
    group = draw(st.sampled_from(["", " by X"])) if "X" in atom else ""
    return f"#{function}{{ {terms} : {conditions} }} {guard}{group}"


@st.composite
def rules(draw: st.DrawFn, keyed: bool) -> str:
    kind = Kind(draw(st.booleans()), keyed)
    body = [draw(binders(kind)), *draw(st.lists(formulas(kind), max_size=2))]
    body += draw(st.just([]) | st.lists(aggregates(kind), min_size=1, max_size=1))
    pins = [""]
    if kind.timed:
        pins += ["@T ", "@T+1 ", "@T+3 ", "@T-2 "]
        more = draw(
            st.sampled_from(["", "U = T + 1", "@U q(X)", "@U q(X), U <= T", "@U q(X), U >= T-1"])
        )
        if more:
            pins.append("@U ")
            body.append(more)
    head = draw(st.sampled_from(pins)) + draw(kind.atoms(from_stream=False))
    return f"{head} :- {', '.join(body)}."


@st.composite
def links(draw: st.DrawFn, head: str, body: str) -> str:
    """A rule from one predicate to the next, so that windows and shifts meet in chains."""
    kind = Kind(draw(st.booleans()), keyed=True)
    operator = draw(st.sampled_from(["some", "always", "some not"]))
    if kind.timed:
        operator = draw(st.sampled_from(["@T", "@T", "@T+2", "@T-1"]))
    pin = draw(st.sampled_from(["@T ", "@T+1 ", "@T+3 ", "@T-2 ", ""])) if kind.timed else ""
    window = draw(st.just("") | kind.windows(from_stream=body == "p(X)"))
    more = draw(st.sampled_from(["", "", ", not q(X)", ", not [2] some q(X)"]))
    guard = f", [4] some {body}" if operator == "some not" else ""
    return f"{pin}{head} :- {window} {operator} {body}{guard}{more}."


DIRECTIVES = ["", "#show a/1.", "#remember a/1.", "#remember a/1. #show b/1.", "#remember b/1."]


@st.composite
def programs(draw: st.DrawFn, keyed: bool = False) -> Checked:
    """Programs without errors."""
    return sound(draw, draw(st.lists(rules(keyed), min_size=1, max_size=4)))


@st.composite
def chains(draw: st.DrawFn) -> Checked:
    """Programs without errors in which each predicate leads to the next."""
    steps = [("a(X)", "p(X)"), ("b(X)", "a(X)"), ("d(X)", "b(X)")]
    return sound(draw, [draw(links(*step)) for step in steps])


def sound(draw: st.DrawFn, lines: list[str]) -> Checked:
    text = "\n".join([draw(st.sampled_from(DIRECTIVES)), *lines])
    note(text)
    program = parse_program(text).program
    assert program is not None
    checked = check(program)
    assume(all(problem.severity is Severity.WARNING for problem in checked.problems))
    return checked


class Moment(NamedTuple):
    stream: list[Element]
    t: int


@st.composite
def moments(draw: st.DrawFn) -> Moment:
    """A stream and a time point, often one at which something happens."""
    values = st.sampled_from(["x", "x", "x", "y"])
    atoms = st.one_of(
        st.builds(lambda name, x: Atom(name, (x,)), st.sampled_from(["p", "q"]), values),
        st.builds(lambda x, y: Atom("e", (x, y)), values, values),
        st.just(Atom("s", ())),
    )
    found = draw(st.lists(st.tuples(st.integers(0, LAST), atoms), min_size=4, max_size=14))
    stream = sorted((Element(t, atom) for t, atom in dict.fromkeys(found)), key=lambda e: e.t)
    return Moment(stream, draw(st.sampled_from([e.t for e in stream]) | st.integers(3, LAST)))


def answers(
    checked: Checked, stream: Sequence[Element], at: int, start: int = 0, hindsight: bool = False
) -> list[dict[int, frozenset[Atom]]]:
    until = LAST + 4 if checked.endless else None
    try:
        return models(checked, stream, start=start, at=at, hindsight=hindsight, until=until)
    except LarsparkError:
        # What the evaluator of the definitions refuses, it cannot judge.
        reject()


def outputs(found: list[dict[int, frozenset[Atom]]], t: int) -> set[frozenset[Atom]]:
    return {model.get(t, frozenset()) for model in found}


def assert_older_data_does_not_matter(
    checked: Checked, stream: Sequence[Element], t: int, hindsight: bool = False
) -> None:
    time, tuples = checked.lookback.time, checked.lookback.tuples
    assume(time is not None and tuples is not None)
    assert time is not None
    assert tuples is not None
    # Of several answer streams one is followed, and what it leaves behind is remembered.
    assume(not (checked.several_models and checked.program.remembered))
    older = sum(element.t < t - time for element in stream)
    start, kept = max(0, t - time), stream[max(0, older - tuples) :]
    if tuples:
        start = min(start, kept[0].t) if older > tuples else 0
    cut = answers(checked, kept, t, start, hindsight)
    whole = answers(checked, stream, t, 0, hindsight)
    assert outputs(cut, t) == outputs(whole, t)


@EXAMPLES
@given(programs(), moments(), st.booleans())
def test_what_is_older_than_the_lookback_does_not_matter(
    checked: Checked, moment: Moment, hindsight: bool
) -> None:
    assert_older_data_does_not_matter(checked, *moment, hindsight)


@FEW_EXAMPLES
@given(chains(), st.integers(0, LAST))
def test_nor_does_it_through_chains_of_rules(checked: Checked, noise: int) -> None:
    p, other = Atom("p", ("x",)), Element(noise, Atom("q", ("x",)))
    for k in range(LAST + 1):
        for times in ({k}, set(range(k, LAST + 1)), set(range(LAST + 1)) - {k}):
            stream = sorted([other, *(Element(t, p) for t in times)], key=lambda e: e.t)
            assert_older_data_does_not_matter(checked, stream, LAST)


@EXAMPLES
@given(programs(), moments())
def test_no_atom_lies_after_the_future_reach_and_one_answer_stream_is_one(
    checked: Checked, moment: Moment
) -> None:
    stream, t = moment
    assume(not checked.endless)
    found = answers(checked, stream, t)
    latest = max((max(model) for model in found if model), default=0)
    assert checked.future_reach is None or latest <= t + checked.future_reach
    assert checked.several_models or len(found) == 1


@EXAMPLES
@given(programs(keyed=True), moments())
def test_a_partition_key_cuts_a_program_without_a_trace(checked: Checked, moment: Moment) -> None:
    stream, t = moment
    key = checked.partition_key
    assume(key is not None and not checked.several_models)
    assert key is not None
    (whole,) = answers(checked, stream, t)
    for value in ("x", "y"):
        (part,) = answers(checked, [e for e in stream if _key_value(e.atom, key) == value], t)
        assert _of(value, part, key) == _of(value, whole, key)


def _key_value(atom: Atom, key: dict[Signature, int]) -> object:
    return atom.args[key[atom.signature]] if atom.signature in key else None


def _of(
    value: str, model: dict[int, frozenset[Atom]], key: dict[Signature, int]
) -> set[tuple[int, Atom]]:
    return {(t, a) for t, atoms in model.items() for a in atoms if _key_value(a, key) == value}
