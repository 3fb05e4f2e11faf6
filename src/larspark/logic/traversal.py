"""Questions about the structure of formulas: occurrences of atoms, witnesses, keys, depth.

Most evaluators recurse through formulas; `depth`, which does not, says whether they can.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, assert_never

from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Arithmetic, Term, Variable, Wildcard
from larspark.language.nodes import children, subterms, term_variables, terms
from larspark.language.tree import (
    Aggregate,
    Always,
    And,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Implies,
    Not,
    Or,
    Reset,
    Rule,
    Some,
    Truth,
    Windowed,
)
from larspark.language.windows import Key, KeyTerm, Positions, Window


class Occurrence(NamedTuple):
    """An atom in a formula: does it count positively, and through which windows is it seen?

    The windows are those in effect, from the outermost; `reset` lifts all above it.
    """

    formula: AtomFormula
    positive: bool
    windows: tuple[Window, ...]


def occurrences(formula: Formula, positive: bool = True) -> Iterator[Occurrence]:
    """The atoms of a formula in the order of the text; polarity flips below `not` and left of `->`.

    Atoms of an aggregate are never positive: with more atoms it can hold or cease to hold.

    Filter patterns are no occurrences: they look at the stream, they do not ask whether it holds.
    """
    pending: list[tuple[Formula, bool, tuple[Window, ...]]] = [(formula, positive, ())]
    while pending:
        current, polarity, windows = pending.pop()
        match current:
            case AtomFormula():
                yield Occurrence(current, polarity, windows)
            case Not(body):
                pending.append((body, not polarity, windows))
            case Implies(left, right):
                pending.append((right, polarity, windows))
                pending.append((left, not polarity, windows))
            case Windowed(window, body):
                pending.append((body, polarity, (*windows, window)))
            case Reset(body):
                pending.append((body, polarity, ()))
            case Aggregate():
                inner = [a for part in children(current) for a in occurrences(part)]
                yield from (atom._replace(positive=False) for atom in inner)
            case _:
                pending.extend((part, polarity, windows) for part in reversed(children(current)))


def has_witness(formula: Formula) -> bool:
    """Does the formula only hold where some atom does?"""
    match formula:
        case AtomFormula():
            return True
        case And(parts):
            return any(map(has_witness, parts))
        case Or(parts):
            return all(map(has_witness, parts))
        case Some(body) | Always(body) | At(_, body) | Windowed(_, body) | Reset(body):
            return has_witness(body)
        case Aggregate(elements=elements, by=by):
            # Only with `by` the set has a tuple wherever the literal holds.
            return bool(by) and all(any(map(has_witness, e.conditions)) for e in elements)
        case Not() | Implies() | Comparison() | Truth():
            return False
        case _:
            assert_never(formula)


def witnesses(formula: Formula) -> frozenset[Signature]:
    """Predicates without whose atoms the formula holds nowhere."""
    match formula:
        case AtomFormula(atom):
            return frozenset((atom.signature,))
        case And(parts):
            return frozenset().union(*map(witnesses, parts))
        case Or(parts):
            return frozenset.intersection(*map(witnesses, parts))
        case Some(body) | Always(body) | At(_, body) | Windowed(_, body) | Reset(body):
            return witnesses(body)
        case Aggregate(elements=elements, by=by):
            each = [frozenset().union(*map(witnesses, e.conditions)) for e in elements]
            return frozenset.intersection(*each) if by else frozenset()
        case Not() | Implies() | Comparison() | Truth():
            return frozenset()
        case _:
            assert_never(formula)


def is_one_atom(formula: Formula) -> bool:
    """Does the formula hold exactly where an atom of its form is seen at some time point?"""
    match formula:
        case AtomFormula():
            return True
        case Some(body) | At(_, body) | Windowed(_, body) | Reset(body):
            return is_one_atom(body)
        case _:
            return False


def sees_only_atoms(formula: Formula) -> bool:
    """Does a formula depend on the atoms of its stream alone, whatever time that stream covers?"""
    while isinstance(formula, Windowed) and formula.window.is_known:
        formula = formula.body
    return _is_about_atoms(formula.body if isinstance(formula, Some | At) else formula)


def _is_about_atoms(formula: Formula) -> bool:
    """Does a formula hold only at a time point where one of its atoms does, and ask no other?"""
    match formula:
        case AtomFormula():
            return True
        case And(parts):
            asking = [part for part in parts if not isinstance(part, Comparison | Truth)]
            return bool(asking) and all(map(_is_about_atoms, asking))
        case Or(parts):
            return all(map(_is_about_atoms, parts))
        case _:
            return False


def formulas(rule: Rule) -> tuple[Formula, ...]:
    """The head of a rule and its body elements."""
    return (rule.head, *rule.body)


def is_ground(term: Term) -> bool:
    """Has the term neither variables nor wildcards?"""
    return not any(isinstance(part, Variable | Wildcard) for part in subterms(term))


def depth(formula: Formula) -> int:
    """How deep a formula nests, the terms in it included.

    >>> from larspark.base.atoms import Atom
    >>> depth(Not(Some(AtomFormula(Atom("p")))))
    3
    """
    deepest = 0
    level: list[Formula | Term] = [formula]
    while level:
        deepest += 1
        below: list[Formula | Term] = []
        for node in level:
            match node:
                case Arithmetic():
                    below.extend(node.args)
                case int() | float() | str() | Variable() | Wildcard():
                    pass
                case _:
                    below.extend(children(node))
                    below.extend(term for term in terms(node) if isinstance(term, Arithmetic))
        level = below
    return deepest


def key_of(term: KeyTerm, args: Sequence[Term]) -> Key:
    """A key of a window over the arguments of an atom that has all its variables."""
    if isinstance(term, Variable):
        return args.index(term)
    return Arithmetic(term.operation, tuple(_positional(arg, args) for arg in term.args))


def _positional(term: Term, args: Sequence[Term]) -> Term:
    match term:
        case Variable():
            return Variable(str(args.index(term)))
        case Arithmetic(operation, parts):
            return Arithmetic(operation, tuple(_positional(part, args) for part in parts))
        case _:
            return term


def key_term(key: Key, args: Sequence[Term]) -> Term:
    """The term that a key stands for in an atom with these arguments."""
    return args[key] if isinstance(key, int) else _in_place(key, args)


def _in_place(term: Term, args: Sequence[Term]) -> Term:
    match term:
        case Variable(name):
            return args[int(name)]
        case Arithmetic(operation, parts):
            return Arithmetic(operation, tuple(_in_place(part, args) for part in parts))
        case _:
            return term


def key_positions(by: tuple[KeyTerm, ...], body: Formula) -> Positions:
    """The keys of a window over the arguments of the atoms below it, for predicates that have them
    all."""
    keys: dict[Signature, tuple[Key, ...]] = {}
    names = {variable for key in by for variable in term_variables(key)}
    pending: list[Formula] = [body]
    while pending:
        part = pending.pop()
        if isinstance(part, AtomFormula) and names <= set(part.atom.args):
            signature = part.atom.signature
            positions = tuple(key_of(key, part.atom.args) for key in by)
            if keys.setdefault(signature, positions) != positions:
                message = f"the key of the partition is at different positions of `{signature}`"
                raise LarsparkError(Problem("L264", message))
        # What stands below `reset` sees the whole stream, not the window.
        if not isinstance(part, Reset):
            pending.extend(children(part))
    return tuple(sorted(keys.items()))
