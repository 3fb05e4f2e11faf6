"""From the literals of a conjunction to a left-deep tree of operators."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from larspark.base.atoms import Atom, term_text
from larspark.base.problems import Span
from larspark.base.terms import Arithmetic, Term, Variable
from larspark.language.tree import Comparison
from larspark.logic.binding import linear
from larspark.plan.literals import Condition, Names, Reading, cannot, counts_tuples
from larspark.plan.operators import (
    Each,
    Ever,
    Join,
    Let,
    Operator,
    Reach,
    Seen,
    Where,
    Within,
    Without,
    term_variables,
)
from larspark.plan.points import Inside, Range, reach_of
from larspark.plan.window_chains import contents_of, is_recomputed, positions_of, view_of


@dataclass(slots=True)
class Draft:
    """The parts of a rule on the way to its tree."""

    names: Names
    # Variables that stand for terms which were lifted out.
    lifted: dict[Variable, Term] = field(default_factory=dict)
    positive: list[Seen] = field(default_factory=list)
    negative: list[Seen] = field(default_factory=list)
    # Conditions that wait for their variables, in the order of the text.
    conditions: list[Condition] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)
    insides: list[Inside] = field(default_factory=list)

    def lift(self, term: Term) -> Term:
        """Let a variable stand for arithmetic; equal terms get the same one."""
        if not isinstance(term, Arithmetic):
            return term
        variable = Variable(term_text(term))
        self.lifted[variable] = term
        return variable

    def lift_point(self, time: Term) -> None:
        """Let a variable stand for a time point."""
        if not isinstance(time, Variable):
            self.lifted[Variable(term_text(time))] = time

    def seen(self, reading: Reading, reaches: Mapping[Variable, Reach]) -> Seen:
        """The operator that reads an atom in its windows."""
        scope, signature = reading.scope, reading.atom.signature
        if is_recomputed(scope) or (counts_tuples(scope) and signature in self.names.given):
            return self._recomputed(reading, reaches)
        view = view_of(reading.scope, reading.atom)
        if any(around.anchor == reading.time and around.every > 1 for around in view.around):
            hint = "use the engine `asp`"
            raise cannot("look at one time point through a window that hops", reading.span, hint)
        atom = Atom(reading.atom.predicate, tuple(map(self.lift, reading.atom.args)))
        time = self._time(reading, atom)
        reach = reach_of(reading, reaches)
        return Seen(atom, reading.mode, time, reach, view.tuples, view.only, reading.span)

    def _recomputed(self, reading: Reading, reaches: Mapping[Variable, Reach]) -> Seen:
        """The same through windows that do not collapse into one."""
        signature = reading.atom.signature
        asked = None if signature == self.names.moment else signature
        contents = contents_of(reading.scope, asked)
        name = self.names.contents(contents, signature.predicate)
        args = (*positions_of(reading.scope), *map(self.lift, reading.atom.args))
        atom = Atom(name, args)
        time = self._time(reading, atom)
        reach = reach_of(reading, reaches)
        return Seen(atom, reading.mode, time, reach, contents, (), reading.span)

    def _time(self, reading: Reading, atom: Atom) -> Variable | int | None:
        time = None if reading.time is None else self.pin(reading.time, reading.span)
        if isinstance(time, Variable) and time in atom.args:
            # A column holds one thing: the time point gets a variable of its own.
            named = Variable(f"@{time.name}")
            self.lifted[named] = time
            return named
        return time

    def pin(self, time: Term, span: Span) -> Variable | int:
        """A time point as it stands in an operator."""
        lifted = self.lift(time)
        if isinstance(lifted, int | Variable):
            return lifted
        raise cannot(f"take `{term_text(time)}` for a time point", span)


class Tree:
    """Builds the tree of a body from the bottom up."""

    def __init__(self, draft: Draft, span: Span) -> None:
        self._draft = draft
        self._span = span
        self._bound: set[Variable] = set()
        self._conditions = list(draft.conditions)
        self._ranges = list(draft.ranges)
        self._lifted = dict(draft.lifted)
        self._root: Operator = Ever(span)

    def build(self) -> Operator:
        waiting = list(self._draft.positive)
        while waiting:
            chosen = self._next(waiting)
            waiting.remove(chosen)
            if isinstance(self._root, Ever):
                self._root = chosen
            else:
                on = tuple(v for v in chosen.variables if v in self._bound)
                self._root = Join(self._root, chosen, on, chosen.origin)
            self._bound.update(chosen.variables)
            self._apply_conditions()
        self._apply_conditions()
        for variable, reach, span in self._draft.insides:
            self._require((variable,), span)
            self._root = Within(self._root, variable, reach, span)
        for seen in self._draft.negative:
            self._require(seen.variables, seen.origin)
            self._root = Without(self._root, seen, seen.variables, seen.origin)
        unsolved = [*self._lifted, *(v for v in self._mentioned() if v not in self._bound)]
        if unsolved:
            raise cannot(f"find a value for `{unsolved[0].name}`", self._span)
        return self._root

    def _next(self, waiting: Sequence[Seen]) -> Seen:
        """The formula with most of its variables bound; at first the one that binds most."""
        if not self._bound:
            return waiting[0]
        return max(waiting, key=lambda seen: sum(v in self._bound for v in seen.variables))

    def _mentioned(self) -> Iterator[Variable]:
        """The variables of the conditions that still wait."""
        for condition in self._conditions:
            yield from term_variables(condition.comparison.left)
            yield from term_variables(condition.comparison.right)
        for waiting in self._ranges:
            yield waiting.variable

    def _apply_conditions(self) -> None:
        """Apply every condition whose variables are bound, until nothing more is."""
        progress = True
        while progress:
            progress = False
            for variable, term in list(self._lifted.items()):
                if self._apply_lifted(variable, term):
                    del self._lifted[variable]
                    progress = True
            for condition in list(self._conditions):
                if self._apply_condition(condition):
                    self._conditions.remove(condition)
                    progress = True
            for each in list(self._ranges):
                if self._is_bound(each.low) and self._is_bound(each.high):
                    self._root = Each(self._root, *each)
                    self._bound.add(each.variable)
                    self._ranges.remove(each)
                    progress = True

    def _apply_lifted(self, variable: Variable, term: Term) -> bool:
        if self._is_bound(term):
            self._equate(variable, term, self._span)
            return True
        if variable in self._bound and (solved := _solve(variable, term)) is not None:
            self._equate(*solved, self._span)
            return True
        return False

    def _apply_condition(self, condition: Condition) -> bool:
        comparison, negated = condition.comparison, condition.negated
        left, right = comparison.left, comparison.right
        if self._is_bound(left) and self._is_bound(right):
            without_value, span = condition.without_value, comparison.span
            self._root = Where(self._root, comparison, negated, without_value, span)
            return True
        if comparison.operator != "=" or negated or condition.without_value:
            return False
        for variable, term in ((left, right), (right, left)):
            if isinstance(variable, Variable) and self._is_bound(term):
                self._equate(variable, term, comparison.span)
                return True
        return False

    def _equate(self, variable: Variable, term: Term, span: Span) -> None:
        if variable in self._bound:
            equation = Comparison("=", variable, term, span)
            self._root = Where(self._root, equation, False, False, span)
        else:
            self._root = Let(self._root, variable, term, span)
            self._bound.add(variable)

    def _is_bound(self, term: Term) -> bool:
        return all(variable in self._bound for variable in term_variables(term))

    def _require(self, variables: Iterable[Variable], span: Span) -> None:
        for variable in variables:
            if variable not in self._bound:
                raise cannot(f"find a value for `{variable.name}`", span)


def _solve(value: Variable, term: Term) -> tuple[Variable, Term] | None:
    """From `value = T + 3` to `T = value - 3`.

    >>> _solve(Variable("V"), Arithmetic("+", (Variable("T"), 3)))
    (Variable(name='T'), Arithmetic(operation='-', args=(Variable(name='V'), 3)))
    """
    pin = linear(term)
    if pin is None:
        return None
    name, offset = pin
    return Variable(name), Arithmetic("-", (value, offset)) if offset else value
