"""Releases what is due by the wall clock: one task that sleeps until then, and an outbox for each agent."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from edgefw.errors import WireError
from edgefw.services.clock import loop_time, timer_grain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from edgefw.delays.hold import WallHold
    from edgefw.delays.link import Held
    from edgefw.telemetry.metrics import BrokerMetrics

LONGEST_SLEEP = 60.0


class Outbox:
    """What is to be sent to one subscriber, in order, until it is closed with a reason.

    That is feedback, and rounds of which none will come.
    """

    def __init__(self, held: Iterable[Held]) -> None:
        self._news: deque[Held | Sequence[int]] = deque(held)
        self._change = asyncio.Event()
        self._ending: WireError | None = None

    def put(self, held: Held) -> None:
        """Add a feedback."""
        self._news.append(held)
        self._change.set()

    def tell_dropped(self, rounds: Sequence[int]) -> None:
        """Add that no feedback of some rounds will come."""
        if rounds:
            self._news.append(rounds)
            self._change.set()

    def close(self, ending: WireError) -> None:
        """Let whoever takes out see this error from now on; the first one stands."""
        self._ending = self._ending or ending
        self._change.set()

    async def take(self) -> Held | Sequence[int]:
        """Take out what is next; waits as long as the subscription lasts, for there may be nothing."""
        while self._ending is None and not self._news:
            self._change.clear()
            await self._change.wait()
        if self._ending is not None:
            raise self._ending
        return self._news.popleft()


class Releaser:
    """Moves feedback that is due from the hold to its agent's outbox."""

    def __init__(
        self,
        hold: WallHold,
        metrics: BrokerMetrics,
        released: Callable[[Sequence[Held], float], None],
        now: Callable[[], float] = loop_time,
    ) -> None:
        self._hold, self._metrics, self._released, self._now = hold, metrics, released, now
        self._outboxes: dict[int, Outbox] = {}
        self._awaited = math.inf  # the due time that is waited for
        self._woken = asyncio.Event()

    def wake(self, due: float, now: float) -> None:
        """Wake up if something is due before what is waited for, or if that is due already.

        A timer is late by up to a millisecond: whoever comes by before it saves that much.
        """
        if due < self._awaited or self._awaited <= now:
            self._woken.set()

    async def run(self) -> None:
        """Release what comes due, for ever. Never early: a timer that fires too soon finds nothing due."""
        while True:
            self._woken.clear()
            self.release_due()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pause(self._now())):
                    await self._woken.wait()

    def open(self, agent: int) -> Outbox:
        """Return an agent's new outbox, with all that it did not acknowledge; an older one is closed."""
        if (older := self._outboxes.get(agent)) is not None:
            older.close(WireError("replaced", f"agent {agent} subscribed again: this subscription is over"))
        outbox = self._outboxes[agent] = Outbox(self._hold.unacknowledged(agent))
        return outbox

    def discard(self, agent: int, outbox: Outbox) -> None:
        """Put nothing more into an outbox."""
        if self._outboxes.get(agent) is outbox:
            del self._outboxes[agent]

    def close(self) -> None:
        """End every subscription: the broker is stopping."""
        for outbox in self._outboxes.values():
            outbox.close(WireError("stopping", "the broker is stopping: subscribe again when it is back"))

    def connected(self, agent: int) -> bool:
        """Whether an agent is subscribed."""
        return agent in self._outboxes

    def tell_dropped(self, agent: int, rounds: Sequence[int]) -> None:
        """Tell an agent what it waits for in vain. One that is away asks for it when it is back."""
        if (outbox := self._outboxes.get(agent)) is not None:
            outbox.tell_dropped(rounds)

    def release_due(self) -> None:
        """Release what is due by now."""
        now = self._now()
        released = self._hold.release(now)
        for held in released:
            self._metrics.lateness.observe(now - held.due)
            if (outbox := self._outboxes.get(held.agent)) is not None:
                outbox.put(held)
        if released:
            self._released(released, now)

    def _pause(self, now: float) -> float:
        """Return how long to sleep: as timers count, rounded up, not to spin through the last millisecond."""
        due = self._hold.next_due()
        self._awaited = math.inf if due is None else due
        if due is None:
            return LONGEST_SLEEP
        grain = timer_grain()
        pause = math.ceil((due - now) / grain) * grain if grain else due - now
        return min(pause, LONGEST_SLEEP)
