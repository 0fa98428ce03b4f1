"""An agent's way to the broker: submit feedback, and get it back when it is due."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc

from edgefw.errors import BrokerRefusalError, RunOverError
from edgefw.transport.backoff import Backoff
from edgefw.transport.channel import LARGEST_PAYLOAD, open_channel
from edgefw.transport.submissions import Submissions
from edgefw.v1 import broker_service_pb2, broker_service_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

log = logging.getLogger(__name__)

_DEADLINE = 10.0  # seconds for one try of one call
_AGAIN = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,  # by a broker that is stopping
    grpc.StatusCode.INTERNAL,  # this side's own, for a stream that broke while it was written to
    grpc.StatusCode.RESOURCE_EXHAUSTED,  # the broker is full: wait, nothing is dropped
)


@dataclass(frozen=True)
class Delivery:
    """Feedback that has come back: `requested` is what the plan asked for, in its clock's unit."""

    round: int
    payload: bytes
    requested: float


class BrokerClient:
    """One agent's calls to the broker; each is repeated until the broker answers."""

    def __init__(self, address: str, agent: int, digest: str) -> None:
        self._address, self._agent, self._digest = address, agent, digest
        self._channel = open_channel(address)
        self._stub = broker_service_pb2_grpc.BrokerServiceStub(self._channel)
        self._submissions = Submissions(self._stub, self._retry_or_raise)

    async def close(self) -> None:
        """End the connection."""
        await self._submissions.close()
        await self._channel.close()

    async def submit(self, round_: int, payload: bytes, norm: float) -> broker_service_pb2.SubmitResponse:
        """Hand over the feedback of a round; returns when the broker has it for good."""
        if len(payload) > LARGEST_PAYLOAD:
            raise BrokerRefusalError(
                f"the feedback of round {round_} has {len(payload)} bytes, at most {LARGEST_PAYLOAD} can be "
                "carried: lower problem.batch"
            )
        request = broker_service_pb2.SubmitRequest(
            agent=self._agent, round=round_, scenario_digest=self._digest, payload=payload, norm=norm
        )
        return await self._submissions.submit(request)

    async def collect(self, round_: int) -> list[Delivery]:
        """Return F_t, all that arrives in round t (rounds clock)."""
        request = broker_service_pb2.CollectRequest(
            agent=self._agent, round=round_, scenario_digest=self._digest
        )

        async def once() -> list[Delivery]:
            call = self._stub.Collect(request, timeout=_DEADLINE)
            return [_delivery(answer.delivery) async for answer in call]

        deliveries: list[Delivery] = await self._insist(f"collect round {round_}", once)
        return deliveries

    async def deliveries(self) -> AsyncIterator[Delivery]:
        """Yield feedback as it comes due, for ever (wall clock); what was yielded is then acknowledged."""
        backoff = Backoff()
        while True:
            call = self._stub.Subscribe()
            try:
                subscription = broker_service_pb2.Subscription(
                    agent=self._agent, scenario_digest=self._digest
                )
                await call.write(broker_service_pb2.SubscribeRequest(subscription=subscription))
                while (message := await call.read()) is not grpc.aio.EOF:
                    backoff.reset()
                    if message.WhichOneof("content") == "delivery":
                        yield _delivery(message.delivery)
                        done = broker_service_pb2.Acknowledgement(rounds=[message.delivery.round])
                        await call.write(broker_service_pb2.SubscribeRequest(acknowledgement=done))
            except grpc.aio.AioRpcError as error:
                self._retry_or_raise("subscribe", error)
            except asyncio.InvalidStateError:
                pass  # the call ended while it was written to: the next read would have said so
            finally:
                call.cancel()
            await backoff.pause()

    async def _insist(self, what: str, call: Callable[[], Awaitable[Any]]) -> Any:
        backoff = Backoff()
        while True:
            try:
                return await call()
            except grpc.aio.AioRpcError as error:
                self._retry_or_raise(what, error)
            await backoff.pause()

    def _retry_or_raise(self, what: str, error: grpc.aio.AioRpcError) -> None:
        if error.code() is grpc.StatusCode.NOT_FOUND:
            raise RunOverError(f"the broker serves another run: {error.details()}") from None
        if error.code() not in _AGAIN:
            raise BrokerRefusalError(
                f"the broker refuses to {what}: {error.code().name}: {error.details()}"
            ) from None
        log.warning("waiting for the broker at %s to %s: %s", self._address, what, error.code().name)


def _delivery(message: broker_service_pb2.Delivery) -> Delivery:
    return Delivery(message.round, message.payload, message.requested_delay)
