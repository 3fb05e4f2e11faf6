"""The programs that the encodings of the Ticker paper cover, and why others are refused."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from larspark.analysis.checked import Checked
from larspark.base.atoms import Atom, Signature
from larspark.base.problems import Problem, Span, placed
from larspark.base.terms import Arithmetic, Term
from larspark.language.nodes import subterms, terms, walk
from larspark.language.tree import (
    Aggregate,
    Always,
    And,
    At,
    AtomFormula,
    Comparison,
    Formula,
    Not,
    Or,
    Program,
    Rule,
    Some,
    Truth,
    Windowed,
)
from larspark.language.windows import TimeWindow, TupleWindow, Window
from larspark.logic.graph import component_numbers
from larspark.run.answer_sets.plain_rules import NOW, Mode, PlainRule, plain_rules

# What the solver reads as a name, and holds as an integer or in a string.
_NAME = re.compile(r"[a-z][A-Za-z0-9_]*\Z")
_RESERVED = {"not"}
_INTEGERS = range(-(2**31), 2**31)
_UNSPEAKABLE = re.compile("[\0\ud800-\udfff]")
_OPERATIONS = {"+", "-", "*", "mod", "abs"}


def fragment_problems(checked: Checked, background: frozenset[Atom]) -> list[Problem]:
    """Everything that the encodings do not cover, each with its place."""
    found = [*_program_problems(checked)]
    for rule in checked.rules:
        found += _rule_problems(checked, background, rule)
    for atom in sorted(background, key=str):
        found += term_problems(atom.predicate, atom.args, None)
    plain = None if found else plain_rules(checked.rules)
    if plain is not None:
        found += _recursion_problems(plain)
    texts = checked.program.texts
    return list(dict.fromkeys(placed(problem, texts) for problem in found))


def counts_tuples(program: Program) -> bool:
    """Does a window of the program count tuples?"""
    parts = (part for rule in program.rules for f in (rule.head, *rule.body) for part in walk(f))
    return any(isinstance(part, Windowed) and part.window.selects_input for part in parts)


def _refused(what: str, span: Span | None, hint: str = "") -> Problem:
    return Problem("L414", f"the encodings for clingo do not cover {what}", span, hint)


def _program_problems(checked: Checked) -> Iterator[Problem]:
    if checked.program.remembered:
        yield _refused("`#remember`", None)
    if checked.program.hindsight:
        yield _refused("a program that is read with hindsight", None)
    if checked.future_heads:
        yield _refused("heads that lie after the evaluation time", _late_head(checked))
    if checked.elements and counts_tuples(checked.program):
        what = "tuple windows beside facts with a time in the program"
        yield _refused(what, None, "give these facts as a stream")


def _late_head(checked: Checked) -> Span | None:
    """The first head with a time pin of its own."""
    pinned = (p for rule in checked.rules for p in walk(rule.head) if isinstance(p, At))
    return next((p.span for p in pinned if isinstance(p.time, Arithmetic)), None)


def _rule_problems(checked: Checked, background: frozenset[Atom], rule: Rule) -> Iterator[Problem]:
    for part in _heads(rule.head):
        if not isinstance(part, AtomFormula | Truth) and not _is_pinned(part, AtomFormula):
            yield _refused("a head that is no atom or `@T` and an atom", part.span)
    for element in rule.body:
        body = element.body if isinstance(element, Not) else element
        if isinstance(body, Aggregate):
            yield _refused("aggregates", body.span)
            continue
        yield from _element_problems(checked, background, body, negated=body is not element)
    for formula in (rule.head, *rule.body):
        for part in walk(formula):
            name = part.atom.predicate if isinstance(part, AtomFormula) else ""
            yield from term_problems(name, terms(part), part.span)


def _heads(head: Formula) -> tuple[Formula, ...]:
    match head:
        case And(parts):
            return tuple(alternative for part in parts for alternative in _heads(part))
        case Or(parts):
            return parts
        case _:
            return (head,)


def _is_pinned(formula: Formula, kind: type) -> bool:
    return isinstance(formula, At) and isinstance(formula.body, kind)


def _element_problems(
    checked: Checked, background: frozenset[Atom], body: Formula, *, negated: bool
) -> Iterator[Problem]:
    window, below = (body.window, body.body) if isinstance(body, Windowed) else (None, body)
    if isinstance(below, Windowed):
        yield _refused("windows below windows", below.span)
        return
    if isinstance(below, Some | Always) and isinstance(below.body, AtomFormula):
        atom: Formula = below.body
    elif _is_pinned(below, AtomFormula) or (_is_pinned(below, Truth) and not negated):
        atom = below.body  # type: ignore[union-attr]
    elif window is None and isinstance(below, AtomFormula | Comparison | Truth):
        atom = below
    else:
        yield _refused("formulas other than extended atoms", body.span)
        return
    if window is not None:
        yield from _window_problems(checked, background, window, atom, body.span)


def _window_problems(
    checked: Checked, background: frozenset[Atom], window: Window, atom: Formula, span: Span
) -> Iterator[Problem]:
    match window:
        case TimeWindow(_, 0, 1):
            return
        case TimeWindow(_, _, 1):
            yield _refused(f"windows that look ahead, as `[{window.text()}]` does", span)
        case TimeWindow():
            yield _refused(f"windows that hop, as `[{window.text()}]` does", span)
        case TupleWindow(past, 0, ()) if past >= 1:
            known = checked.background_signatures | {given.signature for given in background}
            if not isinstance(atom, AtomFormula):
                yield _refused("time points of tuple windows", span)
            elif atom.atom.signature in checked.derived | known:
                what = f"tuple windows over what is no input, as `{atom.atom.predicate}` is"
                yield _refused(what, span)
        case _:
            yield _refused(f"the window `[{window.text()}]`", span)


def term_problems(predicate: str, found: Sequence[Term], span: Span | None) -> Iterator[Problem]:
    """What clingo cannot hold in an atom."""
    if predicate and (not _NAME.match(predicate) or predicate in _RESERVED):
        yield _refused(f"the predicate `{predicate}`, which clingo cannot name", span)
    for part in (part for term in found for part in subterms(term)):
        match part:
            case Arithmetic(operation) if operation not in _OPERATIONS:
                hint = "clingo divides integers without a rest" if operation == "/" else ""
                yield _refused(f"`{operation}`", span, hint)
            case float():
                yield _refused(f"{part}, because clingo has no such numbers", span)
            case int() if part not in _INTEGERS:
                yield _refused(f"{part}, because clingo's integers have 32 bits", span)
            case str() if _UNSPEAKABLE.search(part):
                yield _refused(f"the text {part!r}", span)


def _recursion_problems(rules: Sequence[PlainRule]) -> Iterator[Problem]:
    """`always` over what depends on the head would need a foundation of its own."""
    needed: dict[Signature, dict[Signature, Any]] = {}
    for rule in rules:
        for head in rule.heads:
            below = needed.setdefault(head.atom.signature, {})
            below.update((atom.atom.signature, None) for atom in rule.positive)
    for signature in {below for found in needed.values() for below in found}:
        needed.setdefault(signature, {})
    home = component_numbers(needed)
    for rule in rules:
        heads = {home[head.atom.signature] for head in rule.heads}
        for atom in rule.positive:
            signature = atom.atom.signature
            if atom.mode is Mode.ALWAYS and atom.windows != NOW and home.get(signature) in heads:
                what = f"recursion through `always {signature.predicate}`"
                yield _refused(what, rule.origin.span)
