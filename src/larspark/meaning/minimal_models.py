"""Answer streams by search: minimal models of the FLP reduct, all of them.

Values are propagated through the circuit of conditions in both directions, and what no rule can
support any more is false. For stratified programs that decides everything; only what is left is
tried both ways, absence first.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from typing import NamedTuple

from larspark.base.problems import LarsparkError, Problem
from larspark.logic.circuit import TRUE, Circuit

# More undecided atoms than this are refused: trying them could take forever.
UNDECIDED_LIMIT = 80


class Clause(NamedTuple):
    """A ground rule as conditions; `supports` are the variables its head can make true."""

    body: int
    holds: int
    supports: frozenset[int]


def clause(circuit: Circuit[int], body: int, head: int) -> Clause:
    """The rule `head :- body` over a circuit."""
    return Clause(body, circuit.disjunction((-body, head)), circuit.polarity(head)[0])


class Assignment:
    """What is known so far about every condition of a circuit: 1 true, -1 false, 0 unknown."""

    def __init__(self, circuit: Circuit[int], users: list[list[int]]) -> None:
        self._circuit = circuit
        # users[2n] and users[2n+1]: the gates that join condition n, or its negation.
        self.users = users
        self.values = [0] * len(circuit.gates)
        self._missing = [len(parts) for parts in circuit.gates]
        self._trail: list[int] = []
        self.assume(TRUE)

    def value(self, condition: int) -> int:
        known = self.values[abs(condition)]
        return known if condition > 0 else -known

    def mark(self) -> int:
        return len(self._trail)

    def assume(self, condition: int) -> bool:
        """Make a condition true with all that follows; False when that contradicts."""
        pending = [condition]
        while pending:
            current = pending.pop()
            known = self.value(current)
            if known < 0:
                return False
            if known > 0:
                continue
            self._set(current)
            node = abs(current)
            if current > 0:
                pending.extend(self._circuit.gates[node])
            elif self._circuit.gates[node]:
                pending.extend(self._last_open(node))
            for gate in self.users[_slot(current)]:
                if self._missing[gate] == 0:
                    pending.append(gate)
                elif self.values[gate] < 0:
                    pending.extend(self._last_open(gate))
            pending.extend(-gate for gate in self.users[_slot(-current)])
        return True

    def undo(self, mark: int) -> None:
        """Forget everything since the mark."""
        while len(self._trail) > mark:
            condition = self._trail.pop()
            self.values[abs(condition)] = 0
            for gate in self.users[_slot(condition)]:
                self._missing[gate] += 1

    def _set(self, condition: int) -> None:
        self.values[abs(condition)] = 1 if condition > 0 else -1
        self._trail.append(condition)
        for gate in self.users[_slot(condition)]:
            self._missing[gate] -= 1

    def _last_open(self, gate: int) -> Iterator[int]:
        """A false gate with all but one part true makes that part false."""
        if self._missing[gate] == 1:
            for part in self._circuit.gates[gate]:
                if self.value(part) == 0:
                    yield -part


class Search:
    """The answer streams of a ground program, as sets of variables."""

    def __init__(self, circuit: Circuit[int], clauses: Sequence[Clause]) -> None:
        self._circuit = circuit
        self._clauses = clauses
        self._variables = sorted(circuit.variables.values())
        self._users: list[list[int]] = [[] for _ in range(2 * len(circuit.gates))]
        for gate, parts in enumerate(circuit.gates):
            for part in parts:
                self._users[_slot(part)].append(gate)
        self._by_body: dict[int, list[Clause]] = {}
        for rule in clauses:
            self._by_body.setdefault(rule.body, []).append(rule)

    def answers(self) -> Iterator[frozenset[int]]:
        """The names of the variables that are true, for each answer stream."""
        assignment = Assignment(self._circuit, self._users)
        if not all(assignment.assume(rule.holds) for rule in self._clauses):
            return
        if not self._deny_unsupported(assignment):
            return
        undecided = sum(assignment.value(variable) == 0 for variable in self._variables)
        if undecided > UNDECIDED_LIMIT:
            message = f"{undecided} atoms are left undecided, more than {UNDECIDED_LIMIT}"
            raise LarsparkError(Problem("L255", message, hint="use another engine"))
        for _ in self._models(assignment, self._variables, self._deny_unsupported):
            true = [v for v in self._variables if assignment.value(v) > 0]
            if self._smaller_model(assignment, true) is None:
                yield frozenset(self._circuit.names[variable] for variable in true)

    def _models(
        self,
        assignment: Assignment,
        variables: Sequence[int],
        conclude: Callable[[Assignment], bool],
    ) -> Iterator[None]:
        """Bring the assignment to every way of deciding the variables without contradiction."""
        decisions: list[tuple[int, int]] = []
        consistent = conclude(assignment)
        while True:
            if consistent:
                choice = next((v for v in variables if assignment.value(v) == 0), None)
                if choice is not None:
                    decisions.append((assignment.mark(), -choice))
                    consistent = assignment.assume(-choice) and conclude(assignment)
                    continue
                mark = assignment.mark()
                if self._decide_deferred(assignment):
                    yield
                assignment.undo(mark)
            while decisions and decisions[-1][1] > 0:
                assignment.undo(decisions.pop()[0])
            if not decisions:
                return
            mark, tried = decisions.pop()
            assignment.undo(mark)
            decisions.append((mark, -tried))
            consistent = assignment.assume(-tried) and conclude(assignment)

    def assignment_of(self, names: Set[int]) -> Assignment:
        """The assignment in which just the variables of these names are true."""
        assignment = Assignment(self._circuit, self._users)
        for variable in self._variables:
            assignment.assume(variable if self._circuit.names[variable] in names else -variable)
        self._decide_deferred(assignment)
        return assignment

    def smaller_model(self, found: Assignment) -> frozenset[int] | None:
        """The names in a model of the reduct by a total assignment that lacks some of its true
        variables; None if there is none."""
        return self._smaller_model(found, [v for v in self._variables if found.value(v) > 0])

    def _smaller_model(self, found: Assignment, true: Sequence[int]) -> frozenset[int] | None:
        assignment = Assignment(self._circuit, self._users)
        for variable in self._variables:
            if found.value(variable) < 0:
                assignment.assume(-variable)
        for rule in self._clauses:
            if found.value(rule.body) > 0:
                assignment.assume(rule.holds)
        for _ in self._models(assignment, true, lambda _: True):
            kept = [v for v in true if assignment.value(v) > 0]
            if len(kept) < len(true):
                return frozenset(self._circuit.names[variable] for variable in kept)
        return None

    def _decide_deferred(self, assignment: Assignment) -> bool:
        def is_there(name: int) -> bool:
            return assignment.value(self._circuit.variables[name]) > 0

        return all(
            assignment.assume(node if decide(is_there) else -node)
            for node, decide in self._circuit.deferred
        )

    def _deny_unsupported(self, assignment: Assignment) -> bool:
        """Make false what no rule can support any more, again and again."""
        while True:
            supported = self._supported(assignment)
            lost = [v for v in self._variables if v not in supported and assignment.value(v) >= 0]
            if not lost:
                return True
            if not all(assignment.assume(-variable) for variable in lost):
                return False

    def _supported(self, assignment: Assignment) -> set[int]:
        """The variables that can be derived step by step, each from what was derived before.

        A rule can support as long as its body can be true. Whether the body is true of what was
        derived so far is another matter, and there every variable may still be absent: `p :- not p
        or q. q :- p.` derives p from its absence.
        """
        missing = [len(parts) for parts in self._circuit.gates]
        reached: set[int] = set()
        pending = [TRUE, *(-variable for variable in self._variables)]
        for node, _ in self._circuit.deferred:
            pending.extend((node, -node))
        while pending:
            current = pending.pop()
            if current in reached:
                continue
            reached.add(current)
            for gate in self._users[_slot(current)]:
                missing[gate] -= 1
                if missing[gate] == 0:
                    pending.append(gate)
            pending.extend(-gate for gate in self._users[_slot(-current)])
            if assignment.value(current) >= 0:
                for rule in self._by_body.get(current, ()):
                    pending.extend(v for v in rule.supports if assignment.value(v) >= 0)
        return reached


def _slot(condition: int) -> int:
    return 2 * condition if condition > 0 else -2 * condition + 1
