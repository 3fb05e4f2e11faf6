"""Which predicate plays which part: stream, background, derived; and what is odd about that."""

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from larspark.base.atoms import Atom, Element, Signature
from larspark.base.problems import Problem, Severity, Span
from larspark.language.tree import (
    At,
    AtomFormula,
    FilterWindow,
    Formula,
    Program,
    Rule,
    Windowed,
)
from larspark.meaning.walk import formulas, is_ground, occurrences, walk

# Suggestions are a courtesy: among more or longer names than these nobody looks for one.
_NAMES_COMPARED, _NAME_LENGTH = 64, 40


class Facts(NamedTuple):
    """The rules of a program, its facts split off by what they say."""

    rules: tuple[Rule, ...]
    background: frozenset[Atom]
    elements: tuple[Element, ...]


class Roles(NamedTuple):
    """The part that every predicate plays."""

    inputs: frozenset[Signature]
    background: frozenset[Signature]
    derived: frozenset[Signature]
    shown: frozenset[Signature]


class Use(NamedTuple):
    """A place where a rule uses a predicate."""

    signature: Signature
    span: Span
    in_head: bool


def head_predicates(head: Formula) -> frozenset[Signature]:
    """What a head can derive: the predicates that count positively in it."""
    return frozenset(
        atom.formula.atom.signature for atom in occurrences(head) if atom.positive
    )


def split_facts(program: Program) -> Facts:
    """Split the facts from the rules.

    A fact is background data, or a stream element if it has a time, when no rule proper derives
    its predicate; else it stays a rule with an empty body.
    """
    rules_proper = [rule for rule in program.rules if fact_of(rule) is None]
    derived = frozenset(p for rule in rules_proper for p in head_predicates(rule.head))
    rules: list[Rule] = []
    background: set[Atom] = set()
    elements: list[Element] = []
    for rule in program.rules:
        match fact_of(rule):
            case Atom() as atom if atom.signature not in derived:
                background.add(atom)
            case Element() as element if element.atom.signature not in derived:
                elements.append(element)
            case _:
                rules.append(rule)
    return Facts(tuple(rules), frozenset(background), tuple(elements))


def fact_of(rule: Rule) -> Atom | Element | None:
    """The atom or stream element that a fact states; None for a rule proper."""
    if rule.body:
        return None
    match rule.head:
        case AtomFormula(atom) if all(map(is_ground, atom.args)):
            return atom
        case At(int() as t, AtomFormula(atom)) if all(map(is_ground, atom.args)):
            return Element(t, atom)
        case _:
            return None


def roles(program: Program, facts: Facts, background: Iterable[Signature]) -> Roles:
    """The part that every predicate plays, from the directives, the rules and the facts."""
    derived = frozenset(p for rule in facts.rules for p in head_predicates(rule.head))
    given = frozenset(background) | {part.signature for part in program.backgrounds}
    given |= {atom.signature for atom in facts.background}
    if program.inputs is None:
        mentioned = frozenset(use.signature for rule in facts.rules for use in uses(rule))
        inputs = mentioned - derived - given
    else:
        inputs = program.inputs - derived
    inputs |= {element.atom.signature for element in facts.elements}
    shown = derived if program.shows is None else program.shows & derived
    return Roles(inputs, given, derived, shown)


def uses(rule: Rule) -> Iterator[Use]:
    """The predicates of a rule, filter patterns included, in the order of the text."""
    for number, formula in enumerate(formulas(rule)):
        for part in walk(formula):
            match part:
                case AtomFormula(atom, span):
                    yield Use(atom.signature, span, number == 0)
                case Windowed(FilterWindow(patterns), _, span):
                    yield from (Use(atom.signature, span, number == 0) for atom in patterns)
                case _:
                    pass


def signature_problems(program: Program, facts: Facts, parts: Roles) -> Iterator[Problem]:
    """Everything that is wrong or odd with the predicates of a program."""
    every_use = [use for rule in program.rules for use in uses(rule)]
    yield from _misplaced_heads(program, facts, parts)
    yield from _directive_problems(program, parts, every_use)
    yield from _mixed_arities(every_use)
    yield from _unknown_predicates(program, facts, parts)
    for signature in sorted(parts.background & parts.inputs):
        yield Problem(
            "L218",
            f"`{signature}` is both background data and a predicate of the stream",
            _first_place(every_use, signature),
            "its atoms hold at every time point or at the time of the stream; "
            "use two predicates if that is not meant",
            Severity.WARNING,
        )


def derived_atom_problem(element: Element) -> Problem:
    """A stream brought an atom of a predicate that rules derive."""
    signature = element.atom.signature
    return Problem(
        "L217",
        f"the stream has `{element.atom}` at {element.t}, but rules derive `{signature}`",
        hint=f"rename the predicate in the stream, and derive `{signature}` from it by a rule",
    )


def closest(name: str, candidates: Iterable[str], cutoff: float = 0.75) -> str | None:
    """The candidate that is most like a name, if one is like it.

    >>> closest("trm", ["bus", "tram", "jam"])
    'tram'
    """
    near = sorted({c for c in candidates if abs(len(c) - len(name)) <= 2 and c != name})
    if len(name) > _NAME_LENGTH or len(near) > _NAMES_COMPARED:
        return None
    lowered = {candidate.lower(): candidate for candidate in near}
    matches = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=cutoff)
    return lowered[matches[0]] if matches else None


def suggestion(signature: Signature, known: Iterable[Signature]) -> str:
    """A hint that names the predicate that was probably meant; empty if there is none."""
    known = set(known)
    same_name = sorted(other for other in known if other.predicate == signature.predicate)
    if same_name:
        return f"did you mean `{same_name[0]}`?"
    name = closest(signature.predicate, (other.predicate for other in known))
    if name is None:
        return ""
    arities = sorted(other.arity for other in known if other.predicate == name)
    arity = signature.arity if signature.arity in arities else arities[0]
    return f"did you mean `{name}/{arity}`?"


def _misplaced_heads(program: Program, facts: Facts, parts: Roles) -> Iterator[Problem]:
    declared = program.inputs or frozenset()
    for rule in facts.rules:
        for occurrence in occurrences(rule.head):
            signature = occurrence.formula.atom.signature
            if not occurrence.positive:
                continue
            if signature in declared:
                yield Problem(
                    "L211",
                    f"`{signature}` is an input predicate, so no rule can derive it",
                    occurrence.formula.span,
                    f"derive another predicate, or remove `{signature}` from `#input`",
                )
            elif signature in parts.background:
                yield Problem(
                    "L212",
                    f"`{signature}` is background data, so no rule can derive it",
                    occurrence.formula.span,
                    "derive another predicate",
                )


def _directive_problems(
    program: Program, parts: Roles, every_use: list[Use]
) -> Iterator[Problem]:
    for signature in sorted((program.shows or frozenset()) - parts.derived):
        known = signature in parts.inputs | parts.background
        reason = "is not derived by any rule, and only derived atoms are output"
        if not known:
            reason = "is not a predicate of this program"
        yield Problem(
            "L213",
            f"`#show {signature}`: `{signature}` {reason}",
            hint="" if known else suggestion(signature, parts.derived),
            severity=Severity.WARNING,
        )
    for signature in sorted(program.remembered - parts.derived):
        yield Problem(
            "L214",
            f"`#remember {signature}`: no rule derives `{signature}`",
            hint=suggestion(signature, parts.derived),
        )


def _mixed_arities(every_use: list[Use]) -> Iterator[Problem]:
    first: dict[str, int] = {}
    reported: set[Signature] = set()
    for use in every_use:
        predicate, arity = use.signature
        expected = first.setdefault(predicate, arity)
        if arity != expected and use.signature not in reported:
            reported.add(use.signature)
            yield Problem(
                "L201",
                f"`{predicate}` has {_arguments(arity)} here and {_arguments(expected)} before: "
                f"`{use.signature}` and `{predicate}/{expected}` are different predicates",
                use.span,
                severity=Severity.WARNING,
            )


def _unknown_predicates(program: Program, facts: Facts, parts: Roles) -> Iterator[Problem]:
    every_use = [use for rule in facts.rules for use in uses(rule)]
    count = Counter(use.signature for use in every_use)
    known = parts.inputs | parts.background | parts.derived
    reported: set[Signature] = set()
    for use in every_use:
        signature = use.signature
        if signature in reported:
            continue
        if signature not in known:
            reported.add(signature)
            yield Problem(
                "L215",
                f"`{signature}` never holds: no rule derives it, no fact or background file gives "
                "it, and `#input` does not name it",
                use.span,
                suggestion(signature, known) or f"add `{signature}` to `#input`",
                Severity.WARNING,
            )
        elif program.inputs is None and signature in parts.inputs and count[signature] == 1:
            trusted = parts.derived | parts.background
            trusted |= {other for other in parts.inputs if count[other] > 1}
            meant = _misspelt(signature, trusted)
            if meant is not None:
                reported.add(signature)
                yield Problem(
                    "L216",
                    f"`{signature}` is used only here and looks like `{meant}`",
                    use.span,
                    f"did you mean `{meant}`? If not, name both: `#input {signature}, ...`",
                    Severity.WARNING,
                )


def _misspelt(signature: Signature, trusted: Iterable[Signature]) -> Signature | None:
    """The predicate that this one is a misspelling of, by all appearances."""
    name, arity = signature
    names = (other.predicate for other in trusted if other.arity == arity)
    meant = closest(name, names, cutoff=0.85) if len(name) >= 4 else None
    # Names in a row, such as `door1` and `door2`, differ on purpose.
    if meant is None or any(map(str.isdigit, name + meant)):
        return None
    return Signature(meant, arity)


def _first_place(every_use: list[Use], signature: Signature) -> Span | None:
    return next((use.span for use in every_use if use.signature == signature), None)


def _arguments(count: int) -> str:
    return "1 argument" if count == 1 else f"{count} arguments"
