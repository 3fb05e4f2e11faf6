"""LARS, the language of docs/language.md."""

from larspark.language.collector import Collector, Form
from larspark.language.dialect import Parsed, ProgramText
from larspark.language.dialects.ticker import doubtful_relations


def parse(text: ProgramText) -> Parsed:
    collector = Collector(text, Form() if text.kept is None else Form(read=text.kept.read))
    program = collector.program()
    for formula in doubtful_relations(program):
        name = formula.atom.predicate
        message = f"`{name}` is an ordinary predicate, and a relation only in Ticker's dialect"
        hint = f"write a comparison, or declare `#input {formula.atom.signature}.`"
        collector.warn("L131", message, formula.span, hint)
    return collector.parsed(program)
