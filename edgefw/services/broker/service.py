"""The broker: takes over feedback, holds it for as long as the delay plan says, delivers it.

It does not know what it carries. `Hold` is its state, `Releaser` its timer; here are its calls and its
process.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from grpc.aio import EOF, InternalError

from edgefw.errors import WireError
from edgefw.scenario.load import load
from edgefw.scenario.plan import delay_plan
from edgefw.services.broker.checks import Gate, Refusing
from edgefw.services.broker.hold import Held, Hold, Link, RoundsHold, WallHold
from edgefw.services.broker.plan import wall_plan
from edgefw.services.broker.release import Outbox, Releaser
from edgefw.services.config import Place
from edgefw.services.runtime import Server, run_service
from edgefw.telemetry.metrics import BrokerMetrics, new_registry
from edgefw.v1 import broker_service_pb2 as pb
from edgefw.v1.broker_service_pb2_grpc import BrokerServiceServicer, add_BrokerServiceServicer_to_server

if TYPE_CHECKING:
    from edgefw.scenario.model import Scenario

log = logging.getLogger(__name__)

SERVICE = "edgefw.v1.BrokerService"
PATIENCE = 10.0  # seconds that a new stream gets to say whose it is
LAST_WRITE = 1.0  # seconds for a write that is under way when a stream ends


def make_hold(scenario: Scenario) -> Hold:
    """Return an empty hold under the scenario's clock and delay plan."""
    agents, rounds = scenario.network.agents, scenario.algorithm.rounds
    if scenario.clock == "wall":
        return WallHold(agents, rounds, wall_plan(scenario))
    return RoundsHold(agents, rounds, delay_plan(scenario))


class Broker(BrokerServiceServicer):
    """Answers the agents of one run."""

    def __init__(self, digest: str, hold: Hold, metrics: BrokerMetrics) -> None:
        self._hold, self._metrics = hold, metrics
        self._gate = Gate(digest=digest, agents=len(hold.links), rounds=hold.rounds)
        self._releaser = Releaser(hold, metrics) if isinstance(hold, WallHold) else None
        _export(hold, metrics)

    async def run(self, stop: asyncio.Event) -> None:
        """Release feedback as it comes due, until told to stop; then end the subscriptions."""
        if self._releaser is None:
            await stop.wait()
            return
        async with asyncio.TaskGroup() as tasks:
            timer = tasks.create_task(self._releaser.run(), name="release what is due")
            await stop.wait()
            timer.cancel()
        self._releaser.close()

    async def Submit(self, request: pb.SubmitRequest, context: Any) -> pb.SubmitResponse:  # noqa: N802
        """Take over the feedback of one round."""
        async with self._refusing(context, request.agent):
            self._gate.submission(request)
            taken = self._hold.submit(
                request.agent, request.round, request.payload, request.norm, monotonic()
            )
            if taken.new:
                self._accepted(str(request.agent), None if taken.dropped else taken.requested_delay)
            return pb.SubmitResponse(requested_delay=taken.requested_delay, dropped=taken.dropped)

    async def Collect(self, request: pb.CollectRequest, context: Any) -> None:  # noqa: N802
        """Give out all that arrives in a round (rounds clock)."""
        async with self._refusing(context, request.agent):
            self._gate.sender(request.agent, request.scenario_digest)
            self._gate.round(request.round)
            if not isinstance(self._hold, RoundsHold):
                raise WireError("clock", "this run is on the wall clock: use Subscribe, not Collect")
            arrived = self._hold.collect(request.agent, request.round)
            self._metrics.delivered.labels(str(request.agent)).inc(arrived.acknowledged)
            for held in arrived.deliveries:
                await context.write(pb.CollectResponse(delivery=self._sent(held)))

    async def Subscribe(self, _requests: object, context: Any) -> None:  # noqa: N802
        """Send feedback as it comes due, take acknowledgements, until the agent has gone (wall clock)."""
        async with self._refusing(context, None):
            subscription = await _subscription(context)
        agent = subscription.agent
        async with self._refusing(context, agent):
            self._gate.sender(agent, subscription.scenario_digest)
            if self._releaser is None:
                raise WireError("clock", "this run is on the rounds clock: use Collect, not Subscribe")
            outbox = self._releaser.open(agent)
            try:
                await context.write(pb.SubscribeResponse(subscribed=pb.Subscribed()))
                await self._converse(agent, outbox, context)
            except InternalError:  # what gRPC raises in a stream whose other end has gone
                log.info("the stream to agent %d broke; what it did not acknowledge is kept", agent)
            finally:
                self._releaser.discard(agent, outbox)

    async def _converse(self, agent: int, outbox: Outbox, context: Any) -> None:
        """Send and take acknowledgements side by side, until one of the two ends."""
        sending = asyncio.create_task(self._send(outbox, context))
        reading = asyncio.create_task(self._acknowledgements(agent, context))
        try:
            await asyncio.wait({sending, reading}, return_when=asyncio.FIRST_COMPLETED)
            # Not cancelled: gRPC cannot end a call with a status while a write of it is under way.
            outbox.close(WireError("over", f"the subscription of agent {agent} is over"))
            await asyncio.wait({sending}, timeout=LAST_WRITE)
            (reading if reading.done() else sending).result()
        finally:
            for task in (sending, reading):
                task.cancel()
            await asyncio.gather(sending, reading, return_exceptions=True)

    async def _send(self, outbox: Outbox, context: Any) -> None:
        while True:
            held = await outbox.take()
            await context.write(pb.SubscribeResponse(delivery=self._sent(held)))

    async def _acknowledgements(self, agent: int, context: Any) -> None:
        while (message := await context.read()) is not EOF:
            if message.WhichOneof("content") != "acknowledgement":
                raise WireError("content", f"agent {agent}: after a subscription come acknowledgements only")
            if isinstance(self._hold, WallHold):
                news = self._hold.acknowledge(agent, message.acknowledgement.rounds)
                self._metrics.delivered.labels(str(agent)).inc(news)

    def _sent(self, held: Held) -> pb.Delivery:
        if held.sent:
            self._metrics.redelivered.labels(str(held.agent)).inc()
        held.sent = True
        return pb.Delivery(round=held.round, payload=held.payload, requested_delay=held.requested_delay)

    def _accepted(self, agent: str, requested: float | None) -> None:
        self._metrics.accepted.labels(agent).inc()
        gauge = self._metrics.requested_rounds
        if self._releaser is not None:
            self._releaser.submitted()
            gauge = self._metrics.requested
        if requested is not None:
            gauge.labels(agent).set(requested)
        if self._hold.complete:
            log.info("every round of every agent has been submitted; staying up until told to stop")

    def _refusing(self, context: Any, agent: int | None) -> Refusing:
        return Refusing(context, self._metrics, self._gate.label(agent))


async def _subscription(context: Any) -> pb.Subscription:
    """Return the first message of a stream, which has to say whose it is."""
    try:
        async with asyncio.timeout(PATIENCE):
            first = await context.read()
    except TimeoutError:
        raise WireError("silence", f"no subscription within {PATIENCE:g} s") from None
    if first is EOF or first.WhichOneof("content") != "subscription":
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
        for counter in (metrics.accepted, metrics.delivered, metrics.redelivered):
            counter.labels(agent)


def _age(link: Link) -> float:
    """Return the seconds that the oldest feedback of a link has been held; 0 if there is none."""
    return 0.0 if link.oldest is None else monotonic() - link.oldest


async def serve(scenario: Scenario, listen: Place, stop: asyncio.Event, hold: Hold | None = None) -> None:
    """Serve the scenario's agents until told to stop; `hold` is one of the caller's instead of a new one."""
    registry = new_registry("broker")
    broker = Broker(scenario.digest, hold or make_hold(scenario), BrokerMetrics(registry))
    server = Server(registry)
    await server.start(listen, [(SERVICE, partial(add_BrokerServiceServicer_to_server, broker))])
    try:
        await server.ready()
        log.info("holding feedback of %d agents at %s", scenario.network.agents, listen.address)
        await broker.run(stop)
    finally:
        await server.stop()


def run(scenario: str, host: str, port: int, metrics_port: int, *, stay: bool = False) -> int:
    """Run the broker of a scenario (a file or a name) until SIGTERM; return the exit code."""
    del stay  # it stays up in any case: it cannot know whether an agent will ask again

    async def service(stop: asyncio.Event) -> None:
        await serve(load(scenario), Place(host, port, metrics_port), stop)

    return run_service("broker", service)
