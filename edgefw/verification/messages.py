"""Whether as many messages were sent as the rounds on record take."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from edgefw.errors import RecordError

if TYPE_CHECKING:
    from edgefw.scenario.setup import Setup
    from edgefw.verification.record import Recorded


def check_messages(recorded: Recorded) -> None:
    """Refuse counts of messages that are not those of the rounds.

    The counts on record are those of each agent's last report. A round is complete when the last agent has
    reported it: so who has sent least has sent just as much as the complete rounds take.
    """
    if "messages" not in recorded.meta:
        return
    setup, rounds = recorded.setup, len(recorded.rounds)
    each = [_in_a_sweep(setup, agent) for agent in range(setup.n)]
    told = json.loads(recorded.meta["messages"])
    if not isinstance(told, list) or len(told) != setup.n:
        raise RecordError(f"the messages of {setup.n} agents are said to be {told!r}")
    ahead = [count - rounds * sent for count, sent in zip(told, each, strict=True)]
    if any(more % sent if sent else more for more, sent in zip(ahead, each, strict=True)):
        raise RecordError(f"agents are said to have sent {told} messages, in a round they send {each}")
    if min(ahead) != 0:
        raise RecordError(
            f"agents are said to have sent {told} messages: {rounds} rounds take {[rounds * s for s in each]}"
        )


def _in_a_sweep(setup: Setup, agent: int) -> int:
    return setup.agent_spec(agent).exchanges * len(setup.graph.neighbours(agent))
