"""The broker: takes over feedback, holds it for as long as the delay plan says, delivers it.

It does not know what it carries. `Hold` is its state, `Intake` and `Releaser` are its two ends, `Control` is
the way to change its plan, the journal is its memory; here are its calls.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from edgefw.delays.hold import Hold, RoundsHold, WallHold
from edgefw.delays.link import Held
from edgefw.delays.plan import plan_to_json
from edgefw.errors import WireError
from edgefw.services.broker.account import Account
from edgefw.services.broker.checks import Gate
from edgefw.services.broker.control import Control
from edgefw.services.broker.intake import Intake
from edgefw.services.broker.release import Outbox, Releaser
from edgefw.services.clock import loop_time
from edgefw.transport.race import converse, race
from edgefw.transport.refusals import BROKER, refusing
from edgefw.v1 import broker_service_pb2 as pb
from edgefw.v1.broker_service_pb2_grpc import BrokerServiceServicer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from contextlib import AbstractAsyncContextManager

    from prometheus_client import CollectorRegistry

    from edgefw.delays.link import Link
    from edgefw.services.broker.journal import Journal
    from edgefw.telemetry.metrics import BrokerMetrics
    from edgefw.transport.refusals import Caller

    Requests = AsyncIterator[Any]

log = logging.getLogger(__name__)

PATIENCE = 10.0  # seconds that a new stream gets to say whose it is


class Broker(BrokerServiceServicer):
    """Answers the agents of one run."""

    def __init__(
        self,
        run_id: str,
        hold: Hold,
        journal: Journal,
        metrics: BrokerMetrics,
        registry: CollectorRegistry,
        account: Account | None = None,
    ) -> None:
        """Serve what is held, and give an account of it if one is wanted."""
        self._hold, self._journal, self._metrics = hold, journal, metrics
        self._gate = Gate(metrics, run_id=run_id, agents=len(hold.links), rounds=hold.rounds)
        self._account = account or Account(journal.timeline, None)
        self._account.begin(hold.plan, self._account.now(), hold.start)
        self.control = Control(hold, journal, metrics, registry, self._account)
        self.control.run_name = run_id.rpartition("/")[2]
        self._intake = Intake(hold, journal, self._gate, metrics, self.control, self._account)
        self.releaser: Releaser | None = None
        if isinstance(hold, WallHold):
            self.releaser = Releaser(hold, metrics, self.control.released, self._account.now)
            self.control.wake = self.releaser.wake
            self.control.release_due = self.releaser.release_due
            self.control.connected = self.releaser.connected
            self.control.tell_dropped = self.releaser.tell_dropped
        _export(hold, metrics)

    async def run(self, stop: asyncio.Event) -> None:
        """Release feedback as it comes due, until told to stop; then end the streams."""
        plan, known = self._hold.plan, self._journal.restored
        if known is None or plan.version not in known.plans:  # a full journal is no reason not to start
            await self._journal.keep_plan(plan.version, plan_to_json(plan, self._journal.timeline.real))
        timers = [self.control.run()] if self.releaser is None else [self.control.run(), self.releaser.run()]
        try:
            await race(self._failure(), *timers, _stopped(stop))
        finally:
            self._intake.close()
            if self.releaser is not None:
                self.releaser.close()

    async def _failure(self) -> None:
        """Wait for the journal to fail; raise what it fails with."""
        await asyncio.shield(self._journal.failed)

    async def Submit(self, requests: Requests, context: Any) -> None:  # noqa: N802
        """Take over feedback, answer each when it is kept."""
        async with self._refusing(context) as caller:
            await self._intake.serve(requests, context, caller)

    async def Collect(self, request: pb.CollectRequest, context: Any) -> None:  # noqa: N802
        """Give out all that arrives in a round (rounds clock)."""
        async with self._refusing(context) as caller:
            agent = request.agent
            caller.speaks_as(agent)
            self._gate.sender(agent, request.run_id)
            self._gate.round(request.round)
            self._gate.awaited(request.awaited)
            if not isinstance(self._hold, RoundsHold):
                raise WireError("clock", "this run is on the wall clock: use Subscribe, not Collect")
            before = self._hold.collected[agent]
            arrived = self._hold.collect(agent, request.round)
            if request.round > before:
                self._account.collected(agent, request.round, self._account.now())
            self._journal.note_collected(agent, request.round)
            self._acknowledged(agent, arrived.acknowledged)
            self._note_sent(arrived.deliveries)  # at once with the round: on disk are both, or neither
            for held in arrived.deliveries:
                await context.write(pb.CollectResponse(delivery=_delivery(held)))
            if gone := self._gone(agent, request.awaited):
                await context.write(pb.CollectResponse(dropped=pb.Dropped(rounds=gone)))

    async def Subscribe(self, requests: Requests, context: Any) -> None:  # noqa: N802
        """Send feedback as it comes due, take acknowledgements, until the agent has gone (wall clock)."""
        async with self._refusing(context) as caller:
            subscription = await _subscription(requests)
            agent = subscription.agent
            caller.speaks_as(agent)
            self._gate.sender(agent, subscription.run_id)
            self._gate.awaited(subscription.awaited)
            if self.releaser is None:
                raise WireError("clock", "this run is on the rounds clock: use Collect, not Subscribe")
            outbox = self.releaser.open(agent)
            outbox.tell_dropped(self._gone(agent, subscription.awaited))
            try:
                await context.write(pb.SubscribeResponse(subscribed=pb.Subscribed()))
                over = WireError("over", f"the subscription of agent {agent} is over")
                await converse(
                    self._acknowledgements(agent, requests),
                    self._send(outbox, context),
                    hang_up=partial(outbox.close, over),
                )
            finally:
                self.releaser.discard(agent, outbox)

    async def _send(self, outbox: Outbox, context: Any) -> None:
        while True:
            if isinstance(news := await outbox.take(), Held):
                self._note_sent([news])
                await context.write(pb.SubscribeResponse(delivery=_delivery(news)))
            else:
                await context.write(pb.SubscribeResponse(dropped=pb.Dropped(rounds=news)))

    def _gone(self, agent: int, awaited: Sequence[int]) -> list[int]:
        """Return what an agent waits for in vain."""
        link = self._hold.links[agent]
        return [s for s in awaited if link.gone(s)]

    async def _acknowledgements(self, agent: int, requests: Requests) -> None:
        async for message in requests:
            if message.WhichOneof("content") != "acknowledgement":
                raise WireError("content", f"agent {agent}: after a subscription come acknowledgements only")
            if isinstance(self._hold, WallHold):
                rounds = self._hold.acknowledge(agent, message.acknowledgement.rounds)
                self._account.acknowledged(agent, rounds, self._account.now())
                self._acknowledged(agent, rounds)

    def _acknowledged(self, agent: int, rounds: Sequence[int]) -> None:
        if rounds:
            self._journal.note_done(agent, rounds)
            self._metrics.delivered.labels(str(agent)).inc(len(rounds))

    def _note_sent(self, some: Sequence[Held]) -> None:
        for held in some:
            if held.sent:
                self._metrics.redelivered.labels(str(held.agent)).inc()
            else:
                held.sent = True
                self._journal.note_sent(held.agent, (held.round,))

    def _refusing(self, context: Any) -> AbstractAsyncContextManager[Caller]:
        return refusing(context, BROKER, self._gate.refused)


def _delivery(held: Held) -> pb.Delivery:
    return pb.Delivery(round=held.round, payload=held.payload, requested_delay=held.requested_delay)


async def _stopped(stop: asyncio.Event) -> None:
    await stop.wait()


async def _subscription(requests: Requests) -> pb.Subscription:
    """Return the first message of a stream, which has to say whose it is."""
    try:
        async with asyncio.timeout(PATIENCE):
            first = await anext(requests, None)
    except TimeoutError:
        raise WireError("silence", f"no subscription within {PATIENCE:g} s") from None
    if first is None or first.WhichOneof("content") != "subscription":
        raise WireError("content", "the first message of a stream has to be its subscription")
    subscription: pb.Subscription = first.subscription
    return subscription


def _export(hold: Hold, metrics: BrokerMetrics) -> None:
    """Let every series of every link exist from the start; depths and ages are read when asked for."""
    for link in hold.links:
        agent = str(link.agent)
        metrics.depth.labels(agent, "pending").set_function(partial(lambda each: each.pending, link))
        metrics.depth.labels(agent, "due").set_function(partial(lambda each: len(each.released), link))
        metrics.oldest_age.labels(agent).set_function(partial(_age, link))
        metrics.rejected.labels(agent, "full")
        for counter in (metrics.accepted, metrics.delivered, metrics.redelivered, metrics.dropped):
            counter.labels(agent)
    metrics.limit.labels("link").set(hold.limits.link)
    metrics.limit.labels("all").set(hold.limits.all)
    metrics.held_bytes.set_function(lambda: hold.bytes)
    metrics.held_limit.set(hold.limits.bytes)


def _age(link: Link) -> float:
    """Return the seconds that the oldest feedback of a link has been held; 0 if there is none."""
    return 0.0 if link.oldest is None else loop_time() - link.oldest
