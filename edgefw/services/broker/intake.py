"""Takes feedback over: into the hold at once, into the journal before it is acknowledged."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from edgefw.delays.hold import RoundsHold
from edgefw.errors import JournalError, JournalFullError, WireError
from edgefw.services.broker.journal import Accepted
from edgefw.services.clock import completed
from edgefw.transport.race import end_all
from edgefw.v1 import broker_service_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from edgefw.delays.hold import Hold, Taken
    from edgefw.services.broker.account import Account
    from edgefw.services.broker.checks import Gate
    from edgefw.services.broker.control import Control
    from edgefw.services.broker.journal import Journal
    from edgefw.telemetry.metrics import BrokerMetrics
    from edgefw.transport.refusals import Caller

log = logging.getLogger(__name__)

IN_FLIGHT = 1024  # unanswered submissions of one stream; more wait in the network

Key = tuple[int, int]
Answers = asyncio.Queue["tuple[pb.SubmitResponse, asyncio.Future[None]] | None"]


class Intake:
    """Submissions: each is held at once, so that it may come due, and answered when the journal has it."""

    def __init__(
        self,
        hold: Hold,
        journal: Journal,
        gate: Gate,
        metrics: BrokerMetrics,
        control: Control,
        account: Account,
    ) -> None:
        self._hold, self._journal, self._gate, self._metrics = hold, journal, gate, metrics
        self._control, self._account = control, account
        self._commits: dict[Key, asyncio.Future[None]] = {}
        self._over = asyncio.Event()
        wall = hold.plan.rules.clock == "wall"
        self._gauge = metrics.requested if wall else metrics.requested_rounds

    async def serve(self, requests: AsyncIterator[pb.SubmitRequest], context: Any, caller: Caller) -> None:
        """Take what comes over a stream, answer in its order; `caller` is who sent the last request."""
        answers: Answers = asyncio.Queue(IN_FLIGHT)
        writing = asyncio.create_task(self._answer(answers, context))
        reading = asyncio.create_task(self._read(answers, requests, caller))
        ending = asyncio.create_task(self._end(answers, reading))
        try:
            await asyncio.wait({reading, writing}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({writing})  # what was taken is answered, also where the next was refused
            writing.result()
            if ending.done():
                raise WireError("stopping", "the broker is stopping: submit again when it is back")
            if reading.done():
                reading.result()
        finally:
            await end_all([reading, writing, ending])

    def close(self) -> None:
        """End every stream, after the answers to what has been taken: the broker is stopping."""
        self._over.set()

    async def _end(self, answers: Answers, reading: asyncio.Task[None]) -> None:
        await self._over.wait()
        reading.cancel()
        await answers.put(None)

    async def _read(
        self, answers: Answers, requests: AsyncIterator[pb.SubmitRequest], caller: Caller
    ) -> None:
        try:
            async for request in requests:
                caller.speaks_as(request.agent)
                await answers.put(self.take(request))
        except WireError:
            await answers.put(None)
            raise
        await answers.put(None)

    def take(self, request: pb.SubmitRequest) -> tuple[pb.SubmitResponse, asyncio.Future[None]]:
        """Hold a feedback; return its answer and what to wait for before giving it."""
        self._gate.submission(request)
        self._gate.played(self._hold.links[request.agent], request.round)
        key = (request.agent, request.round)
        now = self._account.now()
        self._catch_up(*key, now)
        taken = self._hold.submit(*key, request.payload, request.norm, now)
        if taken.new:
            self._keep(key, request, taken, now)
        answer = pb.SubmitResponse(
            requested_delay=taken.requested_delay, dropped=taken.dropped, agent=key[0], round=key[1]
        )
        return answer, self._commits.get(key) or completed()

    def _catch_up(self, agent: int, s: int, now: float) -> None:
        """By rounds, an agent asks for the round before it submits the next: one that was killed knew it."""
        if isinstance(self._hold, RoundsHold) and self._hold.collected[agent] < s - 1:
            self._control.dropped(agent, self._hold.catch_up(agent, s - 1, now), now)
            self._journal.note_collected(agent, self._hold.collected[agent])

    def _keep(self, key: Key, request: pb.SubmitRequest, taken: Taken, now: float) -> None:
        self._control.submitted(key[0], now)
        held = self._hold.links[key[0]].held.get(key[1])
        record = Accepted(
            *key,
            request.payload,
            request.norm,
            taken.rank,
            self._account.accepted(key, request.payload, request.norm, held, now),
            self._hold.plan.version,
            taken.dropped,
        )
        commit = self._commits[key] = self._journal.keep(record)
        self._control.dropped(key[0], taken.others, now)
        commit.add_done_callback(lambda done: self._kept(key, taken, done))

    def _kept(self, key: Key, taken: Taken, commit: asyncio.Future[None]) -> None:
        del self._commits[key]
        if commit.cancelled():
            return
        if commit.exception() is not None:
            # As if it had never come: its agent tries again.
            now = self._account.now()
            self._account.withdrawn(key, now)
            self._control.dropped(key[0], self._hold.withdraw(*key, now), now)
            return
        agent = str(key[0])
        self._metrics.accepted.labels(agent).inc()
        if taken.dropped:
            self._metrics.dropped.labels(agent).inc()
        else:
            self._gauge.labels(agent).set(taken.requested_delay)
        if self._hold.complete and not self._commits:
            log.info("every round of every agent has been submitted; staying up until told to stop")

    @staticmethod
    async def _answer(answers: Answers, context: Any) -> None:
        while (item := await answers.get()) is not None:
            answer, commit = item
            try:
                await asyncio.shield(commit)  # a stream that ends does not undo it
                await context.write(answer)
            except JournalFullError as error:
                raise WireError("full", str(error)) from None
            except JournalError as error:  # the broker ends; the next one may do better
                raise WireError("stopping", str(error)) from None
