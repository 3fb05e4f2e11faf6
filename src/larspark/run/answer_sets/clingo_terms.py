"""Terms, atoms and comparisons as clingo reads them: texts in quotes, integers as they are.

clingo orders every number before every text, and the empty text is its smallest; larspark has no
order between them.
"""

import re
from collections.abc import Sequence

from larspark.base.terms import Arithmetic, Constant, Term, Variable, Wildcard
from larspark.language.nodes import subterms
from larspark.run.answer_sets.plain_rules import PlainRule, Test

_VARIABLE = re.compile(r"[A-Z][A-Za-z0-9_]*\Z")


def applied(name: str, args: Sequence[str]) -> str:
    """A predicate applied to terms."""
    return f"{name}({','.join(args)})" if args else name


def fresh(taken: Sequence[str], *wanted: str) -> list[str]:
    """Names of variables that are not taken."""
    found = []
    for name in wanted:
        while name in taken:
            name += "'"
        found.append(name)
    return found


def plain_term(term: Term) -> Constant | Wildcard:
    """A constant or a wildcard."""
    if isinstance(term, Variable | Arithmetic):
        raise TypeError("computed terms have variables of their own")
    return term


def written(term: Term) -> str:
    """A term."""
    match term:
        case Variable(name):
            return name
        case Wildcard():
            return "_"
        case str():
            escaped = term.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            return f'"{escaped}"'
        case Arithmetic(operation, args):
            return _computed(operation, [written(arg) for arg in args])
        case _:
            return str(term)


def _computed(operation: str, args: Sequence[str]) -> str:
    match operation, args:
        case "abs", [of]:
            return f"|{of}|"
        case "mod", [of, by]:
            # clingo's rest has the sign of the dividend.
            return f"(({of}\\{by}+{by})\\{by})"
        case "-", [of]:
            return f"(-{of})"
        case _:
            return f"({operation.join(args)})"


class RuleNames:
    """The variables of a rule: names of the solver's kind, and such for those without a name."""

    def __init__(self, rule: PlainRule) -> None:
        self._known: dict[str, str] = {}
        self._taken = {
            part.name
            for atom in (*rule.positive, *rule.negative)
            for term in (*atom.atom.args, atom.time)
            if term is not None
            for part in subterms(term)
            if isinstance(part, Variable)
        }

    def term(self, term: Term) -> str:
        match term:
            case Variable(name):
                return self._variable(name)
            case Arithmetic(operation, args):
                return _computed(operation, [self.term(arg) for arg in args])
            case _:
                return written(term)

    def _variable(self, name: str) -> str:
        if _VARIABLE.match(name):
            return name
        if name not in self._known:
            number = len(self._known) + 1
            (self._known[name],) = fresh([*self._taken], f"V{number}")
        return self._known[name]


def comparison(test: Test, names: RuleNames, times: set[Term | None]) -> list[str]:
    """A comparison; where clingo orders a number before a text, with what excludes that."""
    left, right = names.term(test.left), names.term(test.right)
    written = f"{left} {test.operator} {right}"
    if test.operator in ("=", "!="):
        return [written]
    low, high = (test.left, test.right) if test.operator in ("<", "<=") else (test.right, test.left)
    below, above = _is_number(low, times), _is_number(high, times)
    if below is True and above is None:
        return [written, f'{names.term(high)} < ""']
    if below is None and above is False:
        return [written, f'{names.term(low)} >= ""']
    if below is None and above is None:
        return [written, f'#false : {names.term(low)} < "", {names.term(high)} >= ""']
    return [written, "#false"] if below is True and above is False else [written]


def _is_number(term: Term, times: set[Term | None]) -> bool | None:
    if isinstance(term, Variable):
        return True if term in times else None
    return not isinstance(term, str)
