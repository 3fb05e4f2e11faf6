"""Rules as operators: from a conjunction of literals to a tree."""

from collections.abc import Iterator, Mapping, Sequence

from larspark.analysis.checked import Checked
from larspark.analysis.signatures import head_predicates
from larspark.base.atoms import Atom, Signature, term_text
from larspark.base.problems import LarsparkError, Problem, Span
from larspark.base.terms import Arithmetic, Term, Variable, Wildcard
from larspark.language.nodes import walk
from larspark.language.tree import (
    Aggregate,
    And,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Rule,
    Windowed,
)
from larspark.logic.binding import linear
from larspark.logic.graph import component_numbers, strongly_connected
from larspark.logic.traversal import formulas as parts_of
from larspark.logic.traversal import occurrences
from larspark.plan.aggregate_parts import AggregateParts
from larspark.plan.bound_variables import context, is_positive, variables_of
from larspark.plan.join_trees import Draft, Tree
from larspark.plan.literals import (
    Absent,
    Condition,
    Conjunction,
    Literal,
    Names,
    Point,
    Reading,
    cannot,
    conjoin,
)
from larspark.plan.normal_form import FormulaReader
from larspark.plan.operators import Collect, Derive, Group, Mode, Plan, formulas
from larspark.plan.points import place


def derivations(
    rule: Rule,
    number: int,
    names: Names,
    circular: frozenset[Signature] = frozenset(),
) -> list[Derive]:
    """The derivations of a rule with their auxiliary ones; raises an error if there are none."""
    heads = list(_heads(rule.head))
    reader = FormulaReader(names.given)
    alternatives = conjoin(map(reader.alternatives, rule.body), rule.span)
    building = _Rules(rule, number, names, circular)
    for head in heads:
        for conjunction in alternatives:
            building.derive(head, conjunction)
    return building.found


def _heads(head: Formula) -> Iterator[AtomFormula | At]:
    match head:
        case AtomFormula() | At(_, AtomFormula()):
            yield head
        case And(parts):
            for part in parts:
                yield from _heads(part)
        case At(time, And(parts)):
            for part in parts:
                yield from _heads(At(time, part, head.span))
        case _:
            raise cannot("derive anything but atoms", head.span, "use the engine `asp`")


class _Rules:
    """The rules that one rule of a program becomes."""

    def __init__(
        self, rule: Rule, number: int, names: Names, circular: frozenset[Signature]
    ) -> None:
        self._number = number
        self._span = rule.span
        self._names = names
        self._circular = circular
        self._required = _Required(rule.body, rule.head)
        self._parts: dict[tuple[object, ...], Atom] = {}
        self.found: list[Derive] = []
        self._aggregates = AggregateParts(names, number, _requirements, self._add_part, self.found)

    def derive(self, head: AtomFormula | At, body: Conjunction) -> None:
        """Derive a head of the rule from one of its alternatives."""
        time = head.time if isinstance(head, At) else None
        formula = head.body if isinstance(head, At) else head
        if not isinstance(formula, AtomFormula):
            raise cannot("derive anything but atoms", head.span)
        atom = formula.atom
        if any(isinstance(term, Wildcard) for term in atom.args):
            raise cannot("derive an atom with `_`", head.span)
        draft = Draft(self._names, dict(self._required.lifted))
        self._add(atom, time, (*body, *self._required.literals), draft)

    def _add_part(self, atom: Atom, body: Conjunction, lifted: Mapping[Variable, Term]) -> None:
        self._add(atom, None, body, Draft(self._names, dict(lifted)))

    def _add(self, atom: Atom, time: Term | None, body: Conjunction, draft: Draft) -> None:
        body = self._aggregates.named(body)
        positive = [literal for literal in body if is_positive(literal)]
        literals: list[Literal] = []
        for literal in body:
            if isinstance(literal, Absent):
                named = self._named(literal, positive)
                literals.append(Reading(named, Mode.NOW, None, (), True, literal.span))
            else:
                literals.append(literal)
        moment = Atom(self._names.moment.predicate)
        placement = place(literals, moment, self._circular)
        for literal in (*literals, *placement.readings, *placement.conditions):
            match literal:
                case Reading():
                    seen = draft.seen(literal, placement.reaches)
                    (draft.negative if literal.negated else draft.positive).append(seen)
                case Condition():
                    draft.conditions.append(literal)
                case Point(pin):
                    draft.lift_point(pin)
                case _:
                    pass
        draft.ranges.extend(placement.ranges)
        draft.insides.extend(placement.insides)
        head = Atom(atom.predicate, tuple(map(draft.lift, atom.args)))
        pinned = None if time is None else draft.pin(time, self._span)
        tree = Tree(draft, self._span).build()
        self.found.append(Derive(tree, head, pinned, self._number, self._span))

    def _named(self, absent: Absent, outer: Sequence[Literal]) -> Atom:
        """An auxiliary predicate for what must not hold, derived by rules of its own."""
        around = variables_of(outer)
        mentioned = variables_of([absent])
        arguments = tuple(variable for variable in mentioned if variable in around)
        bodies = tuple((*context(body, outer, arguments), *body) for body in absent.alternatives)
        key = (arguments, bodies)
        if key not in self._parts:
            atom = self._parts[key] = Atom(self._names.part(), arguments)
            for body in bodies:
                self._add(atom, None, body, Draft(self._names))
        return self._parts[key]


def _requirements(body: Sequence[Formula]) -> tuple[Mapping[Variable, Term], Sequence[Literal]]:
    required = _Required(body)
    return required.lifted, required.literals


class _Required:
    """What every instance of a rule needs, wherever in the rule it stands.

    Arithmetic in atoms and time pins must have a value, and time variables range over the timeline.
    The elements of an aggregate are read like rules of their own.
    """

    def __init__(self, body: Sequence[Formula], head: Formula | None = None) -> None:
        self.lifted: dict[Variable, Term] = {}
        self.literals: list[Literal] = []
        for formula in body if head is None else (head, *body):
            for part in () if isinstance(formula, Aggregate) else walk(formula):
                match part:
                    case AtomFormula(atom):
                        for term in atom.args:
                            self._lift(term)
                    case Windowed(window):
                        for term in window.filter_terms:
                            self._lift(term)
                    case At(time):
                        self._lift(time)
                        self._pin(time, part.span, in_head=formula is head)
                    case _:
                        pass

    def _lift(self, term: Term) -> None:
        if isinstance(term, Arithmetic):
            self.lifted[Variable(term_text(term))] = term

    def _pin(self, time: Term, span: Span, *, in_head: bool) -> None:
        pin = linear(time)
        if pin is not None:
            self.literals.append(Point(Variable(pin[0]), (), span))
        elif isinstance(time, Arithmetic) and not in_head:
            # Only integers are time points, and only they can be divided with a rest.
            rest = Arithmetic("mod", (Variable(term_text(time)), 1))
            self.literals.append(Condition(Comparison("=", rest, 0, span), False))


def plan(checked: Checked) -> Plan:
    """The plan of a program; raises one error with everything that cannot be planned."""
    problems: list[Problem] = []
    rules: list[Derive] = []
    if checked.strata is None:
        message = "the interval engine cannot run recursion through negation: not stratified"
        problems.append(Problem("L403", message, hint="use the engine `asp`"))
    elif checked.several_models:
        message = "the interval engine follows one answer stream; there may be several or none"
        problems.append(Problem("L403", message, hint="use the engine `asp`"))
    names = Names(_predicates(checked), checked.background_signatures)
    moment = names.moment
    circular = _circular(checked)
    for number, rule in enumerate(checked.rules):
        try:
            rules.extend(derivations(rule, number, names, circular[number]))
        except LarsparkError as error:
            problems.extend(error.problems)
    groups = _groups(rules)
    if not problems:
        problems.extend(problem for group in groups for problem in _circles(group))
    if problems:
        raise LarsparkError(problems)
    return Plan(groups, moment)


def _circular(checked: Checked) -> list[frozenset[Signature]]:
    """For each rule the body predicates that depend on its head, on a timeline that ends now."""
    if checked.future_heads:
        return [frozenset() for _ in checked.rules]
    heads = [frozenset(head_predicates(rule.head)) for rule in checked.rules]
    bodies = [
        {seen.formula.atom.signature for part in rule.body for seen in occurrences(part)}
        for rule in checked.rules
    ]
    needs: dict[Signature, set[Signature]] = {}
    for head, body in zip(heads, bodies, strict=True):
        for predicate in (*head, *body):
            needs.setdefault(predicate, set()).update(body if predicate in head else ())
    home = component_numbers({predicate: sorted(body) for predicate, body in needs.items()})
    return [
        frozenset(predicate for predicate in body if home[predicate] in {home[p] for p in head})
        for head, body in zip(heads, bodies, strict=True)
    ]


def _predicates(checked: Checked) -> set[str]:
    """The names that the program uses."""
    declared = (*checked.derived, *checked.background_signatures, *(checked.program.inputs or ()))
    used = {
        occurrence.formula.atom.predicate
        for rule in checked.rules
        for formula in parts_of(rule)
        for occurrence in occurrences(formula)
    }
    return used | {signature.predicate for signature in declared}


def _circles(group: Group) -> Iterator[Problem]:
    """Auxiliary predicates for negated parts can add a recursion that the program does not have."""
    for rule in group.rules:
        if any(
            (negated or isinstance(rule.source, Collect))
            and seen.atom.signature in group.predicates
            for seen, negated in formulas(rule.source)
        ):
            hint = "name what stands below it by a rule outside of the recursion"
            yield from cannot(
                "look below `always`, a negation or an aggregate inside a recursion",
                rule.origin,
                hint,
            ).problems
            return


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
