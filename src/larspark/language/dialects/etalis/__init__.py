"""ETALIS: rules about complex events and their intervals."""

from collections.abc import Iterator

from larspark.base.atoms import Signature
from larspark.base.problems import Problem
from larspark.language.collector import MAX_CHARACTERS, has_errors
from larspark.language.dialect import Parsed, ProgramText
from larspark.language.dialects.etalis.etalis_reader import EtalisReader
from larspark.language.dialects.etalis.event_rules import (
    EventTranslation,
    TooManyAlternativesError,
    events,
)
from larspark.language.dialects.etalis.pattern_tree import EventRule
from larspark.language.source import Source, TooManyProblemsError
from larspark.language.tree import NOWHERE, AtomFormula, Program, Rule


def parse(text: ProgramText) -> Parsed:
    if len(text.text) > MAX_CHARACTERS:
        message = f"the text has {len(text.text)} characters, more than {MAX_CHARACTERS}"
        return Parsed(None, (Problem("L108", message),))
    source = Source(text.name, text.text)
    rules: tuple[Rule, ...] = ()
    derived: set[Signature] = set()
    try:
        reader = EtalisReader(source)
        reader.read()
        _warn_of_memory(source, reader.rules)
        translation = EventTranslation(reader.rules)
        derived = translation.derived
        _refuse_facts(source, reader.facts, translation.derived)
        _refuse_intervals(source, reader, translation.derived)
        rules = (*reader.facts, *_translated(source, translation))
    except TooManyProblemsError:
        pass
    problems = tuple(sorted(source.problems, key=lambda problem: problem.span or ()))
    if has_errors(problems):
        return Parsed(None, problems)
    found = frozenset(Signature(s.predicate, s.arity + 2) for s in derived)
    texts = {text.name: source.text}
    return Parsed(
        Program(rules, shows=found, source=text.name, texts=texts, events=found), problems
    )


def _translated(source: Source, translation: EventTranslation) -> Iterator[Rule]:
    try:
        yield from translation.translate()
    except TooManyAlternativesError:
        span = NOWHERE if translation.current is None else translation.current.span
        hint = "give parts of it rules of their own"
        source.report("L108", "the rule has too many alternatives with `or`", span, hint)


def _warn_of_memory(source: Source, rules: list[EventRule]) -> None:
    for rule in rules:
        unbounded = any(ever for _, ever in events(rule.pattern))
        if rule.window is None and len(list(events(rule.pattern))) > 1:
            hint = "give it a window: `label([property(event_rule_window, 60)]) rule: ...`"
            message = "without a window the rule keeps all events, so memory grows"
            source.warn("L167", message, rule.span, hint)
        elif unbounded:
            message = "`fnot` asks for the whole past, so memory grows"
            source.warn("L167", message, rule.span, "use `(p seq q) cnot r` where it says the same")


def _refuse_intervals(source: Source, reader: EtalisReader, derived: set[Signature]) -> None:
    """Refuse what has the name and the arguments of a complex event with its interval."""
    parts = [(e.atom, e.span) for rule in reader.rules for e, _ in events(rule.pattern)]
    heads = [(rule.head, rule.span) for rule in reader.rules]
    facts = [(f.head.atom, f.span) for f in reader.facts if isinstance(f.head, AtomFormula)]
    for atom, span in (*parts, *heads, *facts):
        event = Signature(atom.predicate, atom.signature.arity - 2)
        if event in derived:
            message = f"ETALIS: `{atom.signature}` is also `{event}` with its interval"
            source.report("L166", message, span, "give one of them another name")


def _refuse_facts(source: Source, facts: list[Rule], derived: set[Signature]) -> None:
    """A fact that is also a complex event would hold at every time point."""
    for fact in facts:
        if not isinstance(fact.head, AtomFormula):
            continue
        signature = fact.head.atom.signature
        if signature in derived:
            message = f"ETALIS: `{signature}` is a fact, and a complex event"
            source.report("L166", message, fact.span, "give one of them another name")
