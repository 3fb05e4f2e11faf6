"""Notes on joins of numbers with texts, which are never equal."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from larspark.base.atoms import Atom, Signature
from larspark.base.facts import AnyBatch, ColumnBatch, Segment
from larspark.base.terms import Constant, Variable, constant_text
from larspark.language.tree import Rule
from larspark.logic.traversal import occurrences

# So many facts of a batch and of each predicate are looked at, in so many batches.
_LOOKED_AT = 1000
_BATCHES = 20


class _Place(NamedTuple):
    """An argument of a predicate."""

    signature: Signature
    number: int


class ArgumentTypes:
    """Whether the arguments of the first facts of each predicate are numbers or texts."""

    def __init__(self) -> None:
        # For each argument an example of a number (False) and one of a text (True).
        self._examples: dict[_Place, dict[bool, Constant]] = {}
        self._seen: dict[Signature, int] = {}
        self._batches = 0

    def add(self, batch: AnyBatch) -> None:
        """Look at the first facts of one of the first batches."""
        self._batches += 1
        if self._batches > _BATCHES:
            return
        if isinstance(batch, ColumnBatch):
            # All rows would be made of a whole batch.
            batch = ColumnBatch(
                [Segment(each, table.slice(0, _LOOKED_AT)) for each, table in batch.segments()]
            )
        self._look_at(row.atom for row in islice(batch.rows(), _LOOKED_AT))

    def notes(self, rules: Sequence[Rule], background: Iterable[Atom]) -> list[str]:
        """A sentence for each variable that joins numbers with texts that look like numbers."""
        joins = [join for rule in rules for join in _joins(rule).items() if len(join[1]) > 1]
        joined = {place.signature for _, places in joins for place in places}
        self._look_at(atom for atom in background if atom.signature in joined)
        found = [note for name, places in joins if (note := self._note(name, places))]
        return list(dict.fromkeys(found))

    def _look_at(self, atoms: Iterable[Atom]) -> None:
        for atom in atoms:
            signature = atom.signature
            seen = self._seen[signature] = self._seen.get(signature, 0) + 1
            if seen > _LOOKED_AT:
                continue
            for number, value in enumerate(atom.args):
                if isinstance(value, int | float | str):
                    examples = self._examples.setdefault(_Place(signature, number), {})
                    examples.setdefault(isinstance(value, str), value)

    def _note(self, name: str, places: Sequence[_Place]) -> str | None:
        known = [(place, self._examples[place]) for place in places if place in self._examples]
        numbers = [(place, each[False]) for place, each in known if True not in each]
        texts = [(place, each[True]) for place, each in known if False not in each]
        alike = [(place, text) for place, text in texts if _looks_like_number(text)]
        if not numbers or not alike:
            return None
        (one, number), (other, text) = numbers[0], alike[0]
        return (
            f"`{name}` joins numbers of `{one.signature}`, such as {number}, with texts of "
            f"`{other.signature}`, such as {constant_text(text)}, which are never equal; "
            "a mapping gives a column a type: `text(...)`, `number(...)`"
        )


def _joins(rule: Rule) -> dict[str, list[_Place]]:
    """The arguments that are the same variable."""
    places: dict[str, list[_Place]] = {}
    for formula in rule.body:
        for occurrence in occurrences(formula):
            atom = occurrence.formula.atom
            for number, term in enumerate(atom.args):
                if isinstance(term, Variable):
                    places.setdefault(term.name, []).append(_Place(atom.signature, number))
    return places


def _looks_like_number(value: Constant) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
