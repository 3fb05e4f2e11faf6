"""The TextMate grammar knows the words of the language."""

import json
import re
from pathlib import Path

from larspark.language.words import AGGREGATE_WORDS, WORDS

FOLDER = Path(__file__).parents[2] / "editors" / "vscode"
GRAMMAR = json.loads((FOLDER / "syntaxes" / "lars.tmLanguage.json").read_text("utf-8"))


def test_all_words_are_coloured() -> None:
    patterns = [part["match"] for part in GRAMMAR["patterns"] if "match" in part]

    def is_coloured(word: str, before: str = "", after: str = "") -> bool:
        """Does a pattern match the word itself, with what stands around it?"""
        text, start = f"{before}{word}{after}", len(before)
        places = [match.span() for p in patterns[1:7] for match in re.finditer(p, text)]
        return any(first <= start and last >= start + len(word) for first, last in places)

    for word in sorted(WORDS.keys() | AGGREGATE_WORDS):
        ways = (("", " x"), ("#", " x"), ("", " of x"))
        assert any(is_coloured(word, *way) for way in ways), word
    assert not is_coloured("plain")


def test_the_extension_names_files_that_exist() -> None:
    package = json.loads((FOLDER / "package.json").read_text("utf-8"))
    contributed = package["contributes"]
    paths = [grammar["path"] for grammar in contributed["grammars"]]
    paths += [language["configuration"] for language in contributed["languages"]]
    assert all((FOLDER / path).is_file() for path in [*paths, package["main"]])
