"""All doors of a reasoner lead to the same answers, which are those of the definitions.

Facts come as atoms, texts, tuples, tables and streams, for one time point or several at once; what
was added and removed is the difference between the atoms of neighbouring answers.
"""

import copy
import os
import pickle
from collections import Counter
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from tests.definitions import output_stream
from tests.run.interval.random_programs import BACKGROUND, Case, Generator
from tests.run.test_agreement import REFUSALS, SEED, SIGNATURES, span

import larspark as lp
from larspark.analysis.check import check
from larspark.base.atoms import Atom, atom_text
from larspark.base.facts import Row, RowBatch
from larspark.base.problems import LarsparkError, Severity
from larspark.feeds import point_tables
from larspark.language import program_text
from larspark.run.interval import tick_changes
from larspark.run.interval.kernels.compile import compile_at_once

PAIRS = int(os.environ.get("LARSPARK_PAIRS", "3000")) // 10
ENGINES = {"interval": 1.0, "asp": 0.1}


@pytest.mark.parametrize("chunk", range(5))
@pytest.mark.parametrize("engine", ENGINES)
def test_all_doors_lead_to_the_answers_of_the_definitions(
    engine: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_at_once()
    if chunk % 2:
        # Short tables and changes go by columns, as long ones do.
        monkeypatch.setattr(point_tables, "_FEW", 0)
        monkeypatch.setattr(tick_changes, "_MANY", 0)
    counts: Counter[str] = Counter()
    seed = SEED + 77_000_000 + chunk * 1_000_000
    wanted = max(1, int(PAIRS * ENGINES[engine]) // 5)
    while counts["compared"] < wanted:
        seed += 1
        found = _compare(Generator(Random(seed)).case(), engine, Random(seed), seed, tmp_path)
        counts["compared"] += found is not None
        counts["not empty"] += bool(found)
    assert wanted < 20 or counts["not empty"] * 10 > wanted


def _compare(case: Case, engine: str, random: Random, seed: int, folder: Path) -> bool | None:
    """Compare a run with the definitions; did anything hold? None if the case is refused."""
    if (
        case.hindsight
        or case.until is not None
        or case.background
        or BACKGROUND.keys() & {atom.predicate for _, atom in case.elements}
    ):
        return None
    checked = check(case.program, SIGNATURES, ends=False)
    if any(problem.severity is Severity.ERROR for problem in checked.problems):
        return None
    first, last = span(case, checked)
    if first is None or first > last or checked.endless:
        return None
    text = program_text(case.program)
    elements = sorted(case.elements, key=lambda element: element.t)
    try:
        expected = dict(output_stream(checked, elements, (), start=case.start, to=last))
        program = lp.Program.parse(text)
        reasoner = lp.Reasoner(program, engine=engine, start=case.start)
        answers = _run(reasoner, elements, first, last, random, folder)
    except LarsparkError as error:
        assert error.problems[0].code in REFUSALS, (seed, error)
        return None
    before: frozenset[Atom] = frozenset()
    for answer in answers:
        now = expected[answer.t]
        assert (None if answer.atoms is None else frozenset(answer.atoms)) == now, (seed, text)
        held = now or frozenset()
        texts = {(row["atom"], row["added"]) for row in answer.table().to_pylist()}
        new, gone = map(atom_text, held - before), map(atom_text, before - held)
        assert texts == {*((text, True) for text in new), *((text, False) for text in gone)}, seed
        assert frozenset(answer.added) == held - before, (seed, answer.t, text)
        assert frozenset(answer.removed) == before - held, (seed, answer.t, text)
        before = held
    assert [answer.t for answer in answers] == list(expected), (seed, text)
    return any(expected.values())


def _run(
    reasoner: lp.Reasoner, elements: list, first: int, last: int, random: Random, folder: Path
) -> list[lp.Answer]:
    """The answers, read at once or later, with facts through a random door at every stop."""
    steps = random.random() < 0.7
    stops = range(first, last + 1) if steps else sorted({random.randint(first, last), last})
    answers: list[lp.Answer] = []
    done = -(10**9)
    for stop in stops:
        due = [(t, atom) for t, atom in elements if done < t <= stop]
        done = stop
        _append(reasoner, due, random)
        found = reasoner.advance(stop)
        if random.random() < 0.5:
            for answer in found:
                # Read now, so that it is kept up to date from here on.
                len(answer.atoms or ())
                answers.append(answer)
        else:
            answers += found
        match random.random():
            case chance if chance < 0.05:
                reasoner.save(folder / "state")
                engine = reasoner.session.kind.name
                reasoner = lp.Reasoner.restore(folder / "state", reasoner.program)
                assert reasoner.session.kind.name == engine
            case chance if chance < 0.1:
                reasoner = copy.deepcopy(reasoner)
            case _:
                pass
    return answers


def _append(reasoner: lp.Reasoner, due: list[tuple[int, Atom]], random: Random) -> None:
    by_time: dict[int, list[Atom]] = {}
    for t, atom in due:
        by_time.setdefault(t, []).append(atom)
    door = random.choice(("atoms", "texts", "tuples", "tables", "stream", "extend"))
    if door == "extend" and len({atom.signature for _, atom in due}) == 1:
        _extend(reasoner, due)
        return
    if door == "stream":
        # Several time points in one call.
        reasoner.extend(lp.Stream.of(due))
        return
    for t, atoms in by_time.items():
        match door:
            case "atoms":
                reasoner.append(t, atoms)
            case "texts":
                reasoner.append(t, map(atom_text, atoms))
            case "tuples":
                reasoner.append(t, [(atom.predicate, *atom.args) for atom in atoms])
            case _:
                for atom in atoms:
                    _append_table(reasoner, t, atom)


def _extend(reasoner: lp.Reasoner, due: list[tuple[int, Atom]]) -> None:
    """Several time points in one table, if its columns have one type each."""
    arity = len(due[0][1].args)
    columns = {f"a{number}": [atom.args[number] for _, atom in due] for number in range(arity)}
    if any(len(set(map(type, column))) > 1 for column in columns.values()) or due[0][0] < 0:
        reasoner.extend(lp.Stream.of(due))
        return
    table = pa.table({"at": pa.array([t for t, _ in due], pa.int64()), **columns})
    head = due[0][1].predicate + (f"({', '.join(columns)})" if columns else "")
    reasoner.extend(table, map=f"at -> {head}")


def _append_table(reasoner: lp.Reasoner, t: int, atom: Atom) -> None:
    names = [f"a{number}" for number in range(len(atom.args))]
    if not names:
        reasoner.append(t, [atom])
        return
    table = pa.table({name: [arg] for name, arg in zip(names, atom.args, strict=True)})
    reasoner.append(t, table, map=f"{atom.predicate}({', '.join(names)})")


PROGRAM = "hot(M) :- [3] some temp(M, V), V > 90. alarm(M) :- hot(M), not [5] some serviced(M)."


@pytest.mark.parametrize("engine", ["interval", "asp", "tms", "oracle"])
def test_the_first_changes_after_a_restore_are_those_since_the_last_answer(
    engine: str, tmp_path: Path
) -> None:
    reasoner = lp.Reasoner(PROGRAM, engine=engine)
    reasoner.append(1, ["temp(m1,95)"])
    list(reasoner.advance(2))
    reasoner.save(tmp_path / "state")
    restored = lp.Reasoner.restore(tmp_path / "state", PROGRAM)
    [three, four, five] = restored.advance(5)
    assert not any((three.added, three.removed, four.added, four.removed))
    assert sorted(map(str, five.removed)) == ["alarm(m1)", "hot(m1)"]
    assert sorted(map(str, four.atoms or ())) == ["alarm(m1)", "hot(m1)"]


@pytest.mark.parametrize("engine", ["interval", "asp", "tms", "oracle"])
def test_a_copy_goes_its_own_way(engine: str) -> None:
    reasoner = lp.Reasoner(PROGRAM, engine=engine)
    reasoner.append(1, ["temp(m1,95)"])
    list(reasoner.advance(2))
    other = copy.deepcopy(reasoner)
    reasoner.append(3, ["serviced(m1)"])
    other.append(3, ["temp(m2,99)"])
    [mine], [its] = reasoner.advance(3), other.advance(3)
    assert sorted(map(str, mine.atoms or ())) == ["hot(m1)"]
    assert sorted(map(str, its.atoms or ())) == ["alarm(m1)", "alarm(m2)", "hot(m1)", "hot(m2)"]
    assert sorted(map(str, its.added)) == ["alarm(m2)", "hot(m2)"]


def test_a_shallow_copy_is_an_independent_one_and_pickles_are_refused() -> None:
    reasoner = lp.Reasoner("q(X) :- [#2] some p(X).")
    other = copy.copy(reasoner)
    for each, value in ((reasoner, 1), (other, 2)):
        each.append(1, [("p", value)])
        [answer] = each.advance(1)
        assert sorted(map(str, answer.atoms or ())) == [f"q({value})"]
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(reasoner)


def test_answers_that_are_kept_keep_their_atoms() -> None:
    reasoner = lp.Reasoner("q(X) :- [1] some p(X).")
    kept = []
    for t in range(1, 600):
        reasoner.append(t, [("p", t)])
        kept += reasoner.advance(t)
    for answer in kept:
        assert answer.atoms == {lp.fact("q", n) for n in (answer.t - 1, answer.t) if n > 0}


def test_answers_that_were_not_read_are_there_after_the_next_advance() -> None:
    reasoner = lp.Reasoner("q(X) :- [1] some p(X).", start=1)
    reasoner.append(2, [("p", 2)])
    early = reasoner.advance(4)
    assert next(early).t == 1
    [five] = reasoner.advance(5)
    assert [(a.t, len(a.atoms or ())) for a in early] == [(2, 1), (3, 1), (4, 0)]
    assert not five.atoms


def test_changes_as_a_table() -> None:
    reasoner = lp.Reasoner("q(X) :- p(X).")
    reasoner.append(1, [("p", "a b")])
    list(reasoner.advance(1))
    reasoner.append(2, [("p", 2.5)])
    [answer] = reasoner.advance(2)
    assert answer.table().to_pylist() == [
        {"t": 2, "atom": "q(2.5)", "added": True},
        {"t": 2, "atom": 'q("a b")', "added": False},
    ]


@pytest.mark.parametrize("fact", [("p", None), (), (3, "x"), 5, ("p", "\ud800"), None])
def test_what_is_no_fact_is_refused(fact: object) -> None:
    with pytest.raises(LarsparkError):
        lp.Reasoner("q :- p(X).").append(1, [fact])


def test_the_history_of_a_tuple_window_keeps_what_the_window_counts() -> None:
    reasoner = lp.Reasoner("q(X) :- [#3] some p(X). r(X) :- [2] some p(X).")
    for t in range(1, 1000):
        reasoner.append(t, [("p", t), ("p", t), ("p", -t)])
        list(reasoner.advance(t))
    kept = len(list(reasoner._history.elements()))
    assert kept <= 3 * 6
    assert reasoner.explain("q(999)", at=999).holds
    with pytest.raises(LarsparkError, match="L409"):
        reasoner.explain("q(900)", at=900)


def test_a_history_without_bound_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("larspark.api.reasoner._MOST_KEPT", 50)
    reasoner = lp.Reasoner("q(X) :- [#2 by K] some p(X, K).")
    for t in range(1, 200):
        reasoner.append(t, [("p", f"n{t}", t % 3), ("p", t, 0)])
        list(reasoner.advance(t))
        if t == 20:
            assert reasoner.explain("q(n20)").holds
    assert len(list(reasoner._history.elements())) == 50
    with pytest.raises(LarsparkError, match="L409"):
        reasoner.explain("q(n199)")


def test_rows_before_the_first_time_point_of_a_driver_count() -> None:
    """Text that no row program compares in compiled code, arithmetic, and growth of all stores."""
    compile_at_once()
    rules = "big(X,Y) :- [9] some p(X), [9] some p(Y), X < Y. s(Z) :- [4] some p(X), Z = X + 1."
    fast, slow = lp.Reasoner(rules, start=0), lp.Reasoner(rules, start=0)
    rows: list[Row] = []
    for t in range(40):
        atoms = [lp.fact("p", value) for value in ("x", t, t + 0.5, f"n{t}", -t)]
        rows += [Row(t, atom, 0) for atom in atoms]
        fast.append(t, atoms)
        one_by_one = list(fast.advance(t))
    slow.session.append(RowBatch(rows, 39))
    *_, last = slow.advance(39)
    assert one_by_one[-1].atoms == last.atoms
    assert last.atoms
