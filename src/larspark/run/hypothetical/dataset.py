"""Indexes of background data and past facts, and the evaluation of conditions over them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from larspark.base.atoms import Atom, Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.base.terms import Constant, Variable
from larspark.run.hypothetical.patterns import (
    ORIGIN,
    Condition,
    Expression,
    Pattern,
    Slot,
    Time,
    holds,
    object_names,
    time_names,
    value_of,
)

Row: TypeAlias = tuple[Constant, ...]

_CONSTANTS = frozenset((int, float, str))


class Background:
    """Atoms that hold at every time point.

    A predicate is background data if atoms of it are given; it is (also) a stream predicate if
    rules derive it, if the program lists it as input, or if there is no background data for it.
    """

    def __init__(
        self,
        atoms: Iterable[Atom],
        signatures: Iterable[Signature] = (),
        stream: Iterable[Signature] = (),
    ) -> None:
        self._rows: dict[Signature, list[Row]] = {signature: [] for signature in signatures}
        self._stream = frozenset(stream)
        self._indexes: dict[tuple[Signature, tuple[int, ...]], dict[Row, list[Row]]] = {}
        for atom in dict.fromkeys(atoms):
            self._rows.setdefault(atom.signature, []).append(row_of(atom))

    def gives(self, signature: Signature) -> bool:
        return signature in self._rows

    def streams(self, signature: Signature) -> bool:
        return signature not in self._rows or signature in self._stream

    def rows(self, signature: Signature) -> Sequence[Row]:
        return self._rows.get(signature, ())

    def matching(self, signature: Signature, known: Sequence[Constant | None]) -> Sequence[Row]:
        """The rows that have the known arguments (None: any)."""
        positions = tuple(i for i, value in enumerate(known) if value is not None)
        if not positions:
            return self.rows(signature)
        index = self._indexes.get((signature, positions))
        if index is None:
            index = {}
            for row in self.rows(signature):
                index.setdefault(tuple(row[i] for i in positions), []).append(row)
            self._indexes[signature, positions] = index
        key = tuple(value for value in known if value is not None)
        return index.get(key, ())


class History:
    """The past facts of some predicates by time point, for as long as they can be needed."""

    def __init__(self, keep: dict[Signature, int | None]) -> None:
        # For how many time points a fact is kept; None: forever.
        self._keep = keep
        self._facts: dict[Signature, dict[int, Sequence[Row]]] = {name: {} for name in keep}

    def add(self, t: int, facts: Mapping[Signature, Sequence[Row]]) -> None:
        for signature, kept in self._facts.items():
            rows = facts.get(signature)
            if rows:
                kept[t] = rows

    def at(self, signature: Signature, t: int) -> Sequence[Row]:
        return self._facts[signature].get(t, ())

    def times(self, signature: Signature, first: int, last: float) -> Iterator[int]:
        """The time points between first and last that have facts, in no order."""
        facts = self._facts[signature]
        if last - first < len(facts):
            return (t for t in range(first, int(last) + 1) if t in facts)
        return (t for t in facts if first <= t <= last)

    def forget(self, t: int) -> None:
        """Drop facts that are not needed after t."""
        for signature, keep in self._keep.items():
            facts = self._facts[signature]
            if keep is not None:
                # Time points were added in order, so the oldest come first.
                while facts and (oldest := next(iter(facts))) < t - keep:
                    del facts[oldest]


def row_of(atom: Atom) -> Row:
    """The arguments of a ground atom."""
    if not _CONSTANTS.issuperset(map(type, atom.args)):
        hint = "constants are integers, floats and text"
        raise LarsparkError(Problem("L477", f"`{atom}` is not a fact: it is not ground", hint=hint))
    return cast(Row, atom.args)


class Unknown(str):
    """An unknown value: equal only to itself."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other


Known: TypeAlias = Mapping[str, Constant]
# A comparison, or a background atom that must be absent, with unbound variables.
Undecided: TypeAlias = Condition | Pattern


def value(slot: Slot, known: Known) -> Constant | None:
    """The value of a slot; None if it is unbound."""
    match slot:
        case Variable(name):
            return known.get(name)
        case Time(variable, offset):
            base = 0 if variable == ORIGIN else known.get(variable)
            return base + offset if isinstance(base, int) else None
        case int() | float() | str():
            return slot
        case _:
            return None


def solutions(
    rigid: tuple[Pattern, ...],
    checks: Iterable[Undecided],
    known: Known,
    background: Background,
) -> Iterator[tuple[Known, tuple[Undecided, ...]]]:
    """All matches of the background atoms, each with its bindings and the remaining checks."""
    settled = _checked(tuple(checks), known, background)
    if settled is None:
        return
    known, left = settled
    if not rigid:
        yield known, left
        return
    # The atom with the most bound arguments has the fewest rows.
    atom = max(rigid, key=lambda pattern: sum(value(a, known) is not None for a in pattern.args))
    others = tuple(pattern for pattern in rigid if pattern is not atom)
    wanted = [value(arg, known) for arg in atom.args]
    for row in background.matching(atom.signature, wanted):
        bound = matched(atom, row, known)
        if bound is not None:
            yield from solutions(others, left, bound, background)


def matched(pattern: Pattern, row: tuple[Constant, ...], known: Known) -> Known | None:
    """The bindings extended by matching the pattern with a row; None when it does not match."""
    bound = dict(known)
    for arg, constant in zip(pattern.args, row, strict=True):
        have = value(arg, bound)
        if have is not None:
            if have != constant:
                return None
        elif isinstance(arg, Variable):
            bound[arg.name] = constant
        elif isinstance(arg, Time):
            if not isinstance(constant, int):
                return None
            bound[arg.variable] = constant - arg.offset
    return bound


def _checked(
    checks: tuple[Undecided, ...], known: Known, background: Background
) -> tuple[Known, tuple[Undecided, ...]] | None:
    """Evaluate the checks that can be decided, binding variables by equations."""
    bound = dict(known)
    left = list(checks)
    progress = True
    while progress:
        progress = False
        for check in tuple(left):
            outcome = _decided(check, bound, background)
            if outcome is False:
                return None
            if outcome is True:
                left.remove(check)
                progress = True
    return bound, tuple(left)


def _decided(check: Undecided, bound: dict[str, Constant], background: Background) -> bool | None:
    if isinstance(check, Pattern):
        wanted = [value(arg, bound) for arg in check.args]
        unknown = any(
            have is None and isinstance(arg, Variable | Time)
            for have, arg in zip(wanted, check.args, strict=True)
        )
        if any(isinstance(have, Unknown) for have in wanted):
            return None
        rows = background.matching(check.signature, wanted)
        return not rows if not rows or not unknown else None
    sides = (check.left, check.right)
    names = (*object_names(sides), *time_names(sides))
    if any(isinstance(bound.get(name), Unknown) for name in names):
        return None
    unknown_names = {name for name in names if name != ORIGIN and name not in bound}
    if not unknown_names:
        return holds(check, lambda slot: value(slot, bound))
    if check.relation == "=" and len(unknown_names) == 1:
        for one, other in (sides, sides[::-1]):
            if isinstance(one, Variable) and one.name in unknown_names:
                return _assigned(one.name, other, bound)
    return None


def _assigned(name: str, expression: Expression, bound: dict[str, Constant]) -> bool | None:
    if name in object_names((expression,)):
        return None
    result = value_of(expression, lambda slot: value(slot, bound))
    if result is None:
        return False
    bound[name] = result
    return True
