"""Who is part of a run: everyone says where it can be reached, and is told the rest when all have come."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from typing import TYPE_CHECKING, Any, NoReturn

from google.protobuf.json_format import MessageToDict, ParseDict

from edgefw.errors import WireError
from edgefw.scenario.load import dump
from edgefw.services.config import pack_shard
from edgefw.services.observer.attendance import BROKER, Attendance, Who, name
from edgefw.services.observer.briefing import agent_config, shard
from edgefw.transport.refusals import COMMON, refusing
from edgefw.v1 import observer_service_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from edgefw.scenario.setup import Setup

log = logging.getLogger(__name__)

MEMBERS = "members"  # a key of the record's `meta`
PIECE = 1 << 20  # bytes of samples in a message
_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]+\]")  # a name, or an address of IPv4 or IPv6


class Joining:
    """The members of one run. `again` is called if one that has played joins anew, its memory lost.

    One that remembers the run comes back as if it had never been away.
    `keep` writes down where everyone is, for an observer that comes after this one: `restore`.
    """

    def __init__(
        self,
        setup: Setup,
        run_id: str,
        attendance: Attendance,
        again: Callable[[], None] | None,
        keep: Callable[[str], Awaitable[None]],
    ) -> None:
        self._setup, self._run_id, self._attendance, self._again = setup, run_id, attendance, again
        self._keep = keep
        self._scenario = dump(setup.scenario).encode()  # once: a broker asks every second
        self._addresses: dict[Who, str] = {}
        self._requests: dict[Who, pb.JoinRequest] = {}
        self._kept = True  # whether the members are written down as they are
        self._news = asyncio.Condition()
        self.played: set[Who] = set()  # agents of whom a play was reported
        self.complete = False  # whether all plays are on record
        self._ended = False  # ... and the run has been ended because somebody forgot it
        self.admin: str | None = None  # where the broker's admin endpoint is

    def restore(self, members: str) -> None:
        """Go on with a run whose members had joined before."""
        for text in json.loads(members):
            request = ParseDict(text, pb.JoinRequest())
            self._note(request.agent if request.HasField("agent") else BROKER, request)

    async def serve(self, request: pb.JoinRequest, context: Any) -> None:
        """Answer one process."""
        who = request.agent if request.HasField("agent") else BROKER
        async with refusing(context, COMMON, _refused) as caller:
            caller.speaks_as(who)
            self._check(who, request)
            with self._attendance.call(who):
                await self._serve(who, request, context)

    async def _serve(self, who: Who, request: pb.JoinRequest, context: Any) -> None:
        if who is not BROKER and self.complete:
            raise WireError("complete", f"agent {who} is not needed any more: the run is over")
        if who is not BROKER and who in self.played and request.remembered != self._run_id:
            self._refuse(who)
        await self._enter(who, request)
        if who is BROKER:
            await context.write(self._joined(self._scenario))
        else:
            await self._admit(who, request, context)

    async def _admit(self, who: int, request: pb.JoinRequest, context: Any) -> None:
        """Tell an agent what it has to know, when all have come."""
        try:
            async with self._news:
                await self._news.wait_for(self._complete)
        except asyncio.CancelledError:  # it has gone: others are not to be sent to where it was
            self._leave(who, request)
            raise
        await self._send(who, context)

    def _check(self, who: Who, request: pb.JoinRequest) -> None:
        if who is not BROKER and who >= self._setup.n:
            raise WireError("agent", f"there is no agent {who}: agents are 0 to {self._setup.n - 1}")
        for address in (request.address, *([request.admin] if request.admin else [])):
            host, _, port = address.rpartition(":")
            if not _HOST.fullmatch(host) or not _is_port(port):
                raise WireError("address", f"the address {address[:64]!r} is not HOST:PORT")
        if not _is_port(str(request.metrics_port)):
            raise WireError(
                "port", f"the port of the metrics is {request.metrics_port}: ports are 1 to 65535"
            )

    def _refuse(self, who: int) -> NoReturn:
        """Turn away an agent that comes anew to a run that has begun."""
        if self._again is None:
            raise WireError("begun", f"agent {who} comes to a run that has begun: start the run again")
        if not self._ended:
            log.warning("agent %d has lost the run: everyone starts anew", who)
        self._ended = True
        self._again()
        raise WireError("anew", "the run starts anew: join again")

    async def _enter(self, who: Who, request: pb.JoinRequest) -> None:
        async with self._news:
            if self._addresses.get(who) != request.address:
                log.info("%s joins at %s", name(who), request.address)
            self._kept = self._kept and self._requests.get(who) == request
            self._note(who, request)
            if not self._kept:  # also where whoever came before has gone while it was written
                await self._keep(json.dumps([MessageToDict(each) for each in self._requests.values()]))
                self._kept = True
            self._news.notify_all()

    def _note(self, who: Who, request: pb.JoinRequest) -> None:
        address = request.address
        self._requests[who], self._addresses[who] = request, address
        if who is BROKER:
            self.admin = request.admin or None
        self._attendance.found_at(who, f"{address.rpartition(':')[0]}:{request.metrics_port}")

    def _leave(self, who: int, request: pb.JoinRequest) -> None:
        if self._requests[who] is request:  # else it has come again meanwhile
            del self._addresses[who], self._requests[who]
            self._kept = False

    def _complete(self) -> bool:
        return all(who in self._addresses for who in self._attendance.everyone)

    async def _send(self, who: int, context: Any) -> None:
        broker = self._addresses[BROKER]
        peers = {j: self._addresses[j] for j in self._setup.graph.neighbours(who)}
        config = agent_config(self._setup, who, self._run_id, peers, broker)
        await context.write(self._joined(config.to_json().encode()))
        samples = self._samples(who)
        for begin in range(0, len(samples), PIECE):
            await context.write(pb.JoinResponse(samples=bytes(samples[begin : begin + PIECE])))

    def _samples(self, who: int) -> memoryview:
        index, data = shard(self._setup, who), self._setup.dataset
        return pack_shard(data.features[index], data.labels[index])

    def _joined(self, configuration: bytes) -> pb.JoinResponse:
        return pb.JoinResponse(joined=pb.Joined(run_id=self._run_id, configuration=configuration))


def _refused(_agent: int | None, error: WireError) -> None:
    log.info("refused to let a process join: %s", error)


def _is_port(text: str) -> bool:
    return len(text) <= 5 and text.isascii() and text.isdecimal() and 1 <= int(text) <= 65_535
