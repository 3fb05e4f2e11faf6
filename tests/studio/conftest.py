"""A studio in this process, and a real browser that looks at it."""

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from larspark import api
from larspark.feeds import Stream
from larspark.run.protocol import Settings

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
# Where the pictures of the documentation are written, if they are to be made anew.
PICTURES = os.environ.get("LARSPARK_PICTURES")
PATIENCE = 180

Open = Callable[..., Any]


@pytest.fixture
def serve() -> Iterator[Open]:
    """Starts a studio for a program and a stream."""
    pytest.importorskip("django_ace", reason="the extra studio is not installed")
    from larspark.studio.desk import Desk
    from larspark.studio.running import Opening, Places
    from larspark.studio.server import Studio

    started = []

    def start(text: str, stream: Any = (), path: Path | None = None) -> Studio:
        def opened(places: Places, program: api.Program) -> Stream:
            if places.streams[0] != "given":
                read = {"map": places.mapping, "tick": program.tick}
                return Stream.read(places.streams[0], **read)
            return stream() if callable(stream) else Stream.of(stream, tick=program.tick)

        opening = Opening(opened, lambda _: (), lambda *_: Settings())
        places = Places(("given",)) if stream else Places()
        studio = Studio(Desk(opening, path, text, places))
        thread = threading.Thread(target=studio.serve, daemon=True)
        thread.start()
        started.append((studio, thread))
        return studio

    yield start
    for studio, thread in started:
        studio.stop()
        thread.join(10)


def _browser(folder: Path, dark: bool = False) -> Any:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
    flags += ["--disable-background-networking", "--disable-component-update"]
    # The shared memory of a container is too small for pictures.
    flags += ["--disable-dev-shm-usage", "--disable-renderer-backgrounding"]
    flags += ["--window-size=1400,1000", f"--user-data-dir={folder}"]
    if dark:
        flags.append("--blink-settings=preferredColorScheme=0")
    for flag in flags:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(PATIENCE)
    driver.set_page_load_timeout(PATIENCE)
    driver.command_executor.client_config.timeout = 2 * PATIENCE
    return driver


def _started(folder: Callable[[], Path], dark: bool) -> Any:
    """A browser. On a slow machine it may need more time than its driver gives it."""
    from selenium.common.exceptions import WebDriverException

    for _ in range(3):
        with suppress(WebDriverException):
            return _browser(folder(), dark)
    return _browser(folder(), dark)


@pytest.fixture(scope="session")
def browsers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[bool], Any]]:
    """Browsers by whether they prefer dark pages, each started when it is first asked for."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("there is no chromium with chromedriver")
    pytest.importorskip("selenium")
    started: dict[bool, Any] = {}

    def browser(dark: bool = False) -> Any:
        if dark not in started:
            started[dark] = _started(lambda: tmp_path_factory.mktemp("browser"), dark)
        # The page before, whose studio has ended, complains no more.
        driver = started[dark]
        driver.get("about:blank")
        driver.get_log("browser")
        return driver

    yield browser
    for each in started.values():
        each.quit()


class Page:
    """The page of a studio in a browser, as somebody uses it."""

    def __init__(self, driver: Any, studio: Any) -> None:
        self.driver = driver
        self.studio = studio
        driver.get(studio.address)
        self.until("return document.body.dataset.ready")

    def run(self, script: str, *given: Any) -> Any:
        return self.driver.execute_script(script, *given)

    def until(self, script: str, *given: Any) -> Any:
        """What a script returns, as soon as it is true."""
        from selenium.webdriver.support.ui import WebDriverWait

        wait = WebDriverWait(self.driver, PATIENCE, poll_frequency=0.05)
        return wait.until(lambda driver: driver.execute_script(script, *given), script)

    def text(self, selector: str) -> str:
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def click(self, selector: str) -> None:
        from selenium.common import exceptions
        from selenium.webdriver.common.by import By
        from selenium.webdriver.support.ui import WebDriverWait

        # The page may draw the element anew between the two steps, or move it.
        passing = (
            exceptions.NoSuchElementException,
            exceptions.StaleElementReferenceException,
            exceptions.ElementNotInteractableException,
            exceptions.ElementClickInterceptedException,
        )

        def clicked(driver: Any) -> bool:
            driver.find_element(By.CSS_SELECTOR, selector).click()
            return True

        self.still()
        WebDriverWait(self.driver, PATIENCE, 0.05, passing).until(clicked, selector)

    def still(self) -> None:
        """Wait until all that was written is sent, its problems stand there, and all is drawn."""
        self.until(
            "return page.checked === editor.getValue() && page.sending === 0 && !timeline.waiting"
        )

    def type(self, text: str) -> None:
        """Replace the program, key by key."""
        from selenium.webdriver.common.by import By
        from selenium.webdriver.common.keys import Keys

        self.run("ace.edit('editor').setValue('')")
        self.run("ace.edit('editor').setBehavioursEnabled(false)")
        field = self.driver.find_element(By.CSS_SELECTOR, "#editor textarea")
        field.send_keys(text, Keys.ESCAPE)

    def answered(self) -> None:
        """Wait until the program that stands there has run, and its answers are drawn."""
        self.still()
        self.until("return page.summary && isCurrent(page.summary) && page.summary.done")
        self.until("return timeline.tile && timeline.rows.length && !timeline.waiting")

    def point(self, label: str, t: float) -> None:
        """Click on a row of the timeline at a time point."""
        from selenium.webdriver.common.actions.action_builder import ActionBuilder

        # The place in the window: the picture may be higher than what is seen of it.
        x, y = self.until(
            """const number = timeline.all.findIndex((row) => row.label === arguments[0]);
            if (number < 0 || !timeline.tile || timeline.waiting) return null;
            timeline.labels.children[number].scrollIntoView({ block: "center" });
            let top = 0;
            for (const row of timeline.all.slice(0, number)) top += timeline._height(row);
            const box = timeline.canvas.getBoundingClientRect();
            const middle = top + timeline._height(timeline.all[number]) / 2;
            const exact = [box.left + timeline.x(arguments[1] + 0.5), box.top + middle];
            const place = exact.map(Math.round);
            return document.elementFromPoint(...place) === timeline.canvas ? place : null""",
            label,
            t,
        )
        moves = ActionBuilder(self.driver, duration=50)
        moves.pointer_action.move_to_location(x, y).click()
        moves.perform()

    def picture(self, name: str) -> None:
        """A picture for the documentation, if they are asked for."""
        if PICTURES:
            self.driver.save_screenshot(str(Path(PICTURES) / f"{name}.png"))

    def complaints(self) -> list[str]:
        """What the browser complains about, such as refused scripts."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


@pytest.fixture
def look(browsers: Callable[[bool], Any], serve: Open) -> Open:
    """Opens the page of a studio for a program and a stream."""

    def open_page(
        text: str, stream: Any = (), dark: bool = False, path: Path | None = None
    ) -> Page:
        return Page(browsers(dark), serve(text, stream, path))

    return open_page
