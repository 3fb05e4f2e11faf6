"""The studio as somebody uses it, in a real browser."""

import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.studio.conftest import PATIENCE

import larspark as lp
from larspark.feeds.live import LiveStream

pytestmark = pytest.mark.xdist_group("browser")

PROGRAM = """#tick 1 min.

hot(M)   :- [3 min] some temp(M, V), V > 90.
alarm(M) :- hot(M), not [5 min] some serviced(M).
"""
READINGS = [
    ("2026-03-01T10:00:20Z", "temp(m1,80)"),
    ("2026-03-01T10:01:10Z", "temp(m1,95)"),
    ("2026-03-01T10:02:00Z", "temp(m2,88.5)"),
    ("2026-03-01T10:03:40Z", "temp(m2,99.5)"),
    ("2026-03-01T10:09:00Z", "temp(m1,71)"),
]
TEN = 29_539_320


def test_the_page_shows_facts_answers_and_reasons(look) -> None:
    page = look(PROGRAM, READINGS)
    page.answered()
    labels = page.run("return timeline.rows.map((row) => row.label)")
    assert labels == ["temp(m1,·)", "temp(m2,·)", "alarm(m1)", "alarm(m2)", "hot(m1)", "hot(m2)"]
    bar = page.run("return timeline.rows.find((row) => row.label === 'alarm(m1)').spans")
    assert bar == [[TEN + 1, TEN + 4]]
    page.point("alarm(m1)", TEN + 3)
    page.until("return document.querySelector('#reasons .conclusion')")
    told = page.text("#reasons")
    assert "alarm(m1) at 10:03" in told
    assert "holds until 10:04 if nothing more arrives" in told
    assert "temp(m1,95)" in page.text("#reasons .facts")
    page.until("return timeline.windows.length")
    assert page.run("return timeline.windows[0]") == {
        "text": "[5]",
        "from": TEN,
        "to": TEN + 3,
    }
    page.picture("studio-proof")
    page.click("#reasons .link")
    assert page.run("return ace.edit('editor').getCursorPosition().row") == 3
    assert page.complaints() == []


def test_an_empty_place_says_why_not_and_since_when(look) -> None:
    page = look(PROGRAM, READINGS)
    page.answered()
    page.point("alarm(m1)", TEN + 7)
    page.until("return document.querySelector('#reasons .missing')")
    told = page.text("#reasons")
    assert "alarm(m1) does not hold at 10:07" in told
    assert "the last temp(m1,95) was at 10:01, three time points too early" in told
    assert "it held last at 2026-03-01 10:04" in told
    page.picture("studio-why-not")


def test_a_mistake_is_seen_and_mended(look) -> None:
    page = look("", READINGS)
    page.type("#tikc 1 min.\nhot(M) :- [3 min] some temp(M, V), V > 90.")
    page.still()
    assert "did you mean" in page.text("#problems .error")
    assert page.run("return ace.edit('editor').session.getAnnotations().length") >= 1
    page.picture("studio-mistake")
    page.click("#problems .fix")
    page.until("return editor.getValue().startsWith('#tick 1 min.')")
    page.answered()
    assert not page.run("return document.querySelector('#problems .error')")
    assert page.run("return timeline.rows.some((row) => row.label === 'hot(m1)')")


def test_changing_a_rule_changes_the_answers(look) -> None:
    page = look(PROGRAM, READINGS)
    page.answered()
    page.run("const e = ace.edit('editor'); e.setValue(e.getValue().replace('> 90', '> 96'))")
    page.answered()
    labels = page.run("return timeline.rows.map((row) => row.label)")
    assert "hot(m2)" in labels
    assert "hot(m1)" not in labels


# What the server answers to a request comes a while later, the first time it is asked.
LATE = """
const [name] = arguments, fetched = window.fetch;
window.late = 0;
window.fetch = async (address, options) => {
  const answer = await fetched(address, options);
  if (!address.startsWith(`api/${name}`) || window.late++) return answer;
  await new Promise((done) => setTimeout(done, 1500));
  setTimeout(() => (window.late = "over"), 200);
  return answer;
};
"""


def test_an_explanation_that_comes_late_does_not_replace_a_newer_one(look) -> None:
    page = look(PROGRAM, READINGS)
    page.answered()
    page.run(LATE, "explain")
    page.run("explain('hot(m1)', arguments[0])", TEN + 2)
    page.run("explain('hot(m2)', arguments[0])", TEN + 2)
    page.until("return document.querySelector('#reasons .conclusion')?.innerText.includes('m2')")
    page.until("return window.late === 'over'")
    assert "hot(m2)" in page.text("#reasons .conclusion")


def test_data_is_shown_although_its_answers_come_first(look, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("time,machine,value\n2026-03-01T10:01:00Z,m1,95\n2026-03-01T10:03:00Z,m1,9\n")
    page = look("#tick 1 min.\nhot(M) :- [3] some event(M, V), V > 90.")
    page.run(LATE, "data")
    from selenium.webdriver.common.by import By

    page.driver.find_element(By.ID, "file").send_keys(str(data))
    page.until("return window.late === 'over'")
    page.answered()
    assert page.run("return timeline.extent")[0] == TEN + 1
    page.run("timeline.pan(0.3)")
    page.answered()
    assert page.run("return timeline.rows.some((row) => row.label === 'hot(m1)')")


def test_completion_offers_the_facts_of_the_stream(look) -> None:
    page = look("#tick 1 min.\n", READINGS)
    page.answered()
    page.run("editor.navigateFileEnd(); editor.execCommand('insertstring', 't')")
    page.until(
        "const popup = editor.completer?.popup;"
        "return popup?.isOpen && popup.data.some(({caption}) => caption === 'temp')"
    )


def test_enter_behind_a_word_begins_a_line(look) -> None:
    page = look(PROGRAM, READINGS)
    page.answered()
    page.run("editor.navigateFileEnd(); editor.execCommand('insertstring', 'h')")
    page.until("return editor.completer?.popup?.isOpen")
    # Otherwise Enter could take what was offered, until the page has found out.
    ends = "editor.execCommand('insertstring', '.'); return editor.completer.popup.isOpen"
    assert page.run(ends) is False


def test_completion_hover_and_format(look) -> None:
    page = look(PROGRAM, READINGS)
    page.answered()
    page.run("ace.edit('editor').navigateFileEnd()")
    from selenium.webdriver.common.by import By

    page.driver.find_element(By.CSS_SELECTOR, "#editor textarea").send_keys("late(M):-ho")
    page.until(
        "const popup = ace.edit('editor').completer?.popup;"
        "return popup?.isOpen && popup.getData(popup.getRow())?.caption === 'hot'"
    )
    page.driver.find_element(By.CSS_SELECTOR, "#editor textarea").send_keys("\n")
    page.until("return ace.edit('editor').getValue().includes('late(M):-hot(')")
    page.run("ace.edit('editor').setValue(arguments[0])", "b(X):-a(X).")
    page.click("#format")
    page.until("return ace.edit('editor').getValue() === 'b(X) :- a(X).\\n'")
    page.run("ace.edit('editor').moveCursorTo(0, 0); ace.edit('editor').execCommand('tell')")
    page.until("return document.querySelector('.hover').innerText.includes('b/1: derived')")


def test_hostile_names_stay_text(look) -> None:
    name = '<img src=x onerror="document.title=1"><b>hot</b>'
    page = look(f'"{name.replace(chr(34), chr(39))}"(X) :- p(X).', [(1, f"p({json.dumps(name)})")])
    page.answered()
    row = page.run("return timeline.rows.find((row) => row.origin === 'derived').label")
    page.point(row, 1)
    page.until("return document.querySelector('#reasons .conclusion')")
    assert "<b>hot</b>" in page.text("#reasons")
    assert "<b>hot</b>" in page.text(".lars-labels")
    assert page.run("return document.querySelectorAll('main img, main b').length") == 0
    assert page.run("return document.title") == "larspark studio"
    page.picture("studio-hostile")
    assert page.complaints() == []


def test_models_stand_side_by_side(look) -> None:
    pytest.importorskip("clingo")
    page = look(
        "go(X) :- seen(X), not stay(X). stay(X) :- seen(X), not go(X). known(X) :- seen(X).",
        [(1, "seen(a)"), (2, "seen(b)")],
    )
    page.answered()
    page.point("known(a)", 1)
    page.click("#models")
    page.until("return document.querySelectorAll('.models > div').length === 2")
    page.picture("studio-models")
    shown = []
    for number in (1, 2):
        page.click(f".models > div:nth-child({number}) button")
        shown.append(
            page.until(
                "return page.model?.number === arguments[0] && timeline.tile && "
                "timeline.rows.filter((r) => r.origin === 'derived').map((r) => r.label).sort()",
                number - 1,
            )
        )
        page.until(
            "return [...document.querySelectorAll('.models > div.shown .differs')].every("
            "(li) => timeline.rows.some((row) => row.label === li.innerText))"
        )


def test_what_may_come_is_dashed_and_says_what_is_missing(look) -> None:
    page = look("alarm(M) :- [5] some hot(M), smoke(M).", [(1, "hot(m1)"), (3, "hot(m2)")])
    page.answered()
    page.click("#ahead")
    page.until("return timeline.ghosts.length")
    page.run("timeline.show(0, 12)")
    page.until("return timeline.tile")
    page.picture("studio-ahead")
    page.run("timeline.choose(timeline.rows.length); timeline.cursor = 4; timeline._pick()")
    assert "smoke(m1)" in page.until(
        "return document.querySelector('#reasons .missing')?.innerText"
    )


def test_a_live_source_moves_the_page_and_can_be_paused(look) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    step, ended = threading.Semaphore(0), threading.Event()

    def send() -> None:
        connection, _ = server.accept()
        with connection:
            for t in range(1, 40):
                step.acquire()
                if ended.is_set():
                    return
                connection.sendall(f'{{"t": {t}, "atom": "tick({t % 3})"}}\n'.encode())

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    try:
        page = look(
            "seen(X) :- [2] some tick(X).",
            lambda: LiveStream(f"tcp://127.0.0.1:{port}", retry=False),
        )
        for _ in range(10):
            step.release()
        page.until("return timeline.extent && timeline.extent[1] >= 10 && page.summary.live")
        page.until("return !document.getElementById('follow').hidden && timeline.rows.length > 1")
        page.picture("studio-live")
        page.click("#follow")
        before = page.run("return [timeline.view.from, timeline.view.to]")
        for _ in range(10):
            step.release()
        page.until("return page.summary.extent[1] >= 20")
        assert page.run("return [timeline.view.from, timeline.view.to]") == before
        assert page.run("return timeline.extent[1]") < 20
        page.click("#follow")
        page.until("return timeline.extent[1] >= 20 && timeline.view.to >= 20")
    finally:
        ended.set()
        step.release()
        sender.join(5)
        server.close()


def test_programs_are_saved_and_data_is_taken(look, tmp_path: Path) -> None:
    path = tmp_path / "rules.lars"
    page = look("", path=path)
    page.type("#tick 1 min.\nhot(M) :- [3 min] some temp(M, V), V > 90.")
    data = tmp_path / "data.csv"
    data.write_text("time,machine,value\n2026-03-01T10:01:10Z,m1,95\n2026-03-01T10:02:10Z,m2,5\n")
    from selenium.webdriver.common.by import By

    page.driver.find_element(By.ID, "file").send_keys(str(data))
    page.until("return document.getElementById('map').value === 'time -> event(machine, value)'")
    page.run("document.getElementById('map').value = 'time -> temp(machine, value)'")
    page.click("#read")
    page.until("return timeline.rows.some((row) => row.label === 'hot(m1)')")
    page.click("#save")
    page.until("return !document.getElementById('path').innerText.includes('not saved')")
    assert path.read_text().startswith("#tick 1 min.")


def test_an_empty_page_begins_with_an_example(look) -> None:
    page = look("")
    page.click("#example")
    page.until("return timeline.rows.length")
    page.answered()
    labels = page.run("return timeline.rows.map((row) => row.label)")
    assert {"hot(m1)", "calm(m1)", "hot(m2)", "readings(m1,·)"} <= set(labels)
    assert not page.run("return document.querySelector('#problems p')")


def test_an_empty_program_gets_the_tick_of_its_data(look, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("time,machine,value\n2026-03-01T10:01:00Z,m1,95\n2026-03-01T10:03:00Z,m1,9\n")
    page = look("")
    from selenium.webdriver.common.by import By

    page.driver.find_element(By.ID, "file").send_keys(str(data))
    page.until("return timeline.rows.some((row) => row.label === 'event(m1,·)')")
    assert page.run("return ace.edit('editor').getValue()") == "#tick 1 min.\n"
    # A rule that is not finished yet does not hide the facts.
    page.run("ace.edit('editor').setValue('#tick 1 min.\\nhot(M) :- ')")
    page.until("return document.getElementById('status').innerText.includes('has errors')")
    assert page.run("return timeline.rows.length") == 1


NUMBERS = [(t, f"p({t})") for t in range(1500)]


def test_a_rule_that_takes_too_much_is_ended(serve) -> None:
    desk = serve("", NUMBERS).desk
    wait_for(lambda: desk.summary()["version"] == 1 and desk.summary()["done"])
    # Every run that begins from now on takes too much.
    desk._memory = 1
    desk.edit("r(X, Y) :- [*] some p(X), [*] some p(Y).")
    wait_for(lambda: desk.summary()["failures"])
    assert "takes more memory" in desk.summary()["failures"][0]["message"]
    # Without a limit it goes on, until another program is wanted.
    desk._memory = None
    desk.edit("r(X, Y) :- [*] some p(X), [*] some p(Y).  % again")
    desk.edit("q(X) :- p(X).")
    wait_for(lambda: desk.summary()["version"] == 4 and desk.summary()["done"])
    assert desk.summary()["intervals"] == 1500


def test_an_error_that_nobody_expects_is_told_and_the_studio_goes_on(serve, capfd) -> None:
    failing = [ZeroDivisionError("no such"), None]

    def stream() -> lp.Stream:
        if error := failing.pop(0):
            raise error
        return lp.Stream.of([(1, "p(1)")])

    desk = serve("q(X) :- p(X).", stream).desk
    wait_for(lambda: desk.summary()["failures"])
    assert (
        desk.summary()["failures"][0]["message"] == "unexpected error: ZeroDivisionError: no such"
    )
    desk.edit("r(X) :- p(X).")
    wait_for(lambda: desk.summary()["version"] == 2 and desk.summary()["done"])
    assert desk.summary()["intervals"] == 1
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_a_studio_that_ends_ends_its_run(serve) -> None:
    before = set(threading.enumerate())
    studio = serve("r(X, Y, Z) :- [*] some p(X), [*] some p(Y), [*] some p(Z).", NUMBERS)
    [runs] = [each for each in threading.enumerate() if each not in before and each.name == "runs"]
    wait_for(lambda: any(each.name == "guarded" for each in set(threading.enumerate()) - before))
    studio.stop()
    wait_for(lambda: not runs.is_alive())


def wait_for(found: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not found():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_timestamps_without_a_tick_are_mended_by_a_click(look, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("time,machine,value\n2026-03-01T10:01:10Z,m1,95\n")
    page = look("hot(M) :- [3] some event(M, V), V > 90.")
    from selenium.webdriver.common.by import By

    page.driver.find_element(By.ID, "file").send_keys(str(data))
    page.until("return document.querySelector('#status button')")
    page.click("#status button:nth-of-type(2)")
    page.until("return timeline.rows.some((row) => row.label === 'hot(m1)')")
    assert page.run("return ace.edit('editor').getValue()").startswith("#tick 1 min.\n")


@pytest.mark.parametrize("dark", [False, True])
def test_accessibility(look, dark: bool) -> None:
    axe = pytest.importorskip("axe_core_python")
    page = look(PROGRAM, READINGS, dark=dark)
    page.answered()
    page.point("alarm(m1)", TEN + 3)
    page.until("return document.querySelector('#reasons .conclusion')")
    page.picture("studio-dark" if dark else "studio")
    assert page.run("return matchMedia('(prefers-color-scheme: dark)').matches") is dark
    page.run((Path(axe.__file__).parent / "axe.min.js").read_text("utf-8"))
    found = page.driver.execute_async_script(
        "const done = arguments[0]; axe.run().then((found) => done(found.violations))"
    )
    serious = [
        (each["id"], [node["html"][:160] for node in each["nodes"]])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_the_keyboard_is_enough(look) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    page = look(PROGRAM, READINGS)
    page.answered()
    page.run("document.querySelector('.lars-plot canvas').focus()")
    keys = ActionChains(page.driver)
    # The pointer of the test before may have chosen another row.
    keys.send_keys(*[Keys.ARROW_UP] * 6)
    keys.send_keys(Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    keys.perform()
    assert page.text(".lars-said") == "alarm(m1) at 2026-03-01 10:02: holds"
    before = page.run("return timeline.view.to - timeline.view.from")
    ActionChains(page.driver).send_keys("+").perform()
    assert page.run("return timeline.view.to - timeline.view.from") < before
    ActionChains(page.driver).send_keys(Keys.ENTER).perform()
    page.until("return document.querySelector('#reasons .conclusion')")
