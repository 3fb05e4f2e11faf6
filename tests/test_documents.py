"""Every snippet of the documents is run.

In a fenced block, the info string says what to do with it: `lars NAME` and `jsonl NAME` are files
to write, `console` holds commands after `$ ` with their output, `python` is run, and a `lars` block
without a name has to parse. All blocks of a document share one folder, in the order of the text.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from larspark.language import parse_program

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(
    [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*/README.md")]
)
BLOCK = re.compile(r"^```(\w+)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LARSPARK = Path(sys.executable).with_name("larspark")


class Block(NamedTuple):
    language: str
    name: str
    text: str


def blocks(document: Path) -> list[Block]:
    found = BLOCK.findall(document.read_text(encoding="utf-8"))
    return [Block(language, name.strip(), text) for language, name, text in found]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_snippet_of_a_document_runs(document: Path, tmp_path: Path) -> None:
    names: dict[str, object] = {}
    for block in blocks(document):
        match block.language:
            case "lars" if not block.name:
                tick = "" if "#tick" in block.text else "#tick 1 min.\n"
                assert parse_program(tick + block.text).problems == (), block.text
            case "lars" | "jsonl" | "csv":
                (tmp_path / block.name).write_text(block.text, encoding="utf-8")
            case "console":
                run_commands(block.text, document, tmp_path)
            case "python":
                run_python(block.text, names, tmp_path)


def run_commands(text: str, document: Path, folder: Path) -> None:
    """Compare each command's output with what the document shows, line by line."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        words = shlex.split(command)
        if words[0] != "larspark":
            continue
        # Examples are shown as typed in the root of the project.
        where = ROOT if any((ROOT / word).exists() for word in words[1:]) else folder
        done = subprocess.run(
            [LARSPARK, *words[1:]], cwd=where, capture_output=True, text=True, timeout=120
        )
        shown = done.stdout + done.stderr
        assert shown.rstrip() == expected.rstrip(), f"{document.name}: {command}"


def run_python(text: str, names: dict[str, object], folder: Path) -> None:
    script = f"import os; os.chdir({str(folder)!r})\n{text}"
    previous = str(names.get("script", ""))
    names["script"] = f"{previous}\n{script}"
    done = subprocess.run(
        [sys.executable, "-c", str(names["script"])], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
