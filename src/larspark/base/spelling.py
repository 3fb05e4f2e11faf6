"""Which known name was probably meant."""

import difflib
from collections.abc import Iterable

# Suggestions are a courtesy: among more names of like length, or longer ones, nobody expects one.
_NAMES_COMPARED, _LONGEST_NAME = 64, 40


class Vocabulary:
    """Known names, searched for the one closest to a misspelt one.

    >>> known = Vocabulary(["bus", "tram", "jam"])
    >>> known.closest("trm"), known.closest("bsu"), known.closest("bug")
    ('tram', 'bus', None)
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._by_length: dict[int, set[str]] = {}
        for name in names:
            self._by_length.setdefault(len(name), set()).add(name)

    def closest(self, name: str, likeness: float = 0.75) -> str | None:
        """The name most like another one, if one is; capital letters do not count."""
        lengths = range(len(name) - 2, len(name) + 3)
        near = [self._by_length.get(length, set()) for length in lengths]
        if len(name) > _LONGEST_NAME or sum(map(len, near)) > _NAMES_COMPARED:
            return None
        lowered = {other.lower(): other for other in sorted(set().union(*near)) if other != name}
        low = name.lower()
        swapped = (low[:i] + low[i + 1] + low[i] + low[i + 2 :] for i in range(len(low) - 1))
        # `hto` and `hot` are less alike than other slips, because they are short.
        near_swaps = sorted({*swapped} & {*lowered}) if len(low) > 2 else []
        matches = near_swaps or difflib.get_close_matches(low, lowered, n=1, cutoff=likeness)
        return lowered[matches[0]] if matches else None
