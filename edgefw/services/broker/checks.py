"""What a broker checks before it uses a request, and what it tells of a refusal."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

from edgefw.core.account import UNANSWERED
from edgefw.errors import WireError
from edgefw.transport.channel import LARGEST_PAYLOAD

if TYPE_CHECKING:
    from collections.abc import Collection

    from edgefw.delays.link import Link
    from edgefw.telemetry.metrics import BrokerMetrics
    from edgefw.v1.broker_service_pb2 import SubmitRequest

log = logging.getLogger(__name__)

UNKNOWN = "unknown"
_NOT_REFUSALS = {"replaced", "stopping"}
"""Reasons to end a subscription that are not its agent's fault."""


class Gate:
    """Refuses what does not belong to this run: a WireError says why."""

    def __init__(self, metrics: BrokerMetrics, *, run_id: str, agents: int, rounds: int) -> None:
        self._metrics = metrics
        self._run_id, self._agents, self._rounds = run_id, agents, rounds

    def _label(self, agent: int | None) -> str:
        """Return the label of an agent in metrics: one for all strangers, who may name 2^32 numbers."""
        return UNKNOWN if agent is None or agent >= self._agents else str(agent)

    def refused(self, agent: int | None, error: WireError) -> None:
        """Count and log a refusal."""
        if error.reason not in _NOT_REFUSALS:
            self._metrics.rejected.labels(self._label(agent), error.reason).inc()
            log.warning("refused (%s): %s", error.reason, error)

    def sender(self, agent: int, run_id: str) -> None:
        """Check who speaks, and about which run."""
        if agent >= self._agents:
            raise WireError("agent", f"agent {agent} is not one of 0..{self._agents - 1}")
        if run_id != self._run_id:
            if run_id.partition("/")[0] == self._run_id.partition("/")[0]:
                raise WireError("run", f"this is the broker of run {self._run_id}: {run_id} is over")
            raise WireError(
                "digest",
                f"agent {agent} runs scenario {run_id[:64]!r}, the broker {self._run_id!r}: "
                "start both with the same scenario",
            )

    def round(self, t: int) -> None:
        """Check a round."""
        if not 1 <= t <= self._rounds:
            raise WireError("round", f"round {t} is not one of 1..{self._rounds}")

    def played(self, link: Link, t: int) -> None:
        """Check that an agent may have played a round: it waits where too many before it are unanswered."""
        if t > link.highest + UNANSWERED:
            raise WireError(
                "future",
                f"agent {link.agent} submits round {t}, and round {link.highest} was its last: at most "
                f"{UNANSWERED} can be on their way",
            )

    def awaited(self, rounds: Collection[int]) -> None:
        """Check the rounds that an agent says it waits for."""
        if len(rounds) > self._rounds:
            raise WireError("round", f"{len(rounds)} rounds are awaited, there are {self._rounds}")
        for s in rounds:
            self.round(s)

    def submission(self, request: SubmitRequest) -> None:
        """Check a submission, all but its payload's content: that is nobody's business here."""
        self.sender(request.agent, request.run_id)
        self.round(request.round)
        if not request.payload:
            raise WireError("payload", f"the feedback of round {request.round} is empty")
        if len(request.payload) > LARGEST_PAYLOAD:
            raise WireError(
                "payload",
                f"the feedback of round {request.round} has {len(request.payload)} bytes, "
                f"at most {LARGEST_PAYLOAD} are taken",
            )
        if not (math.isfinite(request.norm) and request.norm >= 0):
            raise WireError(
                "norm", f"the norm of round {request.round} is {request.norm}: 0 or more is allowed"
            )
