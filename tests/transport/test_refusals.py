"""What a refusal looks like to the other side: its status, whose call it was, and a caller who has gone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from grpc.aio import AbortError, InternalError

from edgefw.errors import WireError
from edgefw.transport.refusals import BROKER, COMMON, PEERS, REPORTS, refusing

if TYPE_CHECKING:
    from collections.abc import Mapping

Status = grpc.StatusCode


class Context:
    """The server's end of a call, which is there until it has gone."""

    def __init__(self, *, gone: bool = False, names: list[bytes] | None = None) -> None:
        """With `names`, those in the certificate that the caller showed."""
        self._gone, self._names = gone, names
        self.ended: tuple[grpc.StatusCode, str] | None = None

    def auth_context(self) -> dict[str, list[bytes]]:
        if self._names is None:
            return {"transport_security_type": [b"insecure"]}
        return {"transport_security_type": [b"ssl"], "x509_subject_alternative_name": self._names}

    async def abort(self, code: grpc.StatusCode, details: str) -> None:
        if self._gone:
            raise InternalError("gone")
        self.ended = code, details
        raise AbortError


def refuse(context: Context, statuses: Mapping[str, Any], error: Exception) -> list[tuple[int | None, str]]:
    """Let agent 3 be refused; return what was told of it."""
    told: list[tuple[int | None, str]] = []

    async def method() -> None:
        async with refusing(
            context, statuses, lambda agent, refused: told.append((agent, refused.reason))
        ) as caller:
            caller.speaks_as(3)
            raise error

    asyncio.run(method())
    return told


@pytest.mark.parametrize(
    ("statuses", "reason", "status"),
    [
        (PEERS, "digest", Status.FAILED_PRECONDITION),
        (PEERS, "agent", Status.FAILED_PRECONDITION),
        (PEERS, "replaced", Status.ABORTED),
        (PEERS, "unexpected", Status.INVALID_ARGUMENT),
        (BROKER, "agent", Status.INVALID_ARGUMENT),
        (BROKER, "order", Status.FAILED_PRECONDITION),
        (BROKER, "full", Status.RESOURCE_EXHAUSTED),
        (BROKER, "run", Status.NOT_FOUND),
        (BROKER, "stopping", Status.UNAVAILABLE),
        (REPORTS, "order", Status.OUT_OF_RANGE),
        (REPORTS, "conflict", Status.ALREADY_EXISTS),
        (COMMON, "order", Status.INVALID_ARGUMENT),
    ],
)
def test_a_refusal_ends_the_call_with_the_status_of_its_reason(
    statuses: Mapping[str, Any], reason: str, status: grpc.StatusCode
) -> None:
    context = Context()
    with pytest.raises(AbortError):
        refuse(context, statuses, WireError(reason, "why"))
    assert context.ended == (status, "why")


@pytest.mark.parametrize("names", [[b"agent-4"], [b"broker"], [], [b"agent-3", b"agent-4"], [b"\xff"], [b""]])
def test_a_caller_is_who_its_one_certificate_says(names: list[bytes]) -> None:
    context = Context(names=names)
    with pytest.raises(AbortError):
        assert refuse(context, COMMON, WireError("digest", "why")) == [(3, "identity")]
    assert context.ended is not None
    assert context.ended[0] is Status.PERMISSION_DENIED
    named = Context(names=[b"agent-3"])
    with pytest.raises(AbortError):
        refuse(named, COMMON, WireError("digest", "why"))
    assert named.ended == (Status.FAILED_PRECONDITION, "why")


def test_a_caller_that_has_gone_is_told_nothing_and_the_refusal_is_still_counted() -> None:
    context = Context(gone=True)
    assert refuse(context, BROKER, WireError("full", "why")) == [(3, "full")]
    assert refuse(context, BROKER, InternalError("a write to nobody")) == []
    assert context.ended is None


def test_no_other_error_is_taken_for_a_refusal() -> None:
    context = Context()
    with pytest.raises(ZeroDivisionError):
        refuse(context, BROKER, ZeroDivisionError())
    assert context.ended is None
