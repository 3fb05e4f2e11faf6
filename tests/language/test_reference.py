"""The tables of the language reference and of the windows are true."""

import re
from pathlib import Path

import pytest

from larspark.language import parse_formula, parse_program
from larspark.language.tree import Tick

DOCUMENTS = Path(__file__).parent.parent.parent / "docs"
PAGES = ("language.md", "windows.md")
REFERENCE = "".join((DOCUMENTS / page).read_text(encoding="utf-8") for page in PAGES)
TICK = Tick(1_000_000)


def rows(heading: str) -> list[list[list[str]]]:
    """The table below a heading: for each row, the code in each of its cells."""
    section = REFERENCE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    table = [line for line in section.split("\n") if line.startswith("| `")]
    return [[re.findall(r"`([^`]+)`", cell) for cell in line[1:-1].split("|")] for line in table]


def formula(text: str) -> object:
    parsed = parse_formula(text, tick=TICK)
    assert parsed.problems == (), text
    return parsed.formula


@pytest.mark.parametrize("row", rows("Terms and atoms"), ids=str)
def test_terms_are_read_as_shown(row: list[list[str]]) -> None:
    formula(row[0][0])


@pytest.mark.parametrize("row", rows("Formulas"), ids=str)
def test_symbols_are_read_as_the_words(row: list[list[str]]) -> None:
    for word, symbol in zip(row[0], row[1], strict=bool(row[1])):
        assert formula(word) == formula(symbol)
    formula(row[0][0])


@pytest.mark.parametrize("row", rows("Kinds"), ids=str)
def test_windows_are_read_as_shown(row: list[list[str]]) -> None:
    for window in row[0]:
        formula(f"{window} p(ID, St)")


@pytest.mark.parametrize("row", rows("Short forms"), ids=str)
def test_short_forms_mean_what_is_shown(row: list[list[str]]) -> None:
    assert formula(row[0][0]) == formula(row[1][0])


@pytest.mark.parametrize("row", rows("Directives"), ids=str)
def test_directives_are_read_as_shown(row: list[list[str]]) -> None:
    parsed = parse_program(row[0][0], read={"common.lars": "a."}.__getitem__)
    assert parsed.problems == ()


def test_every_row_of_every_table_is_found() -> None:
    for heading in ("Terms and atoms", "Formulas", "Kinds", "Short forms", "Directives"):
        section = REFERENCE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
        # Of the lines of a table two are no rows: the titles and the rule below them.
        assert len(rows(heading)) == section.count("\n|") - 2 >= 5, heading
