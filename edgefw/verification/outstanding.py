"""Whether the numbers of outstanding feedback can be: submitted, not received, not known to be dropped.

An agent counts when it has played a round, before it submits the round's feedback.

Rounds clock: it has received what it has used. A drop is in the answer to the submission, or comes with the
next round that is asked for (agents of earlier versions were not told).

Wall clock: it may have received more than it has used. But what was released after round t was accepted had
not come when round t was played.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from edgefw.delays.hold import RoundsHold
from edgefw.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgefw.records import PlayRow
    from edgefw.verification.broker import BrokerAgain


def check_outstanding(broker: BrokerAgain, rows: Sequence[PlayRow]) -> None:
    """Refuse numbers that cannot be."""
    for agent in range(len(broker.hold.links)):
        bounds, unused = _Bounds(broker, agent), 0
        for row in (row for row in rows if row.agent == agent):
            unused += 1 - len(row.arrivals)
            least, most = bounds.of(row.round, unused)
            if not least <= row.outstanding <= most:
                raise RecordError(
                    f"round {row.round}, agent {agent}: {row.outstanding} feedbacks are said to be "
                    f"outstanding, {unused} are unused: it can be {least} to {most}"
                )


class _Bounds:
    """How many feedbacks of an agent can be outstanding after it has played a round."""

    def __init__(self, broker: BrokerAgain, agent: int) -> None:
        drops = [(s, known) for (i, s), known in broker.dropped.items() if i == agent]
        self._broker, self._agent = broker, agent
        self._by_rounds = isinstance(broker.hold, RoundsHold)
        self._dropped = sorted(s for s, _ in drops)
        # Of what is over by a plan that nobody knows, anything may have been dropped.
        self._gone = sorted({s for s, _ in drops} | {s for i, s in broker.unknown if i == agent})
        self._answered = sorted(s for s, known in drops if s == known)  # the answer said so
        self._known = sorted(max(drop) for drop in drops)
        released = broker.released | broker.withdrawn  # of which an agent may have had a copy before
        self._released = sorted(moment for (i, _), moment in released.items() if i == agent)

    def of(self, t: int, unused: int) -> tuple[int, int]:
        """Return the least and the most, where `unused` have not been used."""
        if not self._by_rounds:
            return self._not_released(t), unused
        if self._broker.untold.spans:
            return unused - bisect_right(self._gone, t), unused
        return unused - bisect_right(self._known, t), unused - bisect_right(self._answered, t)

    def _not_released(self, t: int) -> int:
        entry = self._broker.accepted.get((self._agent, t))
        if entry is None or self._broker.untold.spans:
            return 0
        return t - bisect_right(self._dropped, t) - bisect_left(self._released, entry.moment)
