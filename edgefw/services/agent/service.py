"""An agent: drives the core over its edges, plays, and learns from feedback when the broker lets it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgefw.core.account import UNANSWERED
from edgefw.core.agent import algorithm, make_agent
from edgefw.core.algorithm import Savable
from edgefw.core.messages import Feedback, Frame, Play, Score, gradient_norm, observe
from edgefw.errors import EdgefwError, RunOverError, WireError
from edgefw.problem.loss import make_loss
from edgefw.problem.stream import Stream
from edgefw.services.agent.inbox import Inbox
from edgefw.services.agent.memory import GoBackError, Memory, payloads_of
from edgefw.services.agent.neighbours import Neighbours
from edgefw.services.agent.snapshot import Snapshot, Submission, opened
from edgefw.services.agent.ticks import Ticks
from edgefw.services.clock import loop_time, reached
from edgefw.services.config import AgentConfig, Place, unpack_shard
from edgefw.services.machine import REAL, Machine
from edgefw.services.runtime import Server, Stop, answering, run_service, unless
from edgefw.telemetry.metrics import AgentMetrics, new_registry
from edgefw.transport.broker_client import BrokerClient, Delivery
from edgefw.transport.channel import GRPC
from edgefw.transport.codec import decode_feedback, encode_feedback
from edgefw.transport.joining import CompleteError, Joined, join
from edgefw.transport.observer_client import ObserverClient
from edgefw.transport.peer_link import Identity, PeerLink, Reach
from edgefw.transport.peers import PeerServicer, add_peer_servicer, keep_dialling

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from edgefw.problem.dataset import Dataset
    from edgefw.services.agent.sealed import Sealed
    from edgefw.transport.seam import Transport

log = logging.getLogger(__name__)

FAREWELL = 60.0  # seconds that the observer gets to score the last plays, if it has to come back first


@dataclass(frozen=True)
class AgentOptions:
    """How an agent runs: whose run it joins, where it listens, at which address others reach it.

    It keeps its checkpoints in a folder; without one, it cannot come back after a kill.
    """

    agent: int
    observer: str
    listen: Place
    advertise: str
    stay: bool = False
    transport: Transport = GRPC
    machine: Machine = REAL
    checkpoints: Path | None = None


def run(options: AgentOptions) -> int:
    """Run the process of an agent; return its exit code."""
    return run_service(f"agent-{options.agent}", partial(serve, options))


async def serve(options: AgentOptions, stop: Stop) -> None:
    """Join the observer's run and play it; and the next one, should that run be started anew."""
    memory = Memory(options.checkpoints, options.machine)
    try:
        while (joined := await unless(stop, _joined(options, memory))) is not None:
            try:
                await _play(options, joined, memory, stop)
            except RunOverError as over:
                log.warning("%s; joining the next run", over)
            else:
                return
    except CompleteError as over:
        log.info("%s", over)
        if options.stay:
            await answering("agent", options.listen, stop.wait, options.transport)
    finally:
        await memory.close()


async def _joined(options: AgentOptions, memory: Memory) -> Joined:
    """Become a part of the run, of which the agent may have been one before."""
    place, transport = options.listen, options.transport
    ask = partial(join, options.observer, options.advertise, place.metrics_port, options.agent, transport)
    remembered = await memory.recall()
    return await answering("agent", place, partial(ask, remembered=remembered), transport)


async def _play(options: AgentOptions, joined: Joined, memory: Memory, stop: Stop) -> None:
    """Play a run, from what is remembered of it; go back further where a neighbour needs that."""
    config = AgentConfig.from_json(joined.configuration)
    shard = unpack_shard(joined.samples, config)
    savable = algorithm(config.spec.algorithm).savable
    await unless(stop, memory.begin(joined.run_id, config.checkpoint_every, savable=savable))
    while True:
        try:
            return await AgentService(config, shard, options, memory).serve(stop)
        except GoBackError as back:
            log.warning("%s", back)
        await unless(stop, memory.go_back())


class AgentService:
    """One agent of the emulated network."""

    def __init__(
        self, config: AgentConfig, shard: Dataset, options: AgentOptions, memory: Memory | None = None
    ) -> None:
        spec = config.spec
        self._options, self._memory = options, memory or Memory(None, options.machine)
        self._config, self._spec, self._shard = config, spec, shard
        self._core = make_agent(spec)
        self._loss = make_loss(config.loss, config.loss_params)
        self._stream = Stream(
            np.arange(len(shard)), config.batch, spec.seed, spec.agent, in_order=config.in_order
        )
        self._registry = new_registry("agent")
        self._metrics = AgentMetrics(self._registry, spec.agent)
        me = Identity(spec.agent, config.run_id, spec.exchanges, spec.shape)
        self._memory.saved = self._metrics.checkpoint_duration.observe
        self._memory.degraded = self._metrics.checkpoints_degraded.set
        reach = Reach(self._memory.round, self._memory.back * spec.exchanges, self._memory.behind)
        self._links = {j: PeerLink(me, j, self._metrics, reach) for j in self._core.neighbours}
        self._neighbours = Neighbours(spec.agent, self._links, config.peer_timeout, self._metrics)
        self._me = me
        self._inbox = Inbox()
        self._room = asyncio.Semaphore(UNANSWERED)
        self._submissions: dict[int, Submission] = {}  # not yet answered
        self._payloads: dict[int, bytes] = {}  # of feedback that has come and was not used yet
        self._at_once = False  # whether feedback is acknowledged as it comes: no sweep will use it
        self._live = asyncio.Event()  # no sweep is gone through once more: feedback may come
        self._round = 0  # of the last play
        self._not_needed = asyncio.Event()  # all plays are on record, though this one is behind

    async def serve(self, stop: Stop) -> None:
        """Listen, join the network, play all rounds, and end (or stay) when they are over."""
        server = Server(self._registry, transport=self._options.transport)
        servicer = PeerServicer(self._me, self._links, self._metrics)
        await server.start(self._options.listen, partial(add_peer_servicer, servicer))
        await server.ready()
        log.info("listening on %s, neighbours %s", self._options.listen.address, sorted(self._links))
        try:
            await unless(stop, self._run())
        finally:
            await server.stop()

    async def _run(self) -> None:
        """Everything an agent does, as tasks that end together."""
        config, spec = self._config, self._spec
        observer, transport = self._options.observer, self._options.transport
        self._broker = BrokerClient(config.broker, spec.agent, config.run_id, transport, self)
        self._observer = ObserverClient(observer, spec.agent, config.run_id, self._scored, transport)
        try:
            async with asyncio.TaskGroup() as group:
                helpers = [group.create_task(self._observer.run())]
                helpers.append(group.create_task(self._memory.until_behind()))
                helpers.append(group.create_task(self._until_not_needed()))
                for j, link in self._links.items():
                    if j > spec.agent:
                        dial = keep_dialling(self._me, link, config.peers[j], self._metrics, transport)
                        helpers.append(group.create_task(dial))
                helpers.append(group.create_task(self._subscribe()))
                await self._recall(group)
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
        ticks = Ticks(self._config.pace)
        for t in range(self._memory.round + 1, self._config.rounds + 1):
            if (record := self._memory.recorded(t)) is not None:
                arrivals, late = self._once_more(t, record), None
            else:
                arrivals, late = await self._arrivals(t, ticks)
            begin = loop_time()
            play = await self._sweep(t, arrivals)
            self._metrics.round_duration.observe(loop_time() - begin)
            if record is None:
                ticks.begin()  # the first sweep was also the wait for neighbours to come up
            await self._learn_later(play, arrivals, late, group)
            if self._memory.is_due(t):
                self._memory.keep(t, *self._snapshot().parts())
        await self._collect(self._config.rounds)
        self._use_no_more()
        log.info("played all %d rounds", self._config.rounds)

    async def _recall(self, group: asyncio.TaskGroup) -> None:
        """Become what the agent was when its checkpoint was made; what was unanswered is sent again."""
        if (checkpoint := self._memory.checkpoint) is None:
            return
        was = opened(checkpoint)
        assert isinstance(self._core, Savable)  # noqa: S101 - there are no checkpoints of others
        self._core.load(was.core)
        self._inbox.load(was.inbox, loop_time())
        self._neighbours.messages, self._neighbours.bytes_before = was.messages, was.sent_bytes
        self._observer.report_again(was.reports)
        for s, submission in was.submissions.items():
            await self._submit(s, submission, group)

    def _snapshot(self) -> Snapshot:
        """Return the agent as it is between two rounds."""
        assert isinstance(self._core, Savable)  # noqa: S101 - likewise
        return Snapshot(
            self._core.save(),
            self._inbox.save(),
            self._submissions,
            self._observer.unanswered(),
            self._neighbours.messages,
            self._neighbours.sent_bytes,
        )

    async def _arrivals(self, t: int, ticks: Ticks) -> tuple[list[Feedback], float | None]:
        """Return F_{t-1}, which is on disk by then, and by how many seconds the tick was missed."""
        self._live.set()
        await self._collect(t - 1)
        late = await ticks.reach()
        arrivals, acknowledge = self._inbox.take(t - 1), self._broker.receipt()
        payloads = {feedback.round: self._payloads.pop(feedback.round) for feedback in arrivals}
        await self._memory.keep_arrivals(t, payloads, self._inbox.newly_lost())
        acknowledge()
        return arrivals, late

    def _once_more(self, t: int, record: Sealed) -> list[Feedback]:
        """Return F_{t-1} as it was in an earlier life."""
        self.dropped(record.words["dropped"])
        for s, payload in payloads_of(record).items():
            self._inbox.received(self._decode(s, payload), loop_time())
        self._inbox.newly_lost()
        return self._inbox.take(t - 1)

    async def _collect(self, t: int) -> None:
        """Receive F_t (rounds clock)."""
        if self._config.clock == "rounds" and t > 0:
            for delivery in await self._broker.collect(t):
                self._receive(delivery)

    async def _sweep(self, t: int, arrivals: list[Feedback]) -> Play:
        """Run update t-1 and prediction t with the neighbours."""
        self._show_delays(t - 1, arrivals)
        step: Frame | Play = self._core.start_sweep(t, arrivals)
        while isinstance(step, Frame):
            frames = await self._neighbours.exchange(step)
            ready = loop_time() + self._config.compute if self._config.compute else None
            step = self._core.advance(frames)
            if ready is not None:
                await reached(ready)
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
        await self._submit(play.t, Submission(encode_feedback(feedback), norm), group)
        outstanding = self._inbox.outstanding  # before anything is waited for: it is that of the round
        self._metrics.round.set(play.t)
        self._metrics.local_loss.set(local_loss)
        self._show_missing()
        self._metrics.total_delay.set(self._inbox.total_delay)
        if play.t == self._config.rounds:
            await self._all_answered()
        await self._room_to_report()
        self._observer.report(
            play.t,
            play.point,
            local_loss=local_loss,
            arrivals=sorted(feedback.round for feedback in used),
            outstanding=outstanding,
            messages=self._neighbours.messages,
            sent_bytes=self._neighbours.sent_bytes,
            late=late,
        )

    async def _all_answered(self) -> None:
        """Return when the broker has all feedback for good.

        Only then is the last play reported: once all plays are on record, an agent that was killed does not
        play on, and what the broker lacks would never be submitted again.
        """
        self._use_no_more()  # else a broker that is full of what has come would never have room
        for _ in range(UNANSWERED):
            await self._room.acquire()

    def _use_no_more(self) -> None:
        """Acknowledge feedback as it comes, and what has come: no sweep will use it."""
        self._live.set()
        self._at_once = True
        self._broker.receipt()()

    async def _room_to_report(self) -> None:
        """Wait while so many plays are not recorded that no more can be kept."""
        self._metrics.reports_waiting.set(self._observer.waiting)
        if self._observer.full:
            self._metrics.report_waits.inc()
            log.warning(
                "%d plays wait for the observer, and no more are kept: waiting for it", self._observer.waiting
            )
            await self._observer.room()
            log.info("the observer takes reports again")

    async def _submit(self, t: int, submission: Submission, group: asyncio.TaskGroup) -> None:
        """Hand feedback to the broker; waits while the broker has no room for it."""
        self._submissions[t] = submission
        if self._config.clock == "rounds":
            await self._hand_over(t, submission)  # F_t comes next, and may hold this very feedback
            return
        await self._room.acquire()
        task = group.create_task(self._hand_over(t, submission))
        task.add_done_callback(lambda _: self._room.release())

    async def _hand_over(self, t: int, submission: Submission) -> None:
        """Submit a feedback; one that the broker drops is not waited for."""
        answer = await self._broker.submit(t, submission.payload, submission.norm)
        del self._submissions[t]
        if answer.dropped:
            self.dropped([t])

    async def _subscribe(self) -> None:
        """Wall clock: receive feedback as it comes due, once every sweep on record has been gone through.

        It is acknowledged when the sweep that uses it is on record.
        """
        await self._live.wait()
        if self._config.clock == "wall":
            async for delivery in self._broker.deliveries(at_once=False):
                self._receive(delivery)
                if self._at_once:
                    self._broker.receipt()()

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
            feedback = self._decode(delivery.round, delivery.payload)
        except WireError as error:
            log.warning("the feedback of round %d is lost: %s", delivery.round, error)
            self._metrics.unusable(error.reason)
            self._inbox.lost(delivery.round)
        else:
            waited = self._inbox.received(feedback, loop_time())
            if waited is not None:
                self._payloads[delivery.round] = delivery.payload
            self._show_delay(delivery, waited)
        self._show_missing()

    def _decode(self, s: int, payload: bytes) -> Feedback:
        spec, b = self._spec, self._config.batch
        return decode_feedback(
            payload,
            round_=s,
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
        self._metrics.reports_waiting.set(self._observer.waiting)
        self._metrics.global_loss.set(score.global_loss)
        self._metrics.cumulative_loss.set(score.cumulative_loss)
        if score.regret is not None:
            self._metrics.regret.set(score.regret)
        if self._round < score.round == self._config.rounds:
            self._not_needed.set()

    async def _until_not_needed(self) -> None:
        """Wait for ever; a CompleteError where all plays are on record, this agent's from an earlier life.

        Going on would be of no use to anybody, and neighbours that have ended would be waited for in vain.
        """
        await self._not_needed.wait()
        raise CompleteError("all plays are on record: this agent is not needed any more")

    async def _say_farewell(self) -> None:
        """Stay until the observer has scored the last plays: then no neighbour needs a frame any more."""
        patience = FAREWELL if self._memory.back == 0 else None  # one that was killed may come back
        try:
            async with asyncio.timeout(patience):
                await self._observer.settled()
        except TimeoutError:
            log.warning("the observer has not scored all plays within %.0f s", FAREWELL)
