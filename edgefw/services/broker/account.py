"""What the broker tells the record of a run: everything it does with feedback, in order.

Entries have strictly increasing moments, so that their order is theirs wherever they are kept. A broker that
was killed may not have told its last entries: when it goes on, what its journal knows of acceptances is told
again, with the moments they had (or the plan alone, if it knows of none), and a BEGUN says that others may be
missing before it.
"""

from __future__ import annotations

import math
from operator import attrgetter
from typing import TYPE_CHECKING

from edgefw.core.account import BROKER, Entry, Kind
from edgefw.delays.plan import plan_to_json
from edgefw.delays.words import cut
from edgefw.records import content_hash
from edgefw.services.clock import loop_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from edgefw.delays.link import Held
    from edgefw.delays.plan import Plan
    from edgefw.services.broker.journal import Restored
    from edgefw.services.broker.timeline import Timeline

LONGEST = 2_000  # characters that are told of a change


class Account:
    """Makes entries and hands them to `sink` (None: nobody wants them). `now` is the event loop's time."""

    def __init__(self, timeline: Timeline, sink: Callable[[Entry], None] | None) -> None:
        self._timeline, self._sink = timeline, sink
        self._wall, self._version = True, 0
        self._last = 0
        self._least = -math.inf  # the first moment after it, as the clock has it
        self._round = 0  # the last of which anybody's feedback was accepted
        self._blank = False  # there was a broker before, of which nothing is known

    def now(self) -> float:
        """Return the broker's time, which is later than every moment it has told, if only by a nanosecond.

        So the broker decides by the very times that its account has, and a replay decides in the same way.
        """
        return max(loop_time(), self._least)

    def recall(self, known: Restored | None) -> None:
        """Tell what a journal knows of acceptances, and their plans, before the hold takes them over."""
        if known is None or self._sink is None:
            return
        self._blank = not known.rows
        version = 0
        for row in sorted(known.rows, key=attrgetter("accepted")):
            if row.version > version and row.version in known.plans:
                text, version = known.plans[row.version], row.version
                self._tell(Entry(row.accepted - 1, Kind.PLAN, 0, self._round, version, plan=text))
            self._last, self._round = max(self._last, row.accepted), max(self._round, row.round)
            hash_ = None if row.payload is None else content_hash(row.payload)
            key = row.agent, row.round
            self._tell(Entry(row.accepted, Kind.ACCEPTED, *key, row.version, hash=hash_, norm=row.norm))
        self._least = self._timeline.moment(self._last + 1)

    def begin(self, plan: Plan, now: float, start: float | None = None) -> None:
        """Tell that a broker begins, or goes on, under this plan; `start`: when the run did, if it has."""
        self._wall, self._version = plan.rules.clock == "wall", plan.version
        started = None if start is None or not self._wall else self._timeline.real(start)
        if self._blank:
            text = plan_to_json(plan, self._timeline.real)
            self._tell(Entry(self._moment(now), Kind.PLAN, 0, 0, plan.version, plan=text))
        self._add(Kind.BEGUN, now, due=started)
        self.changed(plan, now, ["the broker begins with it"], BROKER)

    def changed(self, plan: Plan, now: float, what: Iterable[str], who: str) -> None:
        """Tell that a plan is in force from now on: what it changes, in words, and who wanted it."""
        self._version = plan.version
        if self._sink is not None:
            text, said = plan_to_json(plan, self._timeline.real), cut("; ".join(what), LONGEST)
            moment, kind = self._moment(now), Kind.PLAN
            self._tell(Entry(moment, kind, 0, self._round, plan.version, plan=text, what=said, who=who))

    def accepted(
        self, key: tuple[int, int], payload: bytes, norm: float, held: Held | None, now: float
    ) -> int:
        """Tell that feedback was taken over, return the moment; `held` is None if it is dropped at once."""
        if self._sink is None:
            return self._timeline.real(now)
        moment, due = self._moment(now), None if held is None else self._due(held)
        self._round = max(self._round, key[1])
        self._tell(Entry(moment, Kind.ACCEPTED, *key, self._version, due, content_hash(payload), norm))
        if held is None:
            self._add(Kind.DROPPED, now, *key)
        return moment

    def withdrawn(self, key: tuple[int, int], now: float) -> None:
        """Tell that feedback could not be kept."""
        self._add(Kind.WITHDRAWN, now, *key)

    def redue(self, agent: int, now: float) -> None:
        """Tell that a link is asked again when its feedback is due."""
        self._add(Kind.REDUE, now, agent)

    def dropped(self, agent: int, rounds: Iterable[int], now: float) -> None:
        """Tell that feedback will never be delivered."""
        for s in rounds:
            self._add(Kind.DROPPED, now, agent, s)

    def released(self, released: Sequence[Held], now: float) -> None:
        """Tell what was due and is released."""
        if self._sink is not None:
            for held in released:
                self._add(Kind.RELEASED, now, held.agent, held.round, self._due(held))

    def acknowledged(self, agent: int, rounds: Iterable[int], now: float) -> None:
        """Tell what an agent has."""
        for s in rounds:
            self._add(Kind.ACKNOWLEDGED, now, agent, s)

    def collected(self, agent: int, t: int, now: float) -> None:
        """Tell that an agent asked for what arrives in round t."""
        self._add(Kind.COLLECTED, now, agent, t)

    def _add(self, kind: Kind, now: float, agent: int = 0, s: int = 0, due: int | None = None) -> None:
        if self._sink is not None:  # or the clock would go on for nobody
            self._tell(Entry(self._moment(now), kind, agent, s, self._version, due))

    def _tell(self, entry: Entry) -> None:
        if self._sink is not None:
            self._sink(entry)

    def _moment(self, now: float) -> int:
        self._last = max(self._last + 1, self._timeline.real(now))
        self._least = self._timeline.moment(self._last + 1)
        return self._last

    def _due(self, held: Held) -> int | None:
        if math.isinf(held.due):
            return None
        return self._timeline.real(held.due) if self._wall else int(held.due)
