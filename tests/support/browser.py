"""A browser for tests, where there is one; elsewhere they are skipped with the reason."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import axe_playwright_python
import pytest
from playwright.sync_api import sync_playwright
from waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

REQUIRED = "EDGEFW_REQUIRE_BROWSER"  # set where one is expected: then its absence fails a test
NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
POLL = 100  # milliseconds between two looks: a look at every frame keeps a core busy
FAULTS = """async () => {
  const found = await axe.run({ resultTypes: ["violations"], selectors: false });
  const serious = found.violations.filter((each) => ["serious", "critical"].includes(each.impact));
  return serious.map((each) => `${each.id}: ${each.nodes[0].html.slice(0, 200)}`);
}"""  # what passes is neither described nor sent: on a large page that takes longer than to find it
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")


def chromium() -> str:
    """Return the program; skip the test, or fail it where a browser is required, if there is none."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    reason = f"there is none of {', '.join(NAMES)}: apt-get install chromium"
    if os.environ.get(REQUIRED):
        pytest.fail(f"{REQUIRED} is set, but {reason}")
    pytest.skip(f"needs a browser: {reason}")


class Visit:
    """A page that is looked at, with all it complained of and asked for."""

    def __init__(self, page: Page, url: str, ready: str) -> None:
        self.page, self.complaints, self._hosts = page, list[str](), set[str]()
        page.set_default_timeout(4 * PATIENCE * 1000)  # a browser takes seconds of work, beside other tests
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._hosts.add(urlsplit(request.url).netloc))
        self._own = urlsplit(url).netloc
        page.goto(url)
        page.wait_for_selector(ready)

    def _console(self, message: Any) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    @property
    def foreign(self) -> set[str]:
        """The other hosts that something was asked of."""
        return {host for host in self._hosts if host not in {self._own, ""}}

    def wait(self, condition: str) -> None:
        """Wait until an expression of JavaScript holds; `run` is the page's own object."""
        looked = f"() => {{ const run = window.edgefw; return {condition}; }}"
        self.page.wait_for_function(looked, polling=POLL)

    def value(self, expression: str) -> Any:
        return self.page.evaluate(f"() => {{ const run = window.edgefw; return {expression}; }}")

    def faults(self) -> list[str]:
        """Return what axe finds wrong for people who cannot see or point, of what is serious."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found: list[str] = self.page.evaluate(FAULTS)
        return found


class Chromium:
    """A browser that runs; every visit is one of somebody new."""

    def __init__(self, running: Browser) -> None:
        self._running = running

    @contextmanager
    def visiting(
        self, url: str, *, width: int = 1280, theme: str = "light", ready: str = "html[data-ready]"
    ) -> Iterator[Visit]:
        """Look at a page when it has what is called `ready`."""
        scheme: Any = theme
        context = self._running.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        try:
            yield Visit(context.new_page(), url, ready)
        finally:
            context.close()


@contextmanager
def opened() -> Iterator[Chromium]:
    """Start a browser, which takes seconds: share it. Meanwhile no event loop can be run in this thread."""
    program = chromium()
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=OPTIONS)
        try:
            yield Chromium(running)
        finally:
            running.close()
