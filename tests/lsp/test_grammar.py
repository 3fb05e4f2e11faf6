"""The TextMate grammar knows the words of the language."""

import json
import re
from pathlib import Path

from larspark.language.words import AGGREGATE_WORDS, WORDS

FOLDER = Path(__file__).parents[2] / "editors" / "vscode"
GRAMMAR = json.loads((FOLDER / "syntaxes" / "lars.tmLanguage.json").read_text("utf-8"))


def test_all_words_are_coloured() -> None:
    patterns = [part["match"] for part in GRAMMAR["patterns"] if "match" in part]

    def is_coloured(text: str) -> bool:
        return any(re.search(pattern, text) for pattern in patterns[1:7])

    # `max` is a word of session windows too; behind `[session 5` it is coloured as no other is.
    for word in sorted(WORDS.keys() | AGGREGATE_WORDS):
        assert any(map(is_coloured, (f" {word} x", f"#{word} ", f"{word} of")))
    assert not is_coloured("plain")


def test_the_extension_names_files_that_exist() -> None:
    package = json.loads((FOLDER / "package.json").read_text("utf-8"))
    contributed = package["contributes"]
    paths = [grammar["path"] for grammar in contributed["grammars"]]
    paths += [language["configuration"] for language in contributed["languages"]]
    assert all((FOLDER / path).is_file() for path in [*paths, package["main"]])
