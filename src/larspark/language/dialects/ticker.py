"""Ticker's programs: LARS with built-in relations, sizes in seconds, and `%` for the remainder."""

from collections.abc import Iterable, Iterator

from larspark.base.problems import Span
from larspark.base.terms import Arithmetic, Operation, Term
from larspark.language.collector import Collector, Form
from larspark.language.dialect import Parsed, ProgramText
from larspark.language.source import Notation
from larspark.language.tree import (
    Always,
    And,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Implies,
    Not,
    Or,
    Program,
    Reset,
    Some,
    Tick,
    Truth,
    Windowed,
)

_COMPARISONS = {"eq": "=", "neq": "!=", "lt": "<", "leq": "<=", "gt": ">", "geq": ">="}
_OPERATIONS: dict[str, Operation] = {
    "plus": "+",
    "minus": "-",
    "times": "*",
    "divide": "/",
    "modulo": "mod",
}

# The predicates that Ticker reads as built-in relations, with their number of arguments.
TICKER_RELATIONS = {
    **dict.fromkeys(_COMPARISONS, 2),
    **dict.fromkeys(_OPERATIONS, 3),
    "incr": 2,
}


def ticker_relation(name: str, args: tuple[Term, ...], span: Span) -> Comparison | None:
    """Ticker's `leq(X,Y)` is `X <= Y`, its `plus(X,Y,Z)` is `Z = X + Y`; other atoms give None."""
    if TICKER_RELATIONS.get(name) != len(args):
        return None
    if name in _COMPARISONS:
        return Comparison(_COMPARISONS[name], args[0], args[1], span)
    if name == "incr":
        return Comparison("=", args[1], Arithmetic("+", (args[0], 1)), span)
    return Comparison("=", args[2], Arithmetic(_OPERATIONS[name], (args[0], args[1])), span)


# One time point lasts a second unless `#tick` says otherwise; `[5]` means 5 seconds in any case.
_SECOND = 1_000_000
_FORM = Form(
    Notation(
        percent_is_modulo=True,
        mixed_comment_ends=True,
        bare_size=_SECOND,
        has_now=False,
        relation=ticker_relation,
    ),
    tick=Tick(_SECOND),
)


def parse(text: ProgramText) -> Parsed:
    collector = Collector(text, _FORM)
    return collector.parsed(collector.program())


def doubtful_relations(program: Program) -> Iterator[AtomFormula]:
    """Body atoms of a LARS program that only Ticker reads as relations, and nothing derives."""
    given = {atom.atom.signature for rule in program.rules for atom in _atoms([rule.head])}
    given |= (program.inputs or frozenset()) | {data.signature for data in program.backgrounds}
    for rule in program.rules:
        for formula in _atoms(rule.body):
            signature = formula.atom.signature
            if (
                TICKER_RELATIONS.get(signature.predicate) == signature.arity
                and signature not in given
            ):
                yield formula


def _atoms(formulas: Iterable[Formula]) -> Iterator[AtomFormula]:
    pending = list(formulas)
    while pending:
        match pending.pop():
            case AtomFormula() as atom:
                yield atom
            case And(parts) | Or(parts):
                pending.extend(parts)
            case Implies(left, right):
                pending += (left, right)
            case Not(body) | Some(body) | Always(body) | Reset(body):
                pending.append(body)
            case At(_, body) | Windowed(_, body):
                pending.append(body)
            case Comparison() | Truth():
                pass
