"""The table of problem codes in the documents is complete and true."""

import re
from importlib import import_module
from pathlib import Path

import larspark

SOURCE = Path(larspark.__file__).parent
TABLE = Path(__file__).parent.parent / "docs" / "errors.md"


def code_modules() -> list[str]:
    paths = sorted(SOURCE.rglob("*codes.py"))
    return [
        ".".join(("larspark", *path.relative_to(SOURCE).with_suffix("").parts)) for path in paths
    ]


ROOMS: list[dict[str, str]] = [import_module(name).CODES for name in code_modules()]


def all_codes() -> dict[str, str]:
    return {code: title for room in ROOMS for code, title in room.items()}


def test_no_code_is_given_twice() -> None:
    assert sum(map(len, ROOMS)) == len(all_codes())


def test_every_code_used_in_the_source_has_a_title_and_the_other_way_round() -> None:
    sources = [p.read_text() for p in SOURCE.rglob("*.py") if "codes" not in p.name]
    used = {code for text in sources for code in re.findall(r'"(L\d{3})"', text)}
    assert used == set(all_codes())


def test_the_table_in_the_documents_lists_every_code() -> None:
    rows = dict(re.findall(r"^\| (L\d{3}) \| (.*) \|$", TABLE.read_text(), re.MULTILINE))
    assert rows == all_codes()
