"""The shape of a formula: what it asks for, whatever its variables are called.

Formulas of the same shape have the same rows, so they can share a store.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from larspark.base.atoms import Atom, Signature
from larspark.base.terms import Constant, Term, Variable, Wildcard
from larspark.language.tree import NOWHERE
from larspark.plan.operators import Contents, Filters, Mode, Reach, Seen, Sessions, Tuples
from larspark.plan.printed import keys_text, seen_text
from larspark.run.interval.interning import Constants
from larspark.run.interval.kernels.layout import NONE, TO
from larspark.run.interval.kernels.scan import EQUAL, KEEP, PICK_TIME, TIME
from larspark.run.interval.network_nodes import Patterns, Reader, ScanNode
from larspark.run.interval.row_programs import Window, row_program


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a variable, by the number of its first occurrence."""

    number: int


@dataclass(frozen=True, slots=True)
class Given:
    """A constant."""

    value: Constant


# None stands for a wildcard.
Argument: TypeAlias = Slot | Given | None


class Shape(NamedTuple):
    """A formula over one atom without the names of its variables."""

    signature: Signature
    args: tuple[Argument, ...]
    mode: Mode
    time: Slot | int | None
    reach: Reach
    tuples: Tuples | Sessions | Contents | None
    only: Filters

    @property
    def width(self) -> int:
        """The number of its variables."""
        terms = (*self.args, self.time)
        return len({term for term in terms if isinstance(term, Slot)})

    @property
    def keeps_arguments(self) -> bool:
        """Do its variables determine the atom?"""
        return None not in self.args


def shape_of(seen: Seen) -> Shape:
    """The shape of a formula; its columns are those of `seen.variables`."""
    slots = {variable: Slot(number) for number, variable in enumerate(seen.variables)}
    args = tuple(_argument(term, slots) for term in seen.atom.args)
    time = slots[seen.time] if isinstance(seen.time, Variable) else seen.time
    signature = seen.atom.signature
    return Shape(signature, args, seen.mode, time, seen.reach, seen.tuples, seen.only)


def whole(signature: Signature) -> Shape:
    """The formula `p(X,Y,...)` without windows."""
    args = tuple(map(Slot, range(signature.arity)))
    return Shape(signature, args, Mode.NOW, None, Reach(), None, ())


def shape_text(shape: Shape) -> str:
    """The formula in the words of the language, with variables A, B, ..."""
    args = tuple(_term(argument) for argument in shape.args)
    time = _variable(shape.time) if isinstance(shape.time, Slot) else shape.time
    atom = Atom(shape.signature.predicate, args)
    seen = Seen(atom, shape.mode, time, shape.reach, shape.tuples, shape.only, NOWHERE)
    return seen_text(seen)


def tuples_text(tuples: Tuples | Sessions | Contents) -> str:
    """A tuple or session window, with its keys as numbers of arguments."""
    if isinstance(tuples, Contents):
        return " ".join(f"[{window.text()}]" for window, _ in tuples.windows)
    keys = "" if tuples.by is None else f" by {keys_text(tuples.by)}"
    return f"[{tuples.size_text}{keys}]"


def _term(argument: Argument) -> Term:
    match argument:
        case Slot():
            return _variable(argument)
        case Given(value):
            return value
        case None:
            return Wildcard()


def _variable(slot: Slot) -> Variable:
    letter, turn = chr(ord("A") + slot.number % 26), slot.number // 26
    return Variable(f"{letter}{turn or ''}")


def _argument(term: object, slots: dict[Variable, Slot]) -> Argument:
    match term:
        case Variable():
            return slots[term]
        case Wildcard():
            return None
        case int() | float() | str():
            return Given(term)
        case _:
            raise TypeError(f"{term!r} cannot stand in a planned atom")


def patterns_of(
    filters: Filters, signature: Signature, first: int, constants: Constants
) -> tuple[Patterns, ...] | None:
    """The filters for rows of one predicate; None when one of them lets none pass.

    `first` is the column of the first argument.
    """
    found: list[Patterns] = []
    for atoms in filters:
        own = [atom for atom in atoms if atom.signature == signature]
        if not own:
            return None
        found.append(Patterns(tuple(_pattern(atom, first, constants) for atom in own)))
    return tuple(found)


def _pattern(atom: Atom, first: int, constants: Constants) -> tuple[tuple[int, int], ...]:
    return tuple(
        (first + place, constants.code(term))
        for place, term in enumerate(atom.args)
        if isinstance(term, int | float | str)
    )


def scanner(
    shape: Shape, mode: int, constants: Constants, target: Reader, *, sweep: bool = False
) -> ScanNode | None:
    """The node that reads rows of the shape's predicate; None when the filters let none pass.

    With `sweep` the time point becomes the last column.
    """
    pinned = mode < KEEP
    first = TIME + 1 if pinned else TO + 1
    tests: list[tuple[int, int, int, int]] = []
    places: dict[int, int] = {}
    for place, argument in enumerate(shape.args):
        match argument:
            case Given(value):
                tests.append((EQUAL, first + place, NONE, constants.code(value)))
            case Slot(number) if number in places:
                tests.append((EQUAL, places[number], first + place, 0))
            case Slot(number):
                places[number] = first + place
            case None:
                pass
    if isinstance(shape.time, Slot):
        places[shape.time.number] = PICK_TIME
    elif shape.time is not None:
        tests.append((EQUAL, TIME, NONE, shape.time))
    pick = [places[number] for number in sorted(places)]
    if sweep:
        pick.append(PICK_TIME)
    filters = patterns_of(shape.only, shape.signature, first, constants)
    if filters is None:
        return None
    window = Window(mode, shape.reach.past, shape.reach.future, shape.reach.every)
    return ScanNode(row_program(tests, pick, window), filters, target)
