"""Atoms that reasoning tasks range over: each as text, `p(1..3)` for several."""

import re
from collections.abc import Iterable, Iterator
from itertools import product
from math import prod

from larspark.base.atoms import Atom
from larspark.base.problems import LarsparkError, Problem
from larspark.feeds.ground_atoms import STRING, parse_ground_atom

# More atoms than this in a range are a mistake.
ATOMS_LIMIT = 10_000

_RANGE = re.compile(
    rf"({STRING.pattern})|(?<![\w.-])(-?[0-9]{{1,18}})\.\.(-?[0-9]{{1,18}})(?![\w.])"
)


def atoms_of_ranges(given: Iterable[Atom | str]) -> Iterator[Atom]:
    """The atoms that are given as such or as text, with ranges of integers written out.

    >>> [str(atom) for atom in atoms_of_ranges(["q", "p(1..2,a)"])]
    ['q', 'p(1,a)', 'p(2,a)']
    """
    for item in given:
        if isinstance(item, str):
            yield from map(parse_ground_atom, _written_out(item))
        else:
            yield item


def _written_out(text: str) -> Iterator[str]:
    found = [match for match in _RANGE.finditer(text) if match[1] is None]
    ranges = [range(int(match[2]), int(match[3]) + 1) for match in found]
    if not all(ranges):
        raise LarsparkError(Problem("L312", f"`{text}` has a range without integers"))
    if prod(map(len, ranges)) > ATOMS_LIMIT:
        raise LarsparkError(Problem("L312", f"`{text}` stands for more than {ATOMS_LIMIT} atoms"))
    for values in product(*ranges):
        pieces, end = [], 0
        for match, value in zip(found, values, strict=True):
            pieces += [text[end : match.start()], str(value)]
            end = match.end()
        yield "".join([*pieces, text[end:]])
