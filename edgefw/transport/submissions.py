"""Feedback on its way to the broker: one stream, on which each is sent until the broker has answered it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from edgefw.transport.race import end_all, race
from edgefw.transport.resending import ResendingStream
from edgefw.v1.broker_service_pb2 import SubmitRequest, SubmitResponse
from edgefw.v1.broker_service_pb2_grpc import BrokerServiceStub

if TYPE_CHECKING:
    from collections.abc import Callable

    import grpc

    from edgefw.errors import EdgefwError
    from edgefw.transport.connection import Attempts, Connection

    Refusal = Callable[[str, grpc.aio.AioRpcError], EdgefwError | None]

log = logging.getLogger(__name__)

PATIENCE = 10.0  # seconds for an answer before the stream is taken for dead


class Submissions(ResendingStream[SubmitRequest]):
    """Submits the feedback of an agent, by its round, as many at a time as the callers wish.

    The stream is opened with the first of them. The broker answers when it has kept a feedback.
    """

    what = "submit"

    def __init__(self, connection: Connection, refusal: Refusal) -> None:
        super().__init__(connection, lambda channel: BrokerServiceStub(channel).Submit())
        self._meaning = refusal
        self._answers: dict[int, asyncio.Future[SubmitResponse]] = {}
        self._life: asyncio.Task[None] | None = None

    async def submit(self, request: SubmitRequest) -> SubmitResponse:
        """Hand over a feedback; returns when the broker has it."""
        answer: asyncio.Future[SubmitResponse] = asyncio.get_running_loop().create_future()
        self._answers[request.round] = answer
        self._add(request.round, request)
        if self._life is None:
            self._life = asyncio.create_task(self.run(), name="submissions")
            self._life.add_done_callback(self._over)
        try:
            return await answer
        finally:  # also where nobody waits for it any more
            self._answers.pop(request.round, None)
            self._kept.pop(request.round, None)

    async def close(self) -> None:
        """End the stream; what is unanswered stays so."""
        if self._life is not None:
            await end_all([self._life])

    def _take(self, answer: SubmitResponse) -> None:
        waiting = self._answers.get(answer.round)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    async def _converse(self, call: Any, attempt: Attempts) -> None:
        await race(super()._converse(call, attempt), self._until_dead())

    async def _until_dead(self) -> None:
        """Return when there has been no answer for too long to one that waits."""
        while True:
            oldest = next(iter(self._kept), None)
            await asyncio.sleep(PATIENCE)
            if oldest is not None and oldest in self._kept:
                log.warning("no answer to the submission of round %d for %.0f s", oldest, PATIENCE)
                return

    def _refusal(self, error: grpc.aio.AioRpcError) -> EdgefwError | None:
        return self._meaning(f"submit round {min(self._kept, default=0)}", error)

    def _over(self, life: asyncio.Task[None]) -> None:
        """Tell everyone who waits what ended the submissions; whoever comes next begins anew."""
        self._life = None
        if life.cancelled() or (failure := life.exception()) is None:
            return
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(failure)
        self._kept.clear()
