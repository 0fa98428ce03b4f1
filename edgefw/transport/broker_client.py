"""An agent's way to the broker: submit feedback, and get it back when it is due."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import grpc

from edgefw.errors import BrokerRefusalError, EdgefwError
from edgefw.transport.channel import GRPC, LARGEST_PAYLOAD
from edgefw.transport.connection import Connection, ending, first_message, while_open
from edgefw.transport.credentials import service_name
from edgefw.transport.race import end_all
from edgefw.transport.submissions import Submissions
from edgefw.v1 import broker_service_pb2 as pb
from edgefw.v1.broker_service_pb2_grpc import BrokerServiceStub

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence

    from edgefw.transport.seam import Transport

_DEADLINE = 10.0  # seconds for one try of one call


@dataclass(frozen=True)
class Delivery:
    """Feedback that has come back: `requested` is what the plan asked for, in its clock's unit."""

    round: int
    payload: bytes
    requested: float


class Waiting(Protocol):
    """What an agent waits for."""

    @property
    def awaited(self) -> Sequence[int]:
        """The rounds whose feedback was submitted, and has not come."""

    def dropped(self, rounds: Iterable[int]) -> None:
        """Take note that some of it never will, though the answer to its submission did not say so."""


class Receipt:
    """What has come over one subscription, to be acknowledged over it, in the order in which it came."""

    def __init__(self) -> None:
        self._came: list[int] = []
        self._done: list[int] = []
        self._news = asyncio.Event()

    def add(self, round_: int) -> None:
        """Note that a feedback has come."""
        self._came.append(round_)

    def rounds(self) -> list[int]:
        """Take out the rounds of all that has come."""
        came, self._came = self._came, []
        return came

    def acknowledge(self, rounds: Sequence[int]) -> None:
        """Let the broker know that it need not send these again."""
        self._done += rounds
        self._news.set()

    async def write_all(self, call: Any) -> None:
        """Write acknowledgements, as long as the stream stands."""
        while True:
            await self._news.wait()
            self._news.clear()
            done, self._done = self._done, []
            if done:
                rounds = pb.Acknowledgement(rounds=done)
                await call.write(pb.SubscribeRequest(acknowledgement=rounds))


class BrokerClient:
    """One agent's calls to the broker; each is repeated until the broker answers.

    A drop may happen while no stream stands that could tell it. So whoever waits says for what, with each
    subscription and each round that is collected, and is told what of it was dropped.
    """

    def __init__(
        self,
        address: str,
        agent: int,
        run_id: str,
        transport: Transport = GRPC,
        waiting: Waiting | None = None,
    ) -> None:
        self._agent, self._run_id, self._waiting = agent, run_id, waiting
        # gRPC gives all of them one connection; each can be renewed without ending the others' calls
        submitting, self._collecting, self._subscribing = (
            Connection(service_name(None), address, transport) for _ in range(3)
        )
        self._submissions = Submissions(submitting, _refusal)
        self._receipt = Receipt()

    async def close(self) -> None:
        """End the connection."""
        await self._submissions.close()
        await self._collecting.close()
        await self._subscribing.close()

    async def submit(self, round_: int, payload: bytes, norm: float) -> pb.SubmitResponse:
        """Hand over the feedback of a round; returns when the broker has it for good."""
        if len(payload) > LARGEST_PAYLOAD:
            raise BrokerRefusalError(
                f"the feedback of round {round_} has {len(payload)} bytes, at most {LARGEST_PAYLOAD} can be "
                "carried: lower problem.batch"
            )
        request = pb.SubmitRequest(
            agent=self._agent, round=round_, run_id=self._run_id, payload=payload, norm=norm
        )
        return await self._submissions.submit(request)

    async def collect(self, round_: int) -> list[Delivery]:
        """Return F_t, all that arrives in round t (rounds clock)."""
        request = pb.CollectRequest(
            agent=self._agent, round=round_, run_id=self._run_id, awaited=self._awaited()
        )

        async def once(channel: grpc.aio.Channel) -> list[Delivery]:
            answers = BrokerServiceStub(channel).Collect(request, timeout=_DEADLINE)
            return [came async for answer in answers if (came := self._delivery(answer)) is not None]

        refusal = partial(_refusal, f"collect round {round_}")
        return await self._collecting.insist("collect", refusal, once)

    async def deliveries(self, *, at_once: bool = True) -> AsyncIterator[Delivery]:
        """Yield feedback as it comes due, for ever (wall clock).

        What was yielded is then acknowledged: at once, or when whoever took it out of `receipt` says so.
        """
        async for attempt in self._subscribing.attempts("subscribe", partial(_refusal, "subscribe")):
            async with attempt as channel, ending(BrokerServiceStub(channel).Subscribe()) as call:
                begin = pb.Subscription(agent=self._agent, run_id=self._run_id, awaited=self._awaited())
                await call.write(pb.SubscribeRequest(subscription=begin))
                message = await first_message(call)
                done = self._receipt = Receipt()
                writing = asyncio.create_task(while_open(partial(done.write_all, call)))
                try:
                    while message is not grpc.aio.EOF:
                        if (came := self._delivery(message)) is not None:
                            attempt.worked()
                            done.add(came.round)
                            yield came
                            if at_once:
                                done.acknowledge(done.rounds())
                        message = await call.read()
                finally:
                    await end_all([writing])

    def receipt(self) -> Callable[[], None]:
        """Return what acknowledges all that has been yielded by now.

        That is true of the stream that it came over, and of no other: a broker that has been away sends it
        once more, or something else has become of it.
        """
        return partial(self._receipt.acknowledge, self._receipt.rounds())

    def _awaited(self) -> Sequence[int]:
        return () if self._waiting is None else self._waiting.awaited

    def _delivery(self, message: pb.SubscribeResponse | pb.CollectResponse) -> Delivery | None:
        """Return the feedback that a message brings; None where it brings none. Pass on what was dropped."""
        if message.HasField("delivery"):
            came = message.delivery
            return Delivery(came.round, came.payload, came.requested_delay)
        if message.HasField("dropped") and self._waiting is not None:
            self._waiting.dropped(message.dropped.rounds)
        return None


def _refusal(what: str, error: grpc.aio.AioRpcError) -> EdgefwError | None:
    """Return what it means to an agent that the broker will not do something.

    A broker of another run may be on its way to this one. That a run is over is for the observer to say.
    """
    if error.code() is grpc.StatusCode.NOT_FOUND:
        return None
    return BrokerRefusalError(f"the broker refuses to {what}: {error.code().name}: {error.details()}")
