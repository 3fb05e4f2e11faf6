"""Facts as records of the compiled tick, remembered for those that come again."""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence

from larspark.base.atoms import Atom
from larspark.run.interval.interning import INTEGER_LIMIT, TABLE, TAG_BITS, Constants

# So many facts are looked up before it is decided whether that pays; if not, so many times as many
# are not looked up.
_TRIED = 1 << 12
_PAUSE = 8
# So many facts are remembered.
_REMEMBERED = 1 << 13


class Records:
    """Writes facts as records: the number of the predicate, then the codes of the arguments.

    A predicate without a number is read by no rule, and has no record. What is remembered was
    checked, and is right as long as constants keep their codes.
    """

    __slots__ = ("_constants", "_known", "_missed", "_numbers", "_seen", "_tried")

    def __init__(self, numbers: Mapping[tuple[str, int], int], constants: Constants) -> None:
        self._numbers = numbers
        self._constants = constants
        # The numbers of the predicates that were met; None stands for none.
        self._seen: dict[tuple[str, int], int | None] = {}
        self._known: dict[Atom, bytes] = {}
        # How many facts were looked up, or with a minus are not; how many of them were new.
        self._tried = self._missed = 0

    def forget(self) -> None:
        """Constants may have other codes from now on."""
        self._known.clear()

    def of(self, atoms: Sequence[Atom], check: Callable[[Iterable[Atom]], None]) -> bytes:
        """The records of facts, one after another; `check` sees one atom of each predicate."""
        self._tried += len(atoms)
        if self._tried < 0:
            return self._coded(atoms, check)
        known, records = self._known, []
        for atom in atoms:
            record = known.get(atom)
            if record is None:
                record = known[atom] = self._coded((atom,), check)
                self._missed += 1
            records.append(record)
        if self._tried > _TRIED:
            self._decide()
        return b"".join(records)

    def _decide(self) -> None:
        """Go on looking facts up if that pays."""
        pays = 2 * self._missed < self._tried
        if not pays or len(self._known) > _REMEMBERED:
            self._known.clear()
        self._tried, self._missed = 0 if pays else -_PAUSE * _TRIED, 0

    def _coded(self, atoms: Iterable[Atom], check: Callable[[Iterable[Atom]], None]) -> bytes:
        numbers: list[int] = []
        add, seen, code = numbers.append, self._seen, self._constants.code
        place_of, new_place = self._constants.places.get, self._constants.new_place
        for atom in atoms:
            predicate, args = atom
            key = predicate, len(args)
            try:
                number = seen[key]
            except KeyError:
                check((atom,))
                number = seen[key] = self._numbers.get(key)
            if number is None:
                continue
            add(number)
            for arg in args:
                if type(arg) is int and -INTEGER_LIMIT < arg < INTEGER_LIMIT:
                    add(arg << TAG_BITS)
                elif type(arg) is str:
                    place = place_of(arg)
                    add((new_place(arg) if place is None else place) << TAG_BITS | TABLE)
                else:
                    add(code(arg))  # type: ignore[arg-type]
        return array("q", numbers).tobytes()
