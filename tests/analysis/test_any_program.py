"""Whatever tree a program is, checking it gives an answer and never a traceback."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests import strategies

from larspark.analysis.check import check, formula_problems
from larspark.analysis.partition import partition_obstacles
from larspark.analysis.stages import find_stages
from larspark.base.atoms import Atom, Signature
from larspark.base.codes import CODES
from larspark.base.terms import Arithmetic, Term, Variable, Wildcard
from larspark.language import tree
from larspark.language.windows import (
    FilterWindow,
    NamedWindow,
    SessionWindow,
    TimeWindow,
    TupleWindow,
)
from larspark.show.report import report_json, report_text

# Few names, so that rules have to do with each other.
names = st.sampled_from("pqrst")
variables = st.sampled_from("XYTU").map(Variable)
leaves: st.SearchStrategy[Term] = st.one_of(
    variables, st.just(Wildcard()), st.integers(-3, 40), st.sampled_from(["a", 2.5])
)
terms: st.SearchStrategy[Term] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(
            Arithmetic, st.sampled_from(["+", "-", "*", "/", "mod"]), st.tuples(inner, inner)
        ),
        st.builds(Arithmetic, st.sampled_from(["-", "abs", "min"]), st.tuples(inner)),
    ),
    max_leaves=4,
)
atoms = st.builds(Atom, names, st.lists(terms, max_size=3).map(tuple))
sizes = st.integers(0, 5)
windows = st.one_of(
    st.builds(TimeWindow, sizes | st.none(), sizes, st.integers(1, 4)),
    st.builds(TupleWindow, sizes, sizes, st.lists(variables, max_size=2).map(tuple)),
    st.builds(
        SessionWindow,
        sizes,
        sizes | st.none(),
        st.booleans(),
        st.lists(variables, max_size=2).map(tuple),
    ),
    st.builds(FilterWindow, st.lists(atoms, min_size=1, max_size=2).map(tuple)),
    st.builds(NamedWindow, names),
)
comparisons = st.builds(
    tree.Comparison, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), terms, terms
)
formulas: st.SearchStrategy[tree.Formula] = st.recursive(
    st.one_of(
        st.builds(tree.AtomFormula, atoms), comparisons, st.builds(tree.Truth, st.booleans())
    ),
    lambda inner: st.one_of(
        *(st.builds(kind, inner) for kind in (tree.Not, tree.Some, tree.Always, tree.Reset)),
        *(
            st.builds(kind, st.lists(inner, min_size=2, max_size=3).map(tuple))
            for kind in (tree.And, tree.Or)
        ),
        st.builds(tree.Implies, inner, inner),
        st.builds(tree.At, terms, inner),
        st.builds(tree.Windowed, windows, inner),
    ),
    max_leaves=6,
)
rules = st.builds(tree.Rule, formulas, st.lists(formulas, max_size=3).map(tuple))
signatures = st.frozensets(st.builds(Signature, names, sizes), max_size=3)
programs = st.builds(
    tree.Program,
    st.lists(rules, max_size=5).map(tuple),
    inputs=st.none() | signatures,
    shows=st.none() | signatures,
    remembered=signatures,
)


@settings(max_examples=250, deadline=None)
@given(programs | strategies.programs(), signatures)
def test_every_program_is_checked(program: tree.Program, background: frozenset[Signature]) -> None:
    found = check(program, background)
    assert {problem.code for problem in found.problems} <= CODES.keys()
    assert all(problem.message and problem.render() for problem in found.problems)
    assert len(found.rules) + len(found.elements) <= len(program.rules)
    assert found.shown <= found.derived
    assert not found.derived & found.inputs
    assert (found.strata is None) <= found.several_models
    if found.strata is not None:
        assert sorted(p for layer in found.strata for p in layer) == sorted(found.derived)
    assert found.endless <= (found.future_reach is None)
    assert not (found.partition_key and partition_obstacles(found))
    stages = find_stages(found)
    if stages:
        assert sorted(p for stage in stages for p in stage.derives) == sorted(found.derived)
    report = report_json(found, "oracle", "the definitions")
    assert report["lookback"]["time"] == found.lookback.time
    assert report_text(found, "oracle", "the definitions")


@settings(max_examples=150, deadline=None)
@given(formulas | strategies.formulas())
def test_every_query_is_checked(formula: tree.Formula) -> None:
    assert {problem.code for problem in formula_problems(formula)} <= CODES.keys()
