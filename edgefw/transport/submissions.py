"""Feedback on its way to the broker: one stream, on which each is sent until the broker has answered it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import grpc

from edgefw.transport.connection import Attempts, Connection, ending, while_open
from edgefw.transport.race import race
from edgefw.v1.broker_service_pb2_grpc import BrokerServiceStub

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgefw.errors import EdgefwError
    from edgefw.v1.broker_service_pb2 import SubmitRequest, SubmitResponse

    Refusal = Callable[[str, grpc.aio.AioRpcError], EdgefwError | None]

log = logging.getLogger(__name__)

PATIENCE = 10.0  # seconds for an answer before the stream is taken for dead


class Submissions:
    """Submits feedback, as many at a time as its callers wish.

    The broker answers when it has kept a feedback. A stream that ends without an answer is opened again and
    gets all that is unanswered once more: the broker knows what it has.
    """

    def __init__(self, connection: Connection, refusal: Refusal) -> None:
        self._connection, self._refusal = connection, refusal
        self._unanswered: dict[tuple[int, int], tuple[SubmitRequest, asyncio.Future[SubmitResponse]]] = {}
        self._unsent: list[SubmitRequest] = []
        self._more = asyncio.Event()
        self._life: asyncio.Task[None] | None = None

    async def submit(self, request: SubmitRequest) -> SubmitResponse:
        """Hand over a feedback; returns when the broker has it."""
        answer: asyncio.Future[SubmitResponse] = asyncio.get_running_loop().create_future()
        key = (request.agent, request.round)
        self._unanswered[key] = (request, answer)
        self._unsent.append(request)
        self._more.set()
        if self._life is None:
            self._life = asyncio.create_task(self._live(), name="submissions")
            self._life.add_done_callback(self._over)
        try:
            return await answer
        finally:
            self._unanswered.pop(key, None)

    async def close(self) -> None:
        """End the stream; what is unanswered stays so."""
        if self._life is not None:
            self._life.cancel()
            await asyncio.gather(self._life, return_exceptions=True)
        await self._connection.close()

    async def _live(self) -> None:
        """Keep a stream to the broker for as long as there is something to submit."""
        async for attempt in self._connection.attempts("submit", self._refused):
            if self._unanswered:
                self._more.set()
            await self._more.wait()
            self._unsent = [request for request, _ in self._unanswered.values()]
            async with attempt as channel, ending(BrokerServiceStub(channel).Submit()) as call:
                await race(self._read(call, attempt), while_open(self._write(call)), self._until_dead())

    async def _until_dead(self) -> None:
        """Return when there has been no answer for too long to one that waits."""
        while True:
            oldest = next(iter(self._unanswered), None)
            await asyncio.sleep(PATIENCE)
            if oldest is not None and oldest in self._unanswered:
                log.warning("no answer to the submission of round %d for %.0f s", oldest[1], PATIENCE)
                return

    async def _write(self, call: Any) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            batch, self._unsent = self._unsent, []
            for request in batch:
                await call.write(request)

    async def _read(self, call: Any, attempt: Attempts) -> None:
        while (answer := await call.read()) is not grpc.aio.EOF:
            attempt.worked()
            waiting = self._unanswered.get((answer.agent, answer.round))
            if waiting is not None and not waiting[1].done():
                waiting[1].set_result(answer)

    def _refused(self, error: grpc.aio.AioRpcError) -> EdgefwError | None:
        return self._refusal(f"submit round {min((s for _, s in self._unanswered), default=0)}", error)

    def _over(self, life: asyncio.Task[None]) -> None:
        """Tell everyone who waits what ended the submissions; whoever comes next begins anew."""
        self._life = None
        if life.cancelled() or (failure := life.exception()) is None:
            return
        for _, answer in self._unanswered.values():
            if not answer.done():
                answer.set_exception(failure)
        self._unanswered.clear()
        self._unsent.clear()
        self._more.clear()
