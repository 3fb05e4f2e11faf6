"""Explanations as JSON with stable keys, as a tree of text, and as SVG."""

from collections.abc import Iterable, Iterator
from typing import Any

from rich.markup import escape

from larspark.base.atoms import Element, atom_text
from larspark.language import rule_text
from larspark.language.tree import Rule
from larspark.show.explain.outline import DEPTH_LIMIT, Kind, Row
from larspark.show.explain.proof import Proof, Step, element_text
from larspark.show.explain.why_not import Miss, WhyNot
from larspark.show.svg import CHARACTER, label, line, picture
from larspark.show.terminal import printable
from larspark.show.time_text import time_json


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
    root["evaluated_at"] = time_json(proof.at)
    root["evidence"] = list(map(element_text, proof.facts))
    root.update(_future(proof))
    return root


def why_not_json(answer: WhyNot) -> dict[str, Any]:
    """Why an atom does not hold, as nested objects."""
    found: dict[str, Any] = {
        "atom": atom_text(answer.atom),
        "at": time_json(answer.t),
        "holds": False,
    }
    found["evaluated_at"] = time_json(answer.at)
    if answer.note:
        found["note"] = answer.note
    found["rules"] = [_miss(miss) for miss in answer.misses]
    return found


def _conclusion(element: Element) -> dict[str, Any]:
    return {"atom": atom_text(element.atom), "at": time_json(element.t)}


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
            {
                "atom": atom_text(absence.atom),
                "from": time_json(absence.start),
                "to": time_json(absence.end),
            }
            for part in parts
            for absence in part.absent
        ],
        "collected": [
            {
                "part": part.text,
                "value": part.collected.value,
                "tuples": [list(found) for found in part.collected.tuples],
                "more": part.collected.more,
            }
            for part in parts
            if part.collected is not None
        ],
        "windows": [
            {"window": span.text, "from": time_json(span.start), "to": time_json(span.end)}
            for part in parts
            for span in part.windows
        ],
    }


def _future(proof: Proof) -> dict[str, Any]:
    """What is known about the time after the evaluation, and about other answer streams."""
    found: dict[str, Any] = {}
    if proof.until is not None:
        found["until"] = time_json(proof.until.last)
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


_STYLES = {
    Kind.CONCLUSION: "bold",
    Kind.RULE: "dim",
    Kind.PART: "",
    Kind.HOLDING: "green",
    Kind.MISSING: "red",
    Kind.NOTE: "italic",
}


def tree_lines(rows: Iterable[Row], people: bool, width: int | None = None) -> Iterator[str]:
    """The rows with branches before them; for people with Rich's markup.

    What stands aside of a row goes below it where both do not fit the width.

    >>> rows = [
    ...     Row(0, Kind.CONCLUSION, "q at 3"),
    ...     Row(0, Kind.RULE, "q :- p.", "rules.lars:1", last=False),
    ...     Row(1, Kind.PART, "p", "@3 p"),
    ... ]
    >>> print(*tree_lines(rows, people=False), sep="\\n")
    q at 3
    │  q :- p.   rules.lars:1
    └─ p   @3 p
    """
    # closed[d]: the branch at depth d was the last one of its parent.
    closed: list[bool] = []
    for row in rows:
        if row.kind is Kind.RULE:
            before = _trunks(closed[1:]) + _trunks([row.last])
        else:
            del closed[row.depth :]
            branch = ("└─ " if row.last else "├─ ") if row.depth else ""
            before = _trunks(closed[1:]) + branch
            closed.append(row.last)
        text, aside = printable(row.signed_text), printable(row.aside)
        fits = width is None or len(before) + len(text) + 3 + len(aside) <= width
        if fits or not aside:
            yield before + _content(row.kind, text, aside, people)
        else:
            below = before if row.kind is Kind.RULE else _trunks(closed[1:])
            yield before + _content(row.kind, text, "", people)
            yield below + _content(row.kind, "", aside, people)


def _trunks(closed: Iterable[bool]) -> str:
    return "".join("   " if done else "│  " for done in closed)


def _content(kind: Kind, text: str, aside: str, people: bool) -> str:
    if not people:
        return f"{text}   {aside}" if aside else text
    style = _STYLES[kind]
    text = f"[{style}]{escape(text)}[/]" if style and text else escape(text)
    return f"{text}   [cyan]{escape(aside)}[/]" if aside else text


ROW_HEIGHT = 24
INDENT = 26
MARGIN = 14
# Longer texts are cut, with all of it in a tooltip.
TEXT_LENGTH = 110

_COLOURS = {
    Kind.CONCLUSION: "#1d4ed8",
    Kind.RULE: "#6b7280",
    Kind.PART: "#111827",
    Kind.HOLDING: "#15803d",
    Kind.MISSING: "#b91c1c",
    Kind.NOTE: "#6b7280",
}
_BRANCH = "#9ca3af"
_ASIDE = "#0e7490"


def tree_svg(rows: Iterable[Row], title: str) -> str:
    """The rows as an SVG document."""
    rows = list(rows)
    width = 2 * MARGIN + max((_row_width(row) for row in rows), default=0)
    height = 2 * MARGIN + ROW_HEIGHT * len(rows)
    return picture(width, height, title, [*_branches(rows), *_texts(rows)])


def _left(row: Row) -> int:
    return MARGIN + INDENT * (row.depth + (row.kind is Kind.RULE))


def _middle(number: int) -> float:
    return MARGIN + ROW_HEIGHT * (number + 0.5)


def _row_width(row: Row) -> int:
    texts = min(len(row.signed_text), TEXT_LENGTH) + min(len(row.aside), TEXT_LENGTH)
    return INDENT * (row.depth + 1) + CHARACTER * (texts + 3)


def _texts(rows: list[Row]) -> Iterator[str]:
    for number, row in enumerate(rows):
        weight = 'font-weight="bold"' if row.kind is Kind.CONCLUSION else ""
        x, y = _left(row), _middle(number) + 4
        yield label(x, y, row.signed_text, _COLOURS[row.kind], weight, TEXT_LENGTH)
        if row.aside:
            x += CHARACTER * (min(len(row.signed_text), TEXT_LENGTH) + 3)
            yield label(x, y, row.aside, _ASIDE, "", TEXT_LENGTH)


def _branches(rows: list[Row]) -> Iterator[str]:
    """A line from every row to its parent."""
    # parents[d]: the latest row at depth d.
    parents: list[int] = []
    for number, row in enumerate(rows):
        if row.kind is Kind.RULE or row.kind is Kind.NOTE:
            continue
        del parents[row.depth :]
        if row.depth and parents:
            x = MARGIN + INDENT * (row.depth - 1) + INDENT / 3
            y = _middle(number)
            yield line(x, _middle(parents[-1]) + ROW_HEIGHT / 3, x, y, _BRANCH)
            yield line(x, y, x + INDENT / 2, y, _BRANCH)
        parents.append(number)
