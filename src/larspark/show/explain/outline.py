"""Explanations as rows of an indented tree, drawn as text and as SVG."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from larspark.base.atoms import Atom, Element, atom_text
from larspark.base.terms import Constant, constant_text
from larspark.language import formula_text, rule_text
from larspark.language.tree import AtomFormula, Rule
from larspark.show.explain.proof import (
    Given,
    ModelChoice,
    Part,
    Proof,
    Step,
    Until,
    element_text,
    interval_text,
)
from larspark.show.explain.why_not import Miss, WhyNot
from larspark.show.time_text import time_text

# Deeper parts of a proof are omitted; they can be explained separately.
DEPTH_LIMIT = 80
ROW_LIMIT = 1_000


class Kind(StrEnum):
    """What a row is about."""

    CONCLUSION = "conclusion"
    RULE = "rule"
    PART = "part"
    HOLDING = "holding"
    MISSING = "missing"
    NOTE = "note"


_SIGNS = {Kind.HOLDING: "✓ ", Kind.MISSING: "✗ "}


class Row(NamedTuple):
    """A row of the tree; `last` when no row of the same parent follows.

    A rule's row belongs to the conclusion above it and is no branch of its own.
    """

    depth: int
    kind: Kind
    text: str
    aside: str = ""
    last: bool = True

    @property
    def signed_text(self) -> str:
        """The text, with a sign where something holds or is missing."""
        return _SIGNS.get(self.kind, "") + self.text


def proof_rows(proof: Proof) -> Iterator[Row]:
    """A proof as a tree; what was proved above is not proved again."""
    steps = {step.element: step for step in proof.steps}
    shown: set[Element] = set()
    pending: list[tuple[int, Element | Part, bool]] = [(0, proof.element, True)]
    rows = 0
    while pending:
        depth, item, last = pending.pop()
        rows += 1
        if rows > ROW_LIMIT:
            yield Row(0, Kind.NOTE, f"… and more: only {ROW_LIMIT} rows are shown")
            break
        if isinstance(item, Part):
            yield Row(depth, Kind.PART, item.text, part_detail(item), last)
            below: Sequence[Element | Part] = item.derived
        else:
            step = steps.get(item)
            aside = _aside(proof, step, item in shown, depth)
            yield Row(depth, Kind.CONCLUSION, _conclusion(item, proof), aside, last)
            if step is None or aside:
                continue
            shown.add(item)
            below = [_branch(part) for part in step.parts]
            rule_aside = _rule_aside(step.rule, step.substitution)
            yield Row(depth, Kind.RULE, rule_text(step.rule), rule_aside, not below)
        final = len(below) - 1
        pending.extend((depth + 1, below[i], i == final) for i in range(final, -1, -1))
    for note in _notes(proof):
        yield Row(0, Kind.NOTE, note)


def why_not_rows(answer: WhyNot, depth: int = 0, last: bool = True) -> Iterator[Row]:
    """What is missing, rule by rule."""
    when = "at any time" if answer.t is None else f"at {time_text(answer.t)}"
    yield Row(depth, Kind.CONCLUSION, f"{atom_text(answer.atom)} does not hold {when}", "", last)
    if answer.note:
        yield Row(depth + 1, Kind.MISSING, answer.note)
    for miss in answer.misses:
        yield from _miss_rows(miss, depth + 1, miss is answer.misses[-1])


def _miss_rows(miss: Miss, depth: int, last: bool) -> Iterator[Row]:
    aside = _rule_aside(miss.rule, miss.substitution)
    yield Row(depth, Kind.PART, rule_text(miss.rule), aside, last)
    for text in miss.holding:
        yield Row(depth + 1, Kind.HOLDING, text, "", False)
    for missing in miss.missing:
        yield Row(depth + 1, Kind.MISSING, missing.text, missing.near, missing is miss.missing[-1])
        if miss.below is not None and missing is miss.missing[0]:
            yield from why_not_rows(miss.below, depth + 2)


def part_detail(part: Part) -> str:
    """What makes a body element hold, apart from derived atoms."""
    pieces = [*runs(part.facts)]
    pieces += [f"{run} (remembered)" for run in runs(part.remembered)]
    pieces += [f"{run} (counted)" for run in runs(part.counted)]
    pieces += [
        "background" if _is_text_of(part, atom) else f"{atom_text(atom)} (background)"
        for atom in part.background
    ]
    pieces += map(str, part.absent)
    if part.collected is not None:
        pieces.append(str(part.collected))
    text = ", ".join(pieces)
    if part.facts or part.derived or part.remembered:
        spans = [interval_text(span.start, span.end) for span in part.windows]
        text += f" in {' and '.join(spans)}" if spans else ""
    return text.strip()


def _branch(part: Part) -> Element | Part:
    """A body element that is a derived atom is shown as the conclusion it is."""
    if len(part.derived) == 1 and _is_text_of(part, part.derived[0].atom):
        return part.derived[0]
    return part


def _is_text_of(part: Part, atom: Atom) -> bool:
    """Is the body element just this atom?"""
    return part.text == formula_text(AtomFormula(atom))


def runs(elements: Sequence[Element]) -> Iterator[str]:
    """Elements in short, runs of the same atom joined.

    >>> from larspark.base.atoms import Atom
    >>> p, q = Atom("p"), Atom("q")
    >>> list(runs([Element(3, p), Element(4, p), Element(4, q), Element(6, p)]))
    ['@3-4 p', '@6 p', '@4 q']
    """
    by_text: dict[str, list[int]] = {}
    for t, atom in elements:
        by_text.setdefault(atom_text(atom), []).append(t)
    for text, times in by_text.items():
        start = times[0]
        for t, following in zip(times, [*times[1:], None], strict=True):
            if following != t + 1:
                span = time_text(start) if start == t else f"{time_text(start)}-{time_text(t)}"
                yield f"@{span} {text}"
                start = t if following is None else following


def place(rule: Rule) -> str:
    """Where a rule is written."""
    return f"{rule.span.source}:{rule.span.line}"


def _rule_aside(rule: Rule, substitution: Sequence[tuple[str, Constant]]) -> str:
    values = [f"{name} = {constant_text(value)}" for name, value in substitution]
    return ", ".join([place(rule), *values])


def _conclusion(element: Element, proof: Proof) -> str:
    text = f"{atom_text(element.atom)} at {time_text(element.t)}"
    seen_from_elsewhere = element == proof.element and element.t != proof.at
    return f"{text}, seen from {time_text(proof.at)}" if seen_from_elsewhere else text


def _aside(proof: Proof, step: Step | None, known: bool, depth: int) -> str:
    """Why a conclusion is not unfolded; empty when it is."""
    if known:
        return "shown above"
    if step is None:
        return str(proof.given or Given.STREAM)
    return "deeper parts are not shown; explain it by itself" if depth > DEPTH_LIMIT else ""


def _notes(proof: Proof) -> Iterator[str]:
    if proof.circular:
        yield "the steps rest on each other; only all of them together hold"
    if not proof.minimal and not proof.circular:
        yield "some of the facts may not be needed: there were too many to try"
    if proof.until is not None:
        yield until_text(proof.until)
    yield from (f"this proof could end with {end}" for end in proof.ends)
    if proof.models is not None:
        yield models_text(proof.models)


def until_text(until: Until) -> str:
    """Until when an atom holds."""
    if until.last is None:
        return "holds for ever if nothing more arrives"
    least = "" if until.certain else "at least "
    return f"holds {least}until {time_text(until.last)} if nothing more arrives"


def models_text(models: ModelChoice) -> str:
    """In which answer streams an atom holds."""
    if len(models.models) == models.total:
        return f"holds in every answer stream, of which there are {models.total}"
    numbers = ", ".join(map(str, models.models))
    text = f"holds in answer stream {numbers} of {models.total}"
    if models.choice:
        text += f", with {', '.join(map(element_text, models.choice))}"
    return text
