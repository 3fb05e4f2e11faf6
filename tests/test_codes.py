"""The table of problem codes is complete, and the documents are made from it."""

import re
from pathlib import Path

import larspark
from larspark.base.codes import CODES, GROUPS, errors_page

SOURCE = Path(larspark.__file__).parent
PAGE = Path(__file__).parent.parent / "docs" / "errors.md"


def test_every_code_used_in_the_source_has_a_title_and_the_other_way_round() -> None:
    sources = [p.read_text() for p in SOURCE.rglob("*.py") if p.name != "codes.py"]
    used = {code for text in sources for code in re.findall(r'"(L\d{3})"', text)}
    assert used == set(CODES)


def test_no_code_has_two_titles() -> None:
    assert sum(map(len, GROUPS.values())) == len(CODES)


def test_the_page_of_problem_codes_is_current() -> None:
    hint = "python -m larspark.base.codes > docs/errors.md"
    assert PAGE.read_text() == errors_page(), hint
