"""The page in a real browser: it shows the network, its curves move, delays are set by clicking."""

from __future__ import annotations

import asyncio
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
import page_client
import page_server
import pytest
import recorded_run
from browser import Chromium, Visit, opened
from emulated import Emulated
from together import living_together
from waiting import until

import edgefw
from edgefw.commands.view import make_app
from edgefw.core.account import Entry, Kind
from edgefw.page.prepare import prepared_line
from edgefw.records import RunDatabase, RunFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from edgefw.page.app import PageApp
    from edgefw.page.story import Story

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
LIVE = {
    "network.agents": 8,
    "network.topology": "cycle",
    "data.features": 20,
    "clock": "wall",
    "pace": "200ms",
    "algorithm.horizon": 1000,
    "algorithm.sub_iterations": 2,
    "algorithm.stop_after": 1000,
}
SCROLLING = (
    "[...document.querySelectorAll('main *')].filter((part) => part.scrollWidth > part.clientWidth"
    " && getComputedStyle(part).overflowX === 'auto')"
)
OVERLAPPING = (
    "[...document.querySelectorAll('#events li')].filter((item) => item.previousElementSibling"
    " && item.getBoundingClientRect().top < item.previousElementSibling.getBoundingClientRect().bottom)"
)
HUNDRED = {
    **LIVE,
    "network.agents": 100,
    "network.topology": "grid",
    "data.samples": 1000,
    "data.features": 20,
    "data.classes": 4,
    "problem.batch": 1,
    "pace": "1s",
    "algorithm.horizon": 200,
    "algorithm.stop_after": 200,
    "algorithm.sub_iterations": 1,
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with opened() as running:
        yield running


def drawn(story: Story, topology: str) -> PageApp:
    """Return the page of a story, with its figures."""
    scenario = page_client.scenario(network={"agents": story.n, "topology": topology})
    return page_client.app(story, prepared=prepared_line(scenario).encode(), scenario=scenario)


def look(visit: Visit) -> None:
    """Check what holds for every page."""
    assert visit.complaints == []
    assert visit.foreign == set()
    assert visit.value("document.documentElement.scrollWidth <= window.innerWidth")


class Following(NamedTuple):
    """A run under way that is looked at."""

    url: str
    folder: RunFolder
    visit: Visit

    def latencies(self, agent: int) -> list[str]:
        """Ask the broker which latencies are set on a link."""
        link = httpx.get(f"{self.url}admin/links/{agent}").json()
        return [fault["attributes"]["latency"] for fault in link["faults"]]

    def changes(self) -> list[str | None]:
        """Return what was changed in the delays, as the record has it."""
        plans = [entry for entry in self.folder.account() if entry.kind is Kind.PLAN]
        return [entry.what for entry in plans[1:]]


@contextmanager
def followed(browser: Chromium, url: str, folder: RunFolder, theme: str) -> Iterator[Following]:
    """Look at a page whose curves have begun."""
    until(lambda: answers(url))
    with browser.visiting(url, theme=theme) as visit:
        visit.wait("run.story.points > 2")
        yield Following(url, folder, visit)


def page_of(run: Emulated) -> str:
    """Return the address that `edgefw up` prints."""
    printed = re.compile(r"^live page: (http://127\.0\.0\.1:\d+/)$", re.MULTILINE)
    until(lambda: printed.search(run.err()) is not None or run.process.poll() is not None)
    found = printed.search(run.err())
    assert found is not None, run.err()
    return found[1]


@pytest.mark.alone  # it fills the machine
def test_a_network_of_processes_is_shown_and_its_delays_are_changed_by_clicking(
    browser: Chromium, tmp_path: Path
) -> None:
    run = Emulated(tmp_path, fields=LIVE)
    try:
        with followed(browser, page_of(run), RunFolder(run.path), "light") as following:
            _click_through(following)
        run.interrupt()
        assert run.end() == 130, run.err()  # interrupted
    finally:
        run.close()
    first, *_ = following.changes()
    assert first == "agent 2: latency 1s is set"


def _click_through(run: Following) -> None:
    visit = run.visit
    assert visit.page.locator(".node").count() == 8
    before = visit.value("run.story.rounds.at(-1)")
    visit.wait(f"run.story.rounds.at(-1) > {before} + 3")  # curves move
    _set_latency(visit, agent=2, latency="1s")
    assert run.latencies(2) == ["1s"]
    told = "agent 2: latency 1s is set, by edgefw-page (127.0.0.1) at 127.0.0.1"
    visit.wait(f"run.story.events.some((event) => event.text === '{told}')")
    visit.wait(f"{curves('observed')}[2].at(-1) >= 1")  # it shows
    visit.wait(f"{curves('cost')}[2].some((value) => Math.abs(value) > 1e-3)")  # beside one without it
    assert visit.page.locator(".node").nth(2).get_attribute("aria-label").endswith("latency 1s")  # type: ignore[union-attr]
    assert visit.faults() == []  # with the panel open
    _black_out_and_clear(visit)
    visit.page.keyboard.press("Escape")  # the button that was pressed is no longer one
    assert visit.page.locator("#panel").is_hidden()
    look(visit)


def test_among_a_hundred_agents_a_delay_set_by_clicking_reaches_the_broker_and_its_curve(
    browser: Chromium, tmp_path: Path
) -> None:
    with (
        living_together(tmp_path / "run", HUNDRED) as living,
        followed(browser, living.url, living.folder, "dark") as run,
    ):
        visit = run.visit
        assert visit.page.locator(".node").count() == 100
        assert visit.page.locator("#table tbody tr").count() == 100
        _set_latency(visit, agent=57, latency="1s")
        assert run.latencies(57) == ["1s"]
        observed = curves("observed")
        visit.wait(f"{observed}[57].at(-1) >= 1")
        assert visit.value(f"{observed}.length") == 100  # nobody is left out
        assert visit.value(f"{observed}.filter((curve) => curve.at(-1) >= 1).length") == 1
        visit.page.keyboard.press("Escape")
        visit.wait("new Set(run.charts.lines[0][1].data.color).size === 2")
        marked = visit.value("run.charts.lines[0][1].data.color.indexOf(run.charts.plan)")
        assert marked == 57  # it stands out
        assert visit.faults() == []
        look(visit)
    assert run.changes() == ["agent 57: latency 1s is set"]


def curves(name: str) -> str:
    """Return what the lines of a figure are, in JavaScript."""
    return f"run.charts.lines.find(([name]) => name === '{name}')[1].data.ys"


def answers(url: str) -> bool:
    """Whether a page is there."""
    try:
        return httpx.get(url).status_code == 200
    except httpx.TransportError:
        return False


def _set_latency(visit: Visit, agent: int, latency: str) -> None:
    page = visit.page
    page.locator(".node").nth(agent).click()
    page.select_option("#fault-type", "latency")
    page.fill("#field-latency", latency)
    page.get_by_role("button", name="Set it").click()
    page.get_by_text("Done:").wait_for()


def _black_out_and_clear(visit: Visit) -> None:
    visit.page.click("#cut")
    visit.wait("document.querySelectorAll('.node')[2].classList.contains('off')")
    visit.page.click("#clear")
    visit.wait("!document.querySelectorAll('.node')[2].classList.contains('off')")
    visit.wait("run.story.forces.at(-1).faults.length === 0")


def test_beyond_two_hundred_agents_groups_are_shown_and_move(browser: Chromium) -> None:
    story = page_client.story(300, 30)
    app = drawn(story, "grid")
    with page_server.serving(app) as served, browser.visiting(served.url) as visit:
        visit.wait("run.story.points === 30")
        assert visit.page.locator(".node").count() == 60
        assert visit.value(f"{curves('loss')}.length") == 60
        served.call(page_client.go_on, story, 5)
        visit.wait(f"{curves('loss')}[7].length === 35")
        assert visit.page.locator("#table tbody tr").count() == 60
        look(visit)
        assert visit.faults() == []


@pytest.fixture(scope="module")
def eight() -> Iterator[page_server.Served]:
    story = page_client.story(8, 30)
    story.take_account([Entry(0, Kind.LOST, 0, 0, 1)] * 3)
    with page_server.serving(drawn(story, "cycle")) as served:
        yield served


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (400, "dark")])
def test_it_can_be_used_by_keyboard_and_read_aloud(
    browser: Chromium, eight: page_server.Served, width: int, theme: str
) -> None:
    with browser.visiting(eight.url, width=width, theme=theme) as visit:
        visit.wait("run.story.points === 30")
        page = visit.page
        assert visit.value("document.documentElement.dataset.theme") == theme
        page.locator(".node").first.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        assert page.locator("#panel-title").inner_text() == "Agent 1"
        assert visit.value("document.activeElement.id") == "panel-title"
        page.keyboard.press("Escape")
        assert visit.value("document.activeElement.classList.contains('node')")
        page.click("#theme")
        assert visit.value("document.documentElement.dataset.theme") != theme
        assert visit.faults() == []
        assert visit.value("document.documentElement.scrollWidth <= window.innerWidth")
        assert visit.value(f"{SCROLLING}.length") == 0  # nothing in it scrolls sideways
        assert page.locator("#events li.network").count() == 3
        assert visit.value(f"{OVERLAPPING}.length") == 0


def test_a_page_that_takes_long_to_be_drawn_says_so(browser: Chromium) -> None:
    story = page_client.story(3, 5)
    app, drawing = drawn(story, "cycle"), asyncio.Event()
    prepare = app._prepare

    async def slowly() -> bytes:
        await drawing.wait()
        return await prepare()

    app._prepare = slowly
    ready = "#banner:not([hidden])"
    with page_server.serving(app) as served, browser.visiting(served.url, ready=ready) as visit:
        assert visit.page.locator("#banner").inner_text() == "The figures are being drawn: a moment."
        served.call(drawing.set)
        visit.wait("document.documentElement.dataset.ready === 'yes'")
        assert visit.page.locator("#banner").is_hidden()
        look(visit)


def finished(path: Path) -> RunFolder:
    folder = recorded_run.recorded(path / "run")
    database = RunDatabase(folder, {"digest": folder.meta()["digest"]})
    database.compare([0.5] * 12)
    database.close()
    return folder


def test_a_finished_run_is_looked_at_round_by_round(browser: Chromium, tmp_path: Path) -> None:
    app = make_app(finished(tmp_path))
    with page_server.serving(app) as served, browser.visiting(served.url) as visit:
        page = visit.page
        visit.wait("run.story.points === 12")
        last: Any = page.locator("#tile-regret").inner_text()
        page.locator("#slider").focus()
        page.keyboard.press("Home")
        assert page.locator("#when").inner_text().startswith("round 1 ")
        assert page.locator("#tile-regret").inner_text() != last
        page.get_by_role("button", name="latest").click()
        assert page.locator("#tile-regret").inner_text() == last
        page.locator(".node").nth(3).click()
        assert page.locator("#fault-form").count() == 0
        assert visit.value(f"{SCROLLING}.length") == 0  # with the panel beside it
        assert visit.faults() == []
        look(visit)


def test_a_simulated_run_has_no_clock_and_its_delays_are_in_rounds(browser: Chromium, tmp_path: Path) -> None:
    late = {"delays": [{"agents": [1], "type": "latency", "latency": "1s"}], "algorithm.stop_after": 12}
    scenario = edgefw.scenario("default", {**LIVE, "data.source": "synthetic", "data.samples": 200, **late})
    edgefw.simulate(scenario, out=tmp_path / "run")
    app = make_app(RunFolder(tmp_path / "run"))
    with page_server.serving(app) as served, browser.visiting(served.url) as visit:
        page = visit.page
        visit.wait("run.story.points === 12")
        assert "simulated" in page.locator("#facts").inner_text()
        assert "asked for, rounds" in page.locator("#table thead").inner_text()
        for name in ("observed", "requested"):  # 1s at 200 ms a round, and the round itself
            assert visit.value(f"{curves(name)}[1].at(-1)") == 6
        assert page.locator("#chart-pace").is_hidden()
        assert page.locator("#tile-pace-note").inner_text() == "a simulated run has no clock"
        look(visit)
