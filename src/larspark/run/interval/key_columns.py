"""Keys of windows that are terms over the arguments: `[#2 by X mod 10] some p(X)`."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from larspark.base.terms import Arithmetic, Term
from larspark.language.nodes import term_variables
from larspark.language.windows import Key
from larspark.logic.values import key_values
from larspark.run.interval.interning import Constants
from larspark.run.interval.kernels.layout import Ints
from larspark.run.interval.kernels.scan import TIME


class KeyColumns:
    """The values of terms over the arguments of elements, as columns of codes."""

    def __init__(self, terms: Sequence[Arithmetic], arity: int, constants: Constants) -> None:
        self._terms = terms
        self._arity = arity
        self._constants = constants
        used = {int(variable.name) for term in terms for variable in term_variables(term)}
        self._used = sorted(used)
        self.count = len(terms)

    def of(self, rows: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """The columns for the rows of elements, and which rows have a value in all of them."""
        codes, places = np.unique(
            rows[:, [TIME + 1 + place for place in self._used]], axis=0, return_inverse=True
        )
        columns = np.zeros((len(codes), self.count), np.int64)
        valued = np.zeros(len(codes), bool)
        args: list[Term] = [0] * self._arity
        for line, group in enumerate(codes.tolist()):
            for place, code in zip(self._used, group, strict=True):
                args[place] = self._constants.decode(code)
            values = key_values(self._terms, args)
            if values is not None:
                valued[line] = True
                columns[line] = list(map(self._constants.code_term, values))
        places = places.reshape(-1)
        return columns[places], valued[places]


def key_columns(
    by: Sequence[Key], arity: int, constants: Constants
) -> tuple[KeyColumns | None, tuple[int, ...]]:
    """The columns to add to the elements of a predicate, if any, and the positions of all keys."""
    terms = [key for key in by if isinstance(key, Arithmetic)]
    added = iter(range(arity, arity + len(terms)))
    positions = tuple(key if isinstance(key, int) else next(added) for key in by)
    return (KeyColumns(terms, arity, constants) if terms else None), positions
