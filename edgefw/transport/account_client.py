"""The broker's way to the observer: its account of what it did, for the record. Nothing waits for it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

import grpc

from edgefw.core.account import Entry, Kind
from edgefw.errors import RunOverError
from edgefw.transport.channel import GRPC
from edgefw.transport.connection import Attempts, Connection, ending, first_message, while_open
from edgefw.transport.race import race
from edgefw.v1 import observer_service_pb2 as pb
from edgefw.v1.observer_service_pb2_grpc import ObserverServiceStub

if TYPE_CHECKING:
    from collections.abc import Iterable

    from edgefw.transport.seam import Transport

log = logging.getLogger(__name__)

MOST = 200_000  # entries that wait to be kept, some 60 MB; more leave a hole
BATCH = 64  # entries in a message: less than a millisecond of work at a time
UNANSWERED = 1024  # entries sent ahead of the answers
COMPANY = 0.05  # seconds that an entry waits for others
_EVER = 2**63  # after every moment
_KINDS = {kind: f"ACCOUNT_KIND_{kind.name}" for kind in Kind}


class AccountClient:
    """Keeps every entry until the observer has it, and sends it again when the observer has been away."""

    def __init__(self, address: str, digest: str, transport: Transport = GRPC) -> None:
        self._connection, self._digest = Connection("the observer", address, transport), digest
        self._waiting: deque[Entry] = deque()
        self._sent = 0  # how many of them have been sent over the stream that is open
        self._full = self._unwanted = self._open = False
        self._news, self._settled = asyncio.Event(), asyncio.Event()
        self._settled.set()

    def add(self, entry: Entry) -> None:
        """Hand over an entry."""
        if self._unwanted:
            return
        if len(self._waiting) >= MOST:
            if self._full:
                return
            log.error("the observer has been away for too long: the account of the run has a hole")
            entry = Entry(entry.moment, Kind.LOST)
        self._full = len(self._waiting) >= MOST
        self._waiting.append(entry)
        self._more_to_do()

    async def settled(self) -> None:
        """Wait until the observer has every entry, or is not there to take them."""
        await self._settled.wait()

    async def run(self) -> None:
        """Send for as long as the broker lives, or until the observer has no use for it."""
        with suppress(RunOverError):
            async with self._connection as connection:
                async for attempt in connection.attempts("keep the account", _refusal):
                    async with attempt as channel, ending(ObserverServiceStub(channel).Account()) as call:
                        await self._converse(call, attempt)
        self._unwanted = True
        self._kept(_EVER)

    async def _converse(self, call: Any, attempt: Attempts) -> None:
        await call.write(pb.AccountRequest(scenario_digest=self._digest))
        if (answer := await first_message(call)) is grpc.aio.EOF:
            return
        attempt.worked()
        self._sent, self._open = 0, True
        self._kept(answer.moment)
        try:
            await race(self._read_all(call), while_open(self._write_all(call)))
        finally:
            self._open = False
            self._settled.set()

    async def _read_all(self, call: Any) -> None:
        while (answer := await call.read()) is not grpc.aio.EOF:
            self._kept(answer.moment)

    async def _write_all(self, call: Any) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            while self._sent < min(len(self._waiting), UNANSWERED):
                batch = list(islice(self._waiting, self._sent, self._sent + BATCH))
                self._sent += len(batch)
                await call.write(pb.AccountRequest(entries=_messages(batch)))
            await asyncio.sleep(COMPANY)

    def _kept(self, moment: int) -> None:
        """Let go of what the observer has."""
        while self._waiting and self._waiting[0].moment <= moment:
            self._waiting.popleft()
            self._sent = max(self._sent - 1, 0)
        if self._waiting:
            self._more_to_do()
        else:
            self._settled.set()

    def _more_to_do(self) -> None:
        self._news.set()
        if self._open:
            self._settled.clear()


def _refusal(error: grpc.aio.AioRpcError) -> RunOverError:
    """Return what ends an account: the observer has gone on to another run, or has no use for this one."""
    log.warning("the observer takes no account of this run: %s", error.details())
    return RunOverError(f"the observer refuses the account: {error.details()}")


def _messages(entries: Iterable[Entry]) -> list[pb.AccountEntry]:
    return [
        pb.AccountEntry(
            moment=entry.moment,
            kind=_KINDS[entry.kind],
            agent=entry.agent,
            round=entry.round,
            version=entry.version,
            due=entry.due,
            hash=b"" if entry.hash is None else bytes.fromhex(entry.hash),
            norm=0.0 if entry.norm is None else entry.norm,
            plan=entry.plan or "",
        )
        for entry in entries
    ]
