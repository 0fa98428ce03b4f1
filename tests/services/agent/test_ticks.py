"""Ticks of a pace, on a loop whose timers are late and with rounds that take too long."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from edgefw.services.agent.ticks import Ticks
from edgefw.services.clock import loop_time
from edgefw.virtual.loop import VirtualLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextvars import Context

LATE = 0.003


class LateLoop(VirtualLoop):
    """Every timer goes off 3 ms late, as those of a busy machine do."""

    def call_at(  # type: ignore[override]  # whose type has no name for the types of arguments
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return super().call_at(when + LATE, callback, *args, context=context)


def rounds(pace: float, lengths: Sequence[float]) -> list[tuple[float, float | None]]:
    """Return when rounds of these lengths begin, after the first has ended, and by how much they are late."""

    async def test() -> list[tuple[float, float | None]]:
        ticks = Ticks(pace)
        assert await ticks.reach() is None
        ticks.begin()
        begin, found = loop_time(), []
        for length in lengths:
            late = await ticks.reach()
            found.append((loop_time() - begin, late))
            asyncio.get_running_loop().jump(length)  # type: ignore[attr-defined]
            ticks.begin()  # they have begun: the grid stays where it is
        return found

    with asyncio.Runner(loop_factory=LateLoop) as runner:
        return runner.run(test())


def test_late_timers_do_not_add_up() -> None:
    found = rounds(0.25, [0.1] * 40)
    assert [begin for begin, _ in found] == pytest.approx([0.25 * t + LATE for t in range(1, 41)], abs=1e-6)
    assert {late for _, late in found} == {None}


def test_a_tick_that_is_missed_is_told_and_not_caught_up_with() -> None:
    found = rounds(0.25, [0.1, 0.6, 0.1, 0.1])
    assert [begin for begin, _ in found] == pytest.approx(
        [0.25 + LATE, 0.5 + LATE, 1.1 + LATE, 1.35 + 2 * LATE], abs=1e-6
    )
    assert [late is None for _, late in found] == [True, True, False, True]
    assert found[2][1] == pytest.approx(0.35 + LATE)


def test_without_a_pace_nobody_waits_and_nothing_is_missed() -> None:
    assert rounds(0.0, [0.1, 0.2]) == [(0.0, None), (pytest.approx(0.1), None)]
