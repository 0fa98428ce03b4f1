"""An agent's way to its checkpoints: what it does where the disk refuses, and how far it goes back."""

from __future__ import annotations

import asyncio
import errno
from typing import TYPE_CHECKING, Any

import pytest
from agents_in_process import make_setup
from waiting import PATIENCE

from edgefw.services.agent import service
from edgefw.services.agent.checkpoints import CheckpointFolder
from edgefw.services.agent.memory import GoBackError, Memory
from edgefw.services.agent.service import AgentOptions
from edgefw.services.config import Place, pack_shard
from edgefw.services.machine import InlineMachine
from edgefw.services.observer.briefing import agent_config
from edgefw.transport.joining import Joined
from edgefw.transport.memory import MemoryNetwork
from edgefw.virtual.loop import run

if TYPE_CHECKING:
    from pathlib import Path

FULL = OSError(errno.ENOSPC, "No space left on device")


def memory(folder: Path) -> Memory:
    return Memory(folder, InlineMachine())


@pytest.mark.parametrize("call", ["find", "begin"])
def test_an_agent_waits_for_a_disk_that_refuses_from_the_start_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, call: str
) -> None:
    caplog.set_level("INFO")
    right, told, left = getattr(CheckpointFolder, call), list[bool](), [FULL] * 3

    def refused(*values: Any) -> Any:
        if left:
            raise left.pop()
        return right(*values)

    async def test() -> None:
        one = memory(tmp_path)
        one.degraded = told.append
        async with asyncio.timeout(PATIENCE):
            await one.recall()
            await one.begin("run", 2, savable=True)
        await one.close()

    monkeypatch.setattr(CheckpointFolder, call, refused)
    run(test())
    assert (tmp_path / "run").exists()
    assert told == [True, True, True, False]
    assert [record.message for record in caplog.records] == [
        "cannot keep checkpoints, and wait until I can: [Errno 28] No space left on device",
        "the disk takes checkpoints again",
    ]


def test_an_agent_that_waits_for_its_disk_ends_when_it_is_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_values: Any) -> None:
        raise FULL

    async def test() -> None:
        setup, stop, place = make_setup(), asyncio.Event(), Place("127.0.0.1", 1, 2)
        samples = pack_shard(setup.dataset.features[:20], setup.dataset.labels[:20])
        config = agent_config(setup, 0, "run", {1: "127.0.0.1:3", 3: "127.0.0.1:4"}, "127.0.0.1:5")
        options = AgentOptions(0, "127.0.0.1:6", place, place.address, transport=MemoryNetwork())
        joined = Joined("run", config.to_json().encode(), bytes(samples))
        playing = asyncio.create_task(service._play(options, joined, memory(tmp_path), stop))
        await asyncio.sleep(60)
        assert not playing.done()
        stop.set()
        async with asyncio.timeout(PATIENCE):
            await playing

    monkeypatch.setattr(CheckpointFolder, "begin", refused)
    run(test())


def test_an_agent_goes_back_once_and_not_from_a_checkpoint_that_it_has_made_since(tmp_path: Path) -> None:
    async def killed_after(rounds: int) -> None:
        one = memory(tmp_path)
        await one.begin("run", 1, savable=True)
        for t in range(1, rounds + 1):
            await one.keep_arrivals(t, {}, [])
            one.keep(t, {}, {})
        await one._saved()
        await one.close()

    async def goes_back(rounds: int) -> int:
        """Return the round after which an agent begins that has played some rounds when it is behind."""
        one = memory(tmp_path)
        await one.recall()
        await one.begin("run", 1, savable=True)
        waiting = asyncio.create_task(one.until_behind())
        await asyncio.sleep(0)
        for t in range(4, 4 + rounds):
            one.keep(t, {}, {})
            await one._saved()
        one.behind(3)
        await asyncio.sleep(0)
        if waiting.done():
            with pytest.raises(GoBackError):
                waiting.result()
            await one.go_back()
        waiting.cancel()
        await one.close()
        return one.round

    run(killed_after(3))
    assert run(goes_back(1)) == 3
    run(killed_after(3))
    assert run(goes_back(0)) == 2
