"""An agent: drives the core over its edges, plays, and learns from feedback when the broker lets it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgefw.core.agent import make_agent
from edgefw.core.messages import Feedback, Frame, Play, Score, gradient_norm, observe
from edgefw.errors import EdgefwError, RunOverError, WireError
from edgefw.problem.loss import make_loss
from edgefw.problem.stream import Stream
from edgefw.services.agent.inbox import Inbox
from edgefw.services.agent.neighbours import Neighbours
from edgefw.services.clock import loop_time, reached
from edgefw.services.config import AgentConfig, Place, unpack_shard
from edgefw.services.runtime import Server, Stop, answering, run_service, unless
from edgefw.telemetry.metrics import AgentMetrics, new_registry
from edgefw.transport.broker_client import BrokerClient, Delivery
from edgefw.transport.channel import GRPC
from edgefw.transport.codec import decode_feedback, encode_feedback
from edgefw.transport.joining import join
from edgefw.transport.observer_client import ObserverClient
from edgefw.transport.peer_link import Identity, PeerLink
from edgefw.transport.peers import PeerServicer, keep_dialling
from edgefw.v1.peer_service_pb2_grpc import add_PeerServiceServicer_to_server

if TYPE_CHECKING:
    from collections.abc import Iterable

    from edgefw.problem.dataset import Dataset
    from edgefw.transport.seam import Transport

log = logging.getLogger(__name__)

UNANSWERED = 4  # submissions that the broker has not yet taken for good; then the agent waits
FAREWELL = 10.0  # seconds that the observer gets to score the last plays


@dataclass(frozen=True)
class AgentOptions:
    """How an agent runs: whose run it joins, where it listens, at which address others reach it."""

    agent: int
    observer: str
    listen: Place
    advertise: str
    stay: bool = False
    transport: Transport = GRPC


def run(options: AgentOptions) -> int:
    """Run the process of an agent; return its exit code."""
    return run_service(f"agent-{options.agent}", partial(serve, options))


async def serve(options: AgentOptions, stop: Stop) -> None:
    """Join the observer's run and play it; and the next one, should that run be started anew."""
    place, transport = options.listen, options.transport
    ask = partial(join, options.observer, options.advertise, place.metrics_port, options.agent, transport)
    while (joined := await unless(stop, answering("agent", place, ask, transport))) is not None:
        config = AgentConfig.from_json(joined.configuration)
        shard = unpack_shard(joined.samples, config)
        try:
            await AgentService(config, shard, options).serve(stop)
        except RunOverError as over:
            log.warning("%s; joining the next run", over)
        else:
            return


class AgentService:
    """One agent of the emulated network."""

    def __init__(self, config: AgentConfig, shard: Dataset, options: AgentOptions) -> None:
        spec = config.spec
        self._options = options
        self._config, self._spec, self._shard = config, spec, shard
        self._core = make_agent(spec)
        self._loss = make_loss(config.loss, config.loss_params)
        self._stream = Stream(
            np.arange(len(shard)), config.batch, spec.seed, spec.agent, in_order=config.in_order
        )
        self._registry = new_registry("agent")
        self._metrics = AgentMetrics(self._registry, spec.agent)
        me = Identity(spec.agent, config.run_id, spec.exchanges, spec.shape)
        self._links = {j: PeerLink(me, j, self._metrics) for j in self._core.neighbours}
        self._neighbours = Neighbours(spec.agent, self._links, config.peer_timeout, self._metrics)
        self._me = me
        self._inbox = Inbox()
        self._room = asyncio.Semaphore(UNANSWERED)
        self._round = 0  # of the last play

    async def serve(self, stop: Stop) -> None:
        """Listen, join the network, play all rounds, and end (or stay) when they are over."""
        server = Server(self._registry, transport=self._options.transport)
        servicer = PeerServicer(self._me, self._links, self._metrics)
        await server.start(self._options.listen, partial(add_PeerServiceServicer_to_server, servicer))
        await server.ready()
        log.info("listening on %s, neighbours %s", self._options.listen.address, sorted(self._links))
        try:
            await unless(stop, self._live())
        finally:
            await server.stop()

    async def _live(self) -> None:
        """Everything an agent does, as tasks that end together."""
        config, spec = self._config, self._spec
        observer, transport = self._options.observer, self._options.transport
        self._broker = BrokerClient(config.broker, spec.agent, config.run_id, transport, self)
        self._observer = ObserverClient(observer, spec.agent, config.run_id, self._scored, transport)
        try:
            async with asyncio.TaskGroup() as group:
                helpers = [group.create_task(self._observer.run())]
                for j, link in self._links.items():
                    if j > spec.agent:
                        dial = keep_dialling(self._me, link, config.peers[j], self._metrics, transport)
                        helpers.append(group.create_task(dial))
                if config.clock == "wall":
                    helpers.append(group.create_task(self._subscribe()))
                await self._play_all(group)
                await self._say_farewell()
                if self._options.stay:
                    log.info("the run is over; staying up")
                    await asyncio.Event().wait()  # until told to stop, or the observer speaks of another run
                for helper in helpers:
                    helper.cancel()
        except* EdgefwError as failures:
            raise failures.exceptions[0] from None
        finally:
            await self._broker.close()

    async def _play_all(self, group: asyncio.TaskGroup) -> None:
        arrivals: list[Feedback] = []
        tick = loop_time()
        for t in range(1, self._config.rounds + 1):
            late = self._missed(tick) if t > 1 else None
            await asyncio.sleep(max(0.0, tick - loop_time()))
            tick = max(tick, loop_time()) + self._config.pace
            if self._config.clock == "wall":
                arrivals = self._inbox.take(t - 1)
            begin = loop_time()
            play = await self._sweep(t, arrivals)
            self._metrics.round_duration.observe(loop_time() - begin)
            if t == 1:  # its sweep was also the wait for neighbours to come up: the pace begins now
                tick = loop_time() + self._config.pace
            await self._learn_later(play, arrivals, late, group)
            if self._config.clock == "rounds":
                for delivery in await self._broker.collect(t):
                    self._receive(delivery)
                arrivals = self._inbox.take(t)
        log.info("played all %d rounds", self._config.rounds)

    def _missed(self, tick: float) -> float | None:
        """Return by how many seconds a round begins after its tick; None if it is in time, or has no tick."""
        late = loop_time() - tick
        return late if self._config.pace and late > 0 else None

    async def _sweep(self, t: int, arrivals: list[Feedback]) -> Play:
        """Run update t-1 and prediction t with the neighbours."""
        self._show_delays(t - 1, arrivals)
        step: Frame | Play = self._core.start_sweep(t, arrivals)
        while isinstance(step, Frame):
            frames = await self._neighbours.exchange(step)
            begin = loop_time()
            step = self._core.advance(frames)
            if self._config.compute:
                await reached(begin + self._config.compute)
        return step

    async def _learn_later(
        self, play: Play, used: list[Feedback], late: float | None, group: asyncio.TaskGroup
    ) -> None:
        """Let the environment evaluate the play; submit the feedback, report the play."""
        index = self._stream.indices(play.t)
        features, labels = self._shard.rows(index, np.float32), self._shard.labels[index]
        local_loss, feedback = observe(self._loss, play, features, labels)
        norm = gradient_norm(self._loss, play, features, labels)
        self._round = play.t
        self._inbox.submitted(play.t, loop_time())
        await self._submit(play.t, encode_feedback(feedback), norm, group)
        self._metrics.round.set(play.t)
        self._metrics.local_loss.set(local_loss)
        self._show_missing()
        self._metrics.total_delay.set(self._inbox.total_delay)
        self._observer.report(
            play.t,
            play.point,
            local_loss=local_loss,
            arrivals=sorted(feedback.round for feedback in used),
            outstanding=self._inbox.outstanding,
            messages=self._neighbours.messages,
            sent_bytes=self._neighbours.sent_bytes,
            late=late,
        )

    async def _submit(self, t: int, payload: bytes, norm: float, group: asyncio.TaskGroup) -> None:
        """Hand feedback to the broker; waits while the broker has no room for it."""
        if self._config.clock == "rounds":
            await self._hand_over(t, payload, norm)  # F_t comes next, and may hold this very feedback
            return
        await self._room.acquire()
        submission = group.create_task(self._hand_over(t, payload, norm))
        submission.add_done_callback(lambda _: self._room.release())

    async def _hand_over(self, t: int, payload: bytes, norm: float) -> None:
        """Submit a feedback; one that the broker drops is not waited for."""
        answer = await self._broker.submit(t, payload, norm)
        if answer.dropped:
            self.dropped([t])

    async def _subscribe(self) -> None:
        async for delivery in self._broker.deliveries():
            self._receive(delivery)

    @property
    def awaited(self) -> list[int]:
        """The rounds whose feedback was submitted, and has not come."""
        return self._inbox.awaited

    def dropped(self, rounds: Iterable[int]) -> None:
        """Wait no longer for feedback that was dropped; each counts once, however often it is told."""
        self._metrics.dropped.inc(sum(self._inbox.lost(s) for s in rounds))
        self._show_missing()

    def _receive(self, delivery: Delivery) -> None:
        """Put feedback that came back into the inbox; a second copy of it changes nothing.

        What cannot be used is lost: it would be no better if the broker sent it again.
        """
        try:
            feedback = self._decode(delivery)
        except WireError as error:
            log.warning("the feedback of round %d is lost: %s", delivery.round, error)
            self._metrics.unusable(error.reason)
            self._inbox.lost(delivery.round)
        else:
            self._show_delay(delivery, self._inbox.received(feedback, loop_time()))
        self._show_missing()

    def _decode(self, delivery: Delivery) -> Feedback:
        spec, b = self._spec, self._config.batch
        return decode_feedback(
            delivery.payload,
            round_=delivery.round,
            features=(b, spec.shape[1]),
            residuals=(spec.queries, spec.shape[0], b),
        )

    def _show_delay(self, delivery: Delivery, waited: float | None) -> None:
        if waited is not None:
            self._metrics.delay_seconds.observe(waited)
            self._metrics.observed_delay.set(waited)
            self._metrics.requested_delay.set(delivery.requested)

    def _show_missing(self) -> None:
        self._metrics.outstanding.set(self._inbox.outstanding)
        self._metrics.oldest_age.set(self._inbox.oldest_age(self._round))

    def _show_delays(self, t: int, arrivals: list[Feedback]) -> None:
        if arrivals:
            oldest = min(feedback.round for feedback in arrivals)
            self._metrics.delay_rounds.set(t - oldest + 1)

    def _scored(self, score: Score) -> None:
        self._metrics.global_loss.set(score.global_loss)
        self._metrics.cumulative_loss.set(score.cumulative_loss)
        if score.regret is not None:
            self._metrics.regret.set(score.regret)

    async def _say_farewell(self) -> None:
        """Stay until the observer has scored the last plays: then no neighbour needs a frame any more."""
        try:
            async with asyncio.timeout(FAREWELL):
                await self._observer.settled()
        except TimeoutError:
            log.warning("the observer has not scored all plays within %.0f s", FAREWELL)
