"""The broker's account on its way into the record. All that comes is checked before it is kept."""

from __future__ import annotations

import asyncio
import logging
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from edgefw.core.account import Entry, Kind
from edgefw.errors import WireError
from edgefw.services.runtime import unless
from edgefw.transport.refusals import COMMON, refusing
from edgefw.v1 import observer_service_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence

    Requests = AsyncIterator[pb.AccountRequest]

log = logging.getLogger(__name__)

_HASH = 16  # bytes


class Accounts:
    """Takes the account of a run of n agents; `keep` writes entries, and returns when they are on record."""

    def __init__(
        self, run_id: str, n: int, rounds: int, keep: Callable[[Sequence[Entry]], Awaitable[None]]
    ) -> None:
        self._run_id, self._n, self._rounds, self._keep = run_id, n, rounds, keep
        self._last = 0  # the moment of the last entry that is kept
        self._accepted = [0] * n  # the last round of each agent's feedback that the account knows
        self._news, self._over = asyncio.Condition(), asyncio.Event()
        self._expected = False  # whether there is a broker that gives an account

    def restore(self, entries: Iterable[Entry]) -> None:
        """Go on with what is on record."""
        for entry in entries:
            self._note(entry)

    async def serve(self, requests: Requests, context: Any) -> None:
        """Serve one stream of a broker."""
        async with refusing(context, COMMON, _refused) as caller:
            caller.speaks_as(None)
            self._welcome(await anext(requests, None))
            self._expected = True
            await context.write(pb.AccountResponse(moment=self._last))
            # An answer that is being written is not interrupted: the end is looked for between messages.
            while (request := await unless(self._over, _next(requests))) is not None:
                await self._take([self._decode(message) for message in request.entries])
                await context.write(pb.AccountResponse(moment=self._last))

    def close(self) -> None:
        """End all streams: the observer is stopping, and would otherwise wait for them."""
        self._over.set()

    async def covers(self, rounds: int, seconds: float) -> bool:
        """Wait a moment until the account knows of all feedback up to a round; return whether it does."""
        if not self._expected:
            return False
        try:
            async with asyncio.timeout(seconds), self._news:
                await self._news.wait_for(lambda: min(self._accepted) >= rounds)
        except TimeoutError:
            return False
        return True

    async def _take(self, entries: Sequence[Entry]) -> None:
        if any(after.moment <= before.moment for before, after in pairwise(entries)):
            raise WireError("order", "the entries of an account have to be in the order of their moments")
        news = [entry for entry in entries if entry.moment > self._last]
        if not news:
            return
        await self._keep(news)
        async with self._news:
            self.restore(news)
            self._news.notify_all()

    def _note(self, entry: Entry) -> None:
        self._expected = True
        self._last = max(self._last, entry.moment)
        if entry.kind is Kind.ACCEPTED:
            self._accepted[entry.agent] = max(self._accepted[entry.agent], entry.round)

    def _welcome(self, request: pb.AccountRequest | None) -> None:
        run_id = "" if request is None else request.run_id
        if run_id != self._run_id:
            raise WireError(
                "digest", f"this account is of run {run_id[:64]!r}, the observer has {self._run_id!r}"
            )

    def _decode(self, message: pb.AccountEntry) -> Entry:
        kind, agent, round_ = int(message.kind), message.agent, message.round
        if kind not in _KINDS:
            raise WireError("kind", f"an account has no entries of kind {kind}")
        if agent >= self._n or round_ > self._rounds:
            raise WireError("agent", f"there is no round {round_} of agent {agent}")
        if len(message.hash) not in {0, _HASH} or not math.isfinite(message.norm):
            raise WireError("entry", f"the account of agent {agent}, round {round_} cannot be: {message}")
        return Entry(
            message.moment,
            Kind(kind),
            agent,
            round_,
            message.version,
            message.due if message.HasField("due") else None,
            message.hash.hex() or None,
            message.norm if kind == Kind.ACCEPTED else None,
            *((message.plan, message.what, message.who) if kind == Kind.PLAN else ()),
        )


async def _next(requests: Requests) -> pb.AccountRequest | None:
    return await anext(requests, None)


def _refused(_agent: int | None, error: WireError) -> None:
    log.warning("account refused: %s", error)


_KINDS = frozenset(Kind)
