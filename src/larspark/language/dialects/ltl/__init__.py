"""Linear temporal logic with past over finite streams: formulas in, LARS rules out."""

from typing import cast, get_args

from larspark.base.atoms import Signature
from larspark.base.problems import Problem
from larspark.language.collector import MAX_CHARACTERS, has_errors
from larspark.language.dialect import Parsed, ProgramText
from larspark.language.dialects.ltl.formula_rules import Reading, rules_of
from larspark.language.dialects.ltl.temporal_reader import Named, read_formulas
from larspark.language.dialects.ltl.temporal_tree import Proposition, looks_ahead, subformulas
from larspark.language.source import Source, TooManyProblemsError
from larspark.language.tree import Program


def parse(text: ProgramText) -> Parsed:
    if len(text.text) > MAX_CHARACTERS:
        message = f"the text has {len(text.text)} characters, more than {MAX_CHARACTERS}"
        return Parsed(None, (Problem("L108", message),))
    reading = text.options.get("reading")
    if reading not in (None, *get_args(Reading)):
        message = f"there is no reading `{reading}`"
        hint = f"the readings are {', '.join(get_args(Reading))}"
        return Parsed(None, (Problem("L126", message, hint=hint),))
    source = Source(text.name, text.text)
    formulas: list[Named] = []
    try:
        formulas = read_formulas(source)
        _refuse_names(source, formulas)
    except TooManyProblemsError:
        pass
    problems = tuple(sorted(source.problems, key=lambda problem: problem.span or ()))
    if has_errors(problems):
        return Parsed(None, problems)
    read = [(named, cast("Reading", reading or _usual(named))) for named in formulas]
    shown = frozenset(Signature(named.name, 0) for named in formulas)
    program = Program(
        rules_of(read),
        shows=shown,
        source=text.name,
        texts={text.name: source.text},
        hindsight=reading == "each",
    )
    return Parsed(program, problems)


def _usual(named: Named) -> Reading:
    """What is asked of a formula unless the user says it."""
    return "prefix" if looks_ahead(named.formula) else "now"


def _refuse_names(source: Source, formulas: list[Named]) -> None:
    """Refuse formulas whose name is also an atom that they look at."""
    names = {named.name for named in formulas}
    for named in formulas:
        for part in subformulas(named.formula):
            if (
                isinstance(part, Proposition)
                and not part.atom.args
                and part.atom.predicate in names
            ):
                name = part.atom.predicate
                message = f"`{name}` is the name of a formula, and an atom of the stream"
                hint = "give the formula another name: `name := ...`"
                source.report("L162", message, part.span, hint)
