from __future__ import annotations

import asyncio

import pytest

from edgefw.transport import race as module
from edgefw.transport.race import converse, race, watched


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


def test_a_write_under_way_is_finished_when_the_reading_ends() -> None:
    async def test() -> None:
        written, hung_up = [], asyncio.Event()

        async def write() -> None:
            await hung_up.wait()
            written.append("the last")

        async def read() -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await converse(read(), write(), hung_up.set)
        assert written == ["the last"]

    asyncio.run(test())


def test_a_write_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LAST_WRITE", 0.01)

    async def test() -> None:
        async def write() -> None:
            await asyncio.Event().wait()

        await converse(asyncio.sleep(0), write(), lambda: None)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(test())


def test_whoever_watches_ends_with_what_it_watches_and_its_errors_are_told() -> None:
    async def test() -> None:
        over, begun, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def serve() -> None:
            await over.wait()

        async def fail() -> None:
            over.set()
            raise ValueError("no run like this")

        async def watch() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        with pytest.raises(ValueError, match="no run like this"):
            await watched(serve(), fail())
        over.clear()
        serving = asyncio.create_task(watched(serve(), watch()))
        await begun.wait()
        over.set()
        await serving
        assert ended.is_set()

    asyncio.run(test())
