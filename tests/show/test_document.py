"""What the page about explanations shows is what comes out."""

import re
from pathlib import Path

import larspark as lp

PAGE = Path(__file__).parents[2] / "docs" / "explanations.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}[^\n]*\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)


def test_the_trees_of_the_page_are_those_that_come_out(tmp_path: Path) -> None:
    (tmp_path / "plant.jsonl").write_text(blocks("jsonl")[0], "utf-8")
    program = lp.Program.parse(blocks("lars")[0], source="plant.lars")
    for atom, shown in zip(("alarm(m3)", "alarm(m4)"), blocks("text"), strict=True):
        stream = lp.Stream.read(tmp_path / "plant.jsonl")
        assert f"{lp.explain(program, atom, stream, at=17)}\n" == shown
