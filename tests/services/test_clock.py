"""Waiting for a moment, on loops whose timers are exact, or count milliseconds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from edgefw.services.clock import loop_time, reached
from edgefw.virtual import loop as virtual_time
from edgefw.virtual.loop import VirtualLoop

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context


class CoarseLoop(VirtualLoop):
    """Its timers count milliseconds, to the nearest: half of them come too soon, as uvloop's do."""

    timer_grain = 1e-3

    def call_at(  # type: ignore[override]  # whose type has no name for the types of arguments
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        rounded = self.time() + round((when - self.time()) / self.timer_grain) * self.timer_grain
        return super().call_at(rounded, callback, *args, context=context)


@pytest.mark.parametrize("seconds", [1e-9, 0.0004, 0.002, 0.0024, 1 / 3, 7200.0])
def test_a_moment_is_reached_exactly_where_timers_are_exact(seconds: float) -> None:
    async def test() -> float:
        begin = loop_time()
        await reached(begin + seconds)
        return loop_time() - begin

    assert virtual_time.run(test()) == pytest.approx(seconds, abs=1e-9)


@pytest.mark.parametrize("seconds", [0.0004, 0.002, 0.0024, 0.0026])
def test_a_moment_is_never_reached_too_soon_where_they_are_not(seconds: float) -> None:
    async def test() -> float:
        begin = loop_time()
        await reached(begin + seconds)
        return loop_time() - begin

    with asyncio.Runner(loop_factory=CoarseLoop) as runner:
        assert seconds - 1e-9 <= runner.run(test()) < seconds + 1e-3


def test_a_moment_that_has_passed_is_not_waited_for() -> None:
    async def test() -> float:
        begin = loop_time()
        await reached(begin - 1)
        return loop_time() - begin

    assert virtual_time.run(test()) == 0
