"""The broker's way to the observer: its account of what it did, for the record. Nothing waits for it."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from edgefw.core.account import Entry, Kind
from edgefw.errors import RunOverError
from edgefw.transport.channel import GRPC
from edgefw.transport.connection import Connection
from edgefw.transport.credentials import OBSERVER
from edgefw.transport.resending import ResendingStream
from edgefw.v1 import observer_service_pb2 as pb
from edgefw.v1.observer_service_pb2_grpc import ObserverServiceStub

if TYPE_CHECKING:
    from collections.abc import Iterable

    import grpc

    from edgefw.transport.seam import Transport

log = logging.getLogger(__name__)

MOST = 200_000  # entries that wait to be kept, some 90 MB; more leave a hole
_KINDS = {kind: f"ACCOUNT_KIND_{kind.name}" for kind in Kind}


class AccountClient(ResendingStream[Entry]):
    """Keeps every entry, by its moment, until the observer has it."""

    what = "keep the account"
    answers_hello = True  # with the moment of the last entry that it has
    batch = 64  # less than a millisecond of work at a time
    ahead = 1024
    company = 0.05
    until_back = False

    def __init__(self, address: str, run_id: str, transport: Transport = GRPC) -> None:
        connection = Connection(OBSERVER, address, transport)
        hello = pb.AccountRequest(run_id=run_id)
        super().__init__(connection, lambda channel: ObserverServiceStub(channel).Account(), hello)
        self._full = self._unwanted = False

    def add(self, entry: Entry) -> None:
        """Hand over an entry."""
        if self._unwanted:
            return
        if len(self._kept) >= MOST:
            if self._full:
                return
            log.error("the observer has been away for too long: the account of the run has a hole")
            entry = Entry(entry.moment, Kind.LOST)
        self._full = len(self._kept) >= MOST
        self._add(entry.moment, entry)

    async def run(self) -> None:
        """Send for as long as the broker lives, or until the observer has no use for it."""
        with suppress(RunOverError):
            await super().run()
        self._unwanted = True
        self._kept.clear()
        self._review()

    def _pack(self, messages: list[Entry]) -> pb.AccountRequest:
        return pb.AccountRequest(entries=_messages(messages))

    def _take(self, answer: pb.AccountResponse) -> None:
        self._done_up_to(answer.moment)

    def _refusal(self, error: grpc.aio.AioRpcError) -> RunOverError:
        """Return what ends an account: the observer is in another run, or has no use for this one."""
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
            what=entry.what or "",
            who=entry.who or "",
        )
        for entry in entries
    ]
