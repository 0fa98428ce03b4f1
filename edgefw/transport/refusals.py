"""What a service will not do, and the gRPC status that says so: the one place where reasons become statuses.

A servicer raises a `WireError` with a reason, one word. Most reasons have one status wherever they are given.
A few mean something else to another caller, so each service has its own table.

    async with refusing(context, BROKER, self._count) as caller:
        caller.speaks_as(request.agent)  # likewise, if its certificate is another's
        self._gate.sender(request.agent, request.run_id)  # may raise WireError("digest", ...)
"""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grpc import StatusCode
from grpc.aio import InternalError

from edgefw.errors import WireError
from edgefw.transport.credentials import service_name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    Statuses = Mapping[str, StatusCode]

log = logging.getLogger(__name__)

COMMON: Statuses = {
    "ahead": StatusCode.RESOURCE_EXHAUSTED,
    "anew": StatusCode.ABORTED,
    "begun": StatusCode.FAILED_PRECONDITION,
    "clock": StatusCode.FAILED_PRECONDITION,
    "complete": StatusCode.OUT_OF_RANGE,
    "conflict": StatusCode.ALREADY_EXISTS,
    "digest": StatusCode.FAILED_PRECONDITION,
    "future": StatusCode.FAILED_PRECONDITION,
    "full": StatusCode.RESOURCE_EXHAUSTED,
    "replaced": StatusCode.ABORTED,
    "identity": StatusCode.PERMISSION_DENIED,
    "resume": StatusCode.FAILED_PRECONDITION,
    "run": StatusCode.NOT_FOUND,
    "silence": StatusCode.DEADLINE_EXCEEDED,
    "silent": StatusCode.DEADLINE_EXCEEDED,
    "stopping": StatusCode.UNAVAILABLE,
    "version": StatusCode.FAILED_PRECONDITION,
}  # any other reason is about a value that is wrong whatever the run
PEERS: Statuses = {**COMMON, "agent": StatusCode.FAILED_PRECONDITION}
BROKER: Statuses = {**COMMON, "order": StatusCode.FAILED_PRECONDITION}
REPORTS: Statuses = {**COMMON, "order": StatusCode.OUT_OF_RANGE}  # FAILED_PRECONDITION ends an agent's run


@dataclass
class Caller:
    """Whose call it is: as far as it has said, and (`proved`) by its certificate, if it had to show one."""

    proved: str | None = None
    agent: int | None = None

    def speaks_as(self, agent: int | None) -> None:
        """Note who the caller says it is, None for the broker; it has to be who it has proved to be."""
        self.agent = agent
        if self.proved not in {None, name := service_name(agent)}:
            raise WireError(
                "identity", f"this call speaks as {name}, and its certificate is of {self.proved!r}"
            )


def _proved(context: Any) -> str | None:
    """Return the name in the caller's certificate, None where calls need none; who has two names has none."""
    proof = context.auth_context()
    if proof.get("transport_security_type") != [b"ssl"]:
        return None
    names = proof.get("x509_subject_alternative_name", ())
    return str(names[0], "utf-8", "replace") if len(names) == 1 else ""


@asynccontextmanager
async def refusing(
    context: Any, statuses: Statuses, refused: Callable[[int | None, WireError], None]
) -> AsyncIterator[Caller]:
    """Run a servicer's method. A WireError is told to `refused`, and ends the call with its status.

    A call whose other end has gone just ends: there is nobody to be told.
    """
    caller = Caller(_proved(context))
    try:
        try:
            yield caller
        except WireError as error:
            refused(caller.agent, error)
            await context.abort(statuses.get(error.reason, StatusCode.INVALID_ARGUMENT), str(error))
    except InternalError:  # what gRPC raises, for a status too, where the other end has gone
        log.info("a stream broke")
