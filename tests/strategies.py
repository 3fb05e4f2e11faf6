"""Random terms, atoms, formulas, rules and programs, with every construct of the language.

All of them can be written down: what `program_text` gives for them reads back as the same tree.
"""

from dataclasses import replace

from hypothesis import strategies as st

from larspark.base.atoms import Atom, Signature
from larspark.base.terms import (
    INTEGER_MAX,
    INTEGER_MIN,
    Arithmetic,
    Constant,
    Term,
    Variable,
    Wildcard,
    constant,
)
from larspark.language.aggregate_syntax import finish_body
from larspark.language.tree import (
    Aggregate,
    AggregateElement,
    Always,
    And,
    At,
    AtomFormula,
    Background,
    Comparison,
    Formula,
    Guard,
    Implies,
    Not,
    Or,
    Program,
    Reset,
    Rule,
    Some,
    Tick,
    Truth,
    Windowed,
)
from larspark.language.windows import (
    FilterWindow,
    NamedWindow,
    SessionWindow,
    TimeWindow,
    TupleWindow,
    Window,
)

OPERATORS = ("=", "!=", "<", "<=", ">", ">=")

# Words of the language are names elsewhere, and so are the names of functions and units.
_WORDS = (
    "not",
    "some",
    "at",
    "in",
    "true",
    "mod",
    "min",
    "every",
    "only",
    "t",
    "s",
    "tick",
    "v",
    "now",
)

_names = st.one_of(
    st.sampled_from(("p", "q", "tram", "a1", "highAt", "x_y")), st.sampled_from(_WORDS)
)
_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
# A program only names files of its own directory.
_paths = _texts.filter(
    lambda path: not path.startswith("/") and ".." not in path and "\0" not in path
)
predicates: st.SearchStrategy[str] = st.one_of(_names, _names, _texts)
variables = st.builds(Variable, st.sampled_from(("X", "Y", "Z", "T", "U", "_Unused", "Long_Name1")))


def constants() -> st.SearchStrategy[Constant]:
    """Integers, floats, names and strings."""
    integers = st.one_of(st.integers(-3, 40), st.integers(INTEGER_MIN, INTEGER_MAX))
    floats = st.floats(allow_nan=False, allow_infinity=False).map(constant)
    return st.one_of(integers, floats, _names, _texts)


def _arithmetic(operands: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    binary = st.sampled_from(("+", "-", "*", "/", "mod", "min", "max"))
    unary = st.sampled_from(("-", "abs"))
    return st.one_of(
        st.builds(Arithmetic, binary, st.tuples(operands, operands)),
        st.builds(Arithmetic, unary, st.tuples(operands)),
    )


def _numbers(leaves: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    return st.recursive(leaves, _arithmetic, max_leaves=4)


_numerals = constants().filter(lambda value: not isinstance(value, str))
numeric_terms: st.SearchStrategy[Term] = _numbers(st.one_of(variables, _numerals))


def operands() -> st.SearchStrategy[Term]:
    """Terms that have a value: no `_`."""
    return st.one_of(variables, constants(), numeric_terms)


def terms() -> st.SearchStrategy[Term]:
    """Arguments of atoms."""
    return st.one_of(operands(), st.just(Wildcard()))


def times() -> st.SearchStrategy[Term]:
    """Time points: variables, integers and arithmetic."""
    integers = st.integers(-2, 60)
    return st.one_of(variables, integers, _numbers(st.one_of(variables, integers)))


def atoms(arguments: st.SearchStrategy[Term] | None = None) -> st.SearchStrategy[Atom]:
    """Atoms over the given arguments, by default any terms."""
    args = st.lists(terms() if arguments is None else arguments, max_size=3).map(tuple)
    return st.builds(Atom, predicates, args)


def ground_atoms() -> st.SearchStrategy[Atom]:
    """Atoms of which all arguments are constants."""
    return atoms(constants())


def signatures() -> st.SearchStrategy[Signature]:
    return st.builds(Signature, predicates, st.integers(0, 4))


@st.composite
def time_windows(draw: st.DrawFn) -> TimeWindow:
    """Any time window; the hop lies within it."""
    past = draw(st.one_of(st.integers(0, 70), st.none()))
    future = draw(st.one_of(st.just(0), st.integers(0, 9), st.none()))
    longest = 70 if past is None or future is None else max(1, past + future)
    every = draw(st.one_of(st.just(1), st.integers(1, longest)))
    return TimeWindow(past, future, every)


def windows() -> st.SearchStrategy[Window]:
    """Windows of every kind."""
    keys = st.lists(variables, max_size=2, unique=True).map(tuple)
    return st.one_of(
        time_windows(),
        st.builds(TupleWindow, st.integers(0, 9), st.one_of(st.just(0), st.integers(0, 3)), keys),
        st.builds(
            SessionWindow, st.integers(0, 9), st.none() | st.integers(0, 30), st.booleans(), keys
        ),
        st.builds(FilterWindow, st.lists(atoms(), min_size=1, max_size=3).map(tuple)),
        st.builds(NamedWindow, predicates, st.lists(constants(), max_size=2).map(tuple)),
    )


def _flat(kind: type[And] | type[Or], parts: list[Formula]) -> Formula:
    """Conjuncts are never conjunctions, disjuncts never disjunctions."""
    inner = [p for part in parts for p in (part.parts if isinstance(part, kind) else (part,))]
    return kind(tuple(inner))


def _compound(formulas: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    several = st.lists(formulas, min_size=2, max_size=3)
    return st.one_of(
        st.builds(Not, formulas),
        st.builds(Some, formulas),
        st.builds(Always, formulas),
        st.builds(Reset, formulas),
        st.builds(At, times(), formulas),
        st.builds(Windowed, windows(), formulas),
        st.builds(Implies, formulas, formulas),
        several.map(lambda parts: _flat(And, parts)),
        several.map(lambda parts: _flat(Or, parts)),
    )


def formulas(max_leaves: int = 5) -> st.SearchStrategy[Formula]:
    """Formulas of the whole grammar."""
    leaves: st.SearchStrategy[Formula] = st.one_of(
        st.builds(AtomFormula, atoms()),
        st.builds(AtomFormula, atoms()),
        st.builds(Comparison, st.sampled_from(OPERATORS), operands(), operands()),
        st.builds(Truth, st.booleans()),
    )
    return st.recursive(leaves, _compound, max_leaves=max_leaves)


def _body(parts: list[Formula]) -> tuple[Formula, ...]:
    return tuple(p for part in parts for p in (part.parts if isinstance(part, And) else (part,)))


def aggregates() -> st.SearchStrategy[Aggregate]:
    """Aggregates; a rule finds out which of their variables are global."""
    conditions = st.lists(formulas(3), min_size=1, max_size=2).map(_body)
    some_operands = st.lists(operands(), min_size=1, max_size=3).map(tuple)
    elements = st.builds(AggregateElement, some_operands, conditions)
    guards = st.builds(Guard, st.sampled_from(OPERATORS), operands())
    return st.builds(
        Aggregate,
        st.sampled_from(("count", "sum", "min", "max", "avg")),
        st.lists(elements, min_size=1, max_size=2).map(tuple),
        st.lists(guards, min_size=1, max_size=2).map(tuple),
        st.lists(variables, max_size=2, unique=True).map(tuple),
    )


def _rule_with_aggregates(head: Formula, parts: list[Formula]) -> Rule:
    return Rule(head, finish_body(head, _body(parts)))


def rules() -> st.SearchStrategy[Rule]:
    """Facts, stream elements, rules, constraints; any formula in heads and bodies."""
    facts = st.builds(AtomFormula, ground_atoms())
    heads = st.one_of(
        facts,
        st.builds(AtomFormula, atoms()),
        st.builds(At, times(), st.builds(AtomFormula, atoms())),
        st.just(Truth(False)),
        formulas(3),
    )
    bodies = st.lists(formulas(), min_size=1, max_size=3).map(_body)
    literals = st.lists(st.one_of(aggregates(), formulas(3)), min_size=1, max_size=3)
    return st.one_of(
        st.builds(Rule, heads, bodies),
        st.builds(Rule, heads, bodies),
        st.builds(_rule_with_aggregates, heads, literals),
        st.builds(Rule, facts),
        st.builds(Rule, st.builds(At, st.integers(0, 60), facts)),
        st.builds(Rule, formulas(3)),
    )


@st.composite
def _with_columns(draw: st.DrawFn, program: Program) -> Program:
    """The program with names for the columns of some predicates that it shows."""
    columns = []
    for signature in sorted(program.shows or ()):
        if signature.arity and draw(st.booleans()):
            size = signature.arity
            names = draw(st.lists(_names, min_size=size, max_size=size, unique=True))
            columns.append((signature, tuple(names)))
    return replace(program, shown_columns=tuple(columns))


def programs(max_rules: int = 4) -> st.SearchStrategy[Program]:
    """Programs with rules and directives."""
    some_signatures = st.frozensets(signatures(), max_size=3)
    built = st.builds(
        Program,
        st.lists(rules(), max_size=max_rules).map(tuple),
        st.none() | st.builds(Tick, st.integers(1, 10**12)),
        st.none() | some_signatures,
        st.none() | some_signatures,
        some_signatures,
        st.lists(st.builds(Background, _paths, signatures()), max_size=2).map(tuple),
    )
    return built.flatmap(_with_columns)
