"""Explanations as JSON, with keys that stay."""

from typing import Any

from larspark.base.atoms import Element, atom_text
from larspark.language import rule_text
from larspark.language.tree import Rule
from larspark.show.outline import DEPTH_LIMIT
from larspark.show.proof import Proof, Step, element_text
from larspark.show.why_not import Miss, WhyNot


def proof_json(proof: Proof) -> dict[str, Any]:
    """A proof as nested objects, the root with all `evidence`.

    What was proved before appears again only with its atom and `"above": true`, and what lies very
    deep with `"deeper": true`.
    """
    steps = {step.element: step for step in proof.steps}
    root = _conclusion(proof.element)
    root["holds"] = True
    if proof.given is not None:
        root["given"] = str(proof.given)
    built: set[Element] = set()
    pending = [(root, proof.element, 0)]
    while pending:
        node, element, depth = pending.pop()
        step = steps.get(element)
        if step is None:
            continue
        if element in built or depth > DEPTH_LIMIT:
            node["above" if element in built else "deeper"] = True
            continue
        built.add(element)
        node.update(_step(step))
        below = [derived for part in step.parts for derived in part.derived]
        node["because"] = [_conclusion(derived) for derived in below]
        children = zip(node["because"], below, strict=True)
        pending.extend(reversed([(child, derived, depth + 1) for child, derived in children]))
    root["evaluated_at"] = proof.at
    root["evidence"] = list(map(element_text, proof.facts))
    root.update(_future(proof))
    return root


def why_not_json(answer: WhyNot) -> dict[str, Any]:
    """Why an atom does not hold, as nested objects."""
    found: dict[str, Any] = {"atom": atom_text(answer.atom), "at": answer.t, "holds": False}
    found["evaluated_at"] = answer.at
    if answer.note:
        found["note"] = answer.note
    found["rules"] = [_miss(miss) for miss in answer.misses]
    return found


def _conclusion(element: Element) -> dict[str, Any]:
    return {"atom": atom_text(element.atom), "at": element.t}


def _rule(rule: Rule) -> dict[str, Any]:
    return {"rule": rule_text(rule), "file": rule.span.source, "line": rule.span.line}


def _step(step: Step) -> dict[str, Any]:
    parts = step.parts
    return {
        **_rule(step.rule),
        "substitution": dict(step.substitution),
        "facts": list(dict.fromkeys(element_text(fact) for p in parts for fact in p.facts)),
        "counted": [element_text(fact) for part in parts for fact in part.counted],
        "remembered": [element_text(fact) for part in parts for fact in part.remembered],
        "background": [atom_text(atom) for part in parts for atom in part.background],
        "absent": [
            {"atom": atom_text(absence.atom), "from": absence.start, "to": absence.end}
            for part in parts
            for absence in part.absent
        ],
        "windows": [
            {"window": span.text, "from": span.start, "to": span.end}
            for part in parts
            for span in part.windows
        ],
    }


def _future(proof: Proof) -> dict[str, Any]:
    """What is known about the time after the evaluation, and about other answer streams."""
    found: dict[str, Any] = {}
    if proof.until is not None:
        found["until"] = proof.until.last
        found["until_certain"] = proof.until.certain
    found["ends"] = list(proof.ends)
    if proof.models is not None:
        found["models"] = list(proof.models.models)
        found["models_total"] = proof.models.total
        found["choice"] = list(map(element_text, proof.models.choice))
    if proof.circular:
        found["circular"] = True
    if not proof.minimal:
        found["minimal"] = False
    return found


def _miss(miss: Miss) -> dict[str, Any]:
    found: dict[str, Any] = {**_rule(miss.rule), "substitution": dict(miss.substitution)}
    found["holding"] = list(miss.holding)
    found["missing"] = [{"part": part, "near": near} for part, near in miss.missing]
    if miss.below is not None:
        found["because"] = why_not_json(miss.below)
    return found
