"""One agent's end of an edge: frames to send, frames that came, and the stream that carries them.

Theory of operation. The exchanges (t, k) of a run are numbered in order: position (t-1) K + (k-1). An agent
sends its frame of a position to all neighbours, and goes on to the next position when it has theirs. So
neighbours are at most one position apart, and a link holds two frames each way at most:

- sent: the last two. The neighbour may still need the older one, if it was lost with a stream. Where agents
  come back after a kill, more of them (`Reach.back`): one that does goes back to a checkpoint.
- the inbox: what came and was not yet taken, at most the position that is needed and the one after it; while
  this side catches up, all that the neighbour still holds.

A `PeerLink` outlives its streams. When one breaks, the side with the lower id dials again. Both say Hello and
the first position that they have not got, and each sends what it holds from there. An example, K = 3:

    agent 0 has (1,2) of agent 1        Hello, I need (1,3) ->
                                        <- Hello, I need (1,2)        agent 1 has (1,1) of agent 0
    sends (1,2) again, then (1,3)                                     sends (1,3)

An agent that comes back from a checkpoint needs frames from there on, and sends nothing below the position
that its neighbour names: that has it already. Asked for frames from before its own checkpoint, of which it
has none, it says so to `Reach.behind`: it has to go back further itself.

An edge has one stream. A newer one takes the place of an older one, which then ends in both directions: its
other end hears of it and dials again. A Hello that does not fit what this side knows changes nothing.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc

from edgefw.errors import WireError
from edgefw.transport.frames import WireFrame, received
from edgefw.transport.race import converse, race
from edgefw.v1 import peer_service_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from edgefw.core.messages import Frame
    from edgefw.telemetry.metrics import AgentMetrics

PROTOCOL_VERSION = 1


@dataclass(frozen=True)
class Identity:
    """Who this agent is, in which run: what a Hello says, and what a frame has to look like."""

    agent: int
    run_id: str
    K: int
    shape: tuple[int, int]


@dataclass(frozen=True)
class Reach:
    """How far back an agent can serve its neighbours.

    It begins with round `start` + 1. A neighbour that was killed goes back by `back` frames at most. `behind`
    is told the round that a neighbour begins with who needs frames from before those that are held.
    """

    start: int = 0
    back: int = 0
    behind: Callable[[int], None] | None = None


class PeerLink:
    """One agent's end of the edge to `peer`."""

    def __init__(self, me: Identity, peer: int, metrics: AgentMetrics, reach: Reach | None = None) -> None:
        self.peer = peer
        self._me, self._metrics, self._reach = me, metrics, reach or Reach()
        self._first = self._next = self._needed = self._reach.start * me.K  # held: from _first to _next
        self._sent: dict[int, WireFrame] = {}  # by position
        self._inbox: dict[int, Frame] = {}  # from _needed on: the first position not yet taken out of it
        self._ahead = 0  # the position at which the neighbour stands, as far as it has said
        self._came: Callable[[Frame], None] | None = None  # who expects the frame of that position
        self._stream: PeerStream | None = None
        self._largest = 8 * math.prod(me.shape) + 1024  # two dense arrays, and room for the rest
        self.sent_bytes = 0
        metrics.peer_up(peer, up=False)

    @property
    def up(self) -> bool:
        """Whether a stream to the neighbour stands."""
        return self._stream is not None

    def hello(self) -> pb.Hello:
        """Return what this side says first: who it is and from where it needs frames."""
        t, k = self._exchange(self._missing)
        return pb.Hello(
            protocol_version=PROTOCOL_VERSION,
            agent=self._me.agent,
            run_id=self._me.run_id,
            resume_round=t,
            resume_step=k,
        )

    def send(self, frame: WireFrame) -> None:
        """Hand over a frame to be sent, now or when the stream stands again."""
        position = self._position(frame.t, frame.k)
        self._sent[position], self._next = frame, position + 1
        if self._next - self._first > 2 + self._reach.back:
            del self._sent[self._first]
            self._first += 1
        if self._stream is not None:
            self._stream.send(position, frame)

    def expect(self, t: int, k: int, came: Callable[[Frame], None]) -> None:
        """Hand the neighbour's frame (t, k) to `came`: now if it is there, else as soon as it is."""
        self._needed, self._came = self._position(t, k), came
        self._hand_over()

    def give_up(self) -> None:
        """Expect nothing any more."""
        self._came = None

    async def receive(self, t: int, k: int) -> Frame:
        """Return the neighbour's frame (t, k), waiting for it without end: the caller sets deadlines."""
        frame: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self.expect(t, k, frame.set_result)
        try:
            return await frame
        finally:
            self.give_up()

    def _hand_over(self) -> None:
        """Give the frame that is needed to whoever expects it."""
        if self._came is not None and self._needed in self._inbox:
            came, self._came = self._came, None
            frame = self._inbox.pop(self._needed)
            self._needed += 1
            came(frame)

    @contextmanager
    def open(self, hello: pb.Hello) -> Iterator[PeerStream]:
        """Begin a stream with the neighbour who said `hello`: an older stream ends."""
        stream = PeerStream(self, self._resume(hello))
        if self._stream is not None:
            self._stream.end(replaced=True)
        self._stream = stream
        self._metrics.peer_up(self.peer, up=True)
        try:
            yield stream
        finally:
            stream.end()
            if self._stream is stream:
                self._stream = None
                self._metrics.peer_up(self.peer, up=False)

    def _resume(self, hello: pb.Hello) -> int:
        """Return the position from which the neighbour needs frames.

        It has sent what came, for that it needed ours; and it has frames of its own up to that position, so
        as many may come before it gets one. Either of the two may have been killed since, and have gone back.
        """
        t, k = hello.resume_round, hello.resume_step
        position, back = self._position(t, k), self._reach.back
        first, last = max(self._first, self._missing - 1 - back), self._next + back
        if t < 1 or not 1 <= k <= self._me.K or not first <= position <= last:
            can = f"from {self._exchange(first)} to {self._exchange(last)}"
            if t >= 1 and position < self._first and self._reach.behind is not None:
                self._reach.behind(t)
            raise WireError(
                "resume", f"agent {self.peer} needs frames from {(t, k)} on, which cannot be: {can}"
            )
        self._ahead = position
        return position

    def held(self, cursor: int) -> list[tuple[int, WireFrame]]:
        """Return the frames that are held from a position on, by position."""
        return [(each, self._sent[each]) for each in range(max(cursor, self._first), self._next)]

    def count_sent(self, size: int) -> None:
        """Count a frame that has been sent."""
        self.sent_bytes += size
        self._metrics.frame(self.peer, "sent", size)

    def take(self, data: bytes) -> None:
        """Check a frame and put it where `receive` finds it."""
        came = received(data)
        if came.size > self._largest:
            raise WireError("oversize", f"agent {self.peer} sent a frame of {came.size} bytes")
        position, missing = (came.t - 1) * self._me.K + came.k - 1, self._missing
        if (
            not 1 <= came.k <= self._me.K
            or position != missing
            or position > max(self._needed + 1, self._ahead)
        ):
            raise WireError(
                "unexpected",
                f"agent {self.peer} sent (t, k) = {(came.t, came.k)}, expected {self._exchange(missing)}",
            )
        self._inbox[position] = came.decode(self.peer, self._me.shape)
        self._metrics.frame(self.peer, "received", came.size)
        self._hand_over()

    @property
    def _missing(self) -> int:
        """The first position that has not come."""
        missing = self._needed
        while missing in self._inbox:
            missing += 1
        return missing

    def _position(self, t: int, k: int) -> int:
        return (t - 1) * self._me.K + k - 1

    def _exchange(self, position: int) -> tuple[int, int]:
        t, k = divmod(position, self._me.K)
        return t + 1, k + 1


class PeerStream:
    """One stream of a link, from both Hellos to its end."""

    def __init__(self, link: PeerLink, start: int) -> None:
        self._link, self._cursor = link, start  # the first position that the neighbour has not been sent
        self._news, self._over = asyncio.Event(), asyncio.Event()
        self._replaced = False
        self._try_write: Callable[[WireFrame], bool] | None = None  # where messages can be sent at once

    def send(self, position: int, frame: WireFrame) -> None:
        """Send a frame: at once where that is possible, else it is written when its turn comes."""
        if self._try_write is not None and position == self._cursor and self._try_write(frame):
            self._count(position, frame)
        elif position >= self._cursor:  # else the neighbour has it, from an earlier life of this agent
            self._news.set()

    def end(self, *, replaced: bool = False) -> None:
        """End both halves: nothing more is read or written, but for a write that is under way."""
        self._replaced = self._replaced or replaced
        self._over.set()
        self._news.set()
        self._try_write = None

    def _count(self, position: int, frame: WireFrame) -> None:
        self._cursor = position + 1
        self._link.count_sent(frame.size)

    async def run(self, stream: Any) -> None:
        """Read and write until one of the two ends, or a newer stream takes this one's place.

        `stream` is a client's call or a server's context.
        """
        await converse(self._read(stream), self._write_all(stream), hang_up=self.end)
        if self._replaced:
            raise WireError("replaced", f"agent {self._link.peer} has opened another stream")

    async def _read(self, stream: Any) -> None:
        await race(self._read_all(stream), self._end())

    async def _end(self) -> None:
        await self._over.wait()

    async def _write_all(self, stream: Any) -> None:
        while not self._over.is_set():
            self._news.clear()
            self._try_write = None  # one after the other: what is held goes first
            for position, frame in self._link.held(self._cursor):
                if self._over.is_set():
                    return
                await stream.write(frame)
                self._count(position, frame)
            if not self._news.is_set():
                self._try_write = getattr(stream, "try_write", None)
            await self._news.wait()

    async def _read_all(self, stream: Any) -> None:
        if (each := getattr(stream, "each", None)) is not None:  # messages come without being waited for
            await each(self._take)
            return
        while (message := await stream.read()) is not grpc.aio.EOF and not self._over.is_set():
            self._take(message)

    def _take(self, message: Any) -> None:
        if self._over.is_set():
            return
        if not isinstance(message, bytes):
            raise WireError("content", f"agent {self._link.peer} sent no frame after its Hello")
        self._link.take(message)
