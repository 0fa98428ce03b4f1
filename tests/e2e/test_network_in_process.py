"""Agents that share a process play what the core plays, and learn only from what the broker hands out."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
from agents_in_process import ROUNDS, Plays, emulate, hold_of, make_setup
from waiting import PATIENCE

from edgefw.core.lockstep import sweep
from edgefw.core.messages import Feedback, observe
from edgefw.delays.book import ArrivalBook
from edgefw.delays.hold import RoundsHold, Taken
from edgefw.local.ports import loopback_places
from edgefw.services.broker import process
from edgefw.simulator import arrived

if TYPE_CHECKING:
    from edgefw.scenario.setup import Setup
    from edgefw.services.config import Place


class Altering(RoundsHold):
    """A broker that flips the sign bits of the residuals it carries for agent 2 in round 2.

    They stand at the end of a payload, four bytes each, the sign in the last.
    """

    def submit(self, agent: int, round_: int, payload: bytes, norm: float, now: float) -> Taken:
        if (agent, round_) == (2, 2):
            changed = bytearray(payload)
            for place in range(len(changed) - 1, len(changed) - 1 - 4 * 18, -4):
                changed[place] ^= 0x80
            payload = bytes(changed)
        return super().submit(agent, round_, payload, norm, now)


def in_memory(setup: Setup) -> Plays:
    """Return the plays of the agents of the core, exchanging frames in memory."""
    agents, book = setup.agents(), ArrivalBook(setup.delays)
    feedback: dict[tuple[int, int], Feedback] = {}
    plays: Plays = {}
    for t in range(1, setup.rounds + 1):
        came = {i: [feedback[i, s] for s in rounds] for i, rounds in arrived(book, t - 1).items()}
        for i, play in enumerate(sweep(agents, t, came)):
            _, feedback[i, t] = observe(setup.loss, play, *setup.batch(i, t))
            plays[t, i] = play.point
    return plays


def test_services_and_memory_play_the_same_bits() -> None:
    setup = make_setup()
    recorder = asyncio.run(emulate(setup, hold_of(setup)))
    expected = in_memory(setup)
    assert recorder.plays.keys() == expected.keys()
    assert all(recorder.plays[key].tobytes() == expected[key].tobytes() for key in expected)


def test_feedback_really_comes_through_the_broker() -> None:
    setup = make_setup()
    honest = in_memory(setup)
    altered = asyncio.run(emulate(setup, hold_of(setup, Altering))).plays
    same = {key for key in honest if honest[key].tobytes() == altered[key].tobytes()}
    assert {key for key in honest if key[0] <= 2} <= same  # what came before is as it was
    assert (3, 2) not in same  # the play after the altered feedback is not


def test_a_dropped_link_stays_empty() -> None:
    setup = make_setup(delays=[{"agents": [1], "type": "drop"}])
    recorder = asyncio.run(emulate(setup, hold_of(setup)))
    assert all(recorder.arrivals[t, 1] == [] for t in range(1, ROUNDS + 1))
    assert all(recorder.arrivals[t, 0] == [t - 1] for t in range(2, ROUNDS + 1))


def buf_curl(*words: str) -> str:
    buf = Path(sys.executable).with_name("buf")
    done = subprocess.run(
        [buf, "curl", "--http2-prior-knowledge", "--protocol", "grpc", *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_client_not_written_here_can_list_services_and_ask_for_health() -> None:
    async def body() -> tuple[str, str]:
        with loopback_places(0) as places:
            return await ask(places.broker)

    async def ask(place: Place) -> tuple[str, str]:
        setup, stop = make_setup(), asyncio.Event()
        options = process.BrokerOptions(place, journal=None)
        serving = asyncio.create_task(process.serve(setup.scenario, "digest/run", options, stop))
        async with asyncio.timeout(PATIENCE), grpc.aio.insecure_channel(place.address) as channel:
            await channel.channel_ready()
            url = f"http://{place.address}"
            services = await asyncio.to_thread(buf_curl, "--list-services", url)
            health = await asyncio.to_thread(buf_curl, "-d", "{}", f"{url}/grpc.health.v1.Health/Check")
        stop.set()
        await serving
        return services, health

    services, health = asyncio.run(body())
    assert "edgefw.v1.BrokerService" in services
    assert "grpc.health.v1.Health" in services
    assert "SERVING" in health
