"""The roles of predicates (input, background, derived) and the problems with them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from larspark.base.atoms import Atom, Element, Signature
from larspark.base.problems import Problem, Severity, Span
from larspark.base.spelling import Vocabulary
from larspark.base.terms import Term
from larspark.language.nodes import terms, walk
from larspark.language.tree import At, AtomFormula, Formula, Program, Rule, Windowed
from larspark.logic.traversal import formulas, is_ground, occurrences
from larspark.logic.values import NoValueError, ground_atom, time_value


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


def head_predicates(head: Formula) -> frozenset[Signature]:
    """What a head can derive: the predicates that count positively in it."""
    return frozenset(atom.formula.atom.signature for atom in occurrences(head) if atom.positive)


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
    if rule.body or not all(map(is_ground, _terms_of_fact(rule.head))):
        return None
    try:
        match rule.head:
            case AtomFormula(atom):
                return ground_atom(atom, {})
            case At(time, AtomFormula(atom)) if (t := time_value(time, {})) is not None:
                return Element(t, ground_atom(atom, {}))
            case _:
                return None
    except NoValueError:
        return None


def _terms_of_fact(head: Formula) -> Iterator[Term]:
    return (term for part in walk(head) for term in terms(part))


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
    for formula in formulas(rule):
        for part in walk(formula):
            match part:
                case AtomFormula(atom, span):
                    yield Use(atom.signature, span)
                case Windowed(window, _, span):
                    patterns = window.filters or ()
                    yield from (Use(pattern.signature, span) for pattern in patterns)
                case _:
                    pass


class _Predicates:
    """Known predicates, to look for the one that was meant."""

    def __init__(self, known: Iterable[Signature]) -> None:
        self._arities: dict[str, list[int]] = {}
        for predicate, arity in sorted(known):
            self._arities.setdefault(predicate, []).append(arity)
        self._vocabulary = Vocabulary(self._arities)

    def suggestion(self, signature: Signature) -> str:
        """A hint that names the predicate that was probably meant; empty if there is none."""
        name, arity = signature
        meant = name if name in self._arities else self._vocabulary.closest(name)
        if meant is None:
            return ""
        arities = self._arities[meant]
        return f"did you mean `{meant}/{arity if arity in arities else arities[0]}`?"

    def misspelt(self, signature: Signature) -> Signature | None:
        """The predicate that this one is a misspelling of, by all appearances."""
        name, arity = signature
        # Of short names, only two letters the wrong way round are suspicious.
        meant = self._vocabulary.closest(name, likeness=0.8 if len(name) >= 4 else 1)
        if meant is None or arity not in self._arities[meant]:
            return None
        # Names in a row, such as `door1` and `door2`, differ on purpose.
        numbered = any(map(str.isdigit, name + meant))
        return None if numbered else Signature(meant, arity)


def signature_problems(program: Program, facts: Facts, parts: Roles) -> Iterator[Problem]:
    """All errors and warnings about the predicates of a program."""
    yield from _directive_problems(program, parts)
    yield from _misplaced_heads(program, facts, parts)
    yield from _mixed_arities(program, (use for rule in program.rules for use in uses(rule)))
    used = [use for rule in facts.rules for use in uses(rule)]
    yield from _mixed_roles(parts, used)
    yield from _ungiven_predicates(program, parts, used)
    if program.inputs is None:
        yield from _misspelt_predicates(parts, used)


def _directive_problems(program: Program, parts: Roles) -> Iterator[Problem]:
    derived = _Predicates(parts.derived)
    given = parts.inputs | parts.background
    for signature in sorted((program.shows or frozenset()) - parts.derived):
        reason, hint = "is not a predicate of the program", derived.suggestion(signature)
        if signature in given:
            reason, hint = "is derived by no rule, and only what is derived is output", ""
        yield Problem(
            "L213", f"`#show {signature}`: `{signature}` {reason}", None, hint, Severity.WARNING
        )
    for signature in sorted(program.remembered - parts.derived):
        message = f"`#remember {signature}`: no rule derives `{signature}`"
        yield Problem("L214", message, hint=derived.suggestion(signature))


def _misplaced_heads(program: Program, facts: Facts, parts: Roles) -> Iterator[Problem]:
    declared = program.inputs or frozenset()
    for rule in facts.rules:
        for occurrence in occurrences(rule.head):
            signature, span = occurrence.formula.atom.signature, occurrence.formula.span
            if not occurrence.positive:
                continue
            if signature in declared:
                message = f"`{signature}` is an input predicate, so no rule can derive it"
                hint = f"derive another predicate, or remove `{signature}` from `#input`"
                yield Problem("L211", message, span, hint)
            elif signature in parts.background:
                message = f"`{signature}` is background data, so no rule can derive it"
                hint = "derive another predicate, with a rule that reads the background data"
                yield Problem("L212", message, span, hint)


def _mixed_arities(program: Program, used: Iterable[Use]) -> Iterator[Problem]:
    first: dict[str, int] = {}
    reported: set[Signature] = set()
    for signature, span in used:
        predicate, arity = signature
        if Signature(predicate, arity + 2) in program.events:
            # An atom of the stream that is an event too.
            continue
        expected = first.setdefault(predicate, arity)
        if arity != expected and signature not in reported:
            reported.add(signature)
            message = (
                f"`{predicate}` has {_arguments(arity)} here and {_arguments(expected)} before, "
                "so these are two predicates"
            )
            yield Problem("L201", message, span, severity=Severity.WARNING)


def _mixed_roles(parts: Roles, used: Sequence[Use]) -> Iterator[Problem]:
    places = dict(reversed(used))
    for signature in sorted(parts.background & parts.inputs):
        message = f"`{signature}` is both background data and a predicate of the stream"
        hint = "background data holds at every time point; use two predicates if that is not meant"
        yield Problem("L217", message, places.get(signature), hint, Severity.WARNING)


def _ungiven_predicates(program: Program, parts: Roles, used: Sequence[Use]) -> Iterator[Problem]:
    known = parts.inputs | parts.background | parts.derived
    predicates = _Predicates(known)
    relations = {data.signature: data.name for data in program.named if not data.is_stream}
    for signature, span in reversed(dict(reversed(used)).items()):
        if signature in relations and signature not in known:
            message = f"`{relations[signature]}` is empty: no background file gives it"
            hint = f"give it with `--background {relations[signature]}=FILE`"
            yield Problem("L215", message, span, hint, Severity.WARNING)
        elif signature not in known:
            message = (
                f"`{signature}` never holds: no rule derives it, no fact or background file gives "
                "it, and `#input` does not name it"
            )
            hint = predicates.suggestion(signature) or f"add `{signature}` to `#input`"
            yield Problem("L215", message, span, hint, Severity.WARNING)


def _misspelt_predicates(parts: Roles, used: Sequence[Use]) -> Iterator[Problem]:
    """Inputs that look like a predicate which rules or background data give.

    Like another input looks only one that is used once, and the other one more often.
    """
    count = Counter(use.signature for use in used)
    trusted = {other for other in parts.inputs if count[other] != 1}
    given = _Predicates(parts.derived | parts.background)
    predicates = _Predicates(trusted | parts.derived | parts.background)
    for signature, span in reversed(dict(reversed(used)).items()):
        if signature not in parts.inputs:
            continue
        meant = (predicates if count[signature] == 1 else given).misspelt(signature)
        if meant is not None:
            message = f"`{signature}` is given by nothing but the stream, and looks like `{meant}`"
            hint = f"did you mean `{meant}`? If not, name the input with `#input`"
            yield Problem("L216", message, span, hint, Severity.WARNING)


def _arguments(count: int) -> str:
    return {0: "no arguments", 1: "1 argument"}.get(count, f"{count} arguments")
