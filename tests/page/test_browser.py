"""The page in a real browser: it shows the network, its curves move, delays are set by clicking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import page_client
import page_server
import pytest
import recorded_run
from browser import Visit, chromium, visiting
from emulated import Emulated
from together import living_together
from waiting import until

from edgefw.commands.view import make_app
from edgefw.core.account import Kind
from edgefw.page.prepare import prepared_line
from edgefw.records import RunDatabase

if TYPE_CHECKING:
    from pathlib import Path

    from edgefw.page.app import PageApp
    from edgefw.page.story import Story
    from edgefw.records import RunFolder

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
LIVE = {
    "network.agents": 8,
    "network.topology": "cycle",
    "clock": "wall",
    "pace": "200ms",
    "algorithm.horizon": 5000,
    "algorithm.sub_iterations": 2,
    "algorithm.stop_after": 5000,
}

HUNDRED = {
    "network.agents": 100,
    "network.topology": "grid",
    "data.samples": 1000,
    "problem.batch": 1,
    "clock": "wall",
    "pace": "500ms",
    "algorithm.horizon": 5000,
    "algorithm.sub_iterations": 2,
    "algorithm.stop_after": 5000,
}


def drawn(story: Story, topology: str) -> PageApp:
    """Return the page of a story, with its figures."""
    scenario = page_client.scenario(network={"agents": story.n, "topology": topology})
    return page_client.app(story, prepared=prepared_line(scenario).encode(), scenario=scenario)


def look(visit: Visit) -> None:
    """Check what holds for every page."""
    assert visit.complaints == []
    assert visit.foreign == set()
    assert visit.value("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_run_under_way_is_shown_and_its_delays_are_changed_by_clicking(tmp_path: Path) -> None:
    chromium()
    run = Emulated(tmp_path, "--headless", fields=LIVE)
    try:
        until(lambda: "live page: http" in run.err())
        url = run.err().partition("live page: ")[2].split()[0]
        with visiting(url) as visit:
            visit.wait("run.story.points > 5")
            assert visit.page.locator(".node").count() == 8
            before = visit.value("run.story.rounds.at(-1)")
            visit.wait(f"run.story.rounds.at(-1) > {before} + 3")  # curves move
            _set_latency(visit, agent=2, latency="2s")
            link = httpx.get(f"{url}admin/links/2").json()
            assert [fault["attributes"]["latency"] for fault in link["faults"]] == ["2s"]
            visit.wait("run.story.known('observed', 2, run.story.points - 1) >= 2")  # it shows
            told = "agent 2: latency 2s is set, by edgefw-page (127.0.0.1) at 127.0.0.1"
            visit.wait(f"run.story.events.some((event) => event.text === '{told}')")
            lines = "run.charts.lines.find(([name]) => name === 'observed')[1].data.ys[2].at(-1)"
            visit.wait(f"{lines} >= 2")
            cost = "run.charts.lines.find(([name]) => name === 'cost')[1].data.ys[2]"
            visit.wait(f"{cost}.some((value) => Math.abs(value) > 1e-3)")  # beside a run without it
            assert visit.page.locator(".node").nth(2).get_attribute("aria-label").endswith("latency 2s")  # type: ignore[union-attr]
            _black_out_and_clear(visit)
            look(visit)
    finally:
        run.close()


def test_among_a_hundred_agents_a_delay_set_by_clicking_reaches_the_broker_and_its_curve(
    tmp_path: Path,
) -> None:
    chromium()
    with living_together(tmp_path / "run", HUNDRED) as living:
        until(lambda: answers(living.url))
        with visiting(living.url) as visit:
            visit.wait("run.story.points > 3")
            assert visit.page.locator(".node").count() == 100
            _set_latency(visit, agent=57, latency="2s")
            link = httpx.get(f"{living.url}admin/links/57").json()
            assert [fault["attributes"]["latency"] for fault in link["faults"]] == ["2s"]
            lines = "run.charts.lines.find(([name]) => name === 'observed')[1].data.ys"
            visit.wait(f"{lines}[57].at(-1) >= 2")
            assert visit.value(f"{lines}.length") == 100  # nobody is left out
            assert visit.value(f"{lines}.filter((curve) => curve.at(-1) >= 2).length") == 1
            look(visit)
    plans = [entry for entry in living.folder.account() if entry.kind is Kind.PLAN]
    assert [entry.what for entry in plans[1:]] == ["agent 57: latency 2s is set"]


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


@pytest.mark.parametrize(("agents", "shown"), [(100, 100), (300, 60)])
def test_many_agents_are_shown_and_move(agents: int, shown: int) -> None:
    chromium()
    story = page_client.story(agents, 30)
    with page_server.serving(drawn(story, "grid")) as served, visiting(served.url, theme="dark") as visit:
        visit.wait("run.story.points === 30")
        assert visit.page.locator(".node").count() == shown
        assert visit.value("run.charts.lines.find(([name]) => name === 'loss')[1].data.ys.length") == shown
        served.call(page_client.go_on, story, 5)
        visit.wait("run.charts.lines.find(([name]) => name === 'loss')[1].data.ys[7].length === 35")
        assert visit.page.locator("#table tbody tr").count() == shown
        look(visit)
        assert visit.faults() == []


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (400, "dark")])
def test_it_can_be_used_by_keyboard_and_read_aloud(width: int, theme: str) -> None:
    chromium()
    app = drawn(page_client.story(8, 30), "cycle")
    with page_server.serving(app) as served, visiting(served.url, width=width, theme=theme) as visit:
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


def finished(path: Path) -> RunFolder:
    folder = recorded_run.recorded(path / "run")
    database = RunDatabase(folder, {"digest": folder.meta()["digest"]})
    database.compare([0.5] * 12)
    database.close()
    return folder


def test_a_finished_run_is_looked_at_round_by_round(tmp_path: Path) -> None:
    chromium()
    with page_server.serving(make_app(finished(tmp_path))) as served, visiting(served.url) as visit:
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
        assert visit.faults() == []
        look(visit)
