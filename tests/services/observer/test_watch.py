"""A run that is held up says by whom: in one line, soon, and again for as long as it lasts."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from edgefw.services.observer.attendance import BROKER, Attendance, Who
from edgefw.services.observer.ledger import Ledger, Reported
from edgefw.services.observer.watch import REMIND, SILENCE, Watch
from edgefw.telemetry.metrics import ObserverMetrics
from edgefw.virtual import loop as virtual_time

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

N, ROUNDS = 4, 3


class Run:
    """What an observer knows of a run, on the clock of a loop; members come, go and report by hand."""

    def __init__(self, pace: float = 0.0, rounds: int = ROUNDS) -> None:
        now = asyncio.get_running_loop().time
        self.ledger, self.attendance = Ledger(N, rounds, 4), Attendance(N, now)
        self.watch = Watch(self.ledger, self.attendance, pace, now)
        self.calls: dict[Who, ExitStack] = {}
        self.played = [0] * N

    def come(self, *members: Who) -> None:
        for who in members:
            self.calls[who] = ExitStack()
            self.calls[who].enter_context(self.attendance.call(who))

    def go(self, who: Who) -> None:
        self.calls.pop(who).close()

    def report(self, *agents: int) -> None:
        for i in agents:
            self.played[i] += 1
            point = np.zeros((1, 1), dtype=np.float32)
            self.ledger.take(Reported(i, self.played[i], point, str(i), 0.0, (), 0, 0, 0))
            self.watch.reported()
            self.ledger.ready()

    def silence(self) -> float | None:
        """Return what the metrics say of how long nobody has reported."""
        return self._shown().get_sample_value("edgefw_network_silence_seconds")

    def _shown(self) -> CollectorRegistry:
        registry = CollectorRegistry()
        self.watch.show(ObserverMetrics(registry))
        return registry

    def gauge(self) -> dict[str, float]:
        """Return what the metrics say of all who are awaited."""
        registry = self._shown()
        return {
            sample.labels.get("agent", "broker"): sample.value
            for family in registry.collect()
            for sample in family.samples
            if family.name
            in {"edgefw_network_agent_awaited_seconds", "edgefw_network_broker_awaited_seconds"}
        }


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Return what was said since the last time."""

    def news() -> list[str]:
        lines = [record.getMessage() for record in caplog.records]
        caplog.clear()
        return lines

    return news


def watched(
    test: Callable[[Run], Coroutine[None, None, None]], pace: float = 0.0, rounds: int = ROUNDS
) -> None:
    """Run a test beside a watch."""

    async def run() -> None:
        one = Run(pace, rounds)
        watching = asyncio.create_task(one.watch.run())
        await test(one)
        assert not watching.done()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    virtual_time.run(run())


def test_who_has_not_joined_is_named_in_one_line_however_often_others_join(
    said: Callable[[], list[str]],
) -> None:
    async def test(run: Run) -> None:
        run.come(1, 3)
        for _ in range(14):  # as the broker does, every second
            run.come(BROKER)
            run.go(BROKER)
            await asyncio.sleep(1)
        assert said() == [
            "round 1 waits for agent 0 (3 s), agent 2 (3 s)",
            "round 1 waits for agent 0 (13 s), agent 2 (13 s)",
        ]

    watched(test)


def test_an_agent_that_goes_is_named_soon_and_again_until_it_is_back(said: Callable[[], list[str]]) -> None:
    async def test(run: Run) -> None:
        run.come(BROKER, 0, 1, 2, 3)
        await asyncio.sleep(5)
        run.report(0, 1, 2, 3)
        run.go(2)
        await asyncio.sleep(5)
        assert said() == ["round 2 waits for agent 2 (3 s)"]
        assert run.gauge() == {"0": 0, "1": 0, "2": 5, "3": 0, "broker": 0}
        await asyncio.sleep(REMIND)
        assert said() == ["round 2 waits for agent 2 (13 s)"]
        run.come(2)
        run.report(0, 1, 2, 3)
        await asyncio.sleep(SILENCE - 1)
        assert said() == []
        assert set(run.gauge().values()) == {0}

    watched(test)


def test_a_second_one_that_goes_is_named_without_delay(said: Callable[[], list[str]]) -> None:
    async def test(run: Run) -> None:
        run.come(BROKER, 0, 1, 2, 3)
        run.go(2)
        await asyncio.sleep(4.5)
        run.go(BROKER)
        await asyncio.sleep(4)
        assert said() == [
            "round 1 waits for agent 2 (3 s)",
            "round 1 waits for the broker (4 s), agent 2 (8 s)",  # found at the next look
        ]
        assert run.gauge() == {"0": 0, "1": 0, "2": 8.5, "3": 0, "broker": 4}

    watched(test)


def test_an_agent_behind_the_others_is_named_though_it_is_there(said: Callable[[], list[str]]) -> None:
    async def test(run: Run) -> None:
        run.come(BROKER, 0, 1, 2, 3)
        await asyncio.sleep(2)
        run.report(0, 2)
        await asyncio.sleep(2)
        run.report(3, 3)
        await asyncio.sleep(2)
        assert said() == ["round 1 waits for agent 1 (3 s)"]
        assert run.gauge() == {"0": 0, "1": 4, "2": 0, "3": 0, "broker": 0}
        run.report(1)  # round 2 has been reported by agent 3 already: the wait for the others begins now
        await asyncio.sleep(1)
        assert run.gauge() == {"0": 1, "1": 1, "2": 1, "3": 0, "broker": 0}

    watched(test)


@pytest.mark.parametrize("pace", [0.0, 60.0])
def test_that_nobody_reports_is_said_after_longer_than_a_round(
    pace: float, said: Callable[[], list[str]]
) -> None:
    async def test(run: Run) -> None:
        run.come(BROKER, 0, 1, 2, 3)
        run.report(0, 1, 2, 3)
        await asyncio.sleep(pace + SILENCE - 0.5)
        assert said() == []
        assert run.silence() == SILENCE - 0.5
        await asyncio.sleep(1)
        assert said() == [f"round 2 waits for a report of any agent ({pace + SILENCE:.0f} s)"]
        assert set(run.gauge().values()) == {0}  # none of them more than the others

    watched(test, pace)


def test_nobody_is_awaited_when_all_rounds_have_been_reported(said: Callable[[], list[str]]) -> None:
    async def test(run: Run) -> None:
        run.come(BROKER, 0, 1, 2, 3)
        for _ in range(ROUNDS):
            run.report(0, 1, 2, 3)
        for who in (BROKER, 0, 1, 2, 3):
            run.go(who)
        await asyncio.sleep(100)
        assert said() == []
        assert set(run.gauge().values()) == {run.silence()} == {0}

    watched(test)


@pytest.mark.parametrize(("seconds", "lines"), [(1.05, 0), (4.0, 1)])
def test_a_pace_that_is_missed_is_said_once(
    said: Callable[[], list[str]], seconds: float, lines: int
) -> None:
    async def test(run: Run) -> None:
        run.come(BROKER, 0, 1, 2, 3)
        for _ in range(12):
            run.report(0, 1, 2, 3)
            await asyncio.sleep(seconds)
        told = said()
        assert len(told) == lines
        for line in told:
            assert "rounds take 4s, 1s was asked for" in line
            assert "(30s: round 8, not 31)" in line

    watched(test, pace=1.0, rounds=20)
