"""What a broker checks before it uses a request, and the status that each refusal ends with."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any

import grpc

from edgefw.errors import WireError
from edgefw.transport.channel import LARGEST_PAYLOAD

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgefw.telemetry.metrics import BrokerMetrics
    from edgefw.v1.broker_service_pb2 import SubmitRequest

log = logging.getLogger(__name__)


_STATUS = {
    "digest": grpc.StatusCode.FAILED_PRECONDITION,
    "clock": grpc.StatusCode.FAILED_PRECONDITION,
    "order": grpc.StatusCode.FAILED_PRECONDITION,
    "conflict": grpc.StatusCode.ALREADY_EXISTS,
    "silence": grpc.StatusCode.DEADLINE_EXCEEDED,
    "full": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "run": grpc.StatusCode.NOT_FOUND,
    "replaced": grpc.StatusCode.ABORTED,
    "stopping": grpc.StatusCode.UNAVAILABLE,
}
UNKNOWN = "unknown"
_NOT_REFUSALS = {"replaced", "stopping"}
"""Reasons to end a subscription that are not its agent's fault."""


def status(reason: str) -> grpc.StatusCode:
    """Return the status of a refusal; most of them are about a value that no scenario would make right."""
    return _STATUS.get(reason, grpc.StatusCode.INVALID_ARGUMENT)


class Refusing:
    """A block in which a WireError ends the call with its status, and is counted and logged."""

    def __init__(self, context: Any, metrics: BrokerMetrics, agent: Callable[[], str]) -> None:
        self._context, self._metrics, self._agent = context, metrics, agent

    async def __aenter__(self) -> None:
        """Enter the block."""

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Leave it; gRPC's abort raises an error of its own in place of this one."""
        if not isinstance(error, WireError):
            return
        if error.reason not in _NOT_REFUSALS:
            self._metrics.rejected.labels(self._agent(), error.reason).inc()
            log.warning("refused (%s): %s", error.reason, error)
        await self._context.abort(status(error.reason), str(error))


class Gate:
    """Refuses what does not belong to this run: a WireError says why."""

    def __init__(self, *, digest: str, agents: int, rounds: int) -> None:
        self._digest, self._agents, self._rounds = digest, agents, rounds

    def label(self, agent: int | None) -> str:
        """Return the label of an agent in metrics: whoever names 2^32 agents shall not make as many."""
        return UNKNOWN if agent is None or agent >= self._agents else str(agent)

    def sender(self, agent: int, digest: str) -> None:
        """Check who speaks, and about which run."""
        if agent >= self._agents:
            raise WireError("agent", f"agent {agent} is not one of 0..{self._agents - 1}")
        if digest != self._digest:
            if digest.partition("/")[0] == self._digest.partition("/")[0]:
                raise WireError("run", f"this is the broker of run {self._digest}: {digest} is over")
            raise WireError(
                "digest",
                f"agent {agent} runs scenario {digest[:64]!r}, the broker {self._digest!r}: "
                "start both with the same scenario",
            )

    def round(self, t: int) -> None:
        """Check a round."""
        if not 1 <= t <= self._rounds:
            raise WireError("round", f"round {t} is not one of 1..{self._rounds}")

    def submission(self, request: SubmitRequest) -> None:
        """Check a submission, all but its payload's content: that is nobody's business here."""
        self.sender(request.agent, request.scenario_digest)
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
