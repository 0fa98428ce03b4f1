from __future__ import annotations

import asyncio

import pytest

from edgefw.transport.race import race


async def value(result: int) -> int:
    return result


async def failure() -> int:
    raise ZeroDivisionError


def test_the_first_to_end_decides_and_of_several_the_one_named_first() -> None:
    async def forever() -> int:
        await asyncio.Event().wait()
        raise AssertionError

    async def test() -> None:
        assert await race(forever(), value(1)) == 1
        assert await race(value(1), failure()) == 1
        with pytest.raises(ZeroDivisionError):
            await race(failure(), value(1))

    asyncio.run(test())


def test_the_others_have_ended_when_it_returns_however_long_they_take() -> None:
    ended = []

    async def slow_to_end() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            ended.append("slow")
        raise AssertionError

    async def test() -> None:
        assert await race(value(1), slow_to_end()) == 1
        assert ended == ["slow"]
        racing = asyncio.create_task(race(slow_to_end(), slow_to_end()))
        await asyncio.sleep(0)  # it begins
        await asyncio.sleep(0)  # ... and so do they
        racing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await racing
        assert ended == ["slow"] * 3

    asyncio.run(test())
