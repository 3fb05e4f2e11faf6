"""The report of `larspark check`, for people and for programs."""

import json
from textwrap import dedent

import pytest

from larspark.analysis.check import check
from larspark.analysis.checked import Checked
from larspark.language import parse_program
from larspark.show.report import report_json, report_text


def checked(text: str) -> Checked:
    program = parse_program(dedent(text).strip(), source="t.lars").program
    assert program is not None
    return check(program)


TRAFFIC = """
    exp(ID, Y) at T+D :- [#1 by ID] @T tram(ID, X), line(ID, L), plan(L, X, Y, D).
    calm(S) :- tram(_, S), not [20] some jam(S).
    good(ID) :- [+5] some exp(ID, S), calm(S), trams(ID, S).
    line(a1, l1).
    plan(l1, b, m, 3).
"""

COUNTS = (
    "line 1, `@T+D exp(ID, Y) :- [#1 by ID] @T tram(ID, X), line(ID, L), plan(L, X, Y, D).`: "
    "the window `[#1 by ID]` counts tuples, which may be arbitrarily old"
)


def test_a_person_reads_what_is_known() -> None:
    assert report_text(checked(TRAFFIC), "interval", "it has strata").splitlines() == [
        "fragment        stratified plain",
        "engine          interval: it has strata",
        "answer streams  exactly one at every time point",
        "strata          1  calm/1, exp/2, good/1",
        "in time         stratified",
        "                delays not known: some rules have no form over single time points",
        "windows         [#1 by ID]  not monotone, sparse if its groups are meager (few keys)",
        "                [20]  monotone, sparse",
        "                [+5]  monotone, sparse",
        "lookback        20 time points, and tuples without bound",
        "future reach    depends on the data",
        "slices          none",
        f"                {COUNTS}",
        "partition key   none",
        "                t.lars:3: no variable is an argument of all of "
        "`good(ID)`, `exp(ID,S)`, `calm(S)`, `trams(ID,S)`",
        "input           jam/1, tram/2, trams/2",
        "background      line/2, plan/4",
        "output          calm/1, exp/2, good/1",
        "dependencies    exp/2 needs [] tram/2, line/2, plan/4",
        "                calm/1 needs tram/2, not jam/1",
        "                good/1 needs [] exp/2, calm/1, trams/2",
        "problems        0 errors, 1 warning",
    ]


def test_a_person_reads_why_there_are_no_strata() -> None:
    text = report_text(
        checked("a :- p, not b. b :- [5] some a."), "asp", "it has none"
    ).splitlines()
    assert text[2:6] == [
        "answer streams  none, one or several at a time point",
        "strata          none, because of a cycle through negation:",
        "                a/0 needs not b/0",
        "                b/0 needs [] a/0",
    ]


def test_a_person_reads_bounds_and_their_absence() -> None:
    def lines(text: str) -> dict[str, str]:
        report = report_text(checked(text), "oracle", "the definitions")
        return {line[:16].strip(): line[16:] for line in report.splitlines()}

    bounded = lines("@T+1 q(X) :- [9] always reset [#2] some p(X), [3] @T p(X).")
    assert bounded["fragment"] == "full, nested windows"
    assert bounded["lookback"] == "9 time points, and the 2 tuples before them"
    assert bounded["future reach"] == "1 time point"
    assert bounded["slices"] == "none, with the engine oracle"
    endless = lines("@T+1 q(X) :- @T q(X). @T q(X) :- some p(X), @T p(X).")
    assert endless["lookback"] == "without bound"
    assert endless["future reach"] == "without bound: a run needs `--until`"
    assert endless["partition key"] == "p/1 by argument 1"
    assert lines("p(a).")["strata"] == "none: no rule derives anything"
    assert lines("p(a).")["dependencies"] == "none"


def test_a_program_reads_the_same_as_data() -> None:
    found = report_json(checked(TRAFFIC), "interval", "it has strata")
    assert json.loads(json.dumps(found)) == found
    dependencies = found.pop("dependencies")
    assert dependencies[0] == {"head": "exp/2", "body": "tram/2", "kind": "window", "line": 1}
    assert len(dependencies) == 8
    assert found == {
        "fragment": "stratified plain",
        "engine": "interval",
        "engine_reason": "it has strata",
        "several_models": False,
        "strata": [["calm/1", "exp/2", "good/1"]],
        "cycle": [],
        "lookback": {"time": 20, "tuples": None},
        "future_reach": None,
        "endless": False,
        "nested_windows": False,
        "windows": [
            {"window": "[#1 by ID]", "monotone": False, "sparse": None},
            {"window": "[20]", "monotone": True, "sparse": True},
            {"window": "[+5]", "monotone": True, "sparse": True},
        ],
        "stratified_in_time": True,
        "delays": None,
        "slices": {"possible": False, "obstacles": [COUNTS]},
        "partition_key": None,
        "partition_obstacles": [
            {
                "rule": "good(ID) :- [+5] some exp(ID, S), calm(S), trams(ID, S).",
                "line": 3,
                "reason": "no variable is an argument of all of "
                "`good(ID)`, `exp(ID,S)`, `calm(S)`, `trams(ID,S)`",
            }
        ],
        "input": ["jam/1", "tram/2", "trams/2"],
        "background": ["line/2", "plan/4"],
        "derived": ["calm/1", "exp/2", "good/1"],
        "output": ["calm/1", "exp/2", "good/1"],
        "errors": [],
        "warnings": [
            {
                "code": "L216",
                "severity": "warning",
                "message": "`trams/2` is given by nothing but the stream, and looks like `tram/2`",
                "hint": "did you mean `tram/2`? If not, name the input with `#input`",
                "source": "t.lars",
                "line": 3,
                "column": 44,
            }
        ],
        "program": "@T+D exp(ID, Y) :- [#1 by ID] @T tram(ID, X), line(ID, L), plan(L, X, Y, D).\n"
        "calm(S) :- tram(_, S), not [20] some jam(S).\n"
        "good(ID) :- [+5] some exp(ID, S), calm(S), trams(ID, S).\n"
        "line(a1, l1).\n"
        "plan(l1, b, m, 3).\n",
    }


def test_positions_of_a_key_count_from_one_and_errors_are_told_apart() -> None:
    found = report_json(checked("q(X) :- p(Y, X), not r(X, Z)."), "interval", "it has strata")
    assert found["partition_key"] == {"p/2": 2, "q/1": 1, "r/2": 1}
    assert [problem["code"] for problem in found["errors"]] == ["L203"]
    assert found["warnings"] == []


@pytest.mark.parametrize(
    ("text", "stratified", "delays"),
    [
        ("@T q(X) :- @T p(X).", True, {"q/1": 0}),
        ("q :- [+3] some p.", True, {"q/0": 3}),
        ("@T q :- @T p, @T+2 r. @T s :- @T q, not @T+4 q.", True, {"q/0": 2, "s/0": 6}),
        ("@T u :- @T b. @T u :- @T a, @T+1 u.", True, {"u/0": None}),
        ("@T q :- @T p, @U r.", True, {"q/0": None}),
        ("@T q :- @T p, @U r, U <= T + 5.", True, {"q/0": 5}),
        ("@T q :- @T p, not @T-1 q.", True, {"q/0": 0}),
        ("@T q :- @T p, not @T q.", False, {"q/0": 0}),
        ("q :- [#3] some p.", True, None),
    ],
)
def test_what_rules_say_about_time(
    text: str, stratified: bool, delays: dict[str, int | None] | None
) -> None:
    found = report_json(checked(text), "oracle", "the definitions")
    assert (found["stratified_in_time"], found["delays"]) == (stratified, delays)


def test_windows_are_listed_once_with_what_is_known_of_them() -> None:
    text = "q :- [5] some p, [5] always r, [#2] [only p] some p. r(X) :- [mine(3)] some s(X)."
    found = report_json(checked(text), "oracle", "the definitions")["windows"]
    assert found == [
        {"window": "[5]", "monotone": True, "sparse": True},
        {"window": "[#2]", "monotone": False, "sparse": True},
        {"window": "[only p]", "monotone": True, "sparse": True},
        {"window": "[mine(3)]", "monotone": None, "sparse": None},
    ]
