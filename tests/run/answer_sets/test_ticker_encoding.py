"""The encodings of the Ticker paper: clingo gives the answer streams of the definition."""

import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from clingo import Control, Number, String, Symbol, SymbolType
from tests.run.answer_sets.random_programs import examples
from tests.run.test_agreement import SEED
from typer.testing import CliRunner

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Element, fact
from larspark.base.facts import Row
from larspark.base.problems import LarsparkError
from larspark.cli import app
from larspark.language import parse_program
from larspark.meaning.answer_streams import answer_streams
from larspark.run.answer_sets.ticker_encoding import Tick, TickerEncoding, ticks_of
from larspark.run.prepare import Prepared, prepare
from larspark.run.protocol import Settings

INPUTS = (("p", 1), ("q", 1), ("r", 0), ("s", 2))
DERIVED = (("a", 1), ("b", 1), ("c", 0), ("d", 2))
VALUES = (-1, 0, 1, 2, "x", "A b")
TESTS = ("X < Y", "X >= Y", "X > 0", "X <= 1", "X < x", "X >= b", "X != Y", "Y = X + 1")
TESTS += ("not X = Y", "X * 2 < Y", "Y = X mod 2", "X = abs(Y)", "T > 2", "U = T - 1")
BINDERS = ("p({})", "q({})", "bg({})", "[2] some p({})", "[#2] some q({})")
TIMES = ("@{} p(_)", "[3] @{} q(_)", "[#2] @{} p(_)", "[2] @{} true", "@{} true", "{} = now")

Model = frozenset[tuple[int, Atom]]


class Drawn:
    """A program of the fragment as text, and a stream for it."""

    def __init__(self, seed: int) -> None:
        self._random = random = Random(seed)
        rules = [self._rule() for _ in range(random.randint(1, 5))]
        if random.random() < 0.5:
            given = random.choice(("[2] some p(X)", "bg(X)", "[#2] @T q(X)"))
            rules += [f"a(X) :- {given}, not b(X).", f"b(X) :- {given}, not a(X)."]
        facts = "bg(0). bg(1). bg(x).\n"
        if not any("#" in rule for rule in rules) and random.random() < 0.2:
            facts += "@2 p(1). @9 q(x).\n"
        self.text = facts + "\n".join(rules)
        self.elements: list[Element] = []
        for _ in range(random.randint(1, 8)):
            name, arity = random.choice((*INPUTS, ("other", 0)))
            atom = fact(name, *(random.choice(VALUES) for _ in range(arity)))
            self.elements.append(Element(random.randint(1, 5), atom))
        self.elements.sort(key=lambda element: element.t)

    def _rule(self) -> str:
        random = self._random
        body = [self._extended(random.choice((INPUTS, DERIVED))) for _ in range(2)]
        body += [
            "not " + self._extended(random.choice((INPUTS, DERIVED)))
            for _ in range(random.choice((0, 1, 1, 2)))
        ]
        body += [random.choice(TESTS)] if random.random() < 0.5 else []
        heads = random.choice((0, 1, 1, 1, 1, 1, 1, 2))
        head = " or ".join(self._head() for _ in range(heads))
        text = " ".join([head, *body])
        for name in "XYTU":
            if name in text:
                body.append(random.choice(BINDERS if name in "XY" else TIMES).format(name))
        random.shuffle(body)
        return f"{head} :- {', '.join(body)}."

    def _head(self) -> str:
        atom = self._atom(DERIVED, wild=0)
        return atom if self._random.random() < 0.6 else f"@{self._random.choice('TU')} {atom}"

    def _atom(self, predicates: tuple[tuple[str, int], ...], wild: float = 0.15) -> str:
        random = self._random
        name, arity = random.choice(predicates)
        terms = [
            "_" if random.random() < wild else random.choice(("X", "Y", "X", "Y", "1", "x", "X+1"))
            for _ in range(arity)
        ]
        return f"{name}({','.join(terms)})" if arity else name

    def _extended(self, predicates: tuple[tuple[str, int], ...]) -> str:
        random = self._random
        atom = self._atom(predicates)
        kind = random.random()
        if kind < 0.3:
            return atom
        time = f"@{random.choice(('T', 'U', 'T-1'))}"
        if kind < 0.4:
            return f"{random.choice(('some', time))} {atom}"
        windows = [f"[{random.randint(0, 3)}]", f"[{random.randint(1, 2)}]", "[*]"]
        windows += [f"[#{random.randint(1, 3)}]"] * 2 if predicates is INPUTS else []
        return f"{random.choice(windows)} {random.choice(('some', 'always', time))} {atom}"


def solved(control: Control, checked: Checked, at: int) -> Counter[Model]:
    """The answer sets, as answer streams."""
    found: Counter[Model] = Counter()
    with control.solve(yield_=True) as handle:
        for model in handle:
            elements = set()
            for symbol in model.symbols(atoms=True):
                name, args = symbol.name, tuple(map(value, symbol.arguments))
                if name.endswith("_at") and isinstance(args[-1], int):
                    elements.add((args[-1], Atom(name.removesuffix("_at"), args[:-1])))
            found[frozenset(e for e in elements if e[1].signature in checked.derived)] += 1
    return found


def value(symbol: Symbol) -> int | str:
    return symbol.number if symbol.type is SymbolType.Number else symbol.string


def text_control(text: str) -> Control:
    control = Control(["0", "--warn=none"])
    control.add("base", [], text)
    control.ground([("base", [])])
    return control


def parts_control(encoding: TickerEncoding, ticks: list[Tick]) -> Control:
    """The parts of the incremental encoding grounded as its comment says."""
    text, now = encoding.parts(), ticks[-1]
    control = Control(["0", "--warn=none"])
    control.add(text)
    names = re.findall(r"^#program (\w+)\(", text, re.MULTILINE)
    parts: list[tuple[str, list[Symbol]]] = [("base", [])]
    facts = []
    for t, count, atom in ticks:
        arguments = [Number(t), Number(count)] if encoding.counts else [Number(t)]
        if atom is not None:
            given = ",".join(str(v if isinstance(v, int) else String(v)) for v in atom.args)
            facts.append(f"{atom.predicate}_at({given}{',' if given else ''}{t}).")
            facts.append(f"{atom.predicate}_nr({given}{',' if given else ''}{t},{count}).")
        for name in names:
            kind, _, size = name.partition("_")
            age = now.t - t if kind == "time" else now.number - count
            if kind == "always" or age < int(size):
                parts.append((name, arguments))
    control.add("base", [], "\n".join(facts))
    control.ground(parts)
    return control


def prepared(text: str) -> Prepared:
    program = parse_program(text).program
    assert program is not None, text
    return prepare(program, (), Settings())


@pytest.mark.parametrize("chunk", range(4))
def test_clingo_gives_the_answer_streams_of_the_definition(chunk: int) -> None:
    compared = several = 0
    for seed in range(examples(100)):
        drawn = Drawn(1000 * (SEED + chunk) + seed)
        program = prepared(drawn.text)
        try:
            encoding = TickerEncoding(program)
        except LarsparkError as error:
            assert {problem.code for problem in error.problems} == {"L414"}
            continue
        at = Random(seed).randint(2, 6)
        rows = [Row(t, atom, n) for n, (t, atom) in enumerate(drawn.elements)]
        start = drawn.elements[0].t if drawn.elements[0].t <= at else 1
        ticks = ticks_of(rows, start, at)
        known = [e for e in [*drawn.elements, *program.checked.elements] if start <= e[0] <= at]
        expected = Counter(
            frozenset((t, atom) for t, atoms in answer.derived.items() for atom in atoms)
            for answer in answer_streams(
                program.checked, sorted(known, key=lambda e: e[0]), (), (start, at), at
            )
        )
        for control in (
            text_control(encoding.static(ticks)),
            text_control(encoding.incremental(ticks)),
            parts_control(encoding, ticks),
        ):
            assert solved(control, program.checked, at) == expected, (drawn.text, drawn.elements)
        compared += 1
        several += len(expected) > 1
    assert compared > examples(100) // 2
    assert several


EXAMPLE = "b(X) :- [2] some a(X).\n"


def test_the_example_of_the_paper_is_written_as_it_is_there() -> None:
    encoding = TickerEncoding(prepared(EXAMPLE))
    rules = [line for line in encoding.static(at=7).splitlines() if line and line[0] not in "%#"]
    assert rules == [
        "b(X) :- w1(X).",
        "w1(X) :- a_at(X,T), now(N), N-2 <= T, T <= N.",
        "a(X1) :- a_at(X1,N), now(N).",
        "a_at(X1,N) :- a(X1), now(N).",
        "b(X1) :- b_at(X1,N), now(N).",
        "b_at(X1,N) :- b(X1), now(N).",
        "now(7).",
    ]
    assert encoding.pinned(7) == (
        "% What the time point 7 adds to the incremental encoding of Ticker.\n"
        "% Added at (7,0), expires at (10,*).\n"
        "w1(X) :- a_at(X,7).\n"
        "% Added at (7,0), expires at (8,*).\n"
        "a(X1) :- a_at(X1,7).\n"
        "a_at(X1,7) :- a(X1).\n"
        "b(X1) :- b_at(X1,7).\n"
        "b_at(X1,7) :- b(X1).\n"
    )


def test_atoms_cut_off_at_the_first_time_point_spoil_a_tuple_window() -> None:
    """The paper's own rule has expired by then: two atoms at 3, a window of one tuple."""
    program = prepared("c :- [#1] always a.")
    ticks = ticks_of([Row(3, Atom("a"), 0), Row(3, Atom("b"), 1)], 3, 3)
    encoding = TickerEncoding(program)
    for control in (text_control(encoding.incremental(ticks)), parts_control(encoding, ticks)):
        assert solved(control, program.checked, 3) == Counter([frozenset()])


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("a :- [3 every 2] some p.", "windows that hop, as `[3 every 2]` does"),
        ("a :- [3,+1] some p.", "windows that look ahead, as `[3,+1]` does"),
        ("a :- [session 3] some p.", "the window `[session 3]`"),
        ("a(X) :- [#2 by X] some p(X).", "the window `[#2 by X]`"),
        ("a :- [only p] some p.", "the window `[only p]`"),
        ("a :- [3] [#2] some p.", "windows below windows"),
        ("a :- [3] (p and q).", "formulas other than extended atoms"),
        ("a :- p or q.", "formulas other than extended atoms"),
        ("a(N) :- N = #count{ X : p(X) }.", "aggregates"),
        ("some a :- p.", "a head that is no atom or `@T` and an atom"),
        ("@T+1 a :- @T p.", "heads that lie after the evaluation time"),
        ("#remember a/0. a :- p.", "`#remember`"),
        ("a :- [#2] some b. b.", "tuple windows over what is no input, as `b` is"),
        ("@3 p. a :- [#2] some q.", "tuple windows beside facts with a time in the program"),
        ("a :- p(1.5).", "1.5, because clingo has no such numbers"),
        ("a :- p(3000000000).", "3000000000, because clingo's integers have 32 bits"),
        ("a(Y) :- p(X), Y = X / 2.", "`/`"),
        ("a(Y) :- p(X), Y = min(X, 2).", "`min`"),
        ('"http://p"(X) :- p(X).', "the predicate `http://p`, which clingo cannot name"),
        ("@T a :- @T p, [2] always b. b :- [1] some a.", "recursion through `always b`"),
    ],
)
def test_what_is_outside_of_the_fragment_is_refused(text: str, refused: str) -> None:
    with pytest.raises(LarsparkError) as raised:
        TickerEncoding(prepared(text))
    assert [(p.code, p.message) for p in raised.value.problems] == [
        ("L414", f"the encodings for clingo do not cover {refused}")
    ]


def test_names_of_a_program_are_kept_apart_from_those_of_the_encoding() -> None:
    program = prepared("w1(X) :- [2] some a(X), not now(X). now(X) :- [1] some a_at(X).")
    text = TickerEncoding(program).static(ticks_of([Row(1, fact("a", 3), 0)], 1, 2))
    (model,) = solved(text_control(text.replace("_at_(", "_at(")), program.checked, 2)
    assert (2, fact("w1", 3)) in model


def test_the_command_writes_each_form(tmp_path: Path) -> None:
    folder = tmp_path
    (folder / "a.lars").write_text(EXAMPLE)
    (folder / "s.jsonl").write_text('{"t": 1, "atom": "a(x)"}\n{"t": 3, "atom": "a(y)"}\n')

    def translated(*options: str) -> str:
        found = CliRunner().invoke(
            app, ["translate", str(folder / "a.lars"), "--to", "asp", *options]
        )
        assert found.exit_code == 0, found.output
        return found.stdout

    stream = ["--stream", str(folder / "s.jsonl")]
    assert "% Add `now(t)` for the evaluation at t." in translated()
    assert translated("--at", "7").endswith("\nnow(7).\n")
    assert "#program time_3(t)." in translated("--incremental")
    assert translated("--incremental", "--at", "4").startswith("% What the time point 4 adds")
    for text in (translated(*stream), translated("--incremental", *stream)):
        control = text_control(text)
        with control.solve(yield_=True) as handle:
            (model,) = [sorted(map(str, m.symbols(shown=True))) for m in handle]
        assert model == ['b("x")', 'b("y")']
