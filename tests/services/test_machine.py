"""A machine with threads and processes, and one without: services see no difference."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import TYPE_CHECKING, Any

import echo
import pytest
from waiting import PATIENCE

from edgefw.errors import WireError
from edgefw.services.machine import REAL, InlineMachine, Machine

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from edgefw.services.machine import Helper

COMMAND = (sys.executable, echo.__file__)
both = pytest.mark.parametrize("machine", [REAL, InlineMachine()], ids=["real", "inline"])


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, PATIENCE))


async def said(helper: Helper, count: int) -> list[str]:
    """Return the next lines of a helper."""
    lines = helper.lines()
    return [(await anext(lines)).decode().strip() for _ in range(count)]


@both
def test_a_worker_does_one_piece_after_the_other_in_their_order(machine: Machine) -> None:
    async def test() -> None:
        worker, done = machine.worker("test"), list[int]()
        try:
            await asyncio.gather(*(worker.do(done.append, each) for each in range(100)))
            assert done == list(range(100))
            assert await worker.do(divmod, 7, 2) == (3, 1)
            assert await machine.aside(divmod, 7, 2) == (3, 1)
            with pytest.raises(ZeroDivisionError):
                await worker.do(divmod, 7, 0)
            elsewhere = await worker.do(threading.get_ident) != threading.get_ident()
            assert elsewhere is not isinstance(machine, InlineMachine)
        finally:
            worker.close()

    run(test())


@both
def test_a_helper_begins_unasked_and_answers_until_it_is_ended(machine: Machine) -> None:
    async def test() -> None:
        helper = await machine.helper(COMMAND, echo.Echo, 1000)
        assert await said(helper, 1) == ["ready"]
        await helper.ask("one two")
        assert await said(helper, 2) == ["one", "two"]
        await helper.ask("three")
        assert await said(helper, 1) == ["three"]
        helper.kill()
        await helper.wait()
        assert [line async for line in helper.lines()] == []
        helper.kill()
        await helper.ask("anything")  # nobody hears

    run(test())


@both
def test_a_request_cuts_the_answer_to_the_one_before_it_short(machine: Machine) -> None:
    async def test() -> None:
        helper = await machine.helper(COMMAND, echo.Echo, 1000)
        assert await said(helper, 1) == ["ready"]
        await helper.ask("on")
        assert await said(helper, 3) == ["on", "on", "on"]
        await helper.ask("off")
        async for line in helper.lines():
            if line.strip() == b"off":
                break
        helper.kill()
        await helper.wait()

    run(test())


def test_a_program_that_fails_is_heard_of() -> None:
    async def test() -> None:
        helper = await InlineMachine().helper((), echo.Echo, 0)
        await helper.ask("fail")
        assert [line async for line in helper.lines()] == [b"ready"]
        with pytest.raises(ZeroDivisionError):
            await helper.wait()
        process = await REAL.helper((sys.executable, "-c", "raise SystemExit(3)"), echo.Echo, 100)
        assert [line async for line in process.lines()] == []
        assert await process.wait() == 3

    run(test())


def test_a_line_that_does_not_end_is_an_error() -> None:
    async def test() -> None:
        helper = await REAL.helper((sys.executable, "-c", "print('x' * 500)"), echo.Echo, 100)
        with pytest.raises(WireError):
            await said(helper, 1)
        await helper.wait()

    run(test())
