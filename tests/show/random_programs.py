"""Random small stratified programs with streams, as hypothesis strategies."""

from typing import NamedTuple

from hypothesis import assume
from hypothesis import strategies as st

from larspark.base.atoms import Atom, Element
from larspark.base.problems import Severity
from larspark.language import parse_program
from larspark.meaning.check import check
from larspark.meaning.checked import Checked

INPUTS = ("a", "b", "c")
VALUES = ("x", "y")
LAST = 9


class Case(NamedTuple):
    text: str
    checked: Checked
    elements: tuple[Element, ...]
    at: int

    def __repr__(self) -> str:
        facts = " ".join(f"@{t} {atom}." for t, atom in self.elements)
        return f"at {self.at}:\n{self.text}\n{facts}"


time_windows = st.one_of(
    st.integers(0, 5).map(lambda n: f"[{n}]"),
    st.integers(0, 5).map(lambda n: f"[{n}]"),
    st.sampled_from(["[*]", "[+2]", "[2,+1]", "[4 every 2]", "[3,+1 every 3]"]),
)
tuple_windows = st.sampled_from(["[#1]", "[#2]", "[#3]", "[#5]", "[#2 by X]", "[only a(_)] [#2]"])


@st.composite
def positive(draw: st.DrawFn, predicates: tuple[str, ...], arguments: tuple[str, ...]) -> str:
    """A body element; only input may stand under a tuple window."""
    name = draw(st.sampled_from(predicates))
    argument = draw(st.sampled_from(arguments))
    atom = f"{name}({argument})"
    windows = time_windows
    if name in INPUTS:
        windows = st.one_of(time_windows, tuple_windows)
    window = draw(windows)
    if "by X" in window:
        atom = f"{name}(X)"
    if "only" in window:
        atom = f"a({argument})"
    return draw(
        st.sampled_from(
            [
                atom,
                f"{window} some {atom}",
                f"{window} some {atom}",
                f"{window} always {atom}",
                f"{window} @T {atom}",
                f"[4] always reset [2] some {atom}",
                f"[3] some ({atom} or {name}({argument}) and c(x))",
            ]
        )
    )


@st.composite
def rules(draw: st.DrawFn, level: int) -> str:
    head = f"p{level}(X)"
    below = tuple(f"p{n}" for n in range(level))
    seen = (*INPUTS, *INPUTS, *below, f"p{level}")
    body = [draw(positive((*INPUTS, *below), ("X",)))]
    body += draw(st.lists(positive(seen, ("X", "X", "x", "_", "Y")), max_size=2))
    if any("(Y)" in part for part in body) and draw(st.booleans()):
        body.append("X != Y")
    if draw(st.booleans()):
        negated = draw(positive((*INPUTS, *below), ("X", "y", "_")))
        body.append(f"not {negated.replace('@T', 'some')}")
    if any("@T" in part for part in body):
        shift = draw(st.sampled_from(["", "", "+1", "-2"]))
        head = draw(st.sampled_from([head, f"@T{shift} {head}", f"@T{shift} {head}"]))
        if draw(st.booleans()):
            body.append(f"T > {draw(st.integers(0, 6))}")
    return f"{head} :- {', '.join(body)}."


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A program without problems, a stream, and a time point at which to look."""
    lines = [draw(rules(level)) for level in (0, 0, 1, 1, 2)]
    text = "\n".join(["#input a/1, b/1, c/1.", *lines])
    parsed = parse_program(text)
    assert parsed.program is not None, parsed.problems
    checked = check(parsed.program)
    assume(not checked.endless)
    # An unwindowed `always` on an open timeline is refused, and so is little else here.
    assume(all(problem.severity is not Severity.ERROR for problem in checked.problems))
    facts = draw(
        st.lists(
            st.tuples(
                st.integers(0, LAST), st.sampled_from(INPUTS), st.sampled_from(VALUES)
            ),
            min_size=4,
            max_size=20,
        )
    )
    elements = [Element(t, Atom(name, (value,))) for t, name, value in sorted(facts)]
    return Case(text, checked, tuple(elements), draw(st.integers(LAST - 4, LAST)))
