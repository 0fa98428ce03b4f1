"""What happens in the broker, told to whoever listens; nobody who listens can hold it up."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, deque
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from edgefw.http.answers import encoded

if TYPE_CHECKING:
    from collections.abc import Collection

KINDS = ("change", "release")
MOST_LISTENERS = 64
MOST_WAITING = 1024  # events that one listener may be behind


class BrokerEvent:
    """Something that happened; made into text once, and only for somebody."""

    def __init__(self, number: int | None, kind: str, data: dict[str, Any]) -> None:
        self.number, self.kind, self.data = number, kind, data

    @cached_property
    def text(self) -> bytes:
        """The event as one of a stream of server-sent events."""
        head = "" if self.number is None else f"id: {self.number}\n"
        return f"{head}event: {self.kind}\ndata: ".encode() + encoded(_finite(self.data)) + b"\n\n"


class Listener:
    """One who listens, from `async with` to its end. A slow one loses the oldest events and is told so.

    `client` is where it listens from. Where there is no room, the client with most listeners loses one.
    """

    def __init__(self, hub: Events, kinds: frozenset[str], client: str) -> None:
        self._hub, self._kinds, self.client = hub, kinds, client
        self._over = False
        self._waiting: deque[BrokerEvent] = deque()
        self._lost = 0
        self._awake = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Begin to listen."""
        self._hub.enter(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Listen no longer."""
        self._hub.leave(self)

    def offer(self, event: BrokerEvent) -> None:
        """Take note of an event, if it is of a kind that is listened to."""
        if event.kind not in self._kinds:
            return
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.popleft()
            self._lost += 1
        self._waiting.append(event)
        self._awake.set()

    def end(self) -> None:
        """Let `take` tell that it is over."""
        self._over = True
        self._waiting.clear()
        self._awake.set()

    async def take(self, patience: float) -> list[BrokerEvent] | None:
        """Return the events since the last call: none if `patience` is over, None if the stream is."""
        if not self._waiting and not self._over:
            self._awake.clear()
            try:
                async with asyncio.timeout(patience):
                    await self._awake.wait()
            except TimeoutError:
                return []
        return None if self._over else self._all()

    def _all(self) -> list[BrokerEvent]:
        events = list(self._waiting)
        self._waiting.clear()
        if self._lost:
            events.insert(0, BrokerEvent(None, "lost", {"count": self._lost}))
            self._lost = 0
        return events


class Events:
    """Where events are published and listened to."""

    def __init__(self) -> None:
        self._number = 0
        self._closed = False
        self.listeners: dict[Listener, None] = {}  # who came first stands first

    def publish(self, kind: str, data: dict[str, Any]) -> None:
        """Tell everyone who listens; next to nothing if nobody does."""
        self._number += 1
        if self.listeners:
            event = BrokerEvent(self._number, kind, data)
            for listener in self.listeners:
                listener.offer(event)

    def subscribe(self, kinds: Collection[str] = KINDS, client: str = "") -> Listener:
        """Return a listener to events of these kinds."""
        return Listener(self, frozenset(kinds), client)

    def close(self) -> None:
        """End every listener's stream, and those to come."""
        self._closed = True
        for listener in self.listeners:
            listener.end()

    def enter(self, listener: Listener) -> None:
        """Add a listener. A newcomer gets in: where there is no room, another's stream ends."""
        if len(self.listeners) >= MOST_LISTENERS:
            self._give_way()
        self.listeners[listener] = None
        if self._closed:
            listener.end()

    def leave(self, listener: Listener) -> None:
        """Remove a listener."""
        self.listeners.pop(listener, None)

    def _give_way(self) -> None:
        """End the oldest listener of the client that has most of them."""
        counts = Counter(listener.client for listener in self.listeners)
        most = max(counts.values())
        oldest = next(listener for listener in self.listeners if counts[listener.client] == most)
        self.leave(oldest)
        oldest.end()


def _finite(value: Any) -> Any:
    """Return a value with None in place of infinity, which JSON does not know."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value
