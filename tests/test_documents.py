"""Every snippet of the documents is run.

In a fenced block, the info string says what to do with it: `lars NAME`, `jsonl NAME` and the like
are files to write, or files of the project that have to look like this, `console` holds commands
after `$ ` with their output, `sh` commands that need more than this project, whose options have to
exist, and a `lars` block without a name has to parse. All blocks of a document share one folder, in
the order of the text; its `python` blocks are run in the end, as one script. Links
lead somewhere, and pictures are those that the commands beside them draw.
"""

import re
import shlex
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
import typer.main
from tests.in_process import larspark

from larspark.base.problems import LarsparkError
from larspark.cli import app
from larspark.language import parse_program

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(
    [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*/README.md")]
)
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
LINKING = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
# Blocks of these languages that have a name are files.
FILES = ("lars", "jsonl", "csv", "ltl", "event", "sql", "sparql", "turtle", "nq")
PICTURES = ROOT / "docs" / "pictures"
LINK = re.compile(r"\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```(\w+)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    language: str
    name: str
    text: str


def blocks(document: Path) -> list[Block]:
    found = BLOCK.findall(document.read_text(encoding="utf-8"))
    return [Block(language, name.strip(), text) for language, name, text in found]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_snippet_of_a_document_runs(document: Path, tmp_path: Path) -> None:
    scripts = [f"import os; os.chdir({str(tmp_path)!r})"]
    # Examples are shown as typed in the root of the project.
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for block in blocks(document):
        match block.language:
            case "lars" if not block.name:
                tick = "" if "#tick" in block.text else "#tick 1 min.\n"
                assert parse_program(tick + block.text).problems == (), block.text
            case kind if kind in FILES and (ROOT / block.name).exists():
                assert block.text == (ROOT / block.name).read_text(encoding="utf-8"), block.name
            case kind if kind in FILES:
                (tmp_path / block.name).write_text(block.text, encoding="utf-8")
            case "console":
                run_commands(block.text, document, tmp_path)
            case "python":
                scripts.append(block.text)
    if len(scripts) > 1:
        run_python("\n".join(scripts))


@pytest.mark.parametrize("document", LINKING, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_of_a_document_leads_somewhere(document: Path) -> None:
    for target in LINK.findall(document.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (document.parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("document", LINKING, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_that_are_only_shown_have_the_options_they_name(document: Path) -> None:
    commands = typer.main.get_command(app).commands
    for block in blocks(document):
        for line in block.text.splitlines() if block.language == "sh" else ():
            program, *words = shlex.split(line, comments=True)
            # Options are looked at before files, which need not be there.
            with suppress(LarsparkError):
                if program == "larspark":
                    commands[words[0]].make_context(words[0], words[1:])


def test_every_module_that_contributing_names_is_there() -> None:
    tracked = [path.as_posix() for path in (ROOT / "src").rglob("*")]
    tracked += [path.as_posix() for path in (ROOT / "tests").rglob("*")]
    named = re.findall(r"`([\w/]+(?:\.py|\.lark|/))`", CONTRIBUTING.read_text(encoding="utf-8"))
    assert len(named) > 30
    for name in named:
        found = any(path.endswith(f"/{name.rstrip('/')}") for path in tracked)
        assert found or (ROOT / name).exists(), name


def test_modules_share_a_name_only_where_contributing_says_so() -> None:
    names = Counter(path.stem for path in (ROOT / "src").rglob("*.py") if path.stem != "__init__")
    [sentence] = re.findall(r"No two modules share a name[^\n]*", CONTRIBUTING.read_text("utf-8"))
    assert {name for name, count in names.items() if count > 1} == set(
        re.findall(r"`(\w+)`", sentence)
    )


def test_the_index_lists_every_document() -> None:
    listed = set(LINK.findall((ROOT / "docs" / "README.md").read_text(encoding="utf-8")))
    written = {path.name for path in ROOT.glob("docs/*.md")} - {"README.md"}
    assert written <= listed


def test_the_pictures_are_those_that_their_commands_draw(tmp_path: Path) -> None:
    commands = re.findall(r"^larspark .*", (PICTURES / "README.md").read_text(), re.MULTILINE)
    drawn = set()
    for command in commands:
        *words, place = shlex.split(command)[1:]
        name = Path(place).name
        drawn.add(name)
        assert larspark(ROOT, *words, str(tmp_path / name)).returncode == 0
        assert (tmp_path / name).read_text() == (PICTURES / name).read_text(), name
    assert drawn == {path.name for path in PICTURES.glob("*.svg")}


def run_commands(text: str, document: Path, folder: Path) -> None:
    """Compare each command's output with what the document shows, line by line."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        words = shlex.split(command)
        if words[0] != "larspark":
            continue
        done = larspark(folder, *words[1:])
        shown = done.stdout + done.stderr
        assert shown.rstrip() == expected.rstrip(), f"{document.name}: {command}"


def run_python(script: str) -> None:
    """Run all Python of a document as one script, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
