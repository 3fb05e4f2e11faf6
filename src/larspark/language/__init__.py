"""Text to trees and back: LARS and its dialects."""

from larspark.language.dialect import Dialect, Parsed
from larspark.language.dialects import DIALECTS
from larspark.language.parser import (
    ParsedFormula,
    load_program,
    parse_atom,
    parse_formula,
    parse_program,
)
from larspark.language.printer import formula_text, program_text, rule_text, window_text
from larspark.language.term_text import term_text

__all__ = [
    "DIALECTS",
    "Dialect",
    "Parsed",
    "ParsedFormula",
    "formula_text",
    "load_program",
    "parse_atom",
    "parse_formula",
    "parse_program",
    "program_text",
    "rule_text",
    "term_text",
    "window_text",
]
