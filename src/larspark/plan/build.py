"""From a checked program to its plan.

The story of a rule: its formulas are taken apart, what must not hold gets a name by a rule of its
own, time points get their place, arithmetic is lifted out of atoms, and a left-deep tree joins what
is positive, applies every condition as soon as its variables are bound, and takes away what is
negated.
"""

from collections.abc import Iterator, Sequence

from larspark.base.atoms import Signature
from larspark.base.problems import LarsparkError, Problem
from larspark.meaning.checked import Checked
from larspark.meaning.dependencies import strongly_connected
from larspark.meaning.walk import formulas as parts_of
from larspark.meaning.walk import occurrences
from larspark.plan.literals import cannot
from larspark.plan.operators import Derive, Group, Plan, formulas
from larspark.plan.rules import Names, derivations


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
    names = Names(_predicates(checked))
    moment = Signature(names.fresh("moment"), 0)
    for number, rule in enumerate(checked.rules):
        try:
            rules.extend(derivations(rule, number, names, moment))
        except LarsparkError as error:
            problems.extend(error.problems)
    groups = _groups(rules)
    if not problems:
        problems.extend(problem for group in groups for problem in _circles(group))
    if problems:
        raise LarsparkError(problems)
    return Plan(groups, moment)


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
    """Names for what must not hold can close a circle that the program itself does not have."""
    for rule in group.rules:
        if any(
            negated and seen.atom.signature in group.predicates
            for seen, negated in formulas(rule.source)
        ):
            hint = "name what stands below it by a rule outside of the recursion"
            yield from cannot(
                "look below `always` or a negation inside a recursion", rule.origin, hint
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
