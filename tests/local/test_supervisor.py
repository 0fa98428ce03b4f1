from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from living import alive
from waiting import PATIENCE, eventually, until

from edgefw.local import child
from edgefw.local import supervisor as module
from edgefw.local.child import Command
from edgefw.local.ports import loopback_places
from edgefw.local.supervisor import ServiceError, Supervisor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from edgefw.local.ports import Places

STAND_IN = Path(__file__).parents[1] / "support" / "stand_in.py"
READY = PATIENCE


class Bench:
    """Makes commands of stand-ins, and reads what they wrote."""

    def __init__(self, path: Path, places: Places) -> None:
        self.path, self.diary = path, path / "diary"
        self.said: list[str] = []
        self._ports = iter([place.port for place in (places.broker, places.observer, *places.agents)])

    def command(
        self, name: str, *traits: str, port: int | None = None, lasting: bool = False, rejoins: bool = False
    ) -> Command:
        address = f"127.0.0.1:{next(self._ports) if port is None else port}"
        arguments = (sys.executable, str(STAND_IN), name, address, str(self.diary), *traits)
        return Command(name, arguments, address, lasting, rejoins)

    def run(self, scenario: Callable[[Supervisor], Awaitable[None]]) -> None:
        async def whole() -> None:
            logs = self.path / "logs"
            async with asyncio.timeout(PATIENCE), Supervisor(logs, self.said.append) as supervisor:
                await scenario(supervisor)

        asyncio.run(whole())

    def events(self, kind: str) -> list[str]:
        return [line.split()[1] for line in self._lines() if line.startswith(f"{kind} ")]

    def pids(self) -> list[int]:
        return [int(line.split()[2]) for line in self._lines() if line.startswith("up ")]

    def _lines(self) -> list[str]:
        return self.diary.read_text().splitlines() if self.diary.exists() else []


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with loopback_places(2) as places:
        yield Bench(tmp_path, places)


def test_services_stop_in_the_reverse_order_of_their_groups(bench: Bench) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await supervisor.start([bench.command("broker", lasting=True)])
        await supervisor.start([bench.command("observer")])
        await supervisor.ready(READY)
        await supervisor.start([bench.command(f"agent-{i}") for i in range(2)])
        await supervisor.ready(READY)
        assert supervisor.running("observer")
        assert not supervisor.running("agent-7")

    bench.run(scenario)
    down = bench.events("down")
    assert set(down[:2]) == {"agent-0", "agent-1"}
    assert down[2:] == ["observer", "broker"]
    assert not alive(bench.pids())


def test_a_dead_child_is_named_with_its_code_and_last_lines(bench: Bench) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await supervisor.start([bench.command("broker", lasting=True)])
        await supervisor.start([bench.command("agent-0"), bench.command("agent-1", "after=agent-0", "dies")])
        await supervisor.ready(READY)
        await supervisor.wait(READY)

    with pytest.raises(ServiceError) as caught:
        bench.run(scenario)
    message = str(caught.value)
    assert message.startswith("agent-1 ended with exit code 3; its last lines")
    assert message.endswith("  something\n  went very wrong")
    assert bench.events("down") == ["agent-0", "broker"]


def test_a_death_that_nobody_waited_for_is_noticed_later(bench: Bench) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await supervisor.start([bench.command("agent-0", "dies")])
        await supervisor.ready(READY)
        await eventually(lambda: not alive(bench.pids()))
        await supervisor.wait(READY)

    with pytest.raises(ServiceError, match="agent-0 ended with exit code 3"):
        bench.run(scenario)


def test_a_child_killed_by_a_signal_is_named_with_it(bench: Bench) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await supervisor.start([bench.command("agent-0")])
        await supervisor.ready(READY)
        os.kill(bench.pids()[0], signal.SIGKILL)
        await supervisor.wait(READY)

    with pytest.raises(ServiceError, match="agent-0 was killed by SIGKILL"):
        bench.run(scenario)


async def _kill(bench: Bench, number: int) -> None:
    """Kill a service when its process of this number is there."""
    await eventually(lambda: len(bench.pids()) == number)
    os.kill(bench.pids()[-1], signal.SIGKILL)


def test_one_that_rejoins_is_started_again_when_it_was_killed(bench: Bench) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        command = bench.command("broker", lasting=True, rejoins=True)
        await supervisor.start([command])
        await supervisor.ready(READY)
        for number in (1, 2):
            await _kill(bench, number)
        await eventually(lambda: len(bench.pids()) == 3)
        await supervisor.ready(READY)
        assert supervisor.running("broker")

    bench.run(scenario)
    assert bench.events("down") == ["broker"]
    assert not alive(bench.pids())
    assert bench.said == ["broker was killed by SIGKILL: it is started again"] * 2
    log = (bench.path / "logs" / "broker.log").read_text()
    assert log.count("up WARNING broker was killed by SIGKILL: it is started again\n") == 2


def test_one_that_is_killed_again_and_again_is_given_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "AGAIN", 2)
    monkeypatch.setattr(child, "WITHIN", 3 * PATIENCE)

    async def scenario(supervisor: Supervisor) -> None:
        await supervisor.start([bench.command("broker", lasting=True, rejoins=True)])
        for number in (1, 2, 3):
            await _kill(bench, number)
        await supervisor.wait(READY)

    with pytest.raises(ServiceError, match="broker was killed by SIGKILL 3 times in 180 s; its"):
        bench.run(scenario)
    assert len(bench.said) == 2


def test_one_that_fails_is_not_started_again(bench: Bench) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await supervisor.start([bench.command("broker", "dies", lasting=True, rejoins=True)])
        await supervisor.ready(READY)
        await supervisor.wait(READY)

    with pytest.raises(ServiceError, match="broker ended with exit code 3"):
        bench.run(scenario)
    assert bench.said == []


def test_one_that_is_being_started_again_is_stopped_with_the_others(bench: Bench) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await supervisor.start([bench.command("broker", lasting=True, rejoins=True)])
        await _kill(bench, 1)
        await eventually(lambda: bench.said)

    bench.run(scenario)
    assert not alive(bench.pids())


def test_one_that_ends_well_is_no_failure(bench: Bench) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await supervisor.start([bench.command("agent-0", "ends")])
        await supervisor.ready(READY)
        while supervisor.running("agent-0"):
            await supervisor.wait(READY)

    bench.run(scenario)
    assert bench.events("down") == ["agent-0"]


def test_one_that_ends_before_it_was_seen_ready_is_no_failure(bench: Bench) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await supervisor.start([bench.command("agent-0", "ends", "never-ready")])
        await supervisor.ready(READY)

    bench.run(scenario)


def test_a_lasting_service_must_not_end_by_itself(bench: Bench) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await supervisor.start([bench.command("broker", "ends", lasting=True)])
        await supervisor.ready(READY)
        await supervisor.wait(READY)

    with pytest.raises(ServiceError, match="broker ended with exit code 0"):
        bench.run(scenario)


def test_a_taken_port_is_named(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        async def scenario(supervisor: Supervisor) -> None:
            await supervisor.start([bench.command("broker", port=port, lasting=True)])
            await supervisor.ready(READY)

        expected = rf"(?s)broker ended with exit code 2.*127\.0\.0\.1:{port}: the port is taken"
        with pytest.raises(ServiceError, match=expected):
            bench.run(scenario)


@pytest.mark.parametrize("trait", ["slow-start", "never-ready"])
def test_a_service_that_does_not_get_ready_is_named(bench: Bench, trait: str) -> None:
    loading = bench.path / "logs" / "agent-1.log"

    async def scenario(supervisor: Supervisor) -> None:
        await supervisor.start([bench.command("agent-0")])
        await supervisor.ready(READY)
        await supervisor.start([bench.command("agent-1", trait)])
        await eventually(lambda: "agent-1" in bench.events("up") or loading.stat().st_size > 0)
        await supervisor.ready(0.5)

    with pytest.raises(ServiceError, match=r"not ready after 0.5 s: agent-1; of agent-1, its last lines"):
        bench.run(scenario)
    assert not alive(bench.pids())


def test_one_that_ignores_sigterm_is_killed_with_all_that_it_started(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STOP_SECONDS", 3.0)

    async def scenario(supervisor: Supervisor) -> None:
        await supervisor.start([bench.command("agent-0", "stubborn", "parent")])
        await supervisor.ready(READY)
        until(lambda: len(bench.pids()) == 2)

    with pytest.raises(ServiceError, match="agent-0 did not end within"):
        bench.run(scenario)
    assert bench.events("ignored") == ["agent-0"]
    until(lambda: not alive(bench.pids()))


def test_hurry_ends_everything_without_waiting(bench: Bench) -> None:
    async def scenario(supervisor: Supervisor) -> None:
        await supervisor.start([bench.command("agent-0", "stubborn"), bench.command("agent-1")])
        await supervisor.ready(READY)
        supervisor.hurry()

    bench.run(scenario)
    assert bench.events("down") == []
    assert not alive(bench.pids())


def test_services_do_not_outlive_a_supervisor_that_is_killed(bench: Bench, tmp_path: Path) -> None:
    commands = [
        bench.command("broker"),
        bench.command("agent-0", "stubborn", "parent"),
        bench.command("agent-1", "slow-start"),
    ]
    script = tmp_path / "parent.py"
    script.write_text(
        "import asyncio\nfrom pathlib import Path\n"
        "from edgefw.local.child import Command\nfrom edgefw.local.supervisor import Supervisor\n"
        f"async def main():\n async with Supervisor(Path({str(tmp_path / 'logs')!r}), print) as s:\n"
        f"  await s.start({commands!r})\n  await asyncio.sleep(60)\nasyncio.run(main())\n"
    )
    parent = subprocess.Popen([sys.executable, str(script)])
    loading = tmp_path / "logs" / "agent-1.log"
    until(lambda: len(bench.pids()) == 3 and loading.exists() and loading.stat().st_size > 0)
    everyone = [child.pid for child in psutil.Process(parent.pid).children(recursive=True)]
    assert len(everyone) == 4
    parent.kill()
    parent.wait(PATIENCE)
    until(lambda: not alive(everyone))
    assert bench.events("down") == ["broker"]  # it was given the time to end well


def test_a_process_that_no_supervisor_started_does_not_mind_its_standard_input(bench: Bench) -> None:
    command = bench.command("agent-0", "ends")
    subprocess.run(
        command.arguments, stdin=subprocess.DEVNULL, check=True, timeout=PATIENCE, capture_output=True
    )
    assert bench.events("down") == ["agent-0"]


def test_ports_are_kept_for_those_who_listen_there(bench: Bench) -> None:
    with loopback_places(2) as places:
        everyone = [places.broker, places.observer, *places.agents]
        ports = [port for place in everyone for port in (place.port, place.metrics_port)]
        assert len(set(ports)) == 8

        async def scenario(supervisor: Supervisor) -> None:
            await supervisor.start([bench.command("broker", port=places.broker.port)])
            await supervisor.ready(READY)

        bench.run(scenario)
        with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
            stranger.bind(("127.0.0.1", places.observer.port))
