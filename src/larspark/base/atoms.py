"""Atoms and stream elements."""

from typing import NamedTuple

from larspark.base.terms import Constant, Term, Variable, Wildcard, constant, constant_text

# Every table of answers has these columns; arguments have other names.
TIME_COLUMNS = ("from", "to")


class Signature(NamedTuple):
    """A predicate with its arity, written `tram/2`."""

    predicate: str
    arity: int

    def __str__(self) -> str:
        return f"{self.predicate}/{self.arity}"


class Atom(NamedTuple):
    """A predicate applied to terms. Ground when every argument is a constant."""

    predicate: str
    args: tuple[Term, ...] = ()

    @property
    def signature(self) -> Signature:
        return Signature(self.predicate, len(self.args))

    def __str__(self) -> str:
        return atom_text(self)


class Element(NamedTuple):
    """An atom that a stream holds at a time point."""

    t: int
    atom: Atom


def fact(predicate: str, *args: Constant) -> Atom:
    """Make a ground atom from Python values.

    >>> str(fact("temp", "s1", 21.5))
    'temp(s1,21.5)'
    """
    return Atom(predicate, tuple(constant(value) for value in args))


def term_text(term: Term) -> str:
    """Write a term the way answers show it: without spaces."""
    match term:
        case Variable(name):
            return name
        case Wildcard():
            return "_"
        case int() | float() | str():
            return constant_text(term)
        case _ if term.operation in ("abs", "min", "max"):
            return f"{term.operation}({','.join(map(term_text, term.args))})"
        case _ if len(term.args) == 1:
            return f"-{_operand(term.args[0])}"
        case _:
            left, right = map(_operand, term.args)
            operation = " mod " if term.operation == "mod" else term.operation
            return f"{left}{operation}{right}"


def _operand(term: Term) -> str:
    text = term_text(term)
    compound = not isinstance(term, Variable | Wildcard | str) and not text.isalnum()
    return f"({text})" if compound and not text.startswith(("abs(", "min(", "max(")) else text


def atom_text(atom: Atom) -> str:
    """Write an atom without spaces, `p(a,3)`; a predicate that is no name is quoted."""
    predicate = constant_text(atom.predicate)
    if not atom.args:
        return predicate
    return f"{predicate}({','.join(map(term_text, atom.args))})"
