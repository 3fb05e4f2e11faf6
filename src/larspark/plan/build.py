"""From a checked program to its plan.

The story of a rule: it is brought into normal form, arithmetic is lifted out of its atoms, nested
windows collapse, and a left-deep tree joins what is positive, applies every condition as soon as
its variables are bound, and takes away what is negated.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from larspark.base.atoms import Atom, Signature, term_text
from larspark.base.problems import LarsparkError, Problem, Span
from larspark.base.terms import Arithmetic, Term, Variable, Wildcard
from larspark.language.tree import At, AtomFormula, Comparison
from larspark.meaning.checked import Checked
from larspark.meaning.dependencies import strongly_connected
from larspark.meaning.frames import linear
from larspark.plan.literals import Literal, PlainRule, cannot, plain_rules
from larspark.plan.operators import (
    Derive,
    Ever,
    Group,
    Join,
    Let,
    Operator,
    Plan,
    Seen,
    Where,
    Within,
    Without,
    formulas,
    term_variables,
)
from larspark.plan.windows import look


def plan(checked: Checked) -> Plan:
    """The plan of a program; all that cannot be planned comes as one error."""
    problems: list[Problem] = []
    rules: list[Derive] = []
    if checked.strata is None:
        message = "the interval engine cannot choose: a negation depends on itself"
        problems.append(Problem("L403", message, hint="use the engine `asp`"))
    elif checked.several_models:
        message = "the interval engine follows one answer stream, and here may be several or none"
        problems.append(Problem("L403", message, hint="use the engine `asp`"))
    for number, rule in enumerate(checked.rules):
        try:
            rules.extend(_derive(plain) for plain in plain_rules(rule, number))
        except LarsparkError as error:
            problems.extend(error.problems)
    if problems:
        raise LarsparkError(problems)
    return Plan(_groups(rules))


@dataclass(slots=True)
class _Draft:
    """The parts of a rule on the way to its tree."""

    positive: list[Seen] = field(default_factory=list)
    negative: list[Seen] = field(default_factory=list)
    # Conditions that wait for their variables, in the order of the text.
    comparisons: list[tuple[Comparison, bool]] = field(default_factory=list)
    # Variables that stand for terms which were lifted out.
    lifted: dict[Variable, Term] = field(default_factory=dict)
    # Variables that have to be time points, because they pin something to time.
    pins: dict[Variable, Span] = field(default_factory=dict)

    def lift(self, term: Term) -> Term:
        """Let a variable stand for arithmetic; equal terms get the same one."""
        if not isinstance(term, Arithmetic):
            return term
        variable = Variable(term_text(term))
        self.lifted[variable] = term
        return variable

    def seen(self, literal: Literal) -> Seen:
        seen = look(literal.formula)
        atom = Atom(seen.atom.predicate, tuple(map(self.lift, seen.atom.args)))
        time = self._pin(seen.time, seen.span)
        if isinstance(time, Variable) and time in atom.args:
            # A column holds one thing: the time point gets a variable of its own.
            named = Variable(f"@{time.name}")
            self.lifted[named] = time
            time = named
        view = seen.view
        return Seen(atom, seen.mode, time, view.reach, view.tuples, view.only, seen.span)

    def _pin(self, time: Term | None, span: Span) -> Variable | int | None:
        pin = None if time is None else linear(time)
        if pin is not None:
            self.pins.setdefault(Variable(pin[0]), span)
        lifted = None if time is None else self.lift(time)
        if lifted is None or isinstance(lifted, int | Variable):
            return lifted
        raise cannot(f"take `{term_text(time or 0)}` for a time point", span)


def _derive(rule: PlainRule) -> Derive:
    draft = _Draft()
    for literal in rule.body:
        match literal.formula:
            case Comparison() as comparison:
                draft.comparisons.append((comparison, literal.negated))
            case _:
                (draft.negative if literal.negated else draft.positive).append(draft.seen(literal))
    match rule.head:
        case AtomFormula(atom):
            time = None
        case At(pin, AtomFormula(atom)):
            time = draft._pin(pin, rule.head.span)
        case _:
            raise cannot("derive anything but atoms", rule.head.span)
    if any(isinstance(term, Wildcard) for term in atom.args):
        raise cannot("derive an atom with `_`", rule.head.span)
    head = Atom(atom.predicate, tuple(map(draft.lift, atom.args)))
    body = _Tree(draft, rule.span).build()
    return Derive(body, head, time, rule.number, rule.span)


class _Tree:
    """Builds the tree of a body from the bottom up."""

    def __init__(self, draft: _Draft, span: Span) -> None:
        self._draft = draft
        self._span = span
        self._bound: set[Variable] = set()
        self._comparisons = list(draft.comparisons)
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
        self._keep_in_timeline()
        for seen in self._draft.negative:
            self._require(seen.variables, seen.origin)
            self._root = Without(self._root, seen, seen.variables, seen.origin)
        if self._comparisons or self._lifted:
            names = [v.name for v in self._lifted] or [str(self._comparisons[0][0])]
            raise cannot(f"find a value for `{names[0]}`", self._span)
        return self._root

    def _next(self, waiting: Sequence[Seen]) -> Seen:
        """The formula with most of its variables bound; at first the one that binds most."""
        if not self._bound:
            return waiting[0]
        return max(waiting, key=lambda seen: sum(v in self._bound for v in seen.variables))

    def _apply_conditions(self) -> None:
        """Apply every condition whose variables are bound, until nothing more is."""
        progress = True
        while progress:
            progress = False
            for variable, term in list(self._lifted.items()):
                if self._apply_lifted(variable, term):
                    del self._lifted[variable]
                    progress = True
            for comparison, negated in list(self._comparisons):
                if self._apply_comparison(comparison, negated):
                    self._comparisons.remove((comparison, negated))
                    progress = True

    def _apply_lifted(self, variable: Variable, term: Term) -> bool:
        if self._is_bound(term):
            self._equate(variable, term, self._span)
            return True
        if variable in self._bound and (solved := _solve(variable, term)) is not None:
            self._equate(*solved, self._span)
            return True
        return False

    def _apply_comparison(self, comparison: Comparison, negated: bool) -> bool:
        left, right = comparison.left, comparison.right
        if self._is_bound(left) and self._is_bound(right):
            self._root = Where(self._root, comparison, negated, comparison.span)
            return True
        if comparison.operator != "=" or negated:
            return False
        for variable, term in ((left, right), (right, left)):
            if isinstance(variable, Variable) and self._is_bound(term):
                self._equate(variable, term, comparison.span)
                return True
        return False

    def _equate(self, variable: Variable, term: Term, span: Span) -> None:
        if variable in self._bound:
            equation = Comparison("=", variable, term, span)
            self._root = Where(self._root, equation, False, span)
        else:
            self._root = Let(self._root, variable, term, span)
            self._bound.add(variable)

    def _is_bound(self, term: Term) -> bool:
        return all(variable in self._bound for variable in term_variables(term))

    def _keep_in_timeline(self) -> None:
        """Time variables range over the timeline; what is seen at them lies there anyway."""
        certain = {
            self._draft.lifted.get(seen.time, seen.time)
            for seen in self._draft.positive
            if isinstance(seen.time, Variable)
        }
        for variable, span in self._draft.pins.items():
            self._require((variable,), span)
            if variable not in certain:
                self._root = Within(self._root, variable, span)

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


def _groups(rules: Sequence[Derive]) -> tuple[Group, ...]:
    """The rules by the predicates they derive; predicates that need each other share a group."""
    needs: dict[Signature, set[Signature]] = {}
    for rule in rules:
        needs.setdefault(rule.atom.signature, set()).update(_body_predicates(rule))
    successors = {head: sorted(body & needs.keys()) for head, body in needs.items()}
    by_head: dict[Signature, list[Derive]] = {}
    for rule in rules:
        by_head.setdefault(rule.atom.signature, []).append(rule)
    return tuple(
        Group(
            tuple(sorted(part)),
            tuple(rule for predicate in sorted(part) for rule in by_head[predicate]),
            any(needs[head] & part for head in part),
        )
        for part in strongly_connected(successors)
    )


def _body_predicates(rule: Derive) -> set[Signature]:
    return {seen.atom.signature for seen, _ in formulas(rule.source)}
