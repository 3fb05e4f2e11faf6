"""Rules as operators: from a conjunction of literals to a tree."""

from collections.abc import Iterable, Iterator, Sequence

from larspark.base.atoms import Atom, Signature, term_text
from larspark.base.problems import Span
from larspark.base.terms import Arithmetic, Term, Variable, Wildcard
from larspark.language.tree import And, At, AtomFormula, Comparison, Formula, Rule
from larspark.meaning.frames import linear
from larspark.meaning.walk import walk
from larspark.plan.binding import context, is_positive, variables_of
from larspark.plan.formulas import FormulaReader
from larspark.plan.literals import (
    Absent,
    Condition,
    Conjunction,
    Literal,
    Point,
    Reading,
    cannot,
    conjoin,
)
from larspark.plan.operators import Derive, Mode
from larspark.plan.points import place
from larspark.plan.trees import Draft, Tree


class Names:
    """Names for predicates that the program does not use itself."""

    def __init__(self, used: Iterable[str]) -> None:
        self._used = set(used)
        self._parts = 0

    def fresh(self, name: str) -> str:
        """The name, or one like it."""
        while name in self._used:
            name += "_"
        self._used.add(name)
        return name

    def part(self) -> str:
        """A name for a part of a rule."""
        self._parts += 1
        return self.fresh(f"part{self._parts}")


def derivations(rule: Rule, number: int, names: Names, moment: Signature) -> list[Derive]:
    """What a rule derives, and what is derived on the way; an error says what stands in the way."""
    heads = list(_heads(rule.head))
    reader = FormulaReader()
    alternatives = conjoin(map(reader.alternatives, rule.body), rule.span)
    building = _Rules(rule, number, names, Atom(moment.predicate))
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

    def __init__(self, rule: Rule, number: int, names: Names, moment: Atom) -> None:
        self._number = number
        self._span = rule.span
        self._names = names
        self._moment = moment
        self._required = _Required(rule)
        self._parts: dict[tuple[object, ...], Atom] = {}
        self.found: list[Derive] = []

    def derive(self, head: AtomFormula | At, body: Conjunction) -> None:
        """Derive a head of the rule from one of its alternatives."""
        time = head.time if isinstance(head, At) else None
        formula = head.body if isinstance(head, At) else head
        if not isinstance(formula, AtomFormula):
            raise cannot("derive anything but atoms", head.span)
        atom = formula.atom
        if any(isinstance(term, Wildcard) for term in atom.args):
            raise cannot("derive an atom with `_`", head.span)
        draft = Draft(dict(self._required.lifted))
        self._add(atom, time, (*body, *self._required.literals), draft)

    def _add(self, atom: Atom, time: Term | None, body: Conjunction, draft: Draft) -> None:
        positive = [literal for literal in body if is_positive(literal)]
        literals: list[Literal] = []
        for literal in body:
            if isinstance(literal, Absent):
                named = self._named(literal, positive)
                literals.append(Reading(named, Mode.NOW, None, (), True, literal.span))
            else:
                literals.append(literal)
        placement = place(literals, self._moment)
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
        """Name what must not hold, by rules of its own with what they need of the outside."""
        around = variables_of(outer)
        mentioned = variables_of([absent])
        arguments = tuple(variable for variable in mentioned if variable in around)
        bodies = tuple((*context(body, outer, arguments), *body) for body in absent.alternatives)
        key = (arguments, bodies)
        if key not in self._parts:
            atom = self._parts[key] = Atom(self._names.part(), arguments)
            for body in bodies:
                self._add(atom, None, body, Draft())
        return self._parts[key]


class _Required:
    """What every instance of a rule needs, wherever in the rule it stands.

    Arithmetic in atoms and time pins must have a value, and time variables range over the timeline.
    """

    def __init__(self, rule: Rule) -> None:
        self.lifted: dict[Variable, Term] = {}
        self.literals: list[Literal] = []
        for formula in (rule.head, *rule.body):
            for part in walk(formula):
                match part:
                    case AtomFormula(atom):
                        for term in atom.args:
                            self._lift(term)
                    case At(time):
                        self._lift(time)
                        self._pin(time, part.span, in_head=formula is rule.head)
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
