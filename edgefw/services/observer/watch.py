"""What holds up a run: who is away, who is behind the others, whether anybody reports, the pace it has."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from edgefw.scenario.pace import missed, warning
from edgefw.services.observer.attendance import BROKER, Attendance, Who, name
from edgefw.services.observer.pacing import Pacing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from edgefw.services.observer.ledger import Ledger
    from edgefw.telemetry.metrics import ObserverMetrics

log = logging.getLogger(__name__)

LOOK = 1.0  # seconds between two looks
OVERDUE = 3.0  # seconds that a member may be awaited before the log says so
SILENCE = 10.0  # ... and that nobody may report, longer than a round takes
REMIND = 10.0  # seconds between two lines that say the same


class Watch:
    """Knows for whom a run waits, and how long; `pace` is the length of a round, `now` the clock."""

    def __init__(self, ledger: Ledger, attendance: Attendance, pace: float, now: Callable[[], float]) -> None:
        self._ledger, self._attendance, self._pace, self._now = ledger, attendance, pace, now
        self._pacing = Pacing(now)
        self._latest = now()  # when the last report came
        self._begun, self._begun_at = 0, now()  # the round that some have reported and others have not

    def show(self, metrics: ObserverMetrics) -> None:
        """Let the metrics say at any time who is awaited, how long nobody has reported, and the pace."""
        metrics.pace_asked.set(self._pace)
        metrics.pace_reached.set_function(self._pacing.seconds)
        metrics.silence.set_function(self.silence)
        metrics.broker_awaited.set_function(partial(self._seconds, BROKER))
        for i in range(self._ledger.n):
            metrics.agent_awaited.labels(str(i)).set_function(partial(self._seconds, i))

    def reported(self) -> None:
        """Note that a report has come."""
        self._latest = self._now()
        self._pacing.completed(self._ledger.complete)
        self._look()

    def awaited(self) -> dict[Who, float]:
        """Return for how many seconds the run has waited for a member: it is away, or behind the others."""
        if self._ledger.complete == self._ledger.rounds:
            return {}
        seconds: dict[Who, float] = dict.fromkeys(self._look(), self._now() - self._begun_at)
        away = {who: self._attendance.away(who) for who in self._attendance.everyone}
        return {who: longest for who in away if (longest := max(away[who], seconds.get(who, 0.0)))}

    def silence(self) -> float:
        """Return for how many seconds, beyond the length of a round, nobody has reported; 0 at the end."""
        if self._ledger.complete == self._ledger.rounds:
            return 0.0
        return max(0.0, self._now() - self._latest - self._pace)

    def _seconds(self, who: Who) -> float:
        return self.awaited().get(who, 0.0)

    async def run(self) -> None:
        """Say in the log what holds up the run, for as long as it lasts."""
        reminder, told = Reminder(), False
        while True:
            await asyncio.sleep(LOOK)
            reached = self._pacing.seconds()
            if not told and missed(self._pace, reached, self._pacing.rounds):
                log.warning(warning(self._pace, reached))
                told = True
            if line := reminder.line(self._overdue(), self._now()):
                log.warning("round %d waits for %s", self._ledger.complete + 1, line)

    def _overdue(self) -> dict[str, float]:
        """Return what has been waited for too long, and how long."""
        overdue = {name(who): s for who, s in self.awaited().items() if s >= OVERDUE}
        if not overdue and (silence := self.silence()) >= SILENCE:
            return {
                "a report of any agent": silence + self._pace
            }  # they wait for one another: their logs say for whom
        return overdue

    def _look(self) -> list[int]:
        """Return who has not reported a round that others have; note when there is such a round."""
        behind, t = self._ledger.waiting_for(), self._ledger.complete + 1
        if len(behind) == self._ledger.n:
            return []
        if self._begun != t:
            self._begun, self._begun_at = t, self._now()
        return behind


class Reminder:
    """Chooses what to say when: what is new at once, the rest now and then."""

    def __init__(self) -> None:
        self._named: frozenset[str] = frozenset()
        self._said = 0.0

    def line(self, overdue: Mapping[str, float], now: float) -> str | None:
        """Return what to say now, if anything; `overdue` has seconds, by name.

        >>> reminder = Reminder()
        >>> reminder.line({"agent 3": 4.2}, 100.0)
        'agent 3 (4 s)'
        >>> reminder.line({"agent 3": 5.2}, 101.0) is None
        True
        >>> reminder.line({"agent 3": 6.2, "agent 5": 3.1}, 102.0)
        'agent 3 (6 s), agent 5 (3 s)'
        """
        news = overdue.keys() - self._named
        self._named = frozenset(overdue)
        if not news and (not overdue or now < self._said + REMIND):
            return None
        self._said = now
        return ", ".join(f"{each} ({seconds:.0f} s)" for each, seconds in overdue.items())
