"""Values of terms under a substitution, arithmetic, and the order of constants.

Arithmetic has a value only over numbers and within 64 bits. A term without a value (division by
zero, text in arithmetic, an integer beyond 64 bits, `mod` over floats) evaluates to None, and no
comparison with it is true. Nor is one of the order between a number and a text.
"""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from larspark.base.atoms import Atom
from larspark.base.terms import Arithmetic, Constant, Operation, Term, Variable, Wildcard, constant
from larspark.language.tree import COMPARISONS
from larspark.language.windows import Key
from larspark.logic.traversal import key_term

Substitution: TypeAlias = Mapping[str, Constant]


# Is called for each comparison between a number and a text that has no order.
Listener: TypeAlias = Callable[[str, Constant, Constant], None]
_listener: ContextVar[Listener | None] = ContextVar("_listener", default=None)


@contextmanager
def noticing_mixed(listener: Listener) -> Iterator[None]:
    """Inform a listener of comparisons between numbers and texts.

    >>> with noticing_mixed(lambda *comparison: print(*comparison)):
    ...     compare("<", 10, "a")
    < 10 a
    False
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class NoValueError(ArithmeticError):
    """A ground instance does not exist, because one of its terms has no value."""


def value(term: Term, substitution: Substitution) -> Constant | None:
    """The constant that a term stands for, None if it has no value.

    Every variable of the term must be bound; an unbound one raises `KeyError`.

    >>> value(Arithmetic("/", (Variable("X"), 2)), {"X": 7})
    3.5
    >>> value(Arithmetic("+", (Variable("X"), 1)), {"X": 2**63 - 1}) is None
    True
    """
    if isinstance(term, Variable):
        return substitution[term.name]
    if isinstance(term, Arithmetic):
        return calculate(term.operation, [value(arg, substitution) for arg in term.args])
    return None if isinstance(term, Wildcard) else term


def time_value(term: Term, substitution: Substitution) -> int | None:
    """The time point that a time pin names, None if its value is not an integer."""
    point = value(term, substitution)
    return point if isinstance(point, int) else None


def ground_atom(atom: Atom, substitution: Substitution) -> Atom:
    """The atom with its terms replaced by their values; wildcards stay.

    Raises `NoValueError` if a term has no value.
    """
    args: list[Term] = []
    for term in atom.args:
        given = term if isinstance(term, Wildcard) else value(term, substitution)
        if given is None:
            raise NoValueError
        args.append(given)
    return Atom(atom.predicate, tuple(args))


def key_values(keys: Sequence[Key], args: Sequence[Term]) -> tuple[Term, ...] | None:
    """The group of an atom with these arguments in a partition, None if a key has no value.

    >>> key_values((1, Arithmetic("mod", (Variable("0"), 10))), (13, "a"))
    ('a', 3)
    """
    found: list[Term] = []
    for key in keys:
        given = args[key] if isinstance(key, int) else value(key_term(key, args), {})
        if given is None:
            return None
        found.append(given)
    return tuple(found)


def matches(pattern: Atom, atom: Atom) -> bool:
    """Is the atom an instance of a pattern whose only open places are wildcards?

    >>> matches(Atom("p", ("a", Wildcard())), Atom("p", ("a", 3)))
    True
    """
    return (
        pattern.predicate == atom.predicate
        and len(pattern.args) == len(atom.args)
        and all(
            wanted == given or isinstance(wanted, Wildcard)
            for wanted, given in zip(pattern.args, atom.args, strict=True)
        )
    )


def calculate(operation: Operation, args: Sequence[Constant | None]) -> Constant | None:
    """The result of an operation, None if it has no value.

    >>> calculate("/", (6, 2)), calculate("/", (7, 2)), calculate("mod", (-7, 3))
    (3, 3.5, 2)
    >>> calculate("/", (1, 0)) is None, calculate("+", ("a", 1)) is None
    (True, True)
    """
    for arg in args:
        if arg is None or isinstance(arg, str):
            return None
    try:
        return constant(_OPERATIONS[operation](*args))
    except (ArithmeticError, ValueError):
        return None


def compare(comparison: str, left: Constant | None, right: Constant | None) -> bool:
    """Decide `left comparison right`: numbers by value, text by code points.

    Between a number and a text there is no order: none of `< <= > >=` holds.

    >>> compare("<", 9, 10), compare("<", "b", "a"), compare("!=", 2, "2")
    (True, False, True)
    >>> compare("<", 10, "a"), compare(">=", 10, "a"), compare("!=", 2, None)
    (False, False, False)
    """
    if left is None or right is None:
        return False
    if isinstance(left, str) is not isinstance(right, str):
        listener = _listener.get()
        if listener is not None and comparison not in ("=", "!="):
            listener(comparison, left, right)
        return comparison == "!="
    return bool(COMPARISONS[comparison](left, right))


def order_key(constant: Constant) -> tuple[bool, Constant]:
    """A sort key: numbers by value, then text by code points."""
    return isinstance(constant, str), constant


def _minus(x: int | float, y: int | float | None = None) -> int | float:
    return -x if y is None else x - y


def _quotient(x: int | float, y: int | float) -> int | float:
    if isinstance(x, int) and isinstance(y, int) and x % y == 0:
        return x // y
    return x / y


def _modulo(x: int | float, y: int | float) -> int:
    if not (isinstance(x, int) and isinstance(y, int)):
        raise ArithmeticError("`mod` is defined for integers only")
    return x % y


def _minimum(*numbers: int | float) -> int | float:
    return min(numbers)


def _maximum(*numbers: int | float) -> int | float:
    return max(numbers)


_OPERATIONS: dict[Operation, Callable[..., int | float]] = {
    "+": operator.add,
    "-": _minus,
    "*": operator.mul,
    "/": _quotient,
    "mod": _modulo,
    "abs": abs,
    "min": _minimum,
    "max": _maximum,
}
