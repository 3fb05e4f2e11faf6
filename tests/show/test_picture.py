"""A run as a timeline: from the command line, from Python, in notebooks."""

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

import larspark as lp
from larspark.cli import app

PROGRAM = """\
#tick 1 min.
hot(M) :- [3 min] some temp(M, V), V > 90.
twice(M) :- [#2 by M] @T temp(M, _), [#2 by M] @U temp(M, _), T < U.
calm(M) :- hot(M), not [only serviced(M)] [5 min] some serviced(M).
"""
EVENTS = [
    (1, "temp(m1,95)"),
    (2, "temp(m2,50)"),
    (4, "temp(m1,80)"),
    (5, "serviced(m1)"),
    (7, None),
]


def stream() -> lp.Stream:
    return lp.Stream.of(EVENTS)


def test_facts_conclusions_and_windows_are_drawn_together() -> None:
    picture = lp.show(PROGRAM, stream(), at=5)
    assert str(picture).splitlines() == [
        "                            1     2     3     4     5     6     7",
        "temp(m1,95)                 •",
        "temp(m2,50)                       •",
        "temp(m1,80)                                   •",
        "serviced(m1)                                        •",
        "calm(m1)                    ━━━━━━━━━━━━━━━━━━━━━━━━",
        "hot(m1)                     ━━━━━━━━━━━━━━━━━━━━━━━━",
        "twice(m1)                                     ━━━━━━━━━━━━━━━━━━━━━━━━",
        "[3] at 5                          ░░░░░░░░░░░░░░░░░░░░░░░░",
        "[#2 by M] at 5              ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░",
        "[only serviced(M)] [5] at 5 ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░",
    ]
    ElementTree.fromstring(picture.to_svg())  # noqa: S314 - it is our own


def test_what_is_drawn_can_be_narrowed() -> None:
    picture = lp.show(PROGRAM, stream(), only=["hot"], view=(3, 6))
    assert picture.to_json() == [{"lane": "hot(m1)", "origin": "derived", "intervals": [(3, 4)]}]
    assert (picture.timeline.start, picture.timeline.end) == (3, 6)
    until_three = lp.show(PROGRAM, stream(), to=3)
    assert [row["lane"] for row in until_three.to_json()][:2] == ["temp(m1,95)", "temp(m2,50)"]


def test_a_mistyped_predicate_is_met_with_the_one_that_was_meant() -> None:
    with pytest.raises(lp.LarsparkError, match=r"did you mean `twice`\?"):
        lp.show(PROGRAM, stream(), only=["twise"])


def test_elements_of_the_program_are_facts_of_the_picture() -> None:
    picture = lp.show("@2 start.\nready :- [3] some start, tick.", lp.Stream.of([(3, "tick")]))
    assert [row["lane"] for row in picture.to_json()] == ["start", "tick", "ready"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.lars").write_text(PROGRAM)
    lines = ({"t": t, "atom": atom} if atom else {"t": t} for t, atom in EVENTS)
    (tmp_path / "e.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def show(folder: Path, *words: str) -> str:
    done = CliRunner().invoke(app, ["show", *words, "--stream", str(folder / "e.jsonl")])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_command_draws_text_data_and_a_picture(folder: Path) -> None:
    program = str(folder / "m.lars")
    text = show(folder, program, "--at", "5", "--text", "--svg", str(folder / "m.svg"))
    assert text.rstrip("\n") == str(lp.show(PROGRAM, stream(), at=5))
    rows = [json.loads(line) for line in show(folder, program, "--at", "5").splitlines()]
    assert rows[4] == {"lane": "calm(m1)", "origin": "derived", "intervals": [[1, 4]]}
    assert rows[-3] == {"window": "[3] at 5", "from": 2, "to": 5}
    assert (folder / "m.svg").read_text() == lp.show(PROGRAM, stream(), at=5).to_svg()


def test_a_stream_can_be_looked_at_without_a_program(folder: Path) -> None:
    lanes = [json.loads(line)["lane"] for line in show(folder).splitlines()]
    assert lanes == ["temp(m1,95)", "temp(m2,50)", "temp(m1,80)", "serviced(m1)"]


def test_notebooks_show_streams_answers_and_pictures() -> None:
    drawn = stream()._repr_svg_()
    assert drawn is not None
    assert "serviced(m1)" in drawn
    assert lp.show(PROGRAM, stream())._repr_svg_() == lp.show(PROGRAM, stream()).to_svg()
    assert "temp(m1," in stream()._repr_html_()
    cell = lp.show(PROGRAM, stream())._repr_html_()
    assert cell.startswith("<iframe srcdoc=")
    assert 'sandbox="allow-scripts"' in cell
    reasoner = lp.Reasoner(PROGRAM)
    reasoner.append(1, ["temp(m1,95)"])
    (answer,) = reasoner.advance(1)
    assert "<td>hot(m1)</td><td>new</td>" in answer._repr_html_()


def test_looking_at_a_stream_leaves_it_as_it_is() -> None:
    watched = stream()
    list(watched.elements())
    watched._repr_svg_()
    watched._repr_html_()
    assert watched.facts == 4
    once = io.BytesIO(b'{"t": 1, "atom": "p"}\n')
    once.seekable = lambda: False
    fleeting = lp.Stream.read(once, format="jsonl")
    assert fleeting._repr_svg_() is None
    assert fleeting._repr_html_() is None
    assert len(list(fleeting.elements())) == 1
