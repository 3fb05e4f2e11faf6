"""Text to trees and back: LARS, and the dialects of Ticker and Laser."""

from larspark.language.codes import CODES
from larspark.language.dialects import Dialect
from larspark.language.files import load_program
from larspark.language.parser import (
    Parsed,
    ParsedFormula,
    parse_atom,
    parse_formula,
    parse_program,
)
from larspark.language.printer import (
    formula_text,
    program_text,
    rule_text,
    term_text,
    window_text,
)

__all__ = [
    "CODES",
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
