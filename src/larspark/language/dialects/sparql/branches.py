"""Solutions of a pattern as branches: rule bodies in each of which it is known what is bound.

A UNION and an OPTIONAL give several branches, so that no variable is ever half bound.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from larspark.base.terms import Term, Variable
from larspark.language.nodes import term_variables
from larspark.language.tree import Aggregate, At, AtomFormula, Comparison, Formula, Some, Windowed

# A query with more branches than this is refused.
MAX_BRANCHES = 64


class Branch(NamedTuple):
    """A rule body, the terms of the variables that are bound in it, and where it comes from.

    Branches of different origin give a solution more than once; those of the same give it once.
    """

    bound: Mapping[str, Term]
    body: tuple[Formula, ...] = ()
    origin: str = ""

    def with_body(self, *formulas: Formula) -> "Branch":
        return self._replace(body=(*self.body, *formulas))

    def joined(self, other: "Branch") -> "Branch":
        """Both; what is bound in both has the same variable."""
        body: list[Formula] = [*self.body, *(f for f in other.body if f not in self.body)]
        for name in self.bound.keys() & other.bound.keys():
            one, two = self.bound[name], other.bound[name]
            if one != two:
                body.append(Comparison("=", one, two))
        origin = ".".join(filter(None, (self.origin, other.origin)))
        return Branch({**self.bound, **other.bound}, tuple(body), origin)


class TooManyBranchesError(Exception):
    """A query has more than `MAX_BRANCHES` branches."""


def limited(branches: Iterable[Branch]) -> list[Branch]:
    found: list[Branch] = []
    for branch in branches:
        found.append(branch)
        if len(found) > MAX_BRANCHES:
            raise TooManyBranchesError
    return found


def positive_variables(body: Iterable[Formula]) -> set[Variable]:
    """The variables that atoms of a body bind, and what is computed from them."""
    found: set[Variable] = set()
    for formula in body:
        match formula:
            case AtomFormula(atom):
                found.update(v for term in atom.args for v in term_variables(term))
            case At(time, inner):
                found.update(term_variables(time))
                found |= positive_variables((inner,))
            case Comparison("=", Variable() as name, right):
                if found.issuperset(term_variables(right)):
                    found.add(name)
            case Aggregate(guards=guards):
                found.update(g.term for g in guards if isinstance(g.term, Variable))
            case Some(below) | Windowed(_, below):
                found |= positive_variables((below,))
            case _:
                # A negation binds nothing.
                pass
    return found
