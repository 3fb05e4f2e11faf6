"""C-SPARQL, CQELS and RSP-QL: SPARQL over streams of triples.

RSP-QL is the inner form: the clauses about streams become windows by name, and rdflib parses the
SPARQL that remains.
"""

from collections.abc import Callable
from importlib.util import find_spec

from larspark.base.problems import Span
from larspark.language.collector import has_errors
from larspark.language.dialect import Parsed, ProgramText
from larspark.language.dialects.sparql.stream_clauses import (
    CqelsClauses,
    CSparqlClauses,
    RspQlClauses,
    StopReading,
)
from larspark.language.query_options import QueryOptions, query_options
from larspark.language.source import Source, TooManyProblemsError
from larspark.language.tree import Program

# Larger queries are refused; rdflib's parser is slow.
MAX_CHARACTERS = 50_000

Clauses = type[CSparqlClauses] | type[CqelsClauses] | type[RspQlClauses]


def _parser(clauses: Clauses, language: str) -> Callable[[ProgramText], Parsed]:
    def parse(text: ProgramText) -> Parsed:
        large = len(text.text) > MAX_CHARACTERS
        source = Source(text.name, "" if large else text.text)
        where = Span(text.name, 1, 1, 1, 1)
        program: Program | None = None
        options, wrong = query_options(text.options)
        if wrong:
            return Parsed(None, wrong)
        try:
            if large:
                message = f"the query has more than {MAX_CHARACTERS} characters"
                source.report("L108", message, where)
            elif find_spec("rdflib") is None:
                hint = "pip install 'larspark[rdf]'"
                source.report("L154", f"{language} needs the package rdflib", where, hint)
            else:
                program = _read(source, options, clauses, language)
        except (StopReading, TooManyProblemsError):
            pass
        found = sorted(dict.fromkeys(source.problems), key=lambda problem: problem.span or ())
        problems = tuple(found)
        return Parsed(None if has_errors(problems) else program, problems)

    return parse


def _read(source: Source, options: QueryOptions, clauses: Clauses, language: str) -> Program | None:
    # Imported here, because only these queries need rdflib.
    from larspark.language.dialects.sparql.stream_program import StreamProgram

    reader = clauses(source, options, language)
    program = StreamProgram(source, options, language)
    program.refuse_unsupported()
    try:
        query = reader.finish()
    except StopReading:
        return None
    return program.translate(query)


csparql = _parser(CSparqlClauses, "C-SPARQL")
cqels = _parser(CqelsClauses, "CQELS")
rspql = _parser(RspQlClauses, "RSP-QL")
