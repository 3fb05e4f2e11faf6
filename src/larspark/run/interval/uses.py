"""How rules use formulas, which decides what has to be kept of them."""

from collections import Counter
from collections.abc import Sequence

from larspark.base.atoms import Signature
from larspark.base.terms import Variable
from larspark.plan.operators import Derive, Each, Plan, formulas, steps
from larspark.run.interval.firing import Stored
from larspark.run.interval.formulas import Formula
from larspark.run.interval.nodes import Distinct
from larspark.run.interval.shapes import Shape, shape_of, whole


def read_twice(plan: Plan) -> set[Signature]:
    """The predicates that some rule reads in two places."""
    found: set[Signature] = set()
    for group in plan.groups:
        for rule in group.rules:
            reads = Counter(seen.atom.signature for seen, _ in formulas(rule.source))
            found.update(signature for signature, times in reads.items() if times > 1)
    return found


def looked_up_shapes(plan: Plan) -> set[Shape]:
    """The formulas that need a store: they are joined, negated, recomputed from, or output."""
    shapes: set[Shape] = set()
    for group in plan.groups:
        for rule in group.rules:
            parts = formulas(rule.source)
            if len(parts) > 1 or group.recursive or any(negated for _, negated in parts):
                shapes.update(shape_of(seen) for seen, _ in parts)
            if rule.time is not None:
                shapes.add(whole(rule.atom.signature))
    return shapes


def derives_once(rule: Derive, parts: Sequence[Formula]) -> bool:
    """Does every atom that the rule derives come from one combination of rows?"""
    if not all(part.unique for part in parts):
        return False
    told = {term for term in (*rule.atom.args, rule.time) if isinstance(term, Variable)}
    ranging = {step.variable for step in steps(rule.source) if isinstance(step, Each)}
    return ranging <= told and all(
        variable in told
        for seen, negated in formulas(rule.source)
        if not negated
        for variable in seen.variables
    )


def stored_parts(rule: Derive, parts: Sequence[Formula]) -> list[Stored]:
    """The formulas of a rule, with the stores of those that have one."""
    return [
        Stored(seen, negated, part.sink if isinstance(part.sink, Distinct) else None)
        for (seen, negated), part in zip(formulas(rule.source), parts, strict=True)
    ]
