from __future__ import annotations

import asyncio
import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.exposition import generate_latest
from rich.console import Console

from edgefw import terminal
from edgefw.http.endpoint import service_routes
from edgefw.http.guard import Guard
from edgefw.http.server import HttpServer
from edgefw.local.board import AGENT_NAMES, BROKER_NAMES, OBSERVER_NAMES, Board
from edgefw.local.liveview import LiveView, Screen, draw, headline
from edgefw.local.ports import loopback_places
from edgefw.local.scrape import Sample, parse, scrape
from edgefw.services.config import Place
from edgefw.telemetry.metrics import AgentMetrics, BrokerMetrics, ObserverMetrics, new_registry
from edgefw.virtual.together import memory_places


def _board(agents: int = 2, clock: str = "wall") -> Board:
    return Board("small", 40, clock, agents)


def _drawn(board: Board, room: Screen = Screen(80, 50)) -> str:  # noqa: B008 - it does not change
    console = Console(file=io.StringIO(), width=room.width, soft_wrap=True)  # as the terminal's is
    console.print(draw(board, "running", "1:05", room))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return str(text)


def test_every_number_on_the_board_is_one_that_services_export() -> None:
    registries = {role: new_registry(role) for role in ("agent", "broker", "observer")}
    AgentMetrics(registries["agent"], 0)
    BrokerMetrics(registries["broker"])
    ObserverMetrics(registries["observer"])
    exported = {family.name for registry in registries.values() for family in registry.collect()}
    assert exported >= AGENT_NAMES | BROKER_NAMES | OBSERVER_NAMES


async def _read(registry: CollectorRegistry, names: frozenset[str]) -> list[Sample]:
    routes = Guard(service_routes(registry, lambda: True), names=frozenset())
    endpoint = HttpServer(routes, "127.0.0.1", 0)
    port = await endpoint.start()
    samples = await scrape(Place("127.0.0.1", 0, port), names)
    await endpoint.stop()
    return samples


def test_an_agents_numbers_come_from_its_endpoint() -> None:
    registry = new_registry("agent")
    metrics = AgentMetrics(registry, 1)
    metrics.round.set(17)
    metrics.local_loss.set(1.25)
    metrics.requested_delay.set(0.75)
    board = _board()
    board.take(asyncio.run(_read(registry, AGENT_NAMES)))
    assert (board.agent(1, "round"), board.agent(1, "local_loss")) == (17, 1.25)
    assert board.agent(1, "feedback_requested_delay") == 0.75
    assert math.isnan(board.agent(0, "round"))
    row = _drawn(board).splitlines()
    assert any(line.split()[:3] == ["1", "17", "1.25"] for line in row)
    assert any(line.split()[:3] == ["0", "-", "-"] for line in row)


def test_the_brokers_queue_is_all_that_it_holds_of_an_agent() -> None:
    registry = new_registry("broker")
    metrics = BrokerMetrics(registry)
    for agent, state, depth in (("0", "pending", 3), ("0", "released", 1), ("1", "pending", 5)):
        metrics.depth.labels(agent, state).set(depth)
    board = _board()
    board.take(asyncio.run(_read(registry, BROKER_NAMES)))
    board.take(asyncio.run(_read(registry, BROKER_NAMES)))  # a second reading replaces the first
    assert [board.agent(i, "queue") for i in range(2)] == [4, 5]


def test_a_service_that_is_not_there_has_no_numbers() -> None:
    with loopback_places(0) as places:
        assert asyncio.run(scrape(places.broker, BROKER_NAMES)) == []


def _network(**numbers: float) -> list[Sample]:
    return [Sample(f"edgefw_network_{name}", {}, value) for name, value in numbers.items()]


def test_regret_is_shown_once_there_is_a_point_to_compare_with_and_with_its_gap_at_the_end() -> None:
    board = _board()
    board.take(_network(round=3, loss=2.0, regret=math.nan, comparator_gap=math.nan, comparator_rounds=0))
    assert headline(board) == "round 3/40, network loss 2.00"
    board.take(_network(regret=9, comparator_gap=0.5, comparator_rounds=40))
    assert headline(board) == "round 3/40, network loss 2.00, network regret at least 9.00"
    board.take(_network(round=40))
    assert headline(board) == "round 40/40, network loss 2.00, network regret 9.00 (+0.50)"


def test_the_regret_of_a_run_that_was_ended_early_is_shown_with_its_gap() -> None:
    board = _board()
    board.take(_network(round=20, loss=2.0, regret=9, comparator_gap=0.5, comparator_rounds=20))
    assert headline(board) == "round 20/40, network loss 2.00, network regret 9.00 (+0.50)"


def test_the_table_says_which_unit_a_requested_delay_has() -> None:
    assert _drawn(_board(clock="wall")).count("rounds") == 1
    assert _drawn(_board(clock="rounds")).count("rounds") == 2


def test_the_table_fits_into_eighty_columns() -> None:
    board = _board(agents=30)
    for i in range(30):
        agent = {"agent": str(i)}
        board.take(Sample(name, agent, 1234.5) for name in AGENT_NAMES)
    text = _drawn(board)
    assert "small: running, 1:05" in text
    assert "…" not in text


@pytest.mark.parametrize("room", [Screen(80, 24), Screen(60, 24), Screen(40, 20), Screen(120, 60)])
@pytest.mark.parametrize("agents", [2, 40, 1000])
def test_the_table_fits_any_terminal_with_its_last_line(agents: int, room: Screen) -> None:
    board = _board(agents=agents)
    board.take(_network(round=3, loss=2.0, regret=9.0, comparator_rounds=2, comparator_gap=0.5))
    for i in range(agents):
        numbers = [Sample(name, {"agent": str(i)}, 1234.5) for name in AGENT_NAMES]
        board.take([*numbers, Sample("edgefw_broker_queue_depth", {"agent": str(i)}, i == agents // 2)])
    lines = _drawn(board, room).splitlines()
    assert len(lines) <= room.height
    assert max(map(len, lines)) <= room.width
    text = " ".join(" ".join(lines).split())
    assert text.endswith("network loss 2.00, network regret at least 9.00")
    assert "…" not in text
    assert any(line.split()[:2] == [str(agents // 2), "1234"] for line in lines)  # the one that is late
    shown = sum(line.split()[1:2] == ["1234"] for line in lines)
    assert (f"and {agents - shown} more" in text) == (shown < agents)


def test_a_pace_that_is_missed_is_said_with_what_it_means() -> None:
    board = _board()
    board.take(_network(round=20, pace_asked_seconds=0.3, pace_reached_seconds=0.97))
    assert board.pace_warning is not None
    assert "rounds take 970ms, 300ms was asked for" in board.pace_warning
    assert "(30s: round 31, not 101)" in board.pace_warning
    for asked, reached, t in ((0.3, 0.32, 20), (0.0, 0.97, 20), (0.3, math.nan, 20), (0.3, 0.97, 2)):
        board.take(_network(round=t, pace_asked_seconds=asked, pace_reached_seconds=reached))
        assert board.pace_warning is None


@pytest.mark.parametrize("line", ["", "# HELP a b", "a", "a{", 'b{agent="1"} 2', "ab 3"])
def test_lines_that_are_not_asked_for_are_passed_over(line: str) -> None:
    assert parse(line, {"a"}) == []


@given(value=st.floats(), agent=st.integers(0, 99))
def test_whatever_prometheus_writes_is_read(value: float, agent: int) -> None:
    registry = CollectorRegistry()
    Gauge("a", "b", ["agent", "state"], registry=registry).labels(str(agent), "x").set(value)
    text = generate_latest(registry).decode()
    (sample,) = parse(text, {"a"})
    assert sample.labels == {"agent": str(agent), "state": "x"}
    assert sample.value == value or math.isnan(value) == math.isnan(sample.value)


def _screen(monkeypatch: pytest.MonkeyPatch, width: int) -> io.StringIO:
    written = io.StringIO()
    console = Console(file=written, width=width, height=24, soft_wrap=True, force_terminal=True)
    monkeypatch.setattr(terminal, "err", console)
    return written


def test_nothing_that_is_announced_is_cut_off_in_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    written = _screen(monkeypatch, 60)
    with LiveView(_board(), memory_places(2)) as view:
        view.announce(
            "change delays: edgefw delay set 3 750ms --admin 127.0.0.1:46679, or http://127.0.0.1:46679/docs"
        )
    assert "http://127.0.0.1:46679/docs" in written.getvalue().replace("\n", "").replace("\r", "")


def test_the_table_is_there_before_the_first_number(monkeypatch: pytest.MonkeyPatch) -> None:
    written = _screen(monkeypatch, 80)
    with LiveView(_board(), memory_places(2)):
        assert "round 0/40" in written.getvalue()
