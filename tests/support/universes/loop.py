"""Virtual time with a scheduler that a seed decides, and services that can die at any await.

Theory of operation. Asyncio runs callbacks in the order in which they were asked for. Most of them are steps
of tasks, and nobody should count on which of two ready tasks goes first. So before each turn the steps that
are ready change places among themselves, and some wait for the next turn; every other callback stays where it
is. Between two callbacks of a service it can be killed, which is to say: at any await.
"""

from __future__ import annotations

import asyncio
import heapq
from asyncio import Handle, TimerHandle
from typing import TYPE_CHECKING, Any

from edgefw.virtual.loop import SECOND, START, VirtualLoop
from universes.life import LIFE

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context
    from random import Random

    from universes.life import Life

MOST_STEPS = 400_000  # callbacks of one universe: more is somebody who turns in a circle
_WAITS = 0.1  # chance that a ready task waits for the next turn


class EndlessError(Exception):
    """It goes on and on: too much virtual time has passed, or too many steps were taken."""


class UniverseLoop(VirtualLoop):
    """A virtual loop whose tasks go in an order of its own; `order` None keeps asyncio's."""

    def __init__(self, order: Random | None, longest: float) -> None:
        self._order = order
        self._postponed: list[Handle] = []
        self.steps, self.most_steps = 0, MOST_STEPS
        self.latest = START + round(longest * SECOND)
        self.stepped: Callable[[Life | None], None] = lambda _life: None
        super().__init__()
        self.set_task_factory(_new_task)

    def jump(self, seconds: float) -> None:
        """Let time pass, but not without end."""
        super().jump(seconds)
        if self.time_ns() > self.latest:
            raise EndlessError(f"nobody has come to an end after {(self._now - START) / SECOND:.0f} s")

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Context | None = None
    ) -> TimerHandle:
        timer = _LivingTimer(when, callback, args, self, context)
        heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined]  # asyncio's own
        timer._scheduled = True  # type: ignore[attr-defined]
        return timer

    def resume(self, life: Life) -> None:
        """Let a paused life go on with all that it has missed."""
        life.paused = False
        held, life.held = life.held, []
        self._ready.extend(held)  # type: ignore[attr-defined]

    def call_soon(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Context | None = None
    ) -> Handle:
        return self._call_soon(callback, args, context)

    def _call_soon(self, callback: Any, args: Any, context: Context | None) -> Handle:
        handle = _LivingHandle(callback, args, self, context)
        self._ready.append(handle)  # type: ignore[attr-defined]
        return handle

    def _run_once(self) -> None:
        if self._order is not None:
            self._rearrange(self._order)
        super()._run_once()  # type: ignore[misc]

    def _rearrange(self, order: Random) -> None:
        ready: Any = self._ready  # type: ignore[attr-defined]
        ready.extend(self._postponed)
        self._postponed = []
        if len(ready) < 2:
            return
        handles = list(ready)
        places = [i for i, handle in enumerate(handles) if _is_step(handle)]
        shuffled = [handles[i] for i in places]
        order.shuffle(shuffled)
        for i, handle in zip(places, shuffled, strict=True):
            handles[i] = handle
        for handle in shuffled[:-1]:  # one goes at least
            if order.random() < _WAITS:
                handles.remove(handle)
                self._postponed.append(handle)
        ready.clear()
        ready.extend(handles)

    def _may_run(self, handle: Any) -> bool:
        life = handle._context.get(LIFE)
        if life is not None:
            if not life.takes(handle):
                return False
            life.steps += 1
        self.steps += 1
        if self.steps > self.most_steps:
            raise EndlessError(f"nobody has come to an end after {self.most_steps} steps")
        self.stepped(life)
        return life is None or life.takes(handle)  # it may have been killed just now


class _LivingHandle(Handle):
    def _run(self) -> None:
        if self._loop._may_run(self):  # type: ignore[attr-defined]
            super()._run()


class _LivingTimer(TimerHandle):
    def __lt__(self, other: TimerHandle) -> bool:
        return self.when() < other.when()

    def _run(self) -> None:
        if self._loop._may_run(self):  # type: ignore[attr-defined]
            super()._run()


def _is_step(handle: Any) -> bool:
    return isinstance(getattr(handle._callback, "__self__", None), asyncio.Task)


def _new_task(loop: Any, coroutine: Any, **named: Any) -> asyncio.Task[Any]:
    task: asyncio.Task[Any] = asyncio.Task(coroutine, loop=loop, **named)
    context = named.get("context")
    life = LIFE.get() if context is None else context.get(LIFE)
    if life is not None:
        life.tasks.add(task)
    return task
