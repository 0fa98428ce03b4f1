"""The virtual loop: time stands while anybody has work, jumps to the next timer, and is exact."""

from __future__ import annotations

import asyncio
import threading

import pytest

from edgefw.virtual.loop import START, StandstillError, VirtualLoop, run


def test_hours_pass_at_once_and_to_the_nanosecond() -> None:
    async def work() -> float:
        begin = asyncio.get_running_loop().time()
        for _ in range(36_000):
            await asyncio.sleep(0.1)
        return asyncio.get_running_loop().time() - begin

    assert run(work()) == pytest.approx(3600, abs=1e-4)  # sleeps add up floats: that is the sleeper's


def test_time_stands_while_there_is_work() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        for _ in range(1000):
            await asyncio.sleep(0)
        assert loop.time() == begin == START / 1e9

    run(work())


def test_timers_come_in_order_each_at_its_moment() -> None:
    seen: list[tuple[str, float]] = []

    async def after(seconds: float, name: str) -> None:
        await asyncio.sleep(seconds)
        seen.append((name, asyncio.get_running_loop().time()))

    async def work() -> None:
        begin = asyncio.get_running_loop().time()
        await asyncio.gather(after(0.3, "c"), after(0.1, "a"), after(0.1, "b"))
        assert [(name, round(when - begin, 12)) for name, when in seen] == [
            ("a", 0.1),
            ("b", 0.1),
            ("c", 0.3),
        ]

    run(work())


@pytest.mark.parametrize("others", [0, 1, 7])
def test_timers_of_one_moment_go_off_in_the_order_in_which_they_were_set(others: int) -> None:
    seen: list[int] = []

    async def work() -> None:
        loop = asyncio.get_running_loop()
        moment = loop.time() + 1
        for i in range(8):
            loop.call_at(moment, seen.append, i)
            if i < others:  # whoever looks from outside sets timers too
                loop.call_at(moment - 1 / (i + 2), lambda: None)
        await asyncio.sleep(2)

    run(work())
    assert seen == list(range(8))


def test_who_waits_for_nothing_is_told() -> None:
    async def work() -> None:
        await asyncio.Event().wait()

    with pytest.raises(StandstillError, match="nothing will ever happen again: 1 tasks wait"):
        run(work())


def test_a_call_from_another_thread_is_heard() -> None:
    async def work() -> str:
        loop = asyncio.get_running_loop()
        heard: asyncio.Future[str] = loop.create_future()
        loop.call_later(86_400, lambda: None)  # else nothing would ever happen, as far as the loop knows
        caller = threading.Thread(target=loop.call_soon_threadsafe, args=(heard.set_result, "here"))
        caller.start()
        caller.join()
        return await heard

    assert run(work()) == "here"


def test_a_timer_further_away_than_a_day_is_reached() -> None:
    async def work() -> float:
        begin = asyncio.get_running_loop().time()
        await asyncio.sleep(3 * 86_400)
        return asyncio.get_running_loop().time() - begin

    assert run(work()) == 3 * 86_400


def test_whoever_looks_is_called_at_every_turn() -> None:
    turns = []

    async def work() -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(1)

    with asyncio.Runner(loop_factory=lambda: VirtualLoop(lambda: turns.append(1))) as runner:
        runner.run(work())
    assert len(turns) >= 3
