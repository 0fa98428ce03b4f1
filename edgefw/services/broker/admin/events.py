"""What happens in the broker, told to whoever listens; nobody who listens can hold it up."""

from __future__ import annotations

import asyncio
from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from edgefw.errors import EdgefwError
from edgefw.services.broker.admin.answers import encoded, finite

if TYPE_CHECKING:
    from collections.abc import Collection

KINDS = ("change", "release")
MOST_LISTENERS = 64
MOST_WAITING = 1024  # events that one listener may be behind


class TooManyListenersError(EdgefwError):
    """There is no room for another listener."""


class Event:
    """Something that happened; made into text once, and only for somebody."""

    def __init__(self, number: int | None, kind: str, data: dict[str, Any]) -> None:
        self.number, self.kind, self.data = number, kind, data

    @cached_property
    def text(self) -> bytes:
        """The event as one of a stream of server-sent events."""
        head = "" if self.number is None else f"id: {self.number}\n"
        return f"{head}event: {self.kind}\ndata: ".encode() + encoded(finite(self.data)) + b"\n\n"


class Listener:
    """One who listens, from `async with` to its end: one that is slow loses the oldest and is told so."""

    def __init__(self, hub: Events, kinds: frozenset[str]) -> None:
        self._hub, self._kinds = hub, kinds
        self._waiting: deque[Event] = deque()
        self._lost = 0
        self._awake = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Begin to listen."""
        self._hub.enter(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Listen no longer."""
        self._hub.leave(self)

    def offer(self, event: Event) -> None:
        """Take note of an event, if it is of a kind that is listened to."""
        if event.kind not in self._kinds:
            return
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.popleft()
            self._lost += 1
        self._waiting.append(event)
        self._awake.set()

    def wake(self) -> None:
        """Let `take` look again."""
        self._awake.set()

    async def take(self, patience: float) -> list[Event] | None:
        """Return what has happened since; nothing if that takes too long; None once the hub is closed."""
        if not self._waiting and not self._hub.closed:
            self._awake.clear()
            try:
                async with asyncio.timeout(patience):
                    await self._awake.wait()
            except TimeoutError:
                return []
        if self._hub.closed:
            return None
        return self._all()

    def _all(self) -> list[Event]:
        events = list(self._waiting)
        self._waiting.clear()
        if self._lost:
            events.insert(0, Event(None, "lost", {"count": self._lost}))
            self._lost = 0
        return events


class Events:
    """Where events are published and listened to."""

    def __init__(self) -> None:
        self._number = 0
        self.closed = False
        self.listeners: set[Listener] = set()

    def publish(self, kind: str, data: dict[str, Any]) -> None:
        """Tell everyone who listens; next to nothing if nobody does."""
        self._number += 1
        if self.listeners:
            event = Event(self._number, kind, data)
            for listener in self.listeners:
                listener.offer(event)

    def subscribe(self, kinds: Collection[str] = KINDS) -> Listener:
        """Return a listener to events of these kinds."""
        return Listener(self, frozenset(kinds))

    def close(self) -> None:
        """End every listener's stream, and those to come."""
        self.closed = True
        for listener in self.listeners:
            listener.wake()

    def enter(self, listener: Listener) -> None:
        """Add a listener, if there is room."""
        if len(self.listeners) >= MOST_LISTENERS:
            raise TooManyListenersError(f"{MOST_LISTENERS} listen already: end one of them first")
        self.listeners.add(listener)

    def leave(self, listener: Listener) -> None:
        """Remove a listener."""
        self.listeners.discard(listener)
