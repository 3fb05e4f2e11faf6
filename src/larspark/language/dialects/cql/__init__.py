"""CQL, the query language of the STREAM system."""

from larspark.base.problems import Span
from larspark.language.collector import MAX_CHARACTERS, has_errors
from larspark.language.dialect import Parsed, ProgramText
from larspark.language.dialects.cql.query_parser import parse_cql
from larspark.language.dialects.cql.script import script_program
from larspark.language.query_options import query_options
from larspark.language.source import Source, TooManyProblemsError
from larspark.language.tree import Program


def parse(text: ProgramText) -> Parsed:
    large = len(text.text) > MAX_CHARACTERS
    source = Source(text.name, "" if large else text.text)
    program: Program | None = None
    if large:
        message = f"the text has more than {MAX_CHARACTERS} characters"
        source.report("L108", message, Span(text.name, 1, 1, 1, 1))
    options, wrong = query_options(text.options)
    if wrong:
        return Parsed(None, wrong)
    half_open = options.half_open
    try:
        statements = list(parse_cql(source, options.tick.microseconds, half_open))
        program = script_program(source, statements, options.tick, half_open)
    except TooManyProblemsError:
        pass
    # Several rules can come from one place.
    found = sorted(dict.fromkeys(source.problems), key=lambda problem: problem.span or ())
    problems = tuple(found)
    return Parsed(None if has_errors(problems) else program, problems)
