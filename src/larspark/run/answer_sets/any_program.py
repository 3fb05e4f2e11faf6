"""Programs with any formulas: grounded at every evaluation and solved exactly under the FLP reduct.

The reduct keeps the rules whose bodies hold, and evaluates formulas classically in smaller
interpretations. The solver's own reduct agrees with that where a body is a conjunction of monotone
and antimonotone parts; a part of neither kind may stand where it cannot depend on the head, because
then it is decided before. Heads are brought to conjunctions of disjunctions, and what a disjunction
denies moves into the body: `a -> b` in a head gives `b` where `a` holds. Only instances that fit
none of this need a guess and a check.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from clingo.backend import Backend

from larspark.analysis.dependencies import decided, layers
from larspark.analysis.lookback import evaluation_lookback
from larspark.base.atoms import Element
from larspark.base.problems import LarsparkError, Problem
from larspark.language.tree import Rule
from larspark.logic.circuit import FALSE, TRUE, Circuit
from larspark.logic.graph import component_numbers
from larspark.logic.traversal import depth
from larspark.run.answer_sets.evaluation_context import EvaluationContext
from larspark.run.answer_sets.rule_instances import Instance, Instances, instances
from larspark.run.answer_sets.solver import ModelElements, Solvable, is_satisfiable, new_control
from larspark.run.answer_sets.stream_views import Arrival, Elements, View
from larspark.run.answer_sets.task import Task

# A head that would give more rules than this is guessed and checked instead.
_CLAUSES_PER_HEAD = 64


@dataclass(frozen=True, slots=True)
class Clause:
    """A disjunction of variables in the head, a conjunction of conditions in the body."""

    head: tuple[int, ...]
    body: tuple[int, ...]


def solvable(program: Instances, deadline: float | None = None) -> Solvable:
    """The instances as a program of the solver."""
    clauses = direct_clauses(program.circuit, program.instances)
    if clauses is None:
        return guess_and_check(program, deadline)
    control = new_control()
    with control.backend() as backend:
        writer = Writer(program.circuit, backend)
        for clause in clauses:
            body = [writer.body_literal(part) for part in clause.body]
            backend.add_rule([writer.atom(variable) for variable in clause.head], body)
        literals = {e: writer.atom(program.circuit.variable(e)) for e in program.possible}
    return Solvable(control, literals, deadline=deadline)


def direct_clauses(circuit: Circuit[Element], instances: Sequence[Instance]) -> list[Clause] | None:
    """The instances as clauses that mean the same to the solver; None when there are none."""
    clauses: list[Clause] = []
    for head, body in instances:
        disjunctions = _conjunctive_form(circuit, head)
        if disjunctions is None:
            return None
        for disjunction in disjunctions:
            denied = tuple(-part for part in disjunction if part not in circuit.names)
            asked = tuple(part for part in disjunction if part in circuit.names)
            clauses.append(Clause(asked, tuple(dict.fromkeys((*circuit.parts(body), *denied)))))
    mixed = [clause for clause in clauses if clause.head and _mixed_variables(circuit, clause)]
    if not mixed:
        return clauses
    home = component_numbers(_dependencies(circuit, clauses))
    for clause in mixed:
        heads = {home[variable] for variable in clause.head}
        if any(home.get(variable) in heads for variable in _mixed_variables(circuit, clause)):
            return None
    return clauses


def guess_and_check(program: Instances, deadline: float | None = None) -> Solvable:
    """Guess an interpretation that satisfies all rules, then check that the reduct has no less."""
    circuit = program.circuit
    control = new_control()
    with control.backend() as backend:
        writer = Writer(circuit, backend)
        literals = {e: writer.atom(circuit.variable(e)) for e in program.possible}
        backend.add_rule(list(literals.values()), [], choice=True)
        supports: dict[int, list[int]] = {literal: [] for literal in literals.values()}
        for head, body in program.instances:
            holds = writer.literal(body)
            backend.add_rule([], [holds, -writer.literal(head)])
            for variable in circuit.polarity(head)[0]:
                supports[writer.atom(variable)].append(holds)
        for atom, bodies in supports.items():
            # Without a rule that asks for it an atom is in no answer stream.
            supported = backend.add_atom()
            for holds in bodies:
                backend.add_rule([supported], [holds])
            backend.add_rule([], [atom, -supported])
    return Solvable(
        control, literals, accept=Minimality(program, deadline).accepts, deadline=deadline
    )


class Minimality:
    """Decides whether an interpretation is a minimal model of its reduct."""

    def __init__(self, program: Instances, deadline: float | None = None) -> None:
        circuit = program.circuit
        self._program = program
        self._deadline = deadline
        self._smaller = new_control(models=1)
        with self._smaller.backend() as backend:
            writer = Writer(circuit, backend)
            self._atoms = {e: writer.atom(circuit.variable(e)) for e in program.possible}
            backend.add_rule(list(self._atoms.values()), [], choice=True)
            # Assumptions say what the interpretation holds, and which rules its reduct keeps.
            self._given = {e: backend.add_atom() for e in program.possible}
            self._active = [backend.add_atom() for _ in program.instances]
            backend.add_rule([*self._given.values(), *self._active], [], choice=True)
            less = backend.add_atom()
            for element, atom in self._atoms.items():
                backend.add_rule([], [atom, -self._given[element]])
                backend.add_rule([less], [self._given[element], -atom])
            backend.add_rule([], [-less])
            for active, (head, body) in zip(self._active, program.instances, strict=True):
                backend.add_rule([], [active, writer.literal(body), -writer.literal(head)])

    def accepts(self, candidate: ModelElements) -> bool:
        truth = _Truth(self._program.circuit, candidate)
        given = [lit if e in candidate else -lit for e, lit in self._given.items()]
        active = [
            literal if truth.of(body) else -literal
            for literal, (_, body) in zip(self._active, self._program.instances, strict=True)
        ]
        return not is_satisfiable(self._smaller, [*given, *active], self._deadline)


@dataclass(slots=True)
class Writer:
    """Writes conditions of a circuit as rules, each once."""

    circuit: Circuit[Element]
    backend: Backend
    _atoms: dict[int, int] = field(default_factory=dict)

    def atom(self, variable: int) -> int:
        """The solver's atom for a variable."""
        known = self._atoms.get(variable)
        if known is None:
            known = self._atoms[variable] = self.backend.add_atom()
        return known

    def body_literal(self, condition: int) -> int:
        """A literal that holds where the condition does.

        What more atoms can only hurt is written as the negation of what they can only help; so
        negation stands directly before atoms of the program or at the top.
        """
        positive, negative = self.circuit.polarity(condition)
        if negative and not positive:
            return -self.literal(-condition)
        return self.literal(condition)

    def literal(self, condition: int) -> int:
        """A literal for a condition, with negation before atoms where it stands in the formula."""
        if condition in self.circuit.names:
            return self.atom(condition)
        if -condition in self.circuit.names:
            return -self.atom(-condition)
        known = self._atoms.get(condition)
        if known is None:
            known = self._atoms[condition] = self.backend.add_atom()
            for body in self._bodies(condition):
                self.backend.add_rule([known], body)
        return known

    def _bodies(self, condition: int) -> Iterator[list[int]]:
        if condition == TRUE:
            yield []
        elif condition > 0:
            yield [self.literal(part) for part in self.circuit.parts(condition)]
        elif condition != FALSE:
            for part in self.circuit.alternatives(condition):
                yield [self.literal(part)]


class _Truth:
    """The truth of conditions in an interpretation."""

    def __init__(self, circuit: Circuit[Element], holding: frozenset[Element]) -> None:
        self._circuit = circuit
        self._holding = holding
        self._known = {TRUE: True}

    def of(self, condition: int) -> bool:
        node = abs(condition)
        known = self._known.get(node)
        if known is None:
            element = self._circuit.names.get(node)
            if element is not None:
                known = element in self._holding
            else:
                known = all(self.of(part) for part in self._circuit.parts(node))
            self._known[node] = known
        return known if condition > 0 else not known


def _conjunctive_form(circuit: Circuit[Element], head: int) -> list[tuple[int, ...]] | None:
    """The head as disjunctions of variables and of what more atoms can only hurt."""
    done: list[tuple[int, ...]] = []
    pending: list[tuple[int, ...]] = [(part,) for part in circuit.parts(head) if part != TRUE]
    while pending:
        if len(done) + len(pending) > _CLAUSES_PER_HEAD * max(1, len(circuit.parts(head))):
            return None
        disjunction = tuple(
            dict.fromkeys(a for part in pending.pop() for a in circuit.alternatives(part))
        )
        if TRUE in disjunction:
            continue
        disjunction = tuple(part for part in disjunction if part != FALSE)
        inner = next((p for p in disjunction if not _is_head_part(circuit, p)), None)
        if inner is None:
            done.append(disjunction)
        else:
            rest = tuple(part for part in disjunction if part != inner)
            pending.extend((part, *rest) for part in circuit.parts(inner))
    return done


def _is_head_part(circuit: Circuit[Element], condition: int) -> bool:
    return condition in circuit.names or not circuit.polarity(condition)[0]


def _mixed_variables(circuit: Circuit[Element], clause: Clause) -> set[int]:
    """The variables of body parts that more atoms can both help and hurt."""
    found: set[int] = set()
    for part in clause.body:
        positive, negative = circuit.polarity(part)
        if positive and negative:
            found |= positive | negative
    return found


def _dependencies(
    circuit: Circuit[Element], clauses: Sequence[Clause]
) -> dict[int, dict[int, None]]:
    """Which variables a variable depends on; those of one head depend on each other."""
    successors: dict[int, dict[int, None]] = {}
    for clause in clauses:
        needed = dict.fromkeys(clause.head)
        for part in clause.body:
            for variables in circuit.polarity(part):
                needed.update(dict.fromkeys(sorted(variables)))
        for variable in clause.head:
            successors.setdefault(variable, {}).update(needed)
    return successors


# Deeper formulas are refused: evaluating them recurses.
DEPTH_LIMIT = 110


class FormulaGrounding:
    """Instantiates the rules at every evaluation, layer by layer.

    Elements out of sight are dropped.
    """

    def __init__(self, task: Task) -> None:
        checked = task.checked
        for rule in checked.rules:
            for formula in (rule.head, *rule.body):
                if depth(formula) > DEPTH_LIMIT:
                    message = f"the formula is nested more than {DEPTH_LIMIT} levels deep"
                    hint = "give parts of it a name, by a rule of their own"
                    raise LarsparkError(Problem("L403", message, formula.span, hint))
        self._checked = checked
        # What aggregates look at is decided before them, where it has one answer stream.
        every = layers(checked)
        self._lower = list(takewhile(decided, every[:-1]))
        self._rules = tuple(rule for rules in every[len(self._lower) :] for rule in rules)
        self._background = task.background
        self._elements = task.elements
        self._lookback = evaluation_lookback(checked.rules)
        self._t = 0
        self._whole = View(0, -1)

    def begin(self, t: int, whole: View) -> None:
        """Time moves on to t."""
        self._t, self._whole = t, whole
        time, tuples = self._lookback.time, self._lookback.tuples
        if time is not None and tuples is not None:
            self._elements.forget_before(t - time, tuples)

    def add(self, arrival: Arrival) -> None:
        """The elements are looked at when the program is evaluated."""

    def evaluate(self, deadline: float | None, *, everything: bool) -> Solvable:
        """The answer streams at the current tick."""
        elements, below = self._elements, frozenset[Element]()
        for rules in self._lower:
            lower = self._solvable(rules, elements, deadline)
            answer = lower.first()
            if answer is None:
                return lower
            below |= answer
            elements = elements.extended(sorted(answer, key=lambda element: element.t))
        found = self._solvable(self._rules, elements, deadline)
        found.add_certain(below)
        return found

    def _solvable(
        self, rules: tuple[Rule, ...], elements: Elements, deadline: float | None
    ) -> Solvable:
        part = replace(self._checked, rules=rules)
        context = EvaluationContext(
            elements, self._background, self._whole, self._t, rules, deadline
        )
        return solvable(instances(part, context), deadline)

    def size(self) -> int:
        """Nothing is kept but the elements."""
        return 0
