"""Terms and atoms to text that reads back as the same tree."""

from larspark.base.atoms import Atom
from larspark.base.terms import NOW, Arithmetic, Term, Variable, Wildcard, constant_text
from larspark.language.words import WORDS


def term_text(term: Term) -> str:
    """Write a term with as few parentheses as it needs.

    >>> term_text(Arithmetic("*", (Arithmetic("+", (Variable("X"), 1)), 2)))
    '(X + 1) * 2'
    """
    match term:
        case Variable(name):
            return name
        case Wildcard():
            return "_"
        case str():
            return quoted(term) if term == NOW.name else name_text(term)
        case int() | float():
            return constant_text(term)
        case Arithmetic("abs" | "min" | "max" as operation, args):
            return f"{operation}({', '.join(map(term_text, args))})"
        case Arithmetic(_, (operand,)):
            text = term_text(operand)
            return f"-{text}" if isinstance(operand, Variable) else f"-({text})"
        case Arithmetic(operation, (left, right)):
            strength = _STRENGTH[operation]
            return f"{_factor(left, strength)} {operation} {_factor(right, strength + 1)}"
        case _:
            raise ValueError(f"{term!r} is not a term")


_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "mod": 2}


def _factor(term: Term, strength: int) -> str:
    text = term_text(term)
    if (
        isinstance(term, Arithmetic)
        and len(term.args) == 2
        and _STRENGTH.get(term.operation, 3) < strength
    ):
        return f"({text})"
    return text


def time_text(term: Term) -> str:
    """A time, close together: `T+3`."""
    if isinstance(term, Arithmetic) and term.operation in ("+", "-") and len(term.args) == 2:
        left, right = term.args
        return f"{_factor(left, 1)}{term.operation}{_factor(right, 2)}"
    return term_text(term)


def atom_text(atom: Atom) -> str:
    """Write an atom."""
    name = name_text(atom.predicate)
    return f"{name}({', '.join(map(term_text, atom.args))})" if atom.args else name


def name_text(name: str) -> str:
    """Write a predicate or a text constant, in quotes where it would be a word of the language."""
    return quoted(name) if name in WORDS else constant_text(name)


def quoted(text: str) -> str:
    """The text in quotes, also where a name would do."""
    written = constant_text(text)
    return written if written.startswith('"') else f'"{written}"'
