"""Explanations as text, JSON and pictures."""

import json
from xml.etree import ElementTree

import pytest
from rich.text import Text
from tests.show.stories import PLANT, checked, stream

from larspark.base.atoms import Atom, Element
from larspark.base.problems import LarsparkError
from larspark.language import parse_atom
from larspark.show.explain.explanation import Explanation, explain_atom, parse_goal

HEAT = " ".join(f"@{t} temp(m3,{70 + t})." for t in range(10, 18))

NASTY = (
    '"</text><script>alert(1)</script>"',
    '"]]>&lt;&amp;"',
    "\"' onload='alert(1)\"",
    '"[bold]red[/bold] [/]"',
    '"\x1b[2Jgone\x07\x00\ufffe"',
    '"\u202eevil"',
    '"back\\\\[bold]\\\\"',
)


def ask(program: str, facts: str, atom: str, at: int) -> Explanation:
    return explain_atom(checked(program), parse_atom(atom), at, stream(facts))


def test_a_proof_as_text() -> None:
    program = "q(X) :- r(X), not [4] some p(X).\n@T r(X) :- [9] @T s(X), b(X). b(a)."
    assert str(ask(program, "@3 s(b). @7 s(a).", "q(a)", 7)) == (
        "q(a) at 7\n"
        "│  q(X) :- r(X), not [4] some p(X).   plant.lars:1, X = a\n"
        "├─ r(a) at 7\n"
        "│  │  @T r(X) :- [9] @T s(X), b(X).   plant.lars:2, T = 7, X = a\n"
        "│  ├─ [9] @7 s(a)   @7 s(a) in [3,7]\n"
        "│  └─ b(a)   background\n"
        "└─ not [4] some p(a)   no p(a) in [3,7]\n"
        "holds until 7 if nothing more arrives\n"
        "this proof could end with an arrival of p(a)"
    )


def test_what_is_missing_as_text() -> None:
    assert str(ask("q :- [9] some r, [3] some p.", "@1 p. @4 r.", "q", 6)) == (
        "q does not hold at 6\n"
        "└─ q :- [9] some r, [3] some p.   plant.lars:1\n"
        "   ├─ ✓ [9] some r\n"
        "   └─ ✗ [3] some p   the last p was at 1, two time points too early for [3]"
    )


def test_several_answer_streams_as_text() -> None:
    program = "a :- not b. b :- not a. c :- a."
    assert str(ask(program, "@1 p.", "c", 1)).splitlines()[-1] == (
        "holds in answer stream 1 of 2, with @1 a"
    )
    assert not ask("a or b. c :- a, b.", "@1 p.", "c", 1).holds


def test_a_proof_as_json() -> None:
    found = ask(PLANT, HEAT, "alarm(m3)", 17).to_json()
    assert json.loads(json.dumps(found)) == found
    assert {key: found[key] for key in ("atom", "at", "holds", "line", "file", "until")} == {
        "atom": "alarm(m3)",
        "at": 17,
        "holds": True,
        "line": 1,
        "file": "plant.lars",
        "until": 17,
    }
    assert found["rule"] == "alarm(M) :- [3] always hot(M), not [20] some repaired(M)."
    assert found["facts"] == []
    assert found["windows"] == [
        {"window": "[3]", "from": 14, "to": 17},
        {"window": "[20]", "from": 10, "to": 17},
    ]
    assert found["absent"] == [{"atom": "repaired(m3)", "from": 10, "to": 17}]
    assert found["evidence"] == [f"@{t} temp(m3,{70 + t})" for t in range(14, 18)]
    assert [child["atom"] for child in found["because"]] == ["hot(m3)"] * 4
    assert found["because"][0]["facts"] == ["@14 temp(m3,84)"]
    assert found["because"][0]["because"] == []


def test_what_was_proved_before_is_not_repeated_in_json() -> None:
    found = ask("q :- r, s. s :- r. r :- p.", "@1 p.", "q", 1).to_json()
    first, second = found["because"]
    assert first["facts"] == ["@1 p"]
    assert second["because"] == [{"atom": "r", "at": 1, "above": True}]


def test_what_is_missing_as_json() -> None:
    found = ask("q(X) :- [3] some p(X).", "@1 p(a).", "q(a)", 6).to_json()
    assert found["holds"] is False
    (rule,) = found["rules"]
    assert rule["substitution"] == {"X": "a"}
    assert rule["missing"] == [
        {
            "part": "[3] some p(a)",
            "near": "the last p(a) was at 1, two time points too early for [3]",
        }
    ]


def test_a_very_deep_proof_is_cut_in_every_form() -> None:
    rules = "".join(f"p{n} :- p{n - 1}." for n in range(1, 300))
    found = ask(rules, "@1 p0.", "p299", 1)
    assert "deeper parts are not shown; explain it by itself" in str(found)
    assert '"deeper": true' in json.dumps(found.to_json())
    assert found.to_json()["evidence"] == ["@1 p0"]
    ElementTree.fromstring(found.to_svg())  # noqa: S314 - it is our own


@pytest.mark.parametrize("name", NASTY)
def test_no_name_becomes_markup(name: str) -> None:
    atom = Atom("p", (name[1:-1],))
    program = checked("q(X) :- [3] some p(X), not [2] some r(X). s(X) :- q(X), z(X).")
    elements = [Element(3, atom)]
    for goal in (Atom("q", atom.args), Atom("s", atom.args)):
        found = explain_atom(program, goal, 4, elements)
        picture = found.to_svg()
        root = ElementTree.fromstring(picture)  # noqa: S314 - it is our own
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert tags <= {"svg", "title", "rect", "text", "line"}
        attributes = {key for element in root.iter() for key in element.attrib}
        assert not any(key.startswith("on") or "href" in key for key in attributes)
        assert not any(ord(c) < 32 for line in found.lines(people=False) for c in line)


@pytest.mark.parametrize("name", NASTY)
def test_colours_do_not_read_names_as_markup(name: str) -> None:
    atom = Atom("p", (name[1:-1],))
    found = explain_atom(checked("q(X) :- p(X)."), Atom("q", atom.args), 3, [Element(3, atom)])
    coloured = [Text.from_markup(line).plain for line in found.lines(people=True)]
    assert coloured == list(found.lines(people=False))


def test_a_notebook_shows_an_explanation_as_a_picture() -> None:
    found = ask("q :- p.", "@1 p.", "q", 1)
    assert found._repr_svg_() == found.to_svg()
    assert found.to_svg().startswith('<svg xmlns="http://www.w3.org/2000/svg"')


def test_only_ground_atoms_can_be_explained() -> None:
    assert parse_goal("p(a, 3)") == (Atom("p", ("a", 3)), None)
    assert parse_goal("@17 p") == (Atom("p"), 17)
    for text in ("p(X)", "p(_)", "@T p", "p and q", "p(", "not p"):
        with pytest.raises(LarsparkError):
            parse_goal(text)


def test_a_model_that_is_no_answer_stream_is_called_so() -> None:
    q = Atom("q")
    found = explain_atom(checked("q :- p."), q, 4, stream("@3 p."), models=[{4: [q]}])
    assert "is no answer stream" in str(found)


def test_a_moment_is_told_where_time_points_are_moments() -> None:
    program = checked("#tick 1 min. q :- [3 min] some p.")
    moment = 22_619_820
    found = explain_atom(program, Atom("q"), moment, [Element(moment, Atom("p"))])
    assert str(found).splitlines()[-1] == "time point 22619820 is 2013-01-03 05:00 UTC"
    early = explain_atom(program, Atom("q"), 3, [Element(3, Atom("p"))])
    assert "time point" not in str(early)


def test_what_does_not_fit_beside_goes_below() -> None:
    program = checked("q :- p(X), [3] some r(X), s. s :- [2] some r(_).", "rules.lars")
    facts = [Element(3, Atom("r", ("a",))), Element(4, Atom("p", ("a",)))]
    found = explain_atom(program, Atom("q"), 4, facts)
    assert list(found.lines(people=False, width=44)) == [
        "q at 4",
        "│  q :- p(X), [3] some r(X), s.",
        "│     rules.lars:1, X = a",
        "├─ p(a)   @4 p(a)",
        "├─ [3] some r(a)   @3 r(a) in [3,4]",
        "└─ s at 4",
        "   │  s :- [2] some r(_).   rules.lars:1",
        "   └─ [2] some r(_)   @3 r(a) in [3,4]",
        "holds until 4 if nothing more arrives",
    ]
