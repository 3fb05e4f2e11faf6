"""Text to trees and back: LARS, and the dialects of Ticker and Laser."""

from larspark.language.dialect import Dialect
from larspark.language.parser import (
    Parsed,
    ParsedFormula,
    load_program,
    parse_atom,
    parse_formula,
    parse_program,
)
from larspark.language.printer import formula_text, program_text, rule_text, window_text
from larspark.language.term_text import term_text

__all__ = [
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
