"""The public Python interface: programs, streams, reasoners, queries, whole runs."""

from larspark.api.answer import Answer
from larspark.api.background_facts import facts
from larspark.api.equivalence import Equivalence, equivalent
from larspark.api.output_tables import OutputTable, outputs
from larspark.api.program import Program, Report, open_session, prepare
from larspark.api.questions import (
    Monitor,
    explain,
    feed,
    hypothesize,
    parse_tick,
    preconditions,
    query,
    run,
    show,
)
from larspark.api.reasoner import Reasoner
from larspark.api.reasoning_tasks import satisfy, verify
from larspark.api.time_texts import TimesAs, TimeTexts

__all__ = [
    "Answer",
    "Equivalence",
    "Monitor",
    "OutputTable",
    "Program",
    "Reasoner",
    "Report",
    "TimeTexts",
    "TimesAs",
    "equivalent",
    "explain",
    "facts",
    "feed",
    "hypothesize",
    "open_session",
    "outputs",
    "parse_tick",
    "preconditions",
    "prepare",
    "query",
    "run",
    "satisfy",
    "show",
    "verify",
]
